"""Deletion under races: what is in flight, what nobody sees, what is no longer admitted; on virtual time."""

import asyncio

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.names import CLUSTER_SELECTOR_ANNOTATION, FINALIZER, MANAGED_LABEL, STATUS_ANNOTATION
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, EVENTS, NAMESPACES
from hanse.kube.transport import Unreachable
from tests.simulation.wires import Passing, restart_through
from tests.simulation.world import ADMINISTRATOR, config, deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

NOT_C = '[{"key": "drain", "operator": "DoesNotExist"}]'


async def has(world, cluster, name="settings", namespace="default", resource=CONFIGMAPS):
    return await world.find(cluster, resource, name, namespace) is not None


async def gone(world, cluster, name="settings", namespace="default", resource=CONFIGMAPS):
    return not await has(world, cluster, name, namespace, resource)


def namespace(name="shop", **annotations):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": annotations}}


class Frozen(Passing):
    """A transport whose open watches lag, or fall silent as behind a router that forgot the connection."""

    def __init__(self, inner, lag=0.0):
        super().__init__(inner)
        self.frozen = False
        self.lag = lag

    async def stream(self, request, timeout):
        return _FrozenStream(self, await self.inner.stream(request, timeout))


class _FrozenStream:
    def __init__(self, owner, inner):
        self._owner = owner
        self._inner = inner
        self.status, self.headers = inner.status, inner.headers

    async def chunks(self):
        async for chunk in self._inner.chunks():
            if self._owner.frozen:
                await asyncio.Event().wait()
            if self._owner.lag:
                await asyncio.sleep(self._owner.lag)
            yield chunk

    async def close(self):
        await self._inner.close()


class LosesAnswers(Passing):
    """A transport that carries requests but loses the answers to creations."""

    async def send(self, request, timeout):
        answer = await self.inner.send(request, timeout)
        if request.method == "POST":
            raise Unreachable(self.address, "the server hung up")
        return answer


async def test_a_creation_that_is_still_under_way_does_not_outlive_its_source():
    """Guards against this: tear_down believes the cache about a member to which a create was sent and not yet
    answered.
    """
    async with federation() as world:
        world.wires["b"].latency = 2.0
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: has(world, "a"))

        await world.host.delete(CONFIGMAPS, "settings", "default")
        await world.until(lambda: gone(world, "host"))
        await world.runtime.sleep(60)

        assert await world.managed("b", CONFIGMAPS) == []


async def test_a_source_deleted_before_its_finalizer_was_written_leaves_no_copies():
    """Guards against this: Engine._write answers NotFound with the old object, and _reconcile goes on to place it."""
    async with federation() as world:
        await restart_through(
            world, "host", Frozen(world.servers["host"].connect(ADMINISTRATOR, as_remote=True), lag=1)
        )
        await world.runtime.sleep(10)
        await world.host.create(CONFIGMAPS, config())
        await world.runtime.sleep(0.5)
        await world.host.delete(CONFIGMAPS, "settings", "default")

        await world.runtime.sleep(60)

        assert {name: await world.managed(name, CONFIGMAPS) for name in "abc"} == {"a": [], "b": [], "c": []}


@pytest.mark.parametrize("state", ["slow", "offline"])
async def test_deleting_with_cascade_orphan_keeps_the_copies(state):
    """Guards against this: the host's garbage collector takes the `orphan` finalizer off at once; afterwards it reads
    as a cascade.
    """
    async with federation() as world:
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: has(world, "b"))
        if state == "slow":
            world.wires["b"].latency = 1.0
        else:
            await world.fail("b")
            await world.until(lambda: world.cluster_is("b", "Offline"))

        await world.host.delete(CONFIGMAPS, "settings", "default", propagation="Orphan")
        await world.runtime.sleep(5)
        if state == "offline":
            world.heal("b")
        await world.until(lambda: gone(world, "host"))

        assert {name: await has(world, name) for name in "abc"} == {"a": True, "b": True, "c": True}


async def test_deleting_with_cascade_orphan_while_no_control_plane_runs_keeps_the_copies():
    """Guards against this: nobody who starts later can tell that the copies were to stay."""
    async with federation("a", "b") as world:
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: has(world, "b"))
        await world.kill_control_plane()

        await world.host.delete(CONFIGMAPS, "settings", "default", propagation="Orphan")
        await world.runtime.sleep(5)
        world.start_control_plane()
        await world.until(lambda: gone(world, "host"))

        assert {name: await has(world, name) for name in "ab"} == {"a": True, "b": True}


