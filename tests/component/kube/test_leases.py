"""Leadership: one at a time, handed over in time, and given up before anybody else may begin."""

import asyncio

import pytest

from hanse.kube.client import Client
from hanse.kube.leases import Deposed, Fenced, Leadership, LeaseTerms
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, LEASES

pytestmark = pytest.mark.looptime

LEASE = Key("default", "leader")
TERMS = LeaseTerms(duration_seconds=15, renew_deadline_seconds=10, retry_seconds=2)


class Candidate:
    """One process that wants to lead, and when it did."""

    def __init__(self, client, name):
        self.spans = []
        self._leadership = Leadership(client, LEASE, name, TERMS)
        self.task = asyncio.create_task(self._run())

    async def _run(self):
        await self._leadership.lead(self._work)

    async def _work(self):
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            await asyncio.sleep(1e6)
        finally:
            self.spans.append((begun, loop.time()))

    async def stop(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def holder(client):
    lease = await client.find(LEASES, LEASE.name, LEASE.namespace)
    return lease["spec"]["holderIdentity"] if lease else None


async def test_the_first_leads_and_the_second_waits(client, connect):
    first = Candidate(client, "first")
    await asyncio.sleep(1)
    second = Candidate(connect(), "second")
    await asyncio.sleep(120)

    assert await holder(client) == "first"
    await second.stop()
    await first.stop()
    assert second.spans == []


async def test_a_leader_that_stops_hands_over_at_once(client, connect):
    first = Candidate(client, "first")
    await asyncio.sleep(1)
    second = Candidate(connect(), "second")
    await asyncio.sleep(30)

    await first.stop()
    await asyncio.sleep(3)

    assert await holder(client) == "second"
    await second.stop()
    assert second.spans[0][0] >= first.spans[0][1]


class Cut:
    """A transport that can be cut for one user alone."""

    def __init__(self, inner):
        self.inner, self.down = inner, False

    @property
    def address(self):
        return self.inner.address

    async def send(self, request, timeout):
        if self.down:
            await asyncio.sleep(timeout)
        return await self.inner.send(request, timeout)

    async def close(self):
        await self.inner.close()


async def test_a_leader_that_is_cut_off_stops_before_its_successor_begins(client, connect):
    lonely = connect()
    wire = lonely.transport = Cut(lonely.transport)
    first = Candidate(lonely, "first")
    await asyncio.sleep(1)
    second = Candidate(client, "second")
    await asyncio.sleep(20)

    wire.down = True
    cut_at = asyncio.get_running_loop().time()
    await asyncio.sleep(60)

    assert await holder(client) == "second"
    await second.stop()
    (_, stopped), (begun, _) = first.spans[0], second.spans[0]
    assert stopped < begun
    assert begun - cut_at <= TERMS.duration_seconds + 2 * TERMS.retry_seconds + 1
    await first.stop()


class Slow(Cut):
    """A transport to a server that is busy with others."""

    async def send(self, request, timeout):
        await asyncio.sleep(3.0 if self.down else 0.0)
        return await self.inner.send(request, timeout)


async def test_a_server_that_is_busy_for_longer_than_the_pause_between_renewals_deposes_nobody(client, connect):
    patient = connect()
    wire = patient.transport = Slow(patient.transport)
    first = Candidate(patient, "first")
    await asyncio.sleep(1)
    second = Candidate(client, "second")

    wire.down = True
    await asyncio.sleep(120)

    assert first.spans == []
    assert await holder(client) == "first"
    await second.stop()
    await first.stop()


async def test_what_the_work_raises_is_raised(client):
    async def fails():
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await Leadership(client, LEASE, "only", TERMS).lead(fails)

    assert await holder(client) == ""


class Suspended:
    """A clock that jumps, as it does for a process that was stopped and goes on."""

    def __init__(self, inner):
        self._inner, self.lost = inner, 0.0

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def monotonic(self):
        return self._inner.monotonic() + self.lost


async def test_a_deposed_leaders_writes_are_never_sent(client, connect):
    lonely = connect()
    lonely.runtime = Suspended(lonely.runtime)
    leadership = Leadership(lonely, LEASE, "first", TERMS)
    writer = Client(Fenced(lonely.transport, leadership), lonely.runtime)
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    seen = []

    async def work():
        await writer.create(CONFIGMAPS, config)
        lonely.runtime.lost = 60.0
        try:
            await writer.delete(CONFIGMAPS, "a", "default")
        except Deposed as error:
            seen.append(str(error))
        seen.append((await writer.get(CONFIGMAPS, "a", "default"))["metadata"]["name"])

    await leadership.lead(work)

    assert seen == ["in-process:test cannot be reached: this process no longer leads, so it writes nothing", "a"]
    assert not leadership.holds
