"""What people and clusters do while releases roll out; every scenario has an application of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import pytest

from hanse.api.names import FEDERATE_ANNOTATION
from hanse.api.shipper.kinds import (
    APP_LABEL,
    APPLICATIONS,
    OVERRIDE_ANNOTATION,
    RELEASE_LABEL,
    RELEASES,
    ROLLOUT_BLOCKS,
)
from hanse.kube.conditions import find_condition
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of, name_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, PODS, SERVICES
from tests.behaviour.rollouts import ByClient, achieved, condition, pods_of, replicas_of, rolling_out
from tests.simulation.rollouts.applications import VANGUARD, application, never_ready, packed
from tests.simulation.rollouts.world import RolloutWorld

Scenario = Callable[[RolloutWorld], Coroutine[Any, Any, None]]


async def an_abort_half_way_brings_the_incumbent_back_before_the_contender_goes(world: RolloutWorld) -> None:
    """Line 15, as careful as a rollout: clients are led to as many pods as before all the while."""
    first = await world.full_on("v1", name="aborted", steps=VANGUARD)
    (cluster,) = await world.clusters_of(first)
    traffic = world.traffic.cluster(cluster)
    world.traffic.promise("aborted", 3, cluster)
    await world.upgrade("v2", name="aborted")
    second = await world.contender("aborted", 1)
    await world.go_to(second, 1)
    await achieved(world.people, second, 1, "50/50")
    assert traffic.served("aborted") == {first: 2, second: 2}

    await world.host.delete(RELEASES, second, "default")
    await world.people.until_gone(RELEASES, second)
    await world.until(lambda: traffic.served("aborted") == {first: 3})
    active = ("False", f'Release "{first}" is active')
    stored = await world.people.until(APPLICATIONS, "aborted", lambda found: rolling_out(found) == active)
    assert stored["spec"]["template"]["source"] == {"manifests": {"location": "configmap://aborted-v1"}}
    assert condition(stored, "Aborting", "False")
    assert stored["status"]["history"] == [first]
    await world.until(lambda: traffic.pods_of(second) == 0)


async def what_is_deleted_by_hand_comes_back_with_its_replicas_and_its_traffic(world: RolloutWorld) -> None:
    """Lines 58 and 65: a pod, and then the whole Deployment. Who counts the pods notices."""
    release = await world.full_on("v1", name="kept")
    (name,) = await world.clusters_of(release)
    cluster, traffic = world.inside(name), world.traffic.cluster(name)
    world.traffic.promise("kept", 3, name)
    pods = await cluster.pods(**{RELEASE_LABEL: release})
    await cluster.client.delete(PODS, name_of(pods[0]), "default")
    await world.until(lambda: traffic.served("kept") == {release: 2})
    assert world.traffic.take_back("kept")
    await world.until(lambda: traffic.served("kept") == {release: 3})

    (deployment,) = [each for each in await cluster.all(DEPLOYMENTS) if labels_of(each).get(RELEASE_LABEL) == release]
    await cluster.client.delete(DEPLOYMENTS, name_of(deployment), "default")
    await world.until(lambda: traffic.served("kept") == {})
    await world.until(lambda: traffic.served("kept") == {release: 3})


async def replicas_that_come_later_are_led_to(world: RolloutWorld) -> None:
    """Line 58: none at first, then two."""
    empty = await world.full_on("v1", name="late", replicas=0)
    (name,) = await world.clusters_of(empty)
    assert await pods_of(world.inside(name), empty) == (0, 0)
    await world.upgrade("v2", name="late", replicas=2)
    later = await world.contender("late", 1)
    await world.go_to(later, 1)
    await achieved(world.people, later, 1, "full on")
    assert await pods_of(world.inside(name), later) == (2, 2)


async def a_service_of_somebody_else_is_left_alone(world: RolloutWorld) -> None:
    """Lines 26 and 64: what is not installed gets no capacity either."""
    for name in world.clusters:
        spec = {"ports": [{"port": 80}], "selector": {"theirs": "yes"}}
        await world.inside(name).create(SERVICES, "taken", spec)
    await world.apply("v1", name="taken")
    release = await world.contender("taken", 0)
    stored = await world.people.until(RELEASES, release, lambda found: "taken" in _not_installed(found))
    assert dig(stored, "status", "strategy", "state", "waitingForInstallation") == "True"
    (name,) = await world.clusters_of(release)
    service = await world.inside(name).get(SERVICES, "taken")
    assert service["spec"]["selector"] == {"theirs": "yes"}
    assert APP_LABEL not in labels_of(service)
    await world.runtime.sleep(5)
    assert await replicas_of(world.inside(name), release) == 0


async def a_namespace_that_a_cluster_lacks_is_waited_for(world: RolloutWorld) -> None:
    """Line 68: nobody makes it there, for it is not federated; somebody does at last."""
    mine = {FEDERATE_ANNOTATION: "false"}
    namespace: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later", "annotations": mine}}
    await world.host.create(NAMESPACES, namespace)
    for resource, made in ((CONFIGMAPS, packed("v1", name="web")), (APPLICATIONS, application("v1", name="web"))):
        metadata = {**made["metadata"], "namespace": "later", "annotations": mine}
        await world.host.create(resource, {**made, "metadata": metadata})
    people = ByClient(world.host, "later")
    stored = await people.until(APPLICATIONS, "web", lambda found: dig(found, "status", "history"))
    (release,) = stored["status"]["history"]
    await people.until(RELEASES, release, lambda found: "later" in _not_installed(found))
    await world.runtime.sleep(5)
    for name in world.clusters:
        await world.clients[name].create(NAMESPACES, {**namespace, "metadata": {"name": "later"}})
    await achieved(people, release, 0, "staging")


async def a_block_holds_what_people_ask_for_and_not_what_runs(world: RolloutWorld) -> None:
    """Lines 70, 72, 73, 75 and 76."""
    first = await world.full_on("v1", name="blocked")
    (name,) = await world.clusters_of(first)
    cluster, traffic = world.inside(name), world.traffic.cluster(name)
    await world.upgrade("v2", name="blocked")
    second = await world.contender("blocked", 1)
    await achieved(world.people, second, 0, "staging")
    freeze = {"message": "a holiday", "author": {"type": "user", "name": "jdoe"}}
    await world.people.create(ROLLOUT_BLOCKS, "freeze", freeze)
    await world.people.until(RELEASES, second, lambda found: condition(found, "Blocked", "True"))
    with pytest.raises(Forbidden, match="default/freeze"):
        await world.go_to(second, 1)
    with pytest.raises(Forbidden, match="default/freeze"):
        await world.host.delete(RELEASES, second, "default")
    # Labels are no rollout, and what runs is looked after.
    await world.people.change(APPLICATIONS, "blocked", {"metadata": {"labels": {"team": "a"}}})
    pods = await cluster.pods(**{RELEASE_LABEL: first})
    await cluster.client.delete(PODS, name_of(pods[0]), "default")
    await world.until(lambda: traffic.served("blocked") == {first: 2})
    await world.until(lambda: traffic.served("blocked") == {first: 3})

    override = {"metadata": {"annotations": {OVERRIDE_ANNOTATION: "default/freeze"}}}
    await world.people.change(RELEASES, second, override)
    await world.go_to(second, 1)
    await achieved(world.people, second, 1, "full on")

    await world.host.delete(ROLLOUT_BLOCKS, "freeze", "default")
    release = await world.people.until(RELEASES, second, lambda found: not _overrides_of(found))
    assert condition(release, "Blocked", "False")


async def a_cluster_that_is_away_holds_a_step_up_and_no_incumbent_is_lowered_anywhere(world: RolloutWorld) -> None:
    """Lines 24, 29 and 48: the step waits for all clusters, is told which, and goes on when it is back."""
    first = await world.full_on("v1", name="spread", clusters=2)
    world.traffic.promise("spread", 3, "a", "b")
    await world.upgrade("v2", name="spread")
    second = await world.contender("spread", 1)
    await achieved(world.people, second, 0, "staging")
    await world.go_to(second, 1)
    await world.until(lambda: world.traffic.cluster("a").pods_of(second) == 3)

    await world.fail("b")
    await world.until(lambda: world.cluster_is("b", "Offline"))
    await world.runtime.sleep(10)
    assert await pods_of(world.inside("a"), second) == (3, 0)
    assert world.traffic.cluster("a").served("spread") == {first: 3}
    release = await world.people.get(RELEASES, second)
    assert dig(release, "status", "achievedStep", "step") == 0
    told = [each["message"] for each in release["status"]["strategy"]["conditions"] if each["status"] == "False"]
    assert "cannot be reached: [b]" in " ".join(told)

    world.heal("b")
    await achieved(world.people, second, 1, "full on")
    for name in ("a", "b"):
        assert world.traffic.cluster(name).served("spread") == {second: 3}
        assert await replicas_of(world.inside(name), first) == 0


async def a_strategy_goes_on_by_itself_wave_by_wave_and_takes_a_broken_release_back(world: RolloutWorld) -> None:
    """Beyond Shipper: pauses that end by themselves, waves, and a deadline."""
    made = application("v1", name="alone", steps=VANGUARD, clusters=2)
    strategy = made["spec"]["template"]["strategy"]
    strategy["steps"][0]["pause"], strategy["steps"][1]["pause"] = {"duration": "10s"}, {"duration": "20s"}
    strategy["waves"] = [{"name": "first", "clusters": ["a"], "pause": "5s"}, {"name": "rest"}]
    strategy["deadline"] = {"duration": "60s", "then": "Abort"}
    await world.host.create(CONFIGMAPS, packed("v1", name="alone"))
    await world.host.create(APPLICATIONS, made)
    await achieved(world.people, await world.contender("alone", 0), 2, "full on")
    world.traffic.promise("alone", 3, "a", "b")

    begin = world.runtime.monotonic()
    await world.upgrade("v2", name="alone")
    second = await world.contender("alone", 1)
    await world.until(lambda: second in world.traffic.cluster("a").served("alone"))
    assert second not in world.traffic.cluster("b").served("alone")
    await achieved(world.people, second, 2, "full on")
    # Two pauses, and in each of three steps one between the waves; the rest is the pods' own time.
    assert 45 <= world.runtime.monotonic() - begin <= 60

    await world.host.create(CONFIGMAPS, never_ready("v3", "alone"))
    await world.upgrade("v3", name="alone")
    broken, begin = await world.contender("alone", 2), world.runtime.monotonic()
    await world.people.until_gone(RELEASES, broken)
    assert 55 <= world.runtime.monotonic() - begin <= 65
    active = ("False", f'Release "{second}" is active')
    await world.people.until(APPLICATIONS, "alone", lambda found: rolling_out(found) == active)
    for name in ("a", "b"):
        assert world.traffic.cluster(name).served("alone") == {second: 3}


def _not_installed(release: Obj) -> str:
    conditions = dig(release, "status", "strategy", "conditions", default=[])
    found = find_condition(conditions, "ContenderAchievedInstallation") or {}
    return found.get("message", "") if found.get("status") == "False" else ""


def _overrides_of(obj: Obj) -> str:
    return annotations_of(obj).get(OVERRIDE_ANNOTATION, "")


# All at once, for they have nothing to do with each other.
TOGETHER = (
    an_abort_half_way_brings_the_incumbent_back_before_the_contender_goes,
    what_is_deleted_by_hand_comes_back_with_its_replicas_and_its_traffic,
    a_service_of_somebody_else_is_left_alone,
    a_namespace_that_a_cluster_lacks_is_waited_for,
)
# One after the other, for the others would notice; `make soak-guards` plays them.
ALONE = (
    replicas_that_come_later_are_led_to,
    a_block_holds_what_people_ask_for_and_not_what_runs,
    a_cluster_that_is_away_holds_a_step_up_and_no_incumbent_is_lowered_anywhere,
    a_strategy_goes_on_by_itself_wave_by_wave_and_takes_a_broken_release_back,
)


async def play(world: RolloutWorld, *, together: Iterable[Scenario], alone: Iterable[Scenario] = ()) -> None:
    """Play scenarios, and see that clients were led to enough pods all the while."""
    async with asyncio.TaskGroup() as scenarios:
        for scenario in together:
            scenarios.create_task(scenario(world))
    for scenario in alone:
        await scenario(world)
    assert world.traffic.found == []
