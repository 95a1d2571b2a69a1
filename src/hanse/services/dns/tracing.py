"""What a client somewhere is told about a name, step by step, and who is left out and why. Pure.

It walks the same records in the same order as the server does; where the server draws lots among equals, the heavier
stands first here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_network

from hanse.services.dns.book import Book
from hanse.services.geography.vantage import Vantage, parse_vantage
from hanse.services.naming import Federation
from hanse.services.presence import FederatedService, Presence
from hanse.services.records import AAAA, CNAME, SRV, A, Datum, RecordSet

_LONGEST_CHAIN = 8
_SUBNET = "subnet/"


@dataclass(frozen=True, slots=True)
class Told:
    """One value of an answer: whose it is and why it stands where it stands."""

    value: str
    cluster: str
    why: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A cluster that has the service and to which clients are not led, or an address of one."""

    cluster: str
    why: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One name on the way: what it covers, what it answers, and who is missing from that."""

    name: str
    level: str
    type: str
    ttl: int
    answer: tuple[Told, ...]
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The whole way from a name to what is answered in the end."""

    name: str
    vantage: Vantage
    service: str
    steps: tuple[Step, ...]
    # In one sentence.
    outcome: str


@dataclass(frozen=True, slots=True)
class _Level:
    text: str
    presences: tuple[Presence, ...]


def place_to_ask_from(text: str, book: Book) -> Vantage:
    """Read a place: cluster/NAME, region/R, zone/R/Z, or subnet/CIDR by the federation's table. Raises ValueError."""
    if not text.startswith(_SUBNET) and not text[:1].isdecimal() and ":" not in text:
        return parse_vantage(text)
    try:
        network = ip_network(text.removeprefix(_SUBNET), strict=False)
    except ValueError as error:
        raise ValueError(f"{text!r} is no subnet: write subnet/10.1.0.0/16, or a plain address") from error
    subnets = book.zones.atlas.subnets
    return subnets.of_prefix(network.version, int(network.network_address), network.prefixlen).vantage


def trace(book: Book, name: str, vantage: Vantage) -> Trace:
    """Follow a name as the server would for an asker at a place."""
    wanted = name.lower().removesuffix(".")
    federation = book.federation
    if federation is None:
        return Trace(wanted, vantage, "", (), "the federation has no name in DNS: there is no Federation object")
    if not wanted.endswith(f".{federation.domain}"):
        return Trace(wanted, vantage, "", (), f"the name is not in {federation.domain}: the answer is REFUSED")
    found = _service_of(book, federation, wanted)
    if found is None:
        return Trace(wanted, vantage, "", (), "no service has this name: the answer is NXDOMAIN")
    service, levels = found
    if not service.published:
        return Trace(wanted, vantage, str(service.key), (), "the service has no names in DNS: it has no addresses")
    records = {(each.name, each.type): each for each in book.records(service)}
    steps = tuple(_steps(book, records, levels, wanted, vantage))
    return Trace(wanted, vantage, str(service.key), steps, _outcome(steps))


def _service_of(book: Book, federation: Federation, wanted: str) -> tuple[FederatedService, dict[str, _Level]] | None:
    for service in book.services.values():
        levels = dict(_levels(book, federation, service))
        if _owner(wanted) in levels:
            return service, levels
    return None


def _owner(name: str) -> str:
    """Return the name that an SRV record's is made from, and any other as it is."""
    return name.split(".", 2)[2] if name.startswith("_") and name.count(".") > 1 else name


def _levels(book: Book, federation: Federation, service: FederatedService) -> Iterator[tuple[str, _Level]]:
    key, everybody = service.key, service.presences
    yield federation.hostname(key), _Level("everywhere", everybody)
    yield federation.everywhere(key), _Level("everywhere", everybody)
    for presence in everybody:
        same = tuple(each for each in everybody if each.cluster == presence.cluster)
        yield federation.in_cluster(key, presence.cluster), _Level(f"cluster {presence.cluster}", same)
        place = book.places.get(presence.cluster)
        if place is None or not place.region:
            continue
        there = [each for each in everybody if _region(book, each) == place.region]
        yield federation.in_region(key, place.region), _Level(f"region {place.region}", tuple(there))
        for zone in place.zones:
            inside = tuple(each for each in there if zone in book.places[each.cluster].zones)
            yield federation.in_zone(key, place.region, zone), _Level(f"zone {zone} of {place.region}", inside)


def _region(book: Book, presence: Presence) -> str:
    place = book.places.get(presence.cluster)
    return "" if place is None else place.region


def _steps(
    book: Book, records: dict[tuple[str, str], RecordSet], levels: dict[str, _Level], name: str, vantage: Vantage
) -> Iterator[Step]:
    for _ in range(_LONGEST_CHAIN):
        level = levels[_owner(name)]
        left_out = tuple(_left_out(level.presences))
        alias = records.get((name, CNAME))
        if alias is not None:
            target = alias.values[0].removesuffix(".")
            told = Told(target, "", "nobody serves here")
            yield Step(name, level.text, CNAME, alias.ttl, (told,), left_out)
            name = target
            continue
        found = [records[name, kind] for kind in (A, AAAA, SRV) if (name, kind) in records]
        for each in found:
            yield Step(name, level.text, each.type, each.ttl, tuple(_told(book, each, vantage, level)), left_out)
        if not found:
            yield Step(name, level.text, "", 0, (), left_out)
        return


def _told(book: Book, records: RecordSet, vantage: Vantage, level: _Level) -> Iterable[Told]:
    atlas, nevertheless = book.zones.atlas, {(each.cluster, each.release): each.why for each in level.presences}
    ranked = sorted(records.data, key=lambda datum: (atlas.rank(vantage, datum.cluster), -datum.weight, datum.value))
    shown: dict[str, Told] = {}
    for datum in ranked:
        rank = atlas.rank(vantage, datum.cluster)
        value = datum.inside if rank.inside and datum.inside else datum.value
        why = _why(str(rank), datum, nevertheless.get((datum.cluster, datum.release), ""))
        shown.setdefault(value, Told(value, datum.cluster, why))
    return shown.values()


def _why(rank: str, datum: Datum, nevertheless: str) -> str:
    told = [rank]
    if datum.release:
        told.append(f"release {datum.release}")
    if datum.weight != 1:
        told.append(f"weight {datum.weight}")
    why = ", ".join(told)
    return f"{why}; {nevertheless}" if nevertheless else why


def _left_out(presences: Iterable[Presence]) -> Iterator[LeftOut]:
    for presence in presences:
        if not presence.live:
            why = "it has no address" if not presence.addresses else "it does not serve"
            yield LeftOut(presence.cluster, presence.why or why)
            continue
        for address in presence.dead:
            yield LeftOut(presence.cluster, "a majority of checkers calls this address dead", address)


def _outcome(steps: tuple[Step, ...]) -> str:
    last = steps[-1]
    if not last.answer:
        missing = len({left.cluster for left in last.left_out})
        told = "1 cluster is" if missing == 1 else f"{missing} clusters are"
        return f"nobody serves at all ({told} left out): the answer is NXDOMAIN"
    if last.type == CNAME:
        return "the names lead in a circle: the answer is SERVFAIL"
    kinds = [step for step in steps if step.name == last.name]
    count = sum(len(step.answer) for step in kinds)
    return f"{count} {'answer' if count == 1 else 'answers'}, nearest first; of equals by chance"