async def test_an_object_that_was_let_go_in_the_member_is_not_deleted_on_an_old_view():
    """Guards against this: Delete carries the uid but not the version on which ownership was judged; a silent watch is
    believed.
    """
    async with federation() as world:
        frozen = Frozen(world.servers["b"].connect(ADMINISTRATOR, as_remote=True))
        await restart_through(world, "b", frozen)
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: has(world, "b"))
        await world.runtime.sleep(5)
        frozen.frozen = True
        await world.clients["b"].patch(
            CONFIGMAPS, "settings", {"metadata": {"labels": {MANAGED_LABEL: None}}}, "default"
        )

        await world.host.delete(CONFIGMAPS, "settings", "default")
        await world.runtime.sleep(30)

        assert await has(world, "b")


async def test_a_source_that_is_not_federated_can_always_be_deleted():
    """Guards against this: _reconcile leaves before tear-down when the door does not admit the source, so the
    finalizer stays.
    """
    async with federation() as world:
        await world.host.create(DEPLOYMENTS, deployment())
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: has(world, "a"))
        owner = await world.host.get(DEPLOYMENTS, "web", "default")
        reference = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": "web",
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        await world.host.patch(CONFIGMAPS, "settings", {"metadata": {"ownerReferences": [reference]}}, "default")
        await world.runtime.sleep(5)

        await world.host.delete(CONFIGMAPS, "settings", "default")

        await world.until(lambda: gone(world, "host"))
        assert not await has(world, "a")


async def test_a_source_copied_into_a_reserved_namespace_with_its_finalizer_can_be_deleted():
    """Guards against this: as above, by the road that people take: get -o yaml, edit, apply."""
    async with federation() as world:
        source = config(namespace="kube-public")
        source["metadata"]["finalizers"] = [FINALIZER]
        await world.host.create(CONFIGMAPS, source)
        await world.runtime.sleep(5)

        await world.host.delete(CONFIGMAPS, "settings", "kube-public")

        await world.until(lambda: gone(world, "host", namespace="kube-public"))


async def test_a_deletion_that_waits_for_a_cluster_says_so():
    """Guards against this: _report returns for a source that is being deleted, so nothing ever says what it waits
    for.
    """
    async with federation() as world:
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: has(world, "b"))
        await world.fail("b")
        await world.until(lambda: world.cluster_is("b", "Offline"))

        await world.host.delete(CONFIGMAPS, "settings", "default")
        await world.runtime.sleep(60)

        source = await world.host.get(CONFIGMAPS, "settings", "default")
        told = source["metadata"].get("annotations", {}).get(STATUS_ANNOTATION, "")
        events = [event["message"] for event in (await world.host.list(EVENTS, "default")).items]
        assert any("b" in sentence.split(":")[0].split() for sentence in [told, *events])


async def test_an_answer_that_was_lost_does_not_leave_a_copy_behind():
    """Guards against this: a creation that arrived although its answer did not is not known when the source goes at
    once.
    """
    async with federation() as world:
        frozen = Frozen(LosesAnswers(world.servers["b"].connect(ADMINISTRATOR, as_remote=True)))
        await restart_through(world, "b", frozen)
        await world.runtime.sleep(10)
        frozen.frozen = True
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: has(world, "b"))

        await world.host.delete(CONFIGMAPS, "settings", "default")
        await world.until(lambda: gone(world, "host"))
        await world.runtime.sleep(600)

        assert await world.managed("b", CONFIGMAPS) == []


async def test_taking_a_namespace_from_a_cluster_waits_for_the_workloads_in_it():
    """Guards against this: a namespace has no replicas, so it leaves at once, with healthy replicas that Hanse still
    wants there.
    """
    async with federation() as world:
        await world.host.create(NAMESPACES, namespace())
        web = deployment()
        web["metadata"]["namespace"] = "shop"
        await world.host.create(DEPLOYMENTS, web)

        async def available():
            total = 0
            for name in "abc":
                copy = await world.find(name, DEPLOYMENTS, "web", "shop")
                total += ((copy or {}).get("status") or {}).get("availableReplicas", 0)
            return total

        async def nine():
            return await available() == 9

        await world.until(nine)
        await world.host.patch(CLUSTERS, "c", {"metadata": {"labels": {"drain": "yes"}}})
        await world.host.patch(NAMESPACES, "shop", {"metadata": {"annotations": {CLUSTER_SELECTOR_ANNOTATION: NOT_C}}})
        lowest = 9
        for _ in range(300):
            await world.runtime.sleep(0.1)
            lowest = min(lowest, await available())

        assert lowest >= 9
