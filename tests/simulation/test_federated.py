"""Federated objects on a running federation, on virtual time; numbers are lines of KubeFed's checklist."""

from pathlib import Path

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.kubefed.config import CONFIGS
from hanse.api.kubefed.forms import FORM_A, FORM_C, FORM_D, override_resource, placement_resource, template_resource
from hanse.api.kubefed.preferences import PREFERENCES, preference_resource
from hanse.api.kubefed.records import version_resource
from hanse.cli.yaml_files import read_manifests
from hanse.kube.client import PatchType
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import annotations_of, dig, finalizers_of, labels_of, uid_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, EVENTS, NAMESPACES, REPLICASETS
from tests.simulation.world import config, federation
from tests.unit.federated.cases import federated, in_clusters, override, preference

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

EXAMPLES = Path(__file__).parents[2] / "examples" / "kubefed"
NAMES = ("cluster1", "cluster2", "cluster3")
FEDERATED_DEPLOYMENTS = template_resource(FORM_D, DEPLOYMENTS)
FEDERATED_CONFIGS = template_resource(FORM_D, CONFIGMAPS)
FEDERATED_NAMESPACES = template_resource(FORM_D, NAMESPACES)
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
KUBEFED_CONFIG = {
    "apiVersion": CONFIGS.api_version,
    "kind": CONFIGS.kind,
    "metadata": {"name": "kubefed", "namespace": "default"},
    "spec": {"scope": "Namespaced", "syncController": {"adoptResources": "Disabled"}},
}


def fresh(obj):
    """An object as a user writes it, without what a server adds."""
    kept = {name: value for name, value in obj["metadata"].items() if name in ("name", "namespace", "annotations")}
    return {**obj, "metadata": kept}


def settings(**spec):
    template = {"data": {"color": "blue"}}
    return fresh(federated("ConfigMap", template=template, name="settings", **spec))


async def create(world, *manifests):
    for manifest in manifests:
        await world.host.create(await world.host.resource_of(manifest), manifest)


async def change(world, resource, name, namespace="shop", **fields):
    """Replace fields of a federated object's spec."""
    patch = [{"op": "add", "path": f"/spec/{field}", "value": value} for field, value in fields.items()]
    await world.host.patch(resource, name, patch, namespace, patch_type=PatchType.JSON)


async def annotate(world, resource, name, annotation, text, namespace="shop"):
    await world.host.patch(resource, name, {"metadata": {"annotations": {annotation: text}}}, namespace)


async def copies(world, resource, name, namespace="shop"):
    found = {cluster: await world.find(cluster, resource, name, namespace) for cluster in world.clusters}
    return {cluster: obj for cluster, obj in found.items() if obj is not None}


async def replicas(world, resource=DEPLOYMENTS, name="web", namespace="shop"):
    return {
        cluster: dig(obj, "spec", "replicas")
        for cluster, obj in (await copies(world, resource, name, namespace)).items()
    }


async def until_in(world, resource, name, *clusters, namespace="shop"):
    async def holds():
        return set(await copies(world, resource, name, namespace)) == set(clusters)

    return await world.until(holds)


async def until_replicas(world, resource=DEPLOYMENTS, name="web", namespace="shop", **wanted):
    async def holds():
        return await replicas(world, resource, name, namespace) == wanted

    return await world.until(holds)


async def told(world, resource, name, namespace="shop"):
    """The condition of a federated object, and the code of every cluster."""
    obj = await world.host.get(resource, name, namespace)
    condition = find_condition(dig(obj, "status", "conditions"), "Propagation") or {}
    codes = {entry["name"]: entry.get("status", "") for entry in dig(obj, "status", "clusters", default=[])}
    return condition, codes


async def until_told(world, resource, name, codes, namespace="shop"):
    async def holds():
        return (await told(world, resource, name, namespace))[1] == codes

    try:
        await world.until(holds)
    except AssertionError:
        raise AssertionError(await told(world, resource, name, namespace)) from None
    return (await told(world, resource, name, namespace))[0]


