"""Targets that are lost, come back, are taken away and brought back, and a control plane that dies meanwhile."""

import pytest

from hanse.api.admiralty.keys import PARENT_UID, PREFIX, REASON, TARGET
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS
from hanse.api.plain_kinds import JOBS
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import annotations_of, dig, finalizers_of, is_deleting, labels_of, name_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, NODES, PODS
from hanse.pods.installing.targets import target_manifests
from hanse.pods.placeholder.reading import LOST_SECONDS
from tests.simulation.pods.world import ELECT, elected_pod, sending
from tests.simulation.world import deployment

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

# A cluster that does not answer is called lost after 10 s, and a pod takes some to start.
NOTICED_SECONDS = 25.0


async def test_pods_of_a_lost_target_are_replaced_in_time_and_it_stops_its_own_when_it_returns():
    async with sending("home", "a", "b") as world:
        home = world.clients["home"]
        await home.create(DEPLOYMENTS, _elected("web", 4))
        await home.create(PODS, elected_pod("lone"))
        await world.until(lambda: _available(world, 4))
        await world.until(lambda: world.runs_in("home", "lone"))
        lost = await world.runs_in("home", "lone")
        kept = "b" if lost == "a" else "a"
        superseded = {uid_of(pod) for pod in await world.placeholders("home") if _target(pod) == lost}
        await home.create(PODS, elected_pod("other", {PROXY: f"nodeSelector: {{{NODE_TARGET}: {kept}}}"}))
        await world.until(lambda: world.runs_in("home", "other"))

        world.wires[lost].hanging = True
        took = await world.until(lambda: _runs_elsewhere(world, 4, lost), LOST_SECONDS + NOTICED_SECONDS)
        assert took > LOST_SECONDS
        # Nobody would make another one, so it waits for its target.
        lone = await world.find("home", PODS, "lone")
        assert not is_deleting(lone)
        assert _target(lone) == lost

        # What was never in the lost target does not wait for it; what is there does, held by that target alone.
        for name in ("other", "lone"):
            await home.delete(PODS, name, "default")
        await world.until(lambda: _gone(world, "other"))
        await world.runtime.sleep(5)
        held = finalizers_of(await world.find("home", PODS, "lone"))
        assert [each for each in held if each.startswith(PREFIX)] == [f"{PREFIX}{lost}"]

        world.wires[lost].hanging = False
        await world.until(lambda: _gone(world, "lone"))
        await world.until(lambda: _none_of(world, superseded))
        # The superseded placeholders go once their pods have.
        await world.until(lambda: _count(world, 4))
        assert await _available(world, 4)


async def test_a_control_plane_that_dies_once_a_chaperon_is_made_binds_its_one_pod_afterwards():
    async with sending("home", "a", "b") as world:
        await world.runtime.sleep(5)
        await world.clients["home"].create(PODS, elected_pod("one", restartPolicy="Never"))
        while not (made := await _chaperons(world)):
            await world.runtime.sleep(0.005)
        await world.kill_control_plane()
        pod = await world.find("home", PODS, "one")
        assert _target(pod) == ""
        assert dig(pod, "spec", "nodeName") is None
        world.start_control_plane()
        await world.until(lambda: world.runs_in("home", "one"))
        assert await _chaperons(world) == made


async def test_15_21_26_a_pod_without_a_place_says_why_and_gets_the_first_that_there_is():
    async with sending("home", "a", "b") as world:
        home = world.clients["home"]
        await world.runtime.sleep(5)
        for target in ("a", "b"):
            await home.patch(NODES, f"admiralty-{target}", {"spec": {"unschedulable": True}})
        await world.runtime.sleep(2)
        await home.create(PODS, elected_pod("one"))
        await world.runtime.sleep(15)
        waiting = await world.find("home", PODS, "one")
        told = find_condition(dig(waiting, "status", "conditions"), "PodScheduled")
        assert told["status"] == "False"
        assert "cordoned" in told["message"]
        assert await _chaperons(world) == []
        await home.patch(NODES, "admiralty-b", {"spec": {"unschedulable": None}})
        await world.until(lambda: world.runs_in("home", "one"))
        assert await world.runs_in("home", "one") == "b"


