"""Decides what must change in a zone so that it has what the federation wants, and nothing of anybody else's changes.

A name is the federation's if its ownership record says so, and then wholly, but for types that Hanse never writes. A
name that exists without that record, or with another federation's, is a conflict and is left as it is. What the
federation has and nobody wants any more goes, unless that would take the names of most services at once: such a change
waits for a person. A crash between any two requests leaves claims and records of which the next plan makes the same
end, since nothing but the zone itself is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hanse.kube.manifest import Key
from hanse.propagation.blast import BlastTerms
from hanse.propagation.blast import Change as BlastChange
from hanse.services.providers.interface import Change
from hanse.services.providers.ownership import LONGEST_NAME, Claim, claim_record, read_claims
from hanse.services.providers.texts import canonical_value, within
from hanse.services.providers.zone_view import ZoneView
from hanse.services.records import AAAA, CNAME, SRV, TXT, A, RecordSet

# The types that Hanse writes; others at a name of its own are somebody's, and stay.
_OWN_TYPES = (A, AAAA, CNAME, SRV, TXT)
_EXAMPLES = 10
_BLAST = BlastTerms()
_LONGEST_LABEL = 63

Wanted = Mapping[Key, Sequence[RecordSet]]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A name that a service should have and cannot, and why."""

    name: str
    service: Key
    why: str

    def __str__(self) -> str:
        return f"{self.name} {self.why}"