async def test_the_seeds_manifests_give_the_seeds_results():
    """Lines 1 to 11, 13, 68 and 100, and nine replicas over a ready 3 and 5."""
    async with federation(*NAMES, forms=(FORM_D, FORM_C, FORM_A)) as world:
        for name in ("frontend", "test-deployment"):
            if name == "test-deployment":
                await create(world, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "test-namespace"}})
            await create(world, *read_manifests([EXAMPLES / f"{name}.yaml"], "--filename"))
        front, test = (REPLICASETS, "frontend", "default"), (DEPLOYMENTS, "test-deployment", "test-namespace")
        await until_replicas(world, *front, cluster1=5, cluster2=10)
        await until_replicas(world, *test, cluster1=3, cluster2=5)
        for obj in (await copies(world, *front)).values():
            assert labels_of(obj)["app"] == "nginx"
            assert dig(obj, "spec", "template", "spec", "containers")[0]["image"] == "nginx:1.7.9"

        sets = template_resource(FORM_A, REPLICASETS)
        condition = await until_told(world, sets, "frontend", {"cluster1": "", "cluster2": ""}, "default")
        assert condition["status"] == "True"
        # The template's port has no protocol, and the clusters' have one: that is no difference.
        assert "message" not in condition

        overrides = override_resource(FORM_A, REPLICASETS)
        other = {"overrides": [{"clusterName": "cluster1", "replicas": 7}]}
        await world.host.patch(overrides, "frontend", {"spec": other}, "default")
        await until_replicas(world, *front, cluster1=7, cluster2=5)
        await world.host.delete(overrides, "frontend", "default")
        await until_replicas(world, *front, cluster1=5, cluster2=5)
        await world.host.delete(placement_resource(FORM_A, REPLICASETS), "frontend", "default")
        await until_in(world, REPLICASETS, "frontend", namespace="default")

        async def all_ready():
            found = await copies(world, *test)
            return sorted(dig(obj, "status", "readyReplicas", default=0) for obj in found.values()) == [3, 5]

        await world.until(all_ready)
        await create(world, *read_manifests([EXAMPLES / "preference.yaml"], "--filename"))
        await until_replicas(world, *test, cluster1=4, cluster2=5, cluster3=0)
        rsp = preference_resource(FORM_C)

        async def decided():
            return dig(await world.host.get(rsp, "test-deployment", "test-namespace"), "status", "clusters")

        await world.until(decided)
        assert await decided() == {"cluster1": 4, "cluster2": 5, "cluster3": 0}
        await world.host.delete(rsp, "test-deployment", "test-namespace")
        await until_replicas(world, *test, cluster1=3, cluster2=5)

        kind = template_resource(FORM_C, DEPLOYMENTS)
        await world.host.delete(kind, "test-deployment", "test-namespace")
        await until_in(world, DEPLOYMENTS, "test-deployment", namespace="test-namespace")

        async def gone():
            return await world.host.find(kind, "test-deployment", "test-namespace") is None

        await world.until(gone)


async def test_placements_follow_clusters_and_namespaces():
    """Lines 18 to 32, 63, 69, 74, 76 and 82."""
    async with federation(*NAMES, forms=(FORM_D,)) as world:
        await create(world, SHOP, settings(placement={"clusterSelector": {"matchLabels": {"foo": "bar"}}}))
        where = (CONFIGMAPS, "settings")
        await world.host.patch(CLUSTERS, "cluster2", {"metadata": {"labels": {"foo": "bar"}}})
        assert await until_in(world, *where, "cluster2") < 5.0
        condition = await until_told(world, FEDERATED_CONFIGS, "settings", {"cluster2": ""})
        assert (condition["status"], condition.get("reason")) == ("True", None)

        await change(world, FEDERATED_CONFIGS, "settings", placement={"clusters": [{"name": "ghost"}]})

        async def ghost():
            return "ghost" in (await told(world, FEDERATED_CONFIGS, "settings"))[0].get("message", "")

        await world.until(ghost)
        assert set(await copies(world, *where)) == {"cluster2"}
        await change(world, FEDERATED_CONFIGS, "settings", placement=in_clusters("cluster1", "cluster2"))
        await until_in(world, *where, "cluster1", "cluster2")

        limits = fresh(federated("Namespace", template={}, name="shop", placement=in_clusters("cluster2", "cluster3")))
        await create(world, limits)
        await until_in(world, *where, "cluster2")
        await until_in(world, NAMESPACES, "shop", "cluster2", "cluster3", namespace="")
        everywhere = {"clusterSelector": {}}
        await change(world, FEDERATED_NAMESPACES, "shop", placement=everywhere)
        await until_in(world, *where, "cluster1", "cluster2")

        await world.clients["cluster3"].create(CONFIGMAPS, config(namespace="shop", color="green"))
        await change(world, FEDERATED_CONFIGS, "settings", placement=everywhere)
        await until_told(world, FEDERATED_CONFIGS, "settings", dict.fromkeys(NAMES, ""))
        assert {obj["data"]["color"] for obj in (await copies(world, *where)).values()} == {"blue"}

        bad = {"clusterSelector": {"matchExpressions": [{"key": "a", "operator": "Foo"}]}}
        await change(world, FEDERATED_CONFIGS, "settings", placement=bad)
        condition = await until_told(world, FEDERATED_CONFIGS, "settings", {})
        assert condition["reason"] == "ComputePlacementFailed"
        await until_in(world, *where, *NAMES)

        await change(world, FEDERATED_CONFIGS, "settings", placement={"clusters": []})
        await until_in(world, *where)

        await change(world, FEDERATED_CONFIGS, "settings", placement=in_clusters("cluster1"))
        await until_in(world, *where, "cluster1")
        await annotate(world, FEDERATED_CONFIGS, "settings", "kubefed.io/orphan", "true")
        await world.host.delete(FEDERATED_CONFIGS, "settings", "shop")

        async def released():
            left = (await copies(world, *where)).get("cluster1", {"metadata": {}})
            return await world.host.find(FEDERATED_CONFIGS, "settings", "shop") is None and not labels_of(left)

        await world.until(released)
        assert set(await copies(world, *where)) == {"cluster1"}

        uids = {name: uid_of(obj) for name, obj in (await copies(world, NAMESPACES, "shop", "")).items()}
        await world.host.delete(FEDERATED_NAMESPACES, "shop", "shop")

        async def handed_back():
            return await world.host.find(FEDERATED_NAMESPACES, "shop", "shop") is None

        await world.until(handed_back)
        await world.runtime.sleep(5.0)
        assert {name: uid_of(obj) for name, obj in (await copies(world, NAMESPACES, "shop", "")).items()} == uids


