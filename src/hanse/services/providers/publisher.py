"""Keeps every DNSZone as the federation wants it: observe, decide, act, report.

Runs where the control plane leads. A zone has a finalizer while anything of the federation may be in it: deleting the
DNSZone takes every name out again, or leaves them where its annotation says `orphan`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hanse.api.dns_zones import DNS_ZONES, DnsZone, DnsZoneError, parse_dns_zone
from hanse.api.held_changes import HELD_CHANGES, held_change
from hanse.api.names import DELETION_ANNOTATION, SYSTEM_NAMESPACE
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import condition
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    dig,
    finalizers_of,
    is_deleting,
    name_of,
    with_finalizer,
    without_finalizer,
)
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.resources import SECRETS
from hanse.kube.runtime import timestamp
from hanse.propagation.blast import BlastTerms, change_spec, is_approved
from hanse.services.providers.interface import ProviderError
from hanse.services.providers.opening import Open, Opening, open_provider, secret_texts
from hanse.services.providers.publishing import (
    Conflict,
    Plan,
    Step,
    Terms,
    Wanted,
    changed_services,
    owned_records,
    plan_changes,
    settled_services,
    withdrawal,
)
from hanse.services.providers.reporting import (
    READY,
    conflict_names,
    failed,
    held_sentence,
    published,
    troubles,
    zone_status,
)
from hanse.services.providers.service_news import ServiceNews
from hanse.services.providers.session import Deposed, Outcome, Session
from hanse.services.providers.wanted import WantedRecords
from hanse.services.providers.zone_view import ZoneView

FINALIZER = "hanse.dev/dns-zone"
# Changes that come together go together.
_GATHER_SECONDS = 1.0
_BLAST = BlastTerms()
_FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS = 2.0, 300.0


@dataclass(frozen=True, slots=True)
class PublisherTerms:
    """How providers are opened, whether this process may write now, and how much may go unasked."""

    open: Open = open_provider
    leads: Callable[[], bool] = lambda: True
    blast: BlastTerms = _BLAST


@dataclass(frozen=True, slots=True)
class _Failure:
    count: int
    until: float
    generation: int


class ZonePublisher:
    """Publishes the federation's names into every DNSZone."""

    def __init__(self, host: Client, terms: PublisherTerms | None = None) -> None:
        self._host = host
        self._terms = terms or PublisherTerms()
        self._zones = Cache(host, DNS_ZONES)
        self._held = Cache(host, HELD_CHANGES)
        self._wanted = WantedRecords(host)
        self._news = ServiceNews(host)
        self._needed = asyncio.Event()
        self._sessions: dict[str, Session] = {}
        self._seen: dict[str, ZoneView] = {}
        self._failures: dict[str, _Failure] = {}
        self._controller: Controller[str] = Controller("dns zones", self._reconcile, host.runtime, workers=4)

    async def run(self) -> None:
        """Publish until cancelled; before there is any DNSZone, nothing else is followed."""
        self._zones.subscribe(self._zone_changed)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._zones.run())
                await self._needed.wait()
                tasks.create_task(self._held.run())
                tasks.create_task(self._wanted.run())
                await self._zones.wait_synced()
                await self._held.wait_synced()
                self._held.subscribe(lambda _change: self._look_again())
                self._wanted.subscribe(self._look_again)
                tasks.create_task(self._news.run())
                tasks.create_task(self._controller.run())
        finally:
            for name in list(self._sessions):
                await self._close(name)

    def _zone_changed(self, change: Change) -> None:
        self._needed.set()
        self._controller.queue.add(change.key.name)

    def _look_again(self) -> None:
        for key in self._zones if self._zones.synced else ():
            self._controller.queue.add_after(key.name, _GATHER_SECONDS)

    async def _reconcile(self, name: str) -> float | None:
        obj = self._zones.get(Key("", name))
        if obj is None:
            await self._close(name)
            self._seen.pop(name, None)
            self._failures.pop(name, None)
            self._news.tell(name, {})
            return None
        if is_deleting(obj) and annotations_of(obj).get(DELETION_ANNOTATION) == "orphan":
            await self._release(obj)
            return None
        try:
            zone = parse_dns_zone(obj)
        except DnsZoneError as error:
            await self._tell(obj, condition(READY, False, "Invalid", str(error)))
            return None
        if pause := self._pause(obj):
            return pause
        try:
            return await (self._withdraw(obj, zone) if is_deleting(obj) else self._publish(obj, zone))
        except Deposed:
            return None
        except ProviderError as error:
            return await self._fail(obj, zone, error)

    # A zone that stays

    async def _publish(self, obj: Obj, zone: DnsZone) -> float | None:
        wanted, settings = self._wanted.records(), self._wanted.settings
        owner = zone.owner_so_far or zone.owner or (settings.uid if settings is not None else "")
        if wanted is None or not owner:
            sentence = "nothing is published before there is a Federation object that can be understood"
            await self._tell(obj, condition(READY, None, "NoFederation", sentence))
            return None
        obj = await self._claim(obj, owner)
        session = await self._session(obj, zone, owner)
        terms = Terms(zone.zone, owner, session.provider.stored, self._terms.blast)
        outcome = await session.carry_out(lambda view: self._decide(wanted, view, terms, session))
        session.settled = settled_services(wanted, outcome.unsettled)
        await self._report(obj, zone, session, outcome)
        return session.due()

    async def _claim(self, obj: Obj, owner: str) -> Obj:
        """Note before the first effect that there may be something to take out again, and under which name."""
        if FINALIZER not in finalizers_of(obj):
            obj = await self._host.update(DNS_ZONES, with_finalizer(obj, FINALIZER))
        if dig(obj, "status", "owner") != owner:
            patch = {"status": {"owner": owner}}
            obj = await self._host.patch(DNS_ZONES, name_of(obj), patch, subresource="status")
            self._zones.remember(obj)
        return obj

    def _decide(self, wanted: Wanted, view: ZoneView, terms: Terms, session: Session) -> tuple[Plan, Sequence[Step]]:
        plan = plan_changes(wanted, view, terms, changed_services(wanted, session.settled))
        return plan, plan.steps if self._holds(session.zone, plan) else (*plan.steps, *plan.departures)

    def _holds(self, zone: str, plan: Plan) -> bool:
        return plan.leaving is not None and not is_approved(plan.leaving, self._held_change(zone))

    async def _report(self, obj: Obj, zone: DnsZone, session: Session, outcome: Outcome) -> None:
        self._failures.pop(zone.name, None)
        held = await self._hold(zone, outcome.plan)
        records = owned_records(await session.look(), session.owner)
        conflicts = outcome.conflicts
        self._news.tell(zone.name, troubles(conflicts, zone.zone))
        facts = {"records": records, "conflicts": conflict_names(conflicts)}
        await self._tell(obj, published(records, conflicts, held), **facts)

    # A zone that goes

    async def _withdraw(self, obj: Obj, zone: DnsZone) -> float | None:
        """Take every name out; a person said so, and nothing is weighed."""
        if FINALIZER not in finalizers_of(obj):
            return None
        if zone.owner_so_far:
            session = await self._session(obj, zone, zone.owner_so_far)
            outcome = await session.carry_out(lambda view: (Plan(), withdrawal(view, zone.owner_so_far)))
            if outcome.refused:
                raise ProviderError(str(outcome.refused[0]))
        await self._release(obj)
        return None

    async def _release(self, obj: Obj) -> None:
        await self._close(name_of(obj))
        await self._release_hold(name_of(obj))
        if FINALIZER in finalizers_of(obj):
            await self._host.update(DNS_ZONES, without_finalizer(obj, FINALIZER))

    # Sessions

    async def _session(self, obj: Obj, zone: DnsZone, owner: str) -> Session:
        generation = _generation(obj)
        session = self._sessions.get(zone.name)
        if session is None or (session.generation, session.owner) != (generation, owner):
            await self._close(zone.name)
            provider = self._terms.open(zone, await self._opening(zone, owner))
            runtime, leads = self._host.runtime, self._terms.leads
            seen = self._seen.pop(zone.name, None)
            session = Session(zone.name, provider, runtime, leads, owner, generation, zone.resync_seconds, seen)
            self._sessions[zone.name] = session
        return session

    async def _opening(self, zone: DnsZone, owner: str) -> Opening:
        secret: dict[str, str] = {}
        if zone.secret:
            found = await self._host.find(SECRETS, zone.secret, SYSTEM_NAMESPACE)
            if found is None:
                told = f"there is no Secret {zone.secret!r} in the namespace {SYSTEM_NAMESPACE}"
                raise ProviderError(f"{told}, which spec.secretRef names")
            secret = secret_texts(found)
        return Opening(self._host.runtime, secret, owner, self._wanted.region_of)

    async def _close(self, name: str) -> None:
        session = self._sessions.pop(name, None)
        if session is not None:
            if session.seen is not None:
                self._seen[name] = session.seen
            await session.provider.close()

    async def _fail(self, obj: Obj, zone: DnsZone, error: ProviderError) -> float:
        """Tell what failed; the next attempt begins with fresh credentials, later each time."""
        session = self._sessions.get(zone.name)
        pending = session.pending if session is not None else ()
        await self._close(zone.name)
        self._news.tell(zone.name, troubles(_waiting(pending, error), zone.zone))
        await self._tell(obj, failed(str(error)))
        before, runtime = self._failures.get(zone.name), self._host.runtime
        count = before.count + 1 if before is not None else 1
        pause = min(_FIRST_PAUSE_SECONDS * 2.0 ** min(count - 1, 20), _LAST_PAUSE_SECONDS) * runtime.uniform(0.8, 1.0)
        self._failures[zone.name] = _Failure(count, runtime.monotonic() + pause, _generation(obj))
        return pause

    def _pause(self, obj: Obj) -> float:
        """Return how long a zone that failed is left alone, whatever changes meanwhile but its own spec."""
        failure = self._failures.get(name_of(obj))
        if failure is None or failure.generation != _generation(obj):
            return 0.0
        return max(0.0, failure.until - self._host.runtime.monotonic())

    # What waits for a person, and what is told

    def _held_change(self, zone: str) -> Obj | None:
        return self._held.get(Key("", _held_name(zone)))

    async def _hold(self, zone: DnsZone, plan: Plan) -> str:
        """Have a change that reaches too far wait for a person; returns what is told of it, "" where none waits."""
        change, found, name = plan.leaving, self._held_change(zone.name), _held_name(zone.name)
        if change is None or is_approved(change, found):
            await self._release_hold(zone.name)
            return ""
        what = f"{change.objects} of {change.of} services would lose all their names in {zone.zone}"
        spec = {**change_spec(change), "what": what}
        if found is None:
            self._held.remember(await self._host.create(HELD_CHANGES, held_change(name, spec)))
        elif dig(found, "spec") != spec:
            self._held.remember(await self._host.update(HELD_CHANGES, {**found, "spec": spec}))
        return held_sentence(what, name)

    async def _release_hold(self, zone: str) -> None:
        if self._held_change(zone) is not None:
            try:
                await self._host.delete(HELD_CHANGES, _held_name(zone))
            except NotFound:
                return

    async def _tell(self, obj: Obj, told: Obj, **facts: object) -> None:
        present = obj.get("status") or {}
        now = timestamp(self._host.runtime.now())
        status = zone_status(present, told, now, generation=_generation(obj), **facts)
        if status != present:
            patch = {"status": merge_patch_between(present, status)}
            self._zones.remember(await self._host.patch(DNS_ZONES, name_of(obj), patch, subresource="status"))


def _generation(obj: Obj) -> int:
    return int(dig(obj, "metadata", "generation", default=0))


def _held_name(zone: str) -> str:
    return f"dns-{zone}"


def _waiting(steps: Sequence[Step], error: ProviderError) -> list[Conflict]:
    return [Conflict(step.name, step.service, f"waits, since {error}") for step in steps]
