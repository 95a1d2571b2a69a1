"""Lines of Admiralty's checklist that need a source and several targets at once, on virtual time."""

import functools

import pytest

from hanse.api.admiralty.keys import ENABLED, NAMESPACE_LABEL, TARGET
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.admiralty.nodes import is_virtual
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import annotations_of, dig, name_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, NAMESPACES, NODES, PODS
from hanse.pods.placeholder.reading import answers_of, attempt_of
from tests.simulation.pods.world import ELECT, elected_pod, sending
from tests.simulation.world import deployment

# Whole federations, and more of them than belongs into every run.
pytestmark = [pytest.mark.looptime, pytest.mark.timeout(120), pytest.mark.kubernetes]


async def test_14_a_pod_ends_in_the_one_target_whose_nodes_can_run_it():
    async with sending("home", "a", "b") as world:
        for node in (await world.clients["b"].list(NODES)).items:
            if not is_virtual(node):
                await world.clients["b"].patch(NODES, name_of(node), {"metadata": {"labels": {"disk": "ssd"}}})
        # Several, so that some of them are offered to the target that cannot run them.
        names = [f"picky-{count}" for count in range(3)]
        for name in names:
            await world.clients["home"].create(PODS, elected_pod(name, nodeSelector={"disk": "ssd"}))
        for name in names:
            await world.until(functools.partial(world.runs_in, "home", name))
        assert {await world.runs_in("home", name) for name in names} == {"b"}
        found = [await world.find("home", PODS, name) for name in names]
        assert max(attempt_of(pod) for pod in found) == 2


async def test_15_26_a_pod_that_no_target_can_run_waits_and_gets_the_first_place_that_opens():
    async with sending("home", "a", "b") as world:
        await world.clients["home"].create(PODS, elected_pod("picky", nodeSelector={"disk": "ssd"}))

        async def told():
            pod = await world.find("home", PODS, "picky")
            scheduled = find_condition(dig(pod, "status", "conditions"), "PodScheduled") or {}
            return "no cluster is chosen" in scheduled.get("message", "") and set(answers_of(pod)) == {"a", "b"}

        await world.until(told)
        assert await world.runs_in("home", "picky") == ""
        await world.clients["a"].patch(NODES, "a-node-1", {"metadata": {"labels": {"disk": "ssd"}}})
        opened = world.runtime.monotonic()
        await world.until(functools.partial(world.runs_in, "home", "picky"))
        assert await world.runs_in("home", "picky") == "a"
        # The targets are asked again after a minute, and the other one may be asked first.
        assert world.runtime.monotonic() - opened < 90.0


async def test_41_42_45_what_owners_and_people_delete_is_gone_everywhere_and_replaced_where_it_should():
    async with sending("home", "a", "b") as world:
        home = world.clients["home"]

        async def available():
            found = await world.find("home", DEPLOYMENTS, "web")
            return dig(found, "status", "availableReplicas") == 1

        async def placed():
            (pod,) = await world.placeholders("home")
            ((_, delegates),) = (await world.delegates("home")).items()
            return pod, delegates[0]

        def replaced(uid):
            async def holds():
                found = [uid_of(pod) for pod in await world.placeholders("home")]
                return len(found) == 1 and found[0] != uid and await available() and not await others(uid)

            async def others(uid):
                return (await world.delegates("home")).get(uid)

            return holds

        await home.create(DEPLOYMENTS, _elected("web", "100m"))
        await world.until(available)
        for kind in (PODS, POD_CHAPERONS):
            pod, (cluster, delegate) = await placed()
            await world.clients[cluster].delete(kind, name_of(delegate), "default")
            await world.until(replaced(uid_of(pod)))

        await home.create(DEPLOYMENTS, _elected("big", "1k"))
        await world.until(lambda: _count(world, 2))
        waiting = [pod for pod in await world.placeholders("home") if TARGET not in annotations_of(pod)]
        assert len(waiting) == 1
        await home.delete(DEPLOYMENTS, "big", "default")
        await world.until(lambda: _count(world, 1))
        await home.delete(DEPLOYMENTS, "web", "default")
        await world.until(lambda: _count(world, 0))
        assert await world.leftovers() == []


async def _count(world, number):
    return len(await world.placeholders("home")) == number


def _elected(name, cpu):
    found = deployment(name=name, replicas=1)
    template = found["spec"]["template"]
    template["metadata"]["annotations"] = {ELECT: ""}
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return found


async def test_16_a_target_without_the_namespace_is_left_out():
    async with sending("home", "away", "far") as world:
        team = {"metadata": {"name": "team", "labels": {NAMESPACE_LABEL: ENABLED}}}
        for name in ("home", "far"):
            await world.clients[name].create(NAMESPACES, team)
        for number in range(4):
            stranger = elected_pod(f"stranger-{number}")
            stranger["metadata"]["namespace"] = "team"
            await world.clients["home"].create(PODS, stranger)

        async def all_run_in_far():
            found = [await world.runs_in("home", f"stranger-{number}", "team") for number in range(4)]
            return set(found) == {"far"}

        await world.until(all_run_in_far)
