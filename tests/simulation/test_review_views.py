"""What is decided and told while a member has not been seen, or was seen a while ago; on virtual time."""

import orjson
import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.names import (
    CLUSTER_SELECTOR_ANNOTATION,
    DEPLOYMENT_PREFERENCES_ANNOTATION,
    MANAGED_LABEL,
    OWNER_ANNOTATION,
    STATUS_ANNOTATION,
)
from hanse.kube.conditions import find_condition
from hanse.kube.errors import Forbidden
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, EVENTS, SECRETS
from hanse.kube.transport import Response
from tests.simulation.wires import Passing, restart_through
from tests.simulation.world import ADMINISTRATOR, config, deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


class Forbids(Passing):
    """A transport as of a user who may do nothing with one kind."""

    def __init__(self, inner, plural):
        super().__init__(inner)
        self._plural = plural

    async def send(self, request, timeout):
        if self._plural in request.path.split("/"):
            return Response(403, {}, orjson.dumps(self._refusal()))
        return await self.inner.send(request, timeout)

    async def stream(self, request, timeout):
        if self._plural in request.path.split("/"):
            raise Forbidden(403, "Forbidden", self._refusal()["message"])
        return await self.inner.stream(request, timeout)

    def _refusal(self):
        message = f'{self._plural} is forbidden: User "hanse" cannot list resource "{self._plural}" in API group ""'
        return {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": message}


async def spread_is(world, **wanted):
    return await world.spread() == wanted


async def available_is(world, count, *clusters):
    return await world.available(*clusters) == count


async def lowest_over(world, seconds):
    lowest = await world.available()
    for _ in range(int(seconds * 20)):
        await world.runtime.sleep(0.05)
        lowest = min(lowest, await world.available())
    return lowest


class TestARestartInTheMiddleOfAMove:
    async def test_takes_no_healthy_replica_before_the_new_place_is_ready(self):
        """Guards against this: after a start plan() runs before members are seen and takes the final shares for the
        next step.
        """
        selector = '[{"key": "only", "operator": "Exists"}]'
        async with federation() as world:
            await world.host.patch(CLUSTERS, "a", {"metadata": {"labels": {"only": "yes"}}})
            await world.host.create(DEPLOYMENTS, deployment(**{CLUSTER_SELECTOR_ANNOTATION: selector}))
            await world.until(lambda: spread_is(world, a=9))
            patch = {"metadata": {"annotations": {CLUSTER_SELECTOR_ANNOTATION: None}}}
            await world.host.patch(DEPLOYMENTS, "web", patch, "default")
            await world.runtime.sleep(0.5)
            await world.kill_control_plane()

            world.start_control_plane()

            assert await lowest_over(world, 30) >= 9
            assert await world.spread() == {"a": 3, "b": 3, "c": 3}

    async def test_keeps_what_runs_where_the_preferences_say_that_it_stays(self):
        """Guards against this: with rebalance off the plan depends on what runs, which nobody has seen yet after a
        start.
        """
        preferences = orjson.dumps({"rebalance": False, "clusters": {"*": {"weight": 1}}}).decode()
        async with federation() as world:
            await world.fail("b")
            await world.until(lambda: world.cluster_is("b", "Offline"))
            await world.host.create(DEPLOYMENTS, deployment(**{DEPLOYMENT_PREFERENCES_ANNOTATION: preferences}))
            await world.until(lambda: available_is(world, 9, "a", "c"))
            world.heal("b")
            await world.until(lambda: world.cluster_is("b", "Ready"))
            await world.runtime.sleep(20)
            before = await world.spread()

            await world.kill_control_plane()
            world.start_control_plane()
            lowest = await lowest_over(world, 30)

            assert lowest >= 9
            assert await world.spread() == before


async def test_a_slow_first_list_is_not_reported_as_missing_replicas():
    """Guards against this: a member that was not seen yet counts as one that has nothing, in the status of every
    source.
    """
    async with federation() as world:
        await world.host.create(DEPLOYMENTS, deployment())
        await world.until(lambda: spread_is(world, a=3, b=3, c=3))
        await world.runtime.sleep(30)
        await world.kill_control_plane()
        world.wires["b"].latency = 2.4
        world.forget_writes()

        world.start_control_plane()
        await world.runtime.sleep(60)

        assert world.writes() == {}


async def test_a_healed_member_is_not_counted_on_by_what_it_had_before_it_failed():
    """Guards against this: a member is Ready again while its caches still wait in a pause of up to ten seconds; the
    old view counts.
    """
    async with federation() as world:
        await world.host.create(DEPLOYMENTS, deployment())
        await world.until(lambda: spread_is(world, a=3, b=3, c=3))
        await world.fail("b")
        await world.until(lambda: available_is(world, 9, "a", "c"))
        await world.runtime.sleep(67)
        await world.clients["b"].delete(DEPLOYMENTS, "web", "default")
        world.heal("b")

        assert await lowest_over(world, 60) >= 9


async def test_a_member_that_forbids_one_kind_is_named_on_its_objects():
    """Guards against this: a cache that cannot list is never `seen`, and Cache.last_error is told to nobody."""
    async with federation() as world:
        forbidden = Forbids(world.servers["b"].connect(ADMINISTRATOR, as_remote=True), "configmaps")
        await restart_through(world, "b", forbidden)
        await world.host.create(CONFIGMAPS, config())

        await world.runtime.sleep(60)

        source = await world.host.get(CONFIGMAPS, "settings", "default")
        assert "forbidden" in source["metadata"].get("annotations", {}).get(STATUS_ANNOTATION, "")


async def test_a_member_that_forbids_one_kind_delays_no_other_kind_and_no_other_member():
    """everything else goes on."""
    async with federation() as world:
        forbidden = Forbids(world.servers["b"].connect(ADMINISTRATOR, as_remote=True), "configmaps")
        await restart_through(world, "b", forbidden)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "default"}}
        await world.host.create(CONFIGMAPS, config())
        await world.host.create(SECRETS, secret)

        async def everywhere():
            return [await world.managed(name, SECRETS) for name in "abc"] == [["keys"]] * 3

        await world.until(everywhere)

        assert await world.managed("a", CONFIGMAPS) == ["settings"]
        assert await world.managed("c", CONFIGMAPS) == ["settings"]


