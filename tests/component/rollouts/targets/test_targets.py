"""What the three targets of a release say while members are given pods and traffic, on virtual time.

A world costs more than what happens in it: each test is a story of several behaviours.
"""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.api.clusters import CLUSTERS, MODE_ANNOTATION, PULL
from hanse.api.pieces import PIECES
from hanse.api.shipper.kinds import CAPACITY_TARGETS, TRAFFIC_TARGETS
from hanse.kube.manifest import labels_of, name_of
from hanse.kube.resources import DEPLOYMENTS, ENDPOINT_SLICES, PODS, SERVICES
from tests.component.rollouts.targets.stage import NAMESPACE, condition_of, entry_of, load_balanced, said, targets

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(120)]


async def test_a_release_is_installed_scaled_given_traffic_and_left_alone_and_a_new_control_plane_goes_on():
    async with targets("a", "b") as world:
        await world.release("web-1", 0, "b", "a", percent=1)
        await world.until(lambda: world.is_ready("web-1"))
        capacity = await world.target("ct", "web-1")
        assert [entry["name"] for entry in capacity["status"]["clusters"]] == ["a", "b"]
        assert entry_of(capacity, "a")["availableReplicas"] == 1
        assert entry_of(capacity, "a")["achievedPercent"] == 34
        assert entry_of(capacity, "a")["reports"][0]["owner"] == {"name": "web-1"}
        assert await world.enabled("a", "web-1") == []

        world.forget_writes()
        await world.weigh("web-1", 100)
        await world.resize("web-1", 100)
        await world.until(lambda: has_pods(world, "a", 3))
        assert await world.until(lambda: world.has_enabled("a", "web-1", 3)) < 1.0
        took = await world.until(lambda: world.is_ready("web-1"))
        assert len(world.status_writes()) <= 2 * (3 + (1 + took) / 0.3)
        assert entry_of(await world.target("tt", "web-1"), "b")["achievedTraffic"] == 100
        assert entry_of(await world.target("ct", "web-1"), "b")["achievedPercent"] == 100

        await world.runtime.sleep(10)
        world.forget_writes()
        await world.runtime.sleep(30)
        assert world.writes() == {}
        await world.kill_control_plane()
        world.start_control_plane()
        await world.runtime.sleep(10)
        assert world.status_writes() == []

        await world.kill_control_plane()
        await world.clients["a"].delete_collection(PODS, NAMESPACE)
        await world.until(lambda: has_pods(world, "a", 3))
        assert await world.enabled("a", "web-1") == []
        world.start_control_plane()
        assert await world.until(lambda: world.has_enabled("a", "web-1", 3)) < 5
        await world.until(lambda: world.is_ready("web-1"))


async def has_pods(world, cluster, count):
    return len(await world.pods(cluster, "web-1")) == count


async def test_clients_move_to_the_next_release_while_enough_pods_serve_and_back_when_it_is_gone():
    async with targets("a", "b") as world:
        await world.release("web-1", 0, "a", percent=100, weight=100)
        await world.until(lambda: world.is_ready("web-1"))
        await world.release("web-2", 1, "a", "b", percent=100)
        await world.until(lambda: world.is_ready("web-2"))
        assert await world.enabled("a", "web-2") == []
        assert await world.is_ready("web-1", "it")
        assert labels_of(await world.find("a", SERVICES, "web"))["shipper-release"] == "web-2"

        async with serving(world, "a") as seen:
            # Both at once, which no strategy does: what the one loses still waits for the other.
            await world.weigh("web-1", 0)
            await world.weigh("web-2", 100)
            for name in ("web-2", "web-1"):
                await world.until(lambda name=name: world.is_ready(name))
        assert min(seen) >= 3
        assert len(await world.enabled("a", "web-2")) == 3
        disabled = await world.pods("a", "web-1")
        assert {labels_of(pod)["shipper-traffic-status"] for pod in disabled} == {"disabled"}

        for name in ("web-2", "web-2-service-web"):
            await world.host.delete(PIECES, name, NAMESPACE)
        await world.weigh("web-2", 0)
        await world.weigh("web-1", 1)
        before = {name_of(pod) for pod in await world.pods("a", "web-1")}
        await world.clients["a"].delete(DEPLOYMENTS, "web-1", NAMESPACE)
        await world.until(lambda: world.says("ct", "web-1", "False", "a: "))
        await world.until(lambda: world.says("it", "web-2", "False", "a: InternalError"))
        await world.until(lambda: world.is_ready("web-1"))
        assert labels_of(await world.find("a", SERVICES, "web"))["shipper-release"] == "web-1"
        enabled = await world.enabled("a", "web-1")
        assert len(enabled) == 3
        assert not before & set(enabled)