async def test_overrides_drift_and_records():
    """Lines 41, 50, 51, 54 to 60, 62, 64, 70 and 71; a label that somebody adds to a copy stays theirs."""
    async with federation("cluster1", "cluster2", forms=(FORM_D,)) as world:
        written = fresh(
            federated(
                placement=in_clusters("cluster1", "cluster2"),
                retainReplicas=True,
                overrides=[override("cluster2", {"path": "/spec/replicas", "value": 4})],
            )
        )
        written["spec"]["template"]["metadata"] = {"labels": {"app": "web"}, "annotations": {"c": "d"}}
        await create(world, SHOP, KUBEFED_CONFIG, written)
        await until_replicas(world, cluster1=3, cluster2=4)
        for obj in (await copies(world, DEPLOYMENTS, "web")).values():
            assert labels_of(obj)["kubefed.io/managed"] == "true"
            assert "c" not in annotations_of(obj)
        await until_told(world, FEDERATED_DEPLOYMENTS, "web", {"cluster1": "", "cluster2": ""})

        async def warned():
            events = await world.host.list(EVENTS, "shop")
            return any(event["reason"] == "AnnotationsNotSupported" for event in events.items)

        await world.until(warned)

        async def versions():
            found = await world.host.find(version_resource(FORM_D), "deployment-web", "shop")
            return [each["version"] for each in dig(found, "status", "clusterVersions", default=[])]

        async def recorded():
            return await versions() == ["gen:1", "gen:1"]

        await world.until(recorded)

        await world.runtime.sleep(5.0)
        world.forget_writes()
        await world.runtime.sleep(20.0)
        written = {
            name: [each for each in writes if "leases" not in each[1]] for name, writes in world.writes().items()
        }
        assert not any(written.values()), written

        for cluster in ("cluster1", "cluster2"):
            await world.clients[cluster].patch(DEPLOYMENTS, "web", {"spec": {"replicas": 2, "paused": True}}, "shop")
        await until_replicas(world, cluster1=2, cluster2=4)
        image = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "evil"}]}}}}
        await world.clients["cluster1"].patch(DEPLOYMENTS, "web", image, "shop")

        async def mended():
            found = await world.find("cluster1", DEPLOYMENTS, "web", "shop")
            return dig(found, "spec", "template", "spec", "containers")[0]["image"] == "nginx"

        await world.until(mended)
        await world.clients["cluster2"].delete(DEPLOYMENTS, "web", "shop")
        await until_replicas(world, cluster1=2, cluster2=4)

        theirs = {
            "metadata": {"annotations": {"their": "own"}, "labels": {"their": "own"}, "finalizers": ["their/own"]}
        }
        await world.clients["cluster1"].patch(DEPLOYMENTS, "web", theirs, "shop")
        await change(world, FEDERATED_DEPLOYMENTS, "web", **{"template/spec/minReadySeconds": 1})

        async def changed():
            found = await copies(world, DEPLOYMENTS, "web")
            return [dig(obj, "spec", "minReadySeconds") for obj in found.values()] == [1, 1]

        await world.until(changed)
        kept = await world.find("cluster1", DEPLOYMENTS, "web", "shop")
        assert annotations_of(kept)["their"] == labels_of(kept)["their"] == "own"
        assert "their/own" in finalizers_of(kept)

        await world.clients["cluster1"].create(CONFIGMAPS, config(namespace="shop", color="green"))
        await create(world, settings(placement=in_clusters("cluster1", "cluster2")))
        codes = {"cluster1": "AlreadyExists", "cluster2": ""}
        condition = await until_told(world, FEDERATED_CONFIGS, "settings", codes)
        assert condition["reason"] == "CheckClusters"
        assert (await world.find("cluster1", CONFIGMAPS, "settings", "shop"))["data"] == {"color": "green"}

        bad = [override("cluster2", {"path": "/spec/nosuch/deep", "value": 1})]
        await change(world, FEDERATED_DEPLOYMENTS, "web", overrides=bad)
        codes = {"cluster1": "", "cluster2": "ApplyOverridesFailed"}
        condition = await until_told(world, FEDERATED_DEPLOYMENTS, "web", codes)
        assert condition["reason"] == "CheckClusters"
        assert await replicas(world) == {"cluster1": 2, "cluster2": 4}

        await world.clients["cluster1"].patch(DEPLOYMENTS, "web", {"metadata": {"finalizers": []}}, "shop")
        await annotate(world, FEDERATED_DEPLOYMENTS, "web", "kubefed.io/deleteoption", "{")
        await world.host.delete(FEDERATED_DEPLOYMENTS, "web", "shop")

        async def blocked():
            return (await told(world, FEDERATED_DEPLOYMENTS, "web"))[0].get("reason") == "InvalidDeleteOptions"

        await world.until(blocked)
        await until_in(world, DEPLOYMENTS, "web", "cluster1", "cluster2")
        orphaning = '{"propagationPolicy":"Orphan"}'
        await annotate(world, FEDERATED_DEPLOYMENTS, "web", "kubefed.io/deleteoption", orphaning)
        await until_in(world, DEPLOYMENTS, "web")
        for cluster in ("cluster1", "cluster2"):
            left = (await world.clients[cluster].list(REPLICASETS, "shop")).items
            assert left
            assert not any(obj["metadata"].get("ownerReferences") for obj in left)

        async def all_gone():
            found = await world.host.find(FEDERATED_DEPLOYMENTS, "web", "shop")
            return found is None and not await versions()

        await world.until(all_gone)


