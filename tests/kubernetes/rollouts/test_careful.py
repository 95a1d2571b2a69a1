"""On a real cluster clients are led to as many pods as before while releases come and go and the control plane dies."""

import asyncio
from contextlib import aclosing, asynccontextmanager

from hanse.api.shipper.kinds import APPLICATIONS, RELEASES
from hanse.kube.manifest import dig, name_of
from hanse.kube.resources import ENDPOINT_SLICES
from tests.behaviour.rollouts import achieved, pods_of, rolling_out
from tests.kubernetes.rollouts.test_shapes import REGION, application, chart
from tests.simulation.rollouts.applications import VANGUARD

REPLICAS = 10


class Watched:
    """The ready addresses of a Service, and the fewest that there ever were."""

    def __init__(self):
        self.fewest = REPLICAS
        self._slices = {}

    def note(self, event):
        if event.type in ("ADDED", "MODIFIED", "DELETED"):
            self._slices[name_of(event.object)] = () if event.type == "DELETED" else event.object.get("endpoints") or ()
            self.fewest = min(self.fewest, self.ready)

    @property
    def ready(self):
        every = [each for endpoints in self._slices.values() for each in endpoints]
        return len({dig(each, "targetRef", "uid") for each in every if dig(each, "conditions", "ready")})


@asynccontextmanager
async def watched(cluster):
    """Look at every change of an application's addresses for the length of a block."""
    found = Watched()

    async def look():
        listed = await cluster.client.list(ENDPOINT_SLICES, cluster.namespace)
        events = cluster.client.watch(ENDPOINT_SLICES, cluster.namespace, version=listed.resource_version)
        found._slices = {name_of(each): each.get("endpoints") or () for each in listed.items}
        started.set()
        async with aclosing(events):
            async for event in events:
                found.note(event)

    started = asyncio.Event()
    looking = asyncio.create_task(look())
    await asyncio.wait_for(started.wait(), 60)
    assert found.ready == REPLICAS
    try:
        yield found
    finally:
        assert not looking.done(), "the watch ended early"
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def test_clients_are_led_to_enough_pods_forward_back_through_a_crash_and_an_abort(federation):
    await asyncio.to_thread(federation.put_in, REGION)
    async with federation.people("careful") as (people, cluster):
        await people.apply(application("web", VANGUARD, chart(federation, "nginx", "0.0.1", replicaCount=REPLICAS)))
        first = await release_of(people, 1)
        await go_to(people, first, 2)
        async with watched(cluster) as clients:
            await people.change(APPLICATIONS, "web", {"spec": {"template": {"chart": {"version": "0.0.2"}}}})
            second = await release_of(people, 2)
            for step in (1, 2, 0, 1):
                going = asyncio.create_task(go_to(people, second, step))
                if step == 2:
                    await asyncio.to_thread(federation.kill_control_plane)
                await going
            await people.client.delete(RELEASES, second, people.namespace)
            await people.until_gone(RELEASES, second)
            active = ("False", f'Release "{first}" is active')
            await people.until(APPLICATIONS, "web", lambda found: rolling_out(found) == active)

        assert clients.fewest == REPLICAS
        assert await pods_of(cluster, first) == (REPLICAS, REPLICAS)


async def release_of(people, count):
    def made(found):
        return len(dig(found, "status", "history", default=[])) == count

    return (await people.until(APPLICATIONS, "web", made))["status"]["history"][-1]


async def go_to(people, release, step):
    await people.change(RELEASES, release, {"spec": {"targetStep": step}})
    await achieved(people, release, step, VANGUARD[step][0])