@dataclass(frozen=True, slots=True)
class Step:
    """All changes of one name, its ownership record included; they belong into one batch."""

    name: str
    service: Key
    changes: tuple[Change, ...]

    @property
    def values(self) -> int:
        """How many values it takes away and brings."""
        return sum(change.values for change in self.changes)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done with a zone, what cannot be, and what waits for a person."""

    steps: tuple[Step, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    # Present where services would lose all their names, and they are too many to do it unasked.
    leaving: BlastChange | None = None
    departures: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """Whose names are published where: the zone, the owner that claims them, and how the provider stores them."""

    zone: str
    owner: str
    stored: Callable[[RecordSet], RecordSet]
    blast: BlastTerms = _BLAST


def plan_changes(wanted: Wanted, view: ZoneView, terms: Terms, among: Collection[Key] | None = None) -> Plan:
    """Return what makes a zone hold exactly the wanted names, as far as they are this federation's to have.

    With `among` only these services are looked at: those for which something has changed. `departures` are the last
    names of services; they go with the other steps unless `leaving` says that they are too many to go unasked.
    """
    if among is not None:
        wanted = {service: wanted[service] for service in among if service in wanted}
    names, conflicts = _names(wanted, terms)
    claims = view.claims_of(terms.owner, among)
    steps: list[Step] = []
    for name, (service, records) in sorted(names.items()):
        why = _obstacle(name, records, view, mine=name in claims)
        if why:
            conflicts.append(Conflict(name, service, why))
        else:
            claimed = claims.get(name) == Claim(terms.owner, service)
            changes = (*(() if claimed else _claiming(name, service, view, terms)), *_changes(name, records, view))
            steps += [Step(name, service, changes)] if changes else []
    gone = [_removal(name, claim, view) for name, claim in claims.items() if name not in names]
    staying = {service for service, _ in names.values()}
    steps += [step for step in gone if step.service in staying]
    departures = tuple(step for step in gone if step.service not in staying)
    leaving = _too_far(departures, view.services_of(terms.owner), terms)
    return Plan(tuple(steps), tuple(sorted(conflicts, key=str)), leaving, departures)


def changed_services(wanted: Wanted, settled: Wanted | None) -> set[Key] | None:
    """Return the services to look at: those that want something else than what is settled, by identity.

    None is all of them, and also those of which only the zone knows any more: nothing is settled yet.
    """
    if settled is None:
        return None
    changed = {service for service, records in wanted.items() if settled.get(service) is not records}
    return changed | (settled.keys() - wanted.keys())


def settled_services(wanted: Wanted, unsettled: Collection[Key]) -> Wanted:
    """Return what is settled after a plan was carried out; what could not be done is looked at again each time."""
    settled = {service: records for service, records in wanted.items() if service not in unsettled}
    return settled | {service: () for service in unsettled if service not in wanted}


def withdrawal(view: ZoneView, owner: str) -> tuple[Step, ...]:
    """Return what takes every name of a federation out of a zone, because a person said so."""
    return tuple(_removal(name, claim, view) for name, claim in view.claims_of(owner).items())


def owned_records(view: ZoneView, owner: str) -> int:
    """Count the record sets that a federation has in a zone, ownership records aside."""
    return sum(1 for name in view.claims_of(owner) for kind in view.at(name) if kind in _OWN_TYPES)


def batches(steps: Iterable[Step], largest: int) -> Iterator[list[Step]]:
    """Yield steps in batches of at most so many values; a step that is larger than that is alone in its batch."""
    batch: list[Step] = []
    size = 0
    for step in steps:
        if batch and size + step.values > largest:
            yield batch
            batch, size = [], 0
        batch.append(step)
        size += step.values
    if batch:
        yield batch


def _names(wanted: Wanted, terms: Terms) -> tuple[dict[str, tuple[Key, dict[str, RecordSet]]], list[Conflict]]:
    names: dict[str, tuple[Key, dict[str, RecordSet]]] = {}
    conflicts: dict[str, Conflict] = {}
    for service in sorted(wanted):
        for record in wanted[service]:
            name = record.name
            if not within(name, terms.zone):
                continue
            why = _misfit(name)
            holder, records = names.setdefault(name, (service, {})) if not why else (service, {})
            if holder != service:
                why = f"is the name of the service {holder} already"
            if why:
                conflicts[name] = Conflict(name, service, why)
            else:
                records[record.type] = terms.stored(_canonical(record))
    return names, list(conflicts.values())


def _canonical(record: RecordSet) -> RecordSet:
    """Return a record set in the spelling in which providers list it; an address may come in several."""
    values = [canonical_value(record.type, each.value) for each in record.data]
    if values == [each.value for each in record.data]:
        return record
    data = (replace(each, value=value) for each, value in zip(record.data, values, strict=True))
    return replace(record, data=tuple(sorted(data)))


def _misfit(name: str) -> str:
    if len(name) > LONGEST_NAME:
        return f"is too long for DNS by {len(name) - LONGEST_NAME} characters; shorten the name or the namespace"
    if any(len(label) > _LONGEST_LABEL for label in name.split(".")):
        return f"has a label of more than {_LONGEST_LABEL} characters"
    return ""


def _obstacle(name: str, records: Mapping[str, RecordSet], view: ZoneView, *, mine: bool) -> str:
    """Say why a name cannot be had, "" where it can."""
    claim, present = view.claim(name), view.at(name)
    if mine:
        others = sorted(set(present) - set(_OWN_TYPES))
        if CNAME in records and others:
            return f"cannot become a CNAME beside the {', '.join(others)} record that somebody has put there"
        return ""
    if claim is not None:
        holders = sorted(each.federation if each else "somebody else" for each in read_claims(claim))
        return f"belongs to the federation {' and '.join(holders)}, and is left alone"
    if present:
        return "is in the zone already and is not this federation's; it is left alone until somebody removes it there"
    return ""


def _claiming(name: str, service: Key, view: ZoneView, terms: Terms) -> tuple[Change, ...]:
    """Return the claim, which comes before what it is about: a crash leaves at most a claim without records."""
    return (Change(view.claim(name), terms.stored(claim_record(name, Claim(terms.owner, service)))),)


def _changes(name: str, records: Mapping[str, RecordSet], view: ZoneView) -> Iterator[Change]:
    present = view.at(name)
    for kind in _OWN_TYPES:
        if present.get(kind) != records.get(kind):
            yield Change(present.get(kind), records.get(kind))


def _removal(name: str, claim: Claim, view: ZoneView) -> Step:
    """Return the removal of a name, its claim last, so that a crash leaves nothing that nobody claims."""
    here = view.at(name)
    removed = [Change(here[kind], None) for kind in _OWN_TYPES if kind in here]
    return Step(name, claim.service, (*removed, Change(view.claim(name), None)))


def _too_far(departures: Sequence[Step], known: int, terms: Terms) -> BlastChange | None:
    services = {step.service for step in departures}
    if len(services) < terms.blast.least or len(services) <= known * terms.blast.share:
        return None
    examples = tuple(sorted(map(str, services))[:_EXAMPLES])
    return BlastChange(len(services), known, ((terms.zone, len(services)),), examples)
