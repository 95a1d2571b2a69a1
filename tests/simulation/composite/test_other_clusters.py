"""Children of composites in other clusters: placed by the engine, observed by the hook, moved cluster by cluster."""

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.cli.authorship import stamp_authors
from hanse.clusters.access import author_of
from hanse.kube.resources import CONFIGMAPS
from tests.simulation.composite.federation import union
from tests.simulation.composite.stage import THINGS, child, composite, config, thing
from tests.simulation.test_access import let, user, using

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

CLUSTER, SELECTED, LOST = "hanse.dev/cluster", "hanse.dev/clusters", "hanse.dev/cluster-lost"


def away(name="one", text="first", **annotations):
    """Return a ConfigMap that a hook wants in other clusters."""
    made = config(name, text=text)
    made["metadata"]["annotations"] = annotations
    return made


def named(body):
    """Want a ConfigMap in every cluster that the parent names."""
    spec = body["parent"]["spec"]
    return {"children": [away(text=spec["text"], **{CLUSTER: cluster}) for cluster in spec.get("in", ())]}


async def is_there(world, wanted):
    return await world.texts() == wanted


def selected(body):
    """Want a ConfigMap in every cluster that the parent's selector matches."""
    spec = body["parent"]["spec"]
    seen = body["children"]["ConfigMap.v1"]
    return {
        "status": {"seen": {key: obj["data"]["text"] for key, obj in seen.items()}},
        "children": [away(text=spec["text"], **{SELECTED: spec["where"]})],
    }


async def test_every_cluster_that_matches_gets_one_and_those_that_come_to_match_later_too():
    async with union("a", "b") as world:
        await world.create(composite("things", {"sync": world.hook("sync", selected)}, child(CONFIGMAPS, "InPlace")))
        await label(world, "a", tier="gold")
        await world.create(thing(text="first", where="tier=gold"))
        await world.until(lambda: is_there(world, {"a": "first"}))

        await label(world, "b", tier="gold")
        await world.until(lambda: is_there(world, {"a": "first", "b": "first"}))
        (placed,) = await world.placed()
        assert [version["clusters"] for version in placed["spec"]["versions"]] == [["a", "b"]]

        # The parent's status is made of what the members have, and nothing is written once all is as it shall be.
        await world.until(lambda: seen_is(world, {"a/one": "first", "b/one": "first"}))
        await world.runtime.sleep(10)
        world.forget_writes()
        await world.runtime.sleep(30)
        assert [path for paths in world.writes().values() for _, path in paths if "/leases/" not in path] == []

        # Somebody's change in a member is put back; what the parent wants next is written there, in place.
        before = await world.clients["a"].get(CONFIGMAPS, "one", "default")
        await world.clients["a"].patch(CONFIGMAPS, "one", {"data": {"text": "drifted"}}, "default")
        await world.until(lambda: is_there(world, {"a": "first", "b": "first"}))
        await world.host.patch(THINGS, "one", {"spec": {"text": "second"}}, "default")
        await world.until(lambda: seen_is(world, {"a/one": "second", "b/one": "second"}))
        after = await world.clients["a"].get(CONFIGMAPS, "one", "default")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]

        # Nobody else gets an object of that name, not even elsewhere: to the engine it is one.
        await world.create(thing("two", text="mine", where="tier=none", selector={"matchLabels": {"thing": "one"}}))
        await label(world, "b", tier="none")
        await world.until(lambda: world.told("two"))
        assert "speaks for every ConfigMap default/one" in await world.told("two")
        await world.host.delete(THINGS, "two", "default")
        await label(world, "b", tier="gold")
        await world.until(lambda: is_there(world, {"a": "second", "b": "second"}))

        # A cluster that no longer matches loses its own; with the parent the last one goes.
        await label(world, "a", tier="none")
        await world.until(lambda: is_there(world, {"b": "second"}))
        await world.host.delete(THINGS, "one", "default")
        await world.until(lambda: is_there(world, {}))
        await world.until(lambda: has_none(world))


async def label(world, cluster, **labels):
    await world.host.patch(CLUSTERS, cluster, {"metadata": {"labels": labels}})


async def seen_is(world, wanted):
    found = await world.host.get(THINGS, "one", "default")
    return found.get("status", {}).get("seen") == wanted


async def has_none(world):
    return await world.placed() == []