async def test_46_48_a_target_that_is_taken_away_is_drained_first_and_may_be_made_again():
    async with sending("home", "a") as world:
        home = world.clients["home"]
        await home.create(JOBS, _job("sum"))
        await world.until(lambda: _running_pod(world))
        ((_, [(cluster, delegate)]),) = (await world.delegates("home")).items()
        await world.clients[cluster].delete(PODS, name_of(delegate), "default")
        await world.until(lambda: _complete(world, "sum"), 120)
        assert (await world.find("home", JOBS, "sum"))["status"]["succeeded"] == 1

        await home.create(PODS, elected_pod("lone"))
        await world.until(lambda: world.runs_in("home", "lone"))
        await home.delete(CLUSTER_TARGETS, "a")
        await world.until(lambda: _is_removed(world, "a"))
        assert await _cleared(world)
        # Nobody would make it again: it stays and says what became of it. What has ended stays as it was.
        lone = await world.find("home", PODS, "lone")
        assert (lone["status"]["phase"], lone["status"]["reason"]) == ("Failed", "TargetRemoved")
        assert not [pod for pod in await world.placeholders("home") if f"{PREFIX}a" in finalizers_of(pod)]
        assert (await world.find("home", JOBS, "sum"))["status"]["succeeded"] == 1

        # Another one of its name is as good as any, and takes nothing of the old one for its own.
        await home.create(CLUSTER_TARGETS, target_manifests("home", ["a"])[0])
        await home.create(PODS, elected_pod("other"))
        await world.until(lambda: world.runs_in("home", "other"))
        assert (await world.find("home", PODS, "lone"))["status"]["phase"] == "Failed"


async def _is_removed(world, target):
    return await world.find("home", CLUSTER_TARGETS, target, "") is None


PROXY = f"{PREFIX}proxy-pod-scheduling-constraints"
NODE_TARGET = f"{PREFIX}cluster-target-name"


def _elected(name, replicas):
    found = deployment(name=name, replicas=replicas)
    found["spec"]["template"]["metadata"]["annotations"] = {ELECT: ""}
    return found


def _job(name):
    annotations = {ELECT: "", "simulator.hanse.dev/run-seconds": "10"}
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "sum:1"}]}
    template = {"metadata": {"annotations": annotations}, "spec": spec}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


def _target(pod):
    return annotations_of(pod).get(TARGET, "")


async def _available(world, count):
    return dig(await world.find("home", DEPLOYMENTS, "web"), "status", "availableReplicas") == count


async def _runs_elsewhere(world, count, lost):
    pods = [pod for pod in await world.placeholders("home") if labels_of(pod).get("app") == "web"]
    running = [pod for pod in pods if dig(pod, "status", "phase") == "Running" and not is_deleting(pod)]
    return len(running) == count and all(_target(pod) != lost for pod in running)


async def _count(world, number):
    return len(await world.placeholders("home")) == number


async def _running_pod(world):
    return [pod for pod in await world.placeholders("home") if dig(pod, "status", "phase") == "Running"]


async def _none_of(world, uids):
    return not uids & (await world.delegates("home")).keys()


async def _chaperons(world):
    """The uids of all chaperons."""
    found = [obj for name in world.clusters for obj in (await world.clients[name].list(POD_CHAPERONS)).items]
    return [uid_of(obj) for obj in found if PARENT_UID in labels_of(obj)]


async def _complete(world, name):
    return is_true(dig(await world.find("home", JOBS, name), "status", "conditions"), "Complete")


async def _gone(world, name):
    return await world.find("home", PODS, name) is None


async def _cleared(world):
    return not await world.leftovers()


async def test_a_control_plane_that_died_before_it_said_where_a_pod_is_says_why_once_it_is_back():
    async with sending("home", "a", "b") as world:
        await world.clients["home"].create(PODS, elected_pod("lone"))
        while not (taken := [pods for pods in (await world.delegates("home")).values() if _has_node(pods[0][1])]):
            await world.runtime.sleep(0.001)
        await world.kill_control_plane()
        assert not _target(await world.find("home", PODS, "lone"))

        world.start_control_plane()
        await world.until(lambda: world.runs_in("home", "lone"))

        lone = await world.find("home", PODS, "lone")
        assert _target(lone) == taken[0][0][0]
        assert annotations_of(lone)[REASON]


def _has_node(pod):
    return bool(dig(pod, "spec", "nodeName"))
