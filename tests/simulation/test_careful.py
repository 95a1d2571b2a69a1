"""Changes that spread cluster by cluster, and drift that is told and left, on virtual time."""

import pytest

from hanse.api.names import DRIFT_ANNOTATION, ROLLOUT_ANNOTATION, STATUS_ANNOTATION
from hanse.api.policies import PLACEMENT_POLICIES
from hanse.cli.approve import approve, list_waiting
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import annotations_of, dig
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from tests.simulation.world import config, deployment, federation
from tests.unit.placement.policy_cases import policy

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

JSON_PATCH = "application/json-patch+json"


async def spread_is(world, **wanted):
    return await world.spread() == wanted


async def images(world):
    found = {name: await world.find(name, DEPLOYMENTS, "web") for name in world.clusters}
    return {name: dig(obj, "spec", "template", "spec", "containers")[0]["image"] for name, obj in found.items()}


async def propagated(world):
    source = await world.host.get(DEPLOYMENTS, "web", "default")
    return find_condition(dig(source, "status", "conditions"), "Propagated") or {}


async def told(world, sentence):
    return sentence in (await propagated(world)).get("message", "")


async def set_image(world, image):
    patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]
    await world.host.patch(DEPLOYMENTS, "web", patch, "default", patch_type=JSON_PATCH)


async def test_a_rollout_asks_pauses_survives_a_crash_and_ends():
    async with federation() as world:
        rollout = {"order": [{"names": ["b"]}, {"names": ["a"]}], "gate": "Manual", "pauseSeconds": 10}
        await world.host.create(PLACEMENT_POLICIES, policy(PLACEMENT_POLICIES, "careful", rollout=rollout))
        await world.host.create(DEPLOYMENTS, deployment())
        await world.until(lambda: spread_is(world, a=3, b=3, c=3))
        await set_image(world, "web:2")

        # The first group changes, and a person is asked before the second.
        await world.until(lambda: told(world, "group 2 (a) waits for `hanse approve`"))
        assert await images(world) == {"a": "web:1", "b": "web:2", "c": "web:1"}
        source = await world.host.get(DEPLOYMENTS, "web", "default")
        assert source["status"]["observedGeneration"] < source["metadata"]["generation"]

        # Replicas move as ever while templates wait.
        await world.host.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 6}}, "default")
        await world.until(lambda: spread_is(world, a=2, b=2, c=2))
        assert (await images(world))["a"] == "web:1"

        (waiting,) = await list_waiting(world.host)
        assert (waiting.name, waiting.why) == ("deployment/web", "its new version goes on to group 2 of its rollout")
        await approve(world.host, ("deployment", "web"))
        await world.until(lambda: told(world, "after a pause of 10 s it reaches a"))
        await world.kill_control_plane()
        world.start_control_plane()
        took = await world.until(lambda: _image_is(world, "a", "web:2"))
        assert took > 5

        await world.until(lambda: told(world, "group 3 (c) waits for `hanse approve`"))
        assert await images(world) == {"a": "web:2", "b": "web:2", "c": "web:1"}
        await approve(world.host, ("deploy/web",), "default")
        await world.until(lambda: _image_is(world, "c", "web:2"))

        await world.until(lambda: _is(world, "InEveryCluster"))
        source = await world.host.get(DEPLOYMENTS, "web", "default")
        assert source["status"]["observedGeneration"] == source["metadata"]["generation"]
        assert ROLLOUT_ANNOTATION not in annotations_of(source)
        await world.runtime.sleep(5)
        world.forget_writes()
        await world.runtime.sleep(20)
        assert world.writes() == {}


async def _image_is(world, cluster, image):
    return (await images(world))[cluster] == image


async def _is(world, reason):
    return (await propagated(world)).get("reason") == reason


async def test_a_version_that_makes_no_progress_stops_where_it_is_and_a_rollback_goes_on():
    async with federation() as world:
        await world.host.create(PLACEMENT_POLICIES, policy(PLACEMENT_POLICIES, "careful", rollout={}))
        source = deployment(replicas=6)
        source["spec"]["progressDeadlineSeconds"] = 30
        await world.host.create(DEPLOYMENTS, source)
        await world.until(lambda: spread_is(world, a=2, b=2, c=2))
        # No node is large enough for this one.
        patch = [
            {
                "op": "add",
                "path": "/spec/template/spec/containers/0/resources",
                "value": {"requests": {"cpu": "9000"}},
            }
        ]
        await world.host.patch(DEPLOYMENTS, "web", patch, "default", patch_type=JSON_PATCH)

        await world.until(lambda: told(world, "a: its rollout makes no progress; mend it or roll back"), seconds=120)
        for name in "bc":
            copy = await world.find(name, DEPLOYMENTS, "web")
            assert "requests" not in dig(copy, "spec", "template", "spec", "containers")[0].get("resources", {})

        undo = [{"op": "remove", "path": "/spec/template/spec/containers/0/resources"}]
        await world.host.patch(DEPLOYMENTS, "web", undo, "default", patch_type=JSON_PATCH)
        await world.until(lambda: _is(world, "InEveryCluster"))


async def test_drift_that_is_to_be_reported_is_told_and_left_and_changes_still_apply():
    async with federation("a", "b") as world:
        source = config(color="blue")
        source["metadata"]["annotations"] = {DRIFT_ANNOTATION: "report"}
        await world.host.create(CONFIGMAPS, source)
        await world.until(lambda: _data(world, "a", "blue"))
        await world.clients["a"].patch(CONFIGMAPS, "settings", {"data": {"color": "red"}}, "default")

        await world.until(lambda: _annotated(world, "a: somebody changed data.color there; it is left so"))
        await world.runtime.sleep(20)
        assert await _data(world, "a", "red")

        await world.host.patch(CONFIGMAPS, "settings", {"data": {"color": "green"}}, "default")
        await world.until(lambda: _data(world, "a", "green"))
        await world.until(lambda: _annotated(world, ""))


async def _data(world, cluster, color):
    return dig(await world.find(cluster, CONFIGMAPS, "settings"), "data", "color") == color


async def _annotated(world, sentence):
    text = annotations_of(await world.host.get(CONFIGMAPS, "settings", "default")).get(STATUS_ANNOTATION, "")
    return text.startswith(sentence) if sentence else not text