async def test_a_preference_follows_the_clusters_that_are_there():
    """Lines 13, 16, 17, 65, 66, 72, 75 and 77."""
    async with federation("a", "b", forms=(FORM_D,)) as world:
        refusing = config(namespace="shop", color="green")
        refusing["metadata"]["labels"] = {"kubefed.io/managed": "false"}
        await world.clients["b"].create(NAMESPACES, SHOP)
        await world.clients["b"].create(CONFIGMAPS, refusing)
        source = fresh(federated(placement=in_clusters("a", "b")))
        await create(world, SHOP, fresh(preference(9, {"a": {"weight": 1}, "b": {"weight": 2}})), source)
        await until_replicas(world, a=3, b=6)
        await until_told(world, FEDERATED_DEPLOYMENTS, "web", {"a": "", "b": ""})
        await create(world, settings(placement=in_clusters("a", "b")))
        await until_told(world, FEDERATED_CONFIGS, "settings", {"a": "", "b": "ManagedLabelFalse"})
        assert (await world.find("b", CONFIGMAPS, "settings", "shop"))["data"] == {"color": "green"}

        await world.fail("b")

        async def taken_over():
            found = await world.find("a", DEPLOYMENTS, "web", "shop")
            return dig(found, "status", "readyReplicas") == 9

        assert await world.until(taken_over) < 40.0
        condition = await until_told(world, FEDERATED_DEPLOYMENTS, "web", {"a": "", "b": "ClusterNotReady"})
        assert condition["reason"] == "CheckClusters"
        await world.host.delete(FEDERATED_CONFIGS, "settings", "shop")

        async def waiting():
            found = (await told(world, FEDERATED_CONFIGS, "settings"))[0]
            return found.get("reason") == "WaitingForDeletion" and "b: it is offline" in found["message"]

        await world.until(waiting)
        decided = dig(await world.host.get(PREFERENCES[0], "web", "shop"), "status", "clusters")
        assert decided == {"a": 9}

        world.heal("b")

        async def gone():
            return await world.host.find(FEDERATED_CONFIGS, "settings", "shop") is None

        await world.until(gone)

        # What a cluster had before is used, and is still its own when nobody needs it there any more.
        await create(world, fresh(federated("Namespace", template={}, name="shop", placement=in_clusters("a", "b"))))
        await until_told(world, FEDERATED_NAMESPACES, "shop", {"a": "", "b": ""})
        await change(world, FEDERATED_NAMESPACES, "shop", placement=in_clusters("a"))
        await until_told(world, FEDERATED_NAMESPACES, "shop", {"a": ""})
        await until_in(world, DEPLOYMENTS, "web", "a")
        assert await world.find("b", NAMESPACES, "shop", "") is not None
