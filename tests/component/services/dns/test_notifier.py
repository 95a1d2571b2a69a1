"""Secondaries hear of a changed zone, again and again until they say that they did."""

import asyncio
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from hanse.kube.runtime import SeededRuntime
from hanse.services.dns.notifier import Notifier
from hanse.services.dns.zones import Zones
from tests.unit.services.dns.asking import records, zone_of

pytestmark = pytest.mark.looptime

SECONDARY = ("192.0.2.2", 53)


class Network:
    """A network that loses the first messages to every secondary, or refuses them."""

    def __init__(self, lost=0, refused=0):
        self.lost, self.refused = lost, refused
        self.sent = []

    async def exchange(self, secondary, message):
        self.sent.append((secondary[0], asyncio.get_running_loop().time(), message))
        if len(self.sent) <= self.refused:
            raise ConnectionRefusedError
        if len(self.sent) <= self.lost:
            await asyncio.Event().wait()


@asynccontextmanager
async def notifying(network, *zones, secondaries=(SECONDARY,)):
    known = Zones(*zones)
    task = asyncio.create_task(Notifier(known, secondaries, SeededRuntime(1), exchange=network.exchange).run())
    try:
        yield known
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_secondary_is_told_at_the_start_and_of_every_new_serial_and_never_in_between():
    network, zone = Network(), zone_of(records("a", "A", "192.0.2.1"))
    async with notifying(network, zone, secondaries=(SECONDARY, ("192.0.2.3", 53))) as zones:
        await asyncio.sleep(3600)
        assert sorted(name for name, _, _ in network.sent) == ["192.0.2.2", "192.0.2.3"]

        zone.replace("test", [])
        zones.commit(9000.0)
        await asyncio.sleep(3600)
        assert len(network.sent) == 4
        assert (9000).to_bytes(4) in network.sent[-1][2]


@pytest.mark.parametrize("trouble", [{"lost": 3}, {"refused": 3}], ids=["lost", "refused"])
async def test_a_word_that_does_not_arrive_is_said_again_after_a_growing_pause(trouble):
    network = Network(**trouble)
    async with notifying(network, zone_of()):
        await asyncio.sleep(3600)

    times = [time for _, time, _ in network.sent]
    assert [later - earlier for earlier, later in pairwise(times)] == pytest.approx([1, 2, 4], abs=0.1)
    assert len({message[:2] for _, _, message in network.sent}) == 1


async def test_a_secondary_that_is_gone_is_given_up_until_the_next_change(log_lines):
    network, zone = Network(lost=1000), zone_of(records("a", "A", "192.0.2.1"))
    async with notifying(network, zone) as zones:
        await asyncio.sleep(3600)
        assert len(network.sent) == 5
        assert [line["event"] for line in log_lines if line["log_level"] == "warning"] == [
            "A secondary does not answer"
        ]

        zone.replace("test", [])
        zones.commit(9000.0)
        await asyncio.sleep(3600)
        assert len(network.sent) == 10
