"""What every DNS provider must do, whatever server is behind it: one suite, run on each of them.

A subclass gives the fixture `stage`: a zone that is served, and a way to open it. The zone may hold records of its own
(SOA and NS at least); whatever a test publishes it takes out again, and the zone must then be as it was.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import pytest

from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.services.providers.interface import Change, Provider, ProviderError, Stale, additions, plain
from hanse.services.providers.publishing import Plan, Terms, Wanted, owned_records, plan_changes, withdrawal
from hanse.services.providers.session import Outcome, Session
from hanse.services.providers.texts import txt_value
from hanse.services.records import Datum, RecordSet

ZONE = "example.com"
WEB = Key("shop", "web")
NAME = f"web.shop.fed.svc.{ZONE}"
ALIAS = f"web.shop.fed.svc.eu.{ZONE}"

# What a name answers, by type; None where the server cannot be asked.
Ask = Callable[[str, str], Awaitable[set[str]]] | None


@dataclass(frozen=True, slots=True)
class Stage:
    """A served zone: how it is opened, how it is asked, and how somebody else writes into it."""

    open: Callable[[], Provider]
    ask: Ask = None
    # Types at which the server answers something of its own making in place of what is kept.
    unlike: frozenset[str] = frozenset()
    # What servers change on their own.
    volatile: frozenset[str] = frozenset({"SOA"})


def record(name: str, kind: str, *values: str, ttl: int = 180) -> RecordSet:
    """Return a plain record set."""
    return RecordSet(name, kind, ttl, tuple(Datum(value) for value in sorted(values)))


def service(*records: RecordSet, key: Key = WEB) -> dict[Key, list[RecordSet]]:
    """Return what one service wants."""
    return {key: list(records)}


FULL = service(
    record(NAME, "A", "192.0.2.1", "192.0.2.2", "192.0.2.3"),
    record(NAME, "AAAA", "2001:db8::1", "2001:db8::2"),
    record(f"_https._tcp.{NAME}", "SRV", f"0 1 443 east.{NAME}.", f"0 3 443 west.{NAME}."),
    record(f"east.{NAME}", "A", "192.0.2.1"),
    record(f"west.{NAME}", "A", "192.0.2.2"),
    record(ALIAS, "CNAME", f"{NAME}."),
)


class Failing:
    """A provider whose connection breaks at one batch, before it arrives or after."""

    def __init__(self, inner: Provider, *, at: int, arrived: bool, largest_batch: int) -> None:
        self.inner = inner
        self.largest_batch = largest_batch
        self._at = at
        self._arrived = arrived

    def stored(self, wanted: RecordSet) -> RecordSet:
        return self.inner.stored(wanted)

    async def records(self) -> list[RecordSet]:
        return await self.inner.records()

    async def apply(self, changes: Sequence[Change]) -> None:
        self._at -= 1
        if self._at:
            await self.inner.apply(changes)
            return
        if self._arrived:
            await self.inner.apply(changes)
        raise ProviderError("the connection broke")

    async def close(self) -> None:
        await self.inner.close()


async def publish(provider: Provider, wanted: Wanted, owner: str = "fed-1") -> Outcome:
    """Bring a zone to what is wanted, from a fresh look at it."""
    terms = Terms(ZONE, owner, provider.stored)

    def decide(view):
        plan = plan_changes(wanted, view, terms)
        return plan, (*plan.steps, *plan.departures)

    return await _session(provider, owner).carry_out(decide)


async def withdraw(provider: Provider, owner: str = "fed-1") -> None:
    """Take everything of an owner out of the zone."""
    await _session(provider, owner).carry_out(lambda view: (Plan(), withdrawal(view, owner)))


def _session(provider: Provider, owner: str) -> Session:
    return Session("main", provider, SystemRuntime(), lambda: True, owner, 1, resync_seconds=3600)


class ProviderConformance:
    """The suite."""

    @pytest.fixture
    async def provider(self, stage: Stage):
        """The provider of the stage's zone; afterwards the zone must be as it was before."""
        provider = stage.open()
        before = await self.contents(provider, stage)
        yield provider
        await withdraw(provider, "fed-2")
        await withdraw(provider)
        assert await self.contents(provider, stage) == before
        await provider.close()

    @staticmethod
    async def contents(provider, stage):
        return {each for each in await provider.records() if each.type not in stage.volatile}

    async def test_what_is_published_is_listed_as_it_is_stored(self, provider, stage):
        before = await self.contents(provider, stage)
        await publish(provider, FULL)
        listed = await self.contents(provider, stage) - before
        wanted = {provider.stored(each) for each in FULL[WEB]}
        assert wanted <= listed
        assert {each.type for each in listed - wanted} == {"TXT"}, "beside the names stand ownership records alone"
        assert len(listed - wanted) == len({each.name for each in wanted})

    async def test_the_server_answers_what_is_published(self, provider, stage):
        await publish(provider, FULL)
        for each in FULL[WEB]:
            if stage.ask is not None and each.type not in stage.unlike:
                assert await stage.ask(each.name, each.type) == set(each.values), each

    async def test_publishing_again_changes_nothing(self, provider):
        await publish(provider, FULL)
        again = await publish(provider, FULL)
        assert again.plan == Plan()

    async def test_an_address_is_exchanged_and_one_added(self, provider, stage):
        await publish(provider, service(record(NAME, "A", "192.0.2.1", "192.0.2.2")))
        wanted = record(NAME, "A", "192.0.2.2", "192.0.2.3", "192.0.2.4")
        await publish(provider, service(wanted))
        assert provider.stored(wanted) in await provider.records()
        if stage.ask is not None:
            assert await stage.ask(NAME, "A") == set(wanted.values)

    async def test_a_name_becomes_an_alias_and_has_addresses_again(self, provider, stage):
        addresses, alias = record(ALIAS, "A", "192.0.2.9"), record(ALIAS, "CNAME", f"{NAME}.")
        aside = record(NAME, "A", "192.0.2.1")
        for wanted in (addresses, alias, addresses):
            await publish(provider, service(aside, wanted))
            found = {each for each in await provider.records() if each.name == ALIAS}
            assert found == {provider.stored(wanted)}
        if stage.ask is not None:
            assert await stage.ask(ALIAS, "A") == {"192.0.2.9"}

    async def test_the_time_to_live_changes_alone(self, provider):
        await publish(provider, service(record(NAME, "A", "192.0.2.1", ttl=180)))
        wanted = record(NAME, "A", "192.0.2.1", ttl=60)
        await publish(provider, service(wanted))
        assert provider.stored(wanted) in await provider.records()

    @pytest.mark.parametrize(
        "content",
        ['say "hello"; then\\go', "a,b=c d  e", "größe\x00\x7f", "x" * 600, ""],
        ids=["quotes", "blanks", "bytes", "long", "empty"],
    )
    async def test_text_arrives_as_it_was_written(self, provider, content):
        text = record(f"text.{ZONE}", "TXT", txt_value(content))
        await provider.records()
        await provider.apply([Change(None, provider.stored(text))])
        found = [each for each in await provider.records() if each.name == text.name]
        try:
            assert found == [plain(text)]
        finally:
            await provider.apply([Change(each, None) for each in found])

    async def test_what_somebody_else_has_is_never_touched(self, provider, stage):
        theirs = [
            record(NAME, "A", "203.0.113.9", ttl=77),
            record(f"*.{ZONE}", "A", "203.0.113.10"),
            record(f"note.{ZONE}", "TXT", '"v=spf1 -all"'),
        ]
        stored = [provider.stored(each) for each in theirs]
        await provider.records()
        await provider.apply([Change(None, each) for each in stored])
        try:
            outcome = await publish(provider, FULL)
            assert [each.name for each in outcome.conflicts] == [NAME]
            assert set(stored) <= await self.contents(provider, stage)
            await withdraw(provider)
            assert set(stored) <= await self.contents(provider, stage)
        finally:
            await provider.apply([Change(each, None) for each in stored])

    async def test_two_federations_share_a_zone_and_not_their_names(self, provider):
        mine = service(record(NAME, "A", "192.0.2.1"))
        theirs = service(record(NAME, "A", "198.51.100.1"), record(f"own.{ZONE}", "A", "198.51.100.2"))
        await publish(provider, mine)
        outcome = await publish(provider, theirs, "fed-2")
        assert [each.name for each in outcome.conflicts] == [NAME]
        assert "fed-1" in outcome.conflicts[0].why
        await withdraw(provider, "fed-2")
        names = {each.name: each for each in await provider.records() if each.type == "A"}
        assert names[NAME].values == ("192.0.2.1",)
        assert f"own.{ZONE}" not in names

    async def test_three_hundred_names_go_in_and_out(self, provider):
        wanted = {
            Key("shop", f"s{index}"): [record(f"s{index}.shop.fed.{ZONE}", "A", f"192.0.2.{index % 250 + 1}")]
            for index in range(300)
        }
        outcome = await publish(provider, wanted)
        assert outcome.conflicts == ()
        assert {provider.stored(each[0]) for each in wanted.values()} <= set(await provider.records())
        assert (await publish(provider, wanted)).plan == Plan()
        await publish(provider, {})
        assert owned_records(await _session(provider, "fed-1").look(), "fed-1") == 0

    @pytest.mark.parametrize("arrived", [False, True], ids=["lost", "answer lost"])
    async def test_a_broken_connection_in_the_middle_leaves_nothing_that_the_next_attempt_cannot_finish(
        self, provider, arrived
    ):
        failing = Failing(provider, at=2, arrived=arrived, largest_batch=6)
        with pytest.raises(ProviderError, match="the connection broke"):
            await publish(failing, FULL)
        outcome = await publish(provider, FULL)
        assert outcome.conflicts == ()
        assert {provider.stored(each) for each in FULL[WEB]} <= set(await provider.records())
        with pytest.raises(ProviderError, match="the connection broke"):
            await withdraw(Failing(provider, at=2, arrived=arrived, largest_batch=6))

    async def test_a_change_that_takes_the_zone_for_another_is_refused_whole(self, provider):
        known = provider.stored(record(NAME, "A", "192.0.2.1"))
        other = provider.stored(record(f"free.{ZONE}", "A", "192.0.2.5"))
        await publish(provider, service(record(NAME, "A", "192.0.2.1")))
        wrong = [
            Change(None, provider.stored(record(NAME, "A", "192.0.2.8"))),
            Change(provider.stored(record(f"absent.{ZONE}", "A", "192.0.2.7")), None),
        ]
        for change in wrong:
            with pytest.raises(Stale):
                await provider.apply([Change(None, other), change])
            listed = await provider.records()
            assert known in listed
            assert other not in listed
        assert additions(wrong)[0] not in await provider.records()