def foreign(replicas=4):
    web = deployment(replicas=replicas, **{OWNER_ANNOTATION: "00000000-0000-4000-8000-000000000000"})
    web["metadata"]["labels"] = {MANAGED_LABEL: "true"}
    return web


class TestAnObjectThatBearsOurLabelForAnotherOwner:
    async def test_is_not_counted_in_the_status(self):
        """Guards against this: _rows takes whatever bears the label for the source's copy, without owned_by."""
        async with federation() as world:
            await world.clients["b"].create(DEPLOYMENTS, foreign())
            await world.runtime.sleep(10)

            await world.host.create(DEPLOYMENTS, deployment())
            await world.runtime.sleep(30)

            source = await world.host.get(DEPLOYMENTS, "web", "default")
            assert source["status"]["availableReplicas"] == await world.available("a", "c")
            assert find_condition(source["status"]["conditions"], "Propagated")["message"].startswith("b: an object of")

    async def test_is_not_waited_for_where_the_source_has_nothing_to_do(self):
        """Guards against this: as above; observedGeneration never moves and `kubectl rollout status` never returns."""
        selector = '[{"key": "stay", "operator": "Exists"}]'
        async with federation() as world:
            await world.clients["b"].create(DEPLOYMENTS, foreign())
            for name in "ac":
                await world.host.patch(CLUSTERS, name, {"metadata": {"labels": {"stay": "yes"}}})

            await world.host.create(DEPLOYMENTS, deployment(**{CLUSTER_SELECTOR_ANNOTATION: selector}))
            await world.runtime.sleep(60)

            source = await world.host.get(DEPLOYMENTS, "web", "default")
            assert find_condition(source["status"]["conditions"], "Propagated")["status"] == "True"
            assert source["status"].get("observedGeneration") == source["metadata"]["generation"]

    async def test_is_left_as_it_is(self):
        """neither changed nor deleted, whatever becomes of the source."""
        async with federation() as world:
            await world.clients["b"].create(DEPLOYMENTS, foreign())
            await world.host.create(DEPLOYMENTS, deployment(image="web:2"))
            await world.runtime.sleep(30)
            await world.host.delete(DEPLOYMENTS, "web", "default")

            async def gone():
                return await world.find("host", DEPLOYMENTS, "web") is None

            await world.until(gone)

            copy = await world.find("b", DEPLOYMENTS, "web")
            assert copy["spec"]["replicas"] == 4
            assert copy["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"


async def test_a_trouble_that_stays_the_same_is_told_once():
    """a member that refuses is told, others are served, and nothing is written while nothing changes."""
    async with federation() as world:
        await world.clients["b"].create(CONFIGMAPS, config(color="theirs"))
        await world.host.create(CONFIGMAPS, config())
        await world.runtime.sleep(60)
        world.forget_writes()

        await world.runtime.sleep(600)

        events = [event["reason"] for event in (await world.host.list(EVENTS, "default")).items]
        assert events.count("PropagationFailed") == 1
        assert {name: paths for name, paths in world.writes().items() if name != "b"} == {}
