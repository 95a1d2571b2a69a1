"""Users who may use some clusters only, on a running federation and on virtual time."""

import pytest

from hanse.apiserver import Identity
from hanse.clusters.access import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import dig
from hanse.kube.resources import DEPLOYMENTS
from hanse.native.authorship import stamp_authors
from tests.simulation.world import deployment, federation

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
