"""What pods need follows their workload: into its clusters, only there, before it, and out after it."""

import random

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.names import DEPENDENCIES_ANNOTATION
from hanse.api.policies import PLACEMENT_POLICIES
from hanse.cli.authorship import stamp_authors
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import dig, is_deleting
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from tests.simulation.test_access import let, user, using
from tests.simulation.world import config, deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

ALONE = {DEPENDENCIES_ANNOTATION: "follow"}
SELECTOR = "federation.alpha.kubernetes.io/cluster-selector"


def only(*clusters):
    names = ", ".join(f'"{name}"' for name in clusters)
    return f'[{{"key": "name", "operator": "in", "values": [{names}]}}]'


def follower(name="web", *clusters, settings=("settings",), replicas=2, follow="follow"):
    """A Deployment in some clusters that names ConfigMaps; without `follow` it asks nothing of them."""
    made = deployment(name, replicas)
    if clusters:
        made["metadata"]["annotations"][SELECTOR] = only(*clusters)
    if follow:
        made["metadata"]["annotations"][DEPENDENCIES_ANNOTATION] = follow
    pod = made["spec"]["template"]["spec"]
    pod["containers"][0]["envFrom"] = [{"configMapRef": {"name": each}} for each in settings]
    return made


async def labelled(world):
    for name in world.clusters:
        await world.host.patch(CLUSTERS, name, {"metadata": {"labels": {"name": name}}})


async def holders(world, resource=CONFIGMAPS, name="settings"):
    return {cluster for cluster in world.clusters if await world.find(cluster, resource, name) is not None}


def are(world, *wanted, name="settings", resource=CONFIGMAPS):
    async def holds():
        return await holders(world, resource, name) == set(wanted)

    return holds


async def spread_is(world, wanted):
    return await world.spread() == wanted


async def leaving(world, cluster):
    return is_deleting(await world.find(cluster, DEPLOYMENTS, "web"))


async def color_is(world, cluster, color):
    return (await world.find(cluster, CONFIGMAPS, "settings"))["data"]["color"] == color


async def told(world, name="web"):
    source = await world.host.get(DEPLOYMENTS, name, "default")
    return (find_condition(dig(source, "status", "conditions"), "Propagated") or {}).get("message", "")


async def tells(world, sentence):
    return await told(world) == sentence


async def settled(world):
    """Wait until nothing is written any more."""
    quiet = 0
    while quiet < 8:
        world.forget_writes()
        await world.runtime.sleep(1)
        busy = [path for paths in world.writes().values() for _, path in paths if "/leases/" not in path]
        quiet = 0 if busy else quiet + 1


async def move(world, *clusters, name="web"):
    await world.host.patch(DEPLOYMENTS, name, {"metadata": {"annotations": {SELECTOR: only(*clusters)}}}, "default")


def judge_order(world):
    """Fail if pods were ever without what they name: brought before the workload, taken away after it."""
    for cluster in world.clusters:
        there = set()
        for method, path in world.wires[cluster].writes:
            kind, _, name = path.partition("/namespaces/default/")[2].partition("/")
            if kind not in ("configmaps", "deployments"):
                continue
            if method == "DELETE":
                assert not (kind == "configmaps" and "deployments" in there), f"{name} left {cluster} too early"
                there.discard(kind)
            elif method == "POST":
                assert kind == "configmaps" or "configmaps" in there, f"the workload came to {cluster} too early"
                there.add(kind)


async def test_a_config_map_goes_where_its_workload_goes_before_it_and_leaves_after_it():
    async with federation() as world:
        await labelled(world)
        await world.host.create(CONFIGMAPS, config() | {"metadata": config()["metadata"] | {"annotations": ALONE}})
        world.forget_writes()
        await world.host.create(DEPLOYMENTS, follower("web", "a"))
        await world.until(lambda: spread_is(world, {"a": 2}))
        assert await holders(world) == {"a"}

        # The workload takes its time to leave: somebody holds it there.
        await world.clients["a"].patch(
            DEPLOYMENTS, "web", {"metadata": {"finalizers": ["example.com/hold"]}}, "default"
        )
        await move(world, "b", "c")
        await world.until(lambda: world.available("b", "c"))
        await world.until(lambda: leaving(world, "a"))
        await world.runtime.sleep(10)
        assert await holders(world) == {"a", "b", "c"}
        await world.clients["a"].patch(DEPLOYMENTS, "web", {"metadata": {"finalizers": None}}, "default")
        await world.until(lambda: spread_is(world, {"b": 1, "c": 1}))
        await world.until(are(world, "b", "c"))
        judge_order(world)

        # What is in it is kept up to date, and then nothing is written any more.
        await world.host.patch(CONFIGMAPS, "settings", {"data": {"color": "red"}}, "default")
        await world.until(lambda: color_is(world, "c", "red"))
        await settled(world)

        # Without its workload it stays where it is, since it goes nowhere by itself.
        await world.host.delete(DEPLOYMENTS, "web", "default")
        await world.until(lambda: spread_is(world, {}))
        await settled(world)
        assert await holders(world) == {"b", "c"}