@asynccontextmanager
async def serving(world, cluster):
    """Note how many endpoints are ready, twenty times a second."""
    seen = []

    async def follow():
        while True:
            slices = await world.clients[cluster].list(ENDPOINT_SLICES, NAMESPACE, labels="shipper-lb=production")
            endpoints = [each for entry in slices.items for each in entry["endpoints"]]
            seen.append(sum(each["conditions"]["ready"] for each in endpoints))
            await world.runtime.sleep(0.05)

    following = asyncio.create_task(follow())
    try:
        yield seen
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_a_cluster_that_hangs_or_is_lost_is_unknown_names_itself_and_delays_nobody_else():
    async with targets("a", "b") as world:
        await world.release("web-1", 0, "a", "b", percent=100)
        await world.until(lambda: world.is_ready("web-1"))

        world.wires["a"].hanging = True
        await world.weigh("web-1", 1)
        assert await world.until(lambda: world.has_enabled("b", "web-1", 3)) < 2
        await world.until(lambda: is_current_in(world, "tt", "b"), seconds=3)
        assert said(await world.target("tt", "web-1"))[0] == "False"
        world.wires["a"].hanging = False
        await world.until(lambda: world.is_ready("web-1"))

        await world.fail("a")
        for kind in ("it", "ct", "tt"):
            await world.until(lambda kind=kind: world.says(kind, "web-1", "False", "a: InternalError cluster"))
            found = await world.target(kind, "web-1")
            assert condition_of(entry_of(found, "a"), "Operational")[0] == "False"
            assert condition_of(entry_of(found, "a"), "Ready")[0] == "Unknown"
            assert condition_of(entry_of(found, "b"), "Ready")[0] == "True"
        await world.resize("web-1", 34)
        await world.until(lambda: is_current_in(world, "ct", "b"))
        assert entry_of(await world.target("ct", "web-1"), "b")["availableReplicas"] == 2
        assert condition_of(entry_of(await world.target("ct", "web-1"), "a"), "Ready")[0] == "Unknown"

        world.heal("a")
        await world.until(lambda: world.is_ready("web-1"))


async def is_current_in(world, kind, cluster):
    found = await world.target(kind, "web-1")
    current = found["status"]["observedGeneration"] == found["metadata"]["generation"]
    return current and condition_of(entry_of(found, cluster), "Ready")[0] == "True"