async def test_a_rolling_update_goes_cluster_by_cluster_and_makes_each_child_anew():
    history = []

    def rolling(body):
        seen = {key: obj["data"]["text"] for key, obj in body["children"]["ConfigMap.v1"].items()}
        history.extend([seen] if seen not in history[-1:] else [])
        return named(body)

    async with union("a", "b") as world:
        kind = child(CONFIGMAPS, "RollingRecreate", rollout={"byCluster": True})
        await world.create(composite("things", {"sync": world.hook("sync", rolling)}, kind))
        await world.create(thing(text="first", **{"in": ["b", "a"]}))
        await world.until(lambda: {"a/one": "first", "b/one": "first"} in history)
        await world.runtime.sleep(5)
        history.clear()
        before = {name: await world.clients[name].get(CONFIGMAPS, "one", "default") for name in "ab"}
        await world.host.patch(THINGS, "one", {"spec": {"text": "second"}}, "default")
        await world.until(lambda: {"a/one": "second", "b/one": "second"} in history)
        after = {name: await world.clients[name].get(CONFIGMAPS, "one", "default") for name in "ab"}
        assert history == [
            {"a/one": "first", "b/one": "first"},
            {"a/one": "first"},
            {"a/one": "first", "b/one": "second"},
            {"b/one": "second"},
            {"a/one": "second", "b/one": "second"},
        ]
        assert all(before[name]["metadata"]["uid"] != after[name]["metadata"]["uid"] for name in "ab")


async def test_a_lost_cluster_keeps_its_child_in_sight_and_delays_nobody_else():
    async with union("a", "b") as world:
        await world.create(composite("things", {"sync": world.hook("sync", named)}, child(CONFIGMAPS, "InPlace")))
        await world.create(thing(text="first", **{"in": ["a", "b"]}))
        await world.until(lambda: is_there(world, {"a": "first", "b": "first"}))
        assert await world.host.find(CONFIGMAPS, "one", "default") is None
        await world.fail("b")
        await world.until(lambda: world.cluster_is("b", "Offline"))
        await world.host.patch(THINGS, "one", {"spec": {"text": "second"}}, "default")
        await world.until(lambda: text_in(world, "a", "second"))
        await world.until(lambda: "b/one" in world.last()["children"]["ConfigMap.v1"])
        lost = world.last()["children"]["ConfigMap.v1"]["b/one"]
        assert lost["data"] == {"text": "first"}
        assert "offline" in lost["metadata"]["annotations"][LOST]

        # A control plane that has never seen the cluster knows what was asked for there, and asks for it once only.
        await world.kill_control_plane()
        world.start_control_plane()
        calls = len(world.hooks["http://sync"].requests)
        await world.until(lambda: len(world.hooks["http://sync"].requests) > calls)
        await world.until(lambda: "b/one" in world.last()["children"]["ConfigMap.v1"])
        (placed,) = await world.placed()
        assert placed["metadata"]["generation"] == 2

        # What is taken from a lost cluster meanwhile is gone once it is back.
        await world.host.patch(THINGS, "one", {"spec": {"in": ["a"]}}, "default")
        await world.runtime.sleep(5)
        assert "deletionTimestamp" in world.last()["children"]["ConfigMap.v1"]["b/one"]["metadata"]
        world.heal("b")
        await world.until(lambda: is_there(world, {"a": "second"}))
        await world.until(lambda: list(world.last()["children"]["ConfigMap.v1"]) == ["a/one"])


async def text_in(world, cluster, text):
    found = await world.find(cluster, CONFIGMAPS, "one")
    return found is not None and found["data"]["text"] == text


async def test_children_go_only_where_the_author_of_their_parent_may_place_them_and_the_parent_says_so():
    async with union("a", "b") as world:
        await stamp_authors(world.host)
        await world.kill_control_plane()
        world.start_control_plane()
        await let(world, "anna-writes", "anna", {"apiGroups": [THINGS.group], "resources": ["*"], "verbs": ["*"]})
        # Whose the parents are is known as soon as there is a controller for them.
        await world.create(thing("probe"))
        await world.create(composite("things", {"sync": world.hook("sync", named)}, child(CONFIGMAPS, "InPlace")))
        await world.until(lambda: is_stamped(world, "probe"))
        await let(world, "anna-uses", "anna", using("a"))
        await user(world, "anna").create(THINGS, thing(text="first", **{"in": ["a", "b", "c"]}))
        await world.until(lambda: is_there(world, {"a": "first"}))
        await world.until(world.told)
        assert "ConfigMap one in b: anna, who wrote Thing one, may not use cluster b" in await world.told()
        assert "ConfigMap one in c: no cluster c is registered" in await world.told()

        await let(world, "anna-uses", "anna", using("a", "b"))
        await world.until(lambda: is_there(world, {"a": "first", "b": "first"}))


async def is_stamped(world, name):
    patch = {"metadata": {"labels": {"at": f"{world.runtime.monotonic():.1f}"}}}
    return author_of(await user(world, "anna").patch(THINGS, name, patch, "default")) is not None