async def test_what_is_shared_is_wherever_anybody_names_it_and_everywhere_once_nobody_asks():
    async with federation() as world:
        await labelled(world)
        await world.host.create(DEPLOYMENTS, follower("web", "a", settings=("settings", "placed")))
        await world.until(lambda: told(world))
        assert "it names ConfigMap default/placed, which does not exist on the federation" in await told(world)
        await world.host.create(DEPLOYMENTS, follower("api", "b", follow=""))
        placed = config("placed")
        placed["metadata"]["annotations"] = {SELECTOR: only("c")}
        await world.host.create(CONFIGMAPS, placed)
        await world.host.create(CONFIGMAPS, config())
        await world.until(are(world, "a", "b"))
        await settled(world)
        assert await holders(world) == {"a", "b"}

        # A placement of its own counts before that, and the workload says what its pods will not find.
        assert await holders(world, name="placed") == {"c"}
        assert "it names ConfigMap default/placed, which does not go to a: " in await told(world)

        # Whoever does not ask is never left without it; and without anybody who asks it goes everywhere.
        await move(world, "c", name="api")
        await world.until(are(world, "a", "c"))
        await world.host.patch(
            DEPLOYMENTS, "web", {"metadata": {"annotations": {DEPENDENCIES_ANNOTATION: None}}}, "default"
        )
        await world.until(are(world, "a", "b", "c"))
        await settled(world)
        assert await told(world) == "in a"


async def test_a_lost_cluster_is_replaced_with_what_pods_need_and_keeps_what_it_may_still_run():
    groups = [{"name": name, "clusters": {"names": [name]}} for name in ("a", "b")]
    policy = {
        "apiVersion": PLACEMENT_POLICIES.api_version,
        "kind": "PlacementPolicy",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selects": [{"kind": "Deployment"}], "groups": groups, "dependencies": "Follow"},
    }
    async with federation() as world:
        await world.host.create(PLACEMENT_POLICIES, policy)
        await world.host.create(CONFIGMAPS, config())
        await world.host.create(DEPLOYMENTS, follower(follow=""))
        await world.until(are(world, "a"))
        await world.until(lambda: spread_is(world, {"a": 2}))

        await world.fail("a")
        await world.until(are(world, "a", "b"))
        await world.until(lambda: world.available("b"))
        await settled(world)
        assert await holders(world) == {"a", "b"}

        world.heal("a")
        await world.until(lambda: spread_is(world, {"a": 2}), seconds=120)
        await world.until(are(world, "a"))


async def test_a_control_plane_that_is_killed_anywhere_never_takes_from_pods_what_they_need():
    chance = random.Random(7)
    async with federation() as world:
        await labelled(world)
        await world.host.create(CONFIGMAPS, config())
        await world.until(are(world, "a", "b", "c"))
        await world.host.create(DEPLOYMENTS, follower("web", "a"))
        await world.host.create(DEPLOYMENTS, follower("api", "b", follow=""))
        for _ in range(6):
            target = chance.choice("abc")
            await move(world, target)
            await world.runtime.sleep(chance.uniform(0, 1.5))
            await world.kill_control_plane()
            for cluster in world.clusters:
                if any([await world.find(cluster, DEPLOYMENTS, name) for name in ("web", "api")]):
                    assert await world.find(cluster, CONFIGMAPS, "settings") is not None
            world.start_control_plane()
        await world.until(are(world, target, "b"))
        await world.until(lambda: spread_is(world, {target: 2}))
        await settled(world)

        # A start finds everything in its place and writes nothing.
        await world.kill_control_plane()
        world.forget_writes()
        world.start_control_plane()
        await world.runtime.sleep(10)
        assert all("/leases/" in path for paths in world.writes().values() for _, path in paths), world.writes()


async def test_what_follows_a_workload_reaches_only_clusters_that_its_own_author_may_use():
    async with federation("a", "b") as world:
        await stamp_authors(world.host)
        await world.kill_control_plane()
        world.start_control_plane()
        await let(world, "dora-writes", "dora", {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]})
        await let(world, "dora-uses", "dora", using("a"))
        await user(world, "dora").create(CONFIGMAPS, config())
        await world.host.create(DEPLOYMENTS, follower(replicas=2))

        await world.until(lambda: spread_is(world, {"a": 1, "b": 1}))
        await world.until(are(world, "a"))
        sentence = "it names ConfigMap default/settings, which does not go to b: dora may not use cluster b"
        await world.until(lambda: tells(world, sentence))

        await let(world, "dora-uses", "dora", using("a", "b"))
        await world.until(are(world, "a", "b"))
        await world.until(lambda: tells(world, "in a, b"))
