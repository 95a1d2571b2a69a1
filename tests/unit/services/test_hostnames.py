"""Names of load balancers, on virtual time."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.kube.manifest import Key
from hanse.kube.runtime import SeededRuntime
from hanse.services.hostnames import Hostnames, Resolved

pytestmark = pytest.mark.looptime
WEB, API = Key("shop", "web"), Key("shop", "api")


class Names:
    """What names resolve to, and how often they were asked for."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    async def resolve(self, hostname):
        self.asked.append(hostname)
        if hostname not in self.answers:
            raise OSError(-2, "Name or service not known")
        return self.answers[hostname]


@asynccontextmanager
async def hostnames(names, changed):
    found = Hostnames(SeededRuntime(), names.resolve, changed.append)
    task = asyncio.create_task(found.run())
    try:
        yield found
    finally:
        task.cancel()


async def test_addresses_are_sorted_each_once_and_told_to_who_uses_the_name():
    names, changed = Names(h=("4.4.4.4", "3.3.3.3", "4.4.4.4")), []
    async with hostnames(names, changed) as found:
        found.use(WEB, ["h"], 180)
        assert found.resolved("h") == Resolved()
        await asyncio.sleep(1)
        assert (found.resolved("h"), changed) == (Resolved(("3.3.3.3", "4.4.4.4")), [WEB])


async def test_a_name_is_resolved_again_within_a_minute_and_what_is_the_same_is_no_news():
    names, changed = Names(h=("3.3.3.3",)), []
    async with hostnames(names, changed) as found:
        found.use(WEB, ["h"], 180)
        await asyncio.sleep(61)
        assert (len(names.asked), changed) == (2, [WEB])
        names.answers["h"] = ("5.5.5.5",)
        await asyncio.sleep(60)
        assert (found.resolved("h").addresses, changed) == (("5.5.5.5",), [WEB, WEB])


async def test_the_shortest_time_to_live_of_those_who_use_it_counts():
    names = Names(h=("3.3.3.3",))
    async with hostnames(names, []) as found:
        found.use(WEB, ["h"], 180)
        found.use(API, ["h"], 10)
        await asyncio.sleep(31)
        assert len(names.asked) == 4


async def test_a_name_that_is_gone_keeps_its_last_addresses_and_says_so():
    names, changed = Names(h=("3.3.3.3",)), []
    async with hostnames(names, changed) as found:
        found.use(WEB, ["h"], 10)
        await asyncio.sleep(1)
        del names.answers["h"]
        await asyncio.sleep(10)
        known = found.resolved("h")
        assert (known.addresses, known.trouble) == (
            ("3.3.3.3",),
            "h cannot be resolved: Name or service not known",
        )
        names.answers["h"] = ("3.3.3.3",)
        await asyncio.sleep(6)
        assert (found.resolved("h"), changed) == (Resolved(("3.3.3.3",)), [WEB] * 3)


async def test_nobody_asks_for_a_name_that_no_service_uses():
    names = Names(h=("3.3.3.3",))
    async with hostnames(names, []) as found:
        found.use(WEB, ["h"], 10)
        await asyncio.sleep(1)
        found.use(WEB, [], 10)
        await asyncio.sleep(60)
        assert (len(names.asked), found.resolved("h")) == (1, Resolved())