async def test_each_trouble_is_said_in_its_own_words():
    async with targets("a") as world:
        member = world.clients["a"]
        theirs = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "taken", "namespace": NAMESPACE}}
        await member.create(SERVICES, {**theirs, "spec": {"ports": [{"port": 1}]}})
        await world.release("taken-1", 0, "a", app="taken")

        crash = {"annotations": {"simulator.hanse.dev/run-seconds": "0.2", "simulator.hanse.dev/exit-code": "3"}}
        await world.release("crash-1", 0, "a", app="crash", replicas=7, percent=100, weight=1, pod=crash)

        blind = {"shipper-app": "blind", "shipper-release": "blind-1"}
        selecting_nothing = load_balanced("blind", blind, tier="nowhere")
        await world.release("blind-1", 0, "a", app="blind", percent=100, weight=1, service=selecting_nothing)

        agent = {"name": "pulls", "annotations": {MODE_ANNOTATION: PULL}}
        pulling = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "metadata": agent, "spec": {}}
        await world.host.create(CLUSTERS, pulling)
        await world.release("far-1", 0, "nowhere", "pulls", app="far")

        await world.release("none-1", 0, "a", app="none", replicas=0, percent=100, weight=1)
        await world.release("web-1", 0, "a", percent=100)

        missing = (
            'a: InternalError Service "default/taken" cannot be updated as it does not belong to the application: '
        )
        await world.until(lambda: world.says("it", "taken-1", "False", missing))
        assert condition_of((await world.target("it", "taken-1"))["status"], "Operational")[0] == "True"
        assert (await member.get(SERVICES, "taken", NAMESPACE))["spec"]["ports"][0]["port"] == 1

        sad = 'a: PodsNotReady 5/7: 5x"app" containers with ['
        await world.until(lambda: world.says("ct", "crash-1", "False", sad))
        await world.until(
            lambda: world.says("tt", "crash-1", "False", "a: PodsNotReady 7/7 pods designated to receive")
        )
        assert len(entry_of(await world.target("ct", "crash-1"), "a")["sadPods"]) == 5
        assert await world.is_ready("crash-1", "it")

        outside = "a: PodsNotInEndpoints 3/3 pods designated to receive traffic are not yet in endpoints"
        await world.until(lambda: world.says("tt", "blind-1", "False", outside))
        await member.create(SERVICES, load_balanced("second", blind))
        two = 'a: InternalError expected 1 Service for selector "shipper-app=blind,shipper-lb=production"'
        await world.until(lambda: world.says("tt", "blind-1", "False", two))
        assert condition_of(entry_of(await world.target("tt", "blind-1"), "a"), "Operational")[0] == "False"
        await member.delete(SERVICES, "second", NAMESPACE)
        await world.until(lambda: world.says("tt", "blind-1", "False", outside))

        unknown = (
            'nowhere: InternalError cluster "nowhere" unknown; please check if cluster exists in management cluster; '
        )
        for kind, pulls in {"it": "is not ready", "ct": "is not ready", "tt": "fetches its work itself"}.items():
            told = f'{unknown}pulls: InternalError cluster "pulls" {pulls}'
            await world.until(lambda kind=kind, told=told: world.says(kind, "far-1", "False", told))

        await world.until(lambda: world.is_ready("none-1"))
        assert entry_of(await world.target("ct", "none-1"), "a")["achievedPercent"] == 0

        await world.until(lambda: world.is_ready("web-1"))
        found = await world.target("tt", "web-1")
        metadata = {"name": "twin", "namespace": NAMESPACE, "labels": labels_of(found)}
        twin = {**found, "metadata": metadata, "spec": {"clusters": [{"name": "a", "weight": 5}]}}
        await world.host.create(TRAFFIC_TARGETS, twin)
        told = 'multiple TrafficTargets for the same release "default/web-1": [twin web-1]'
        for name in ("web-1", "twin"):
            await world.until(lambda name=name: world.says("tt", name, "Unknown", told))
        assert await world.enabled("a", "web-1") == []
        await world.host.delete(TRAFFIC_TARGETS, "twin", NAMESPACE)
        await world.weigh("web-1", 1)
        await world.until(lambda: world.is_ready("web-1"))

        await without_pods(world, "web-2")
        await world.weigh("web-1", 0)
        awaited = "a: InProgress 3/3 pods are not there yet"
        await world.until(lambda: world.says("tt", "web-2", "False", awaited))
        assert len(await world.enabled("a", "web-1")) == 3
        await world.resize("web-2", 1)
        await world.until(lambda: world.says("tt", "web-2", "False", awaited.replace("3", "1")))
        assert len(await world.enabled("a", "web-1")) == 1


async def without_pods(world, name):
    """Ask for the pods and the traffic of a release that is nowhere."""
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"shipper-app": "web", "shipper-release": name}}
    await world._create(
        CAPACITY_TARGETS, metadata, {"clusters": [{"name": "a", "percent": 100, "totalReplicaCount": 3}]}
    )
    await world._create(TRAFFIC_TARGETS, metadata, {"clusters": [{"name": "a", "weight": 100}]})
