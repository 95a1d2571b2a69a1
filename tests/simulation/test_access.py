"""Users who may use some clusters only, on a running federation and on virtual time."""

import pytest

from hanse.api.kubefed.forms import FORM_A, FORM_D, placement_resource, template_resource
from hanse.api.kubefed.preferences import PREFERENCES
from hanse.api.names import FINALIZER
from hanse.apiserver import Identity
from hanse.cli.authorship import stamp_authors
from hanse.clusters.access import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, author_of
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import dig, finalizers_of
from hanse.kube.resources import DEPLOYMENTS, NAMESPACES
from tests.simulation.world import deployment, federation
from tests.unit.federated.cases import federated, in_clusters, part, preference

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

WRITING = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]}


async def let(world, name, user, rule):
    about = {"apiGroup": "rbac.authorization.k8s.io"}
    role = {"apiVersion": CLUSTER_ROLES.api_version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}
    binding = {
        "apiVersion": CLUSTER_ROLE_BINDINGS.api_version,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {**about, "kind": "ClusterRole", "name": name},
        "subjects": [{**about, "kind": "User", "name": user}],
    }
    await world.host.apply(CLUSTER_ROLES, role)
    await world.host.apply(CLUSTER_ROLE_BINDINGS, binding)


def using(*clusters):
    return {
        "apiGroups": ["clusterregistry.k8s.io"],
        "resources": ["clusters"],
        "verbs": ["use"],
        "resourceNames": list(clusters),
    }


def user(world, name):
    return Client(world.servers["host"].connect(Identity(name)), world.runtime, manager="kubectl")


async def spread_is(world, wanted, name="web"):
    return await world.spread(name) == wanted


async def told(world, name):
    source = await world.host.get(DEPLOYMENTS, name, "default")
    return (find_condition(dig(source, "status", "conditions"), "Propagated") or {}).get("message", "")


async def test_work_goes_only_where_its_author_may_place_it_and_follows_their_rights():
    async with federation() as world:
        await stamp_authors(world.host)
        await world.kill_control_plane()
        world.start_control_plane()
        for name in ("anna", "dora"):
            await let(world, f"{name}-writes", name, WRITING)
        await let(world, "anna-uses", "anna", using("a", "b"))
        await let(world, "bob-uses", "bob", using("a", "b", "c"))

        # Anna's goes to two clusters and Dora's nowhere, whoever she says she is.
        await user(world, "anna").create(DEPLOYMENTS, deployment(replicas=6))
        await user(world, "dora").create(DEPLOYMENTS, deployment("mine", 1, **{"hanse.dev/author": "bob"}))
        await world.until(lambda: spread_is(world, {"a": 3, "b": 3}))
        await world.until(lambda: told(world, "mine"))
        assert await told(world, "web") == "in a, b"
        assert "dora may not use cluster a" in await told(world, "mine")
        assert await world.managed("c", DEPLOYMENTS) == []

        # A right that is given takes effect, and nothing is written once it has.
        await let(world, "anna-uses", "anna", using("a", "b", "c"))
        await world.until(lambda: spread_is(world, {"a": 2, "b": 2, "c": 2}))
        await world.runtime.sleep(10)
        world.forget_writes()
        await world.runtime.sleep(20)
        assert all("/leases/" in path for paths in world.writes().values() for _, path in paths)

        # What is in a cluster already stays as it is there when somebody changes it who may no longer use it.
        await let(world, "anna-uses", "anna", using("a", "b"))
        await user(world, "anna").patch(DEPLOYMENTS, "web", {"spec": {"replicas": 8}}, "default")
        await world.until(lambda: spread_is(world, {"a": 4, "b": 4, "c": 2}))
        assert await told(world, "web") == "in a, b"

        # A deletion takes every copy, wherever it is.
        await user(world, "anna").delete(DEPLOYMENTS, "web", "default")
        await world.until(lambda: spread_is(world, {}))


def written(obj, **annotations):
    """An object as a user writes it, without what a server adds."""
    kept = {name: value for name, value in obj["metadata"].items() if name in ("name", "namespace")}
    return {**obj, "metadata": {**kept, "annotations": annotations}}


async def test_whoever_says_where_a_federated_object_goes_must_be_allowed_to_use_the_clusters():
    kinds = template_resource(FORM_D, DEPLOYMENTS)
    old_kinds, placements = template_resource(FORM_A, DEPLOYMENTS), placement_resource(FORM_A, DEPLOYMENTS)
    groups = [FORM_D.group, FORM_A.group, "scheduling.kubefed.io"]
    async with federation(forms=(FORM_D, FORM_A)) as world:
        await stamp_authors(world.host)
        await world.kill_control_plane()
        world.start_control_plane()
        await world.host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        for name in ("anna", "bob"):
            await let(world, f"{name}-writes", name, {"apiGroups": groups, "resources": ["*"], "verbs": ["*"]})
        await let(world, "anna-uses", "anna", using("a", "b"))
        await let(world, "bob-uses", "bob", using("a"))
        anna, bob = user(world, "anna"), user(world, "bob")

        async def is_in(wanted, name="web"):
            found = {cluster: await world.find(cluster, DEPLOYMENTS, name, "shop") for cluster in world.clusters}
            return {cluster for cluster, copy in found.items() if copy is not None} == wanted

        # The author of a federated object is whoever wrote it, and it was held for the engine from the beginning.
        everywhere = in_clusters("a", "b", "c")
        made = await anna.create(kinds, written(federated(placement=everywhere), **{"hanse.dev/author": "admin"}))
        assert author_of(made).user == "anna"
        assert FINALIZER in finalizers_of(made)
        await world.until(lambda: is_in({"a", "b"}))

        # Nobody takes it further, or changes it elsewhere, by a preference that speaks of it.
        await bob.create(PREFERENCES[0], written(preference(total=12)))
        await world.until(lambda: a_has(world, 12))
        await world.runtime.sleep(5)
        assert dig(await world.find("b", DEPLOYMENTS, "web", "shop"), "spec", "replicas") == 3

        # Of three objects all authors count.
        await anna.create(old_kinds, written(federated(form=FORM_A, name="old")))
        await bob.create(placements, written(part("Deployment", "Placement", {"clusterNames": ["a", "b"]}, name="old")))
        await world.until(lambda: is_in({"a"}, "old"))
        await anna.patch(placements, "old", {"metadata": {"labels": {"seen": "by-anna"}}}, "shop")
        await world.until(lambda: is_in({"a", "b"}, "old"))


async def a_has(world, replicas):
    copy = await world.find("a", DEPLOYMENTS, "web", "shop")
    return dig(copy, "spec", "replicas") == replicas
