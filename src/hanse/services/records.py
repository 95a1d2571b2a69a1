"""The DNS records of a federation's services: zone, region and global levels, each led on when it has nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from hanse.services.naming import Federation
from hanse.services.presence import FederatedService, Place, Port, Presence

A, AAAA, CNAME, SRV, TXT = "A", "AAAA", "CNAME", "SRV", "TXT"
_SRV_PRIORITY = 0
_LARGEST_WEIGHT = 65535


@dataclass(frozen=True, slots=True, order=True)
class Datum:
    """One value of a record set, and what a server that knows its askers does with it."""

    # As in a zone file; names in it end with a dot.
    value: str
    # Whose it is: those near the asker come first. "" is nobody's.
    cluster: str = ""
    weight: int = 1
    # What askers in that very cluster get in its place.
    inside: str = ""
    # Which of several releases in that cluster has it.
    release: str = ""


@dataclass(frozen=True, slots=True, order=True)
class RecordSet:
    """All values of one name and type; the name has no final dot, the values are sorted."""

    name: str
    type: str
    ttl: int
    data: tuple[Datum, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The plain values, for servers that answer everybody alike."""
        return tuple(datum.value for datum in self.data)


@dataclass(frozen=True, slots=True)
class _Level:
    """A name, whose clusters it covers, and where it leads when none of them serves."""

    name: str
    members: frozenset[str] | None
    beyond: str


def records_of(service: FederatedService, federation: Federation, places: Mapping[str, Place]) -> list[RecordSet]:
    """Return every record set of a service, in order of name and type; none for a service without names in DNS."""
    if not service.published:
        return []
    found = chain.from_iterable(
        _level_records(service, federation, level) for level in _levels(service, federation, places)
    )
    own = chain.from_iterable(
        _addresses(federation.in_cluster(service.key, cluster), service.ttl, there)
        for cluster, there in _by_cluster(() if service.front else service.serving).items()
    )
    return sorted([*found, *own])


def _levels(service: FederatedService, federation: Federation, places: Mapping[str, Place]) -> Iterable[_Level]:
    """Yield each level once; those of a cluster without a region or a zone are left out."""
    key, everywhere = service.key, federation.everywhere(service.key)
    yield _Level(federation.hostname(key), None, "")
    yield _Level(everywhere, None, "")
    regions: dict[str, set[str]] = {}
    zones: dict[tuple[str, str], set[str]] = {}
    for presence in service.presences:
        place = places.get(presence.cluster)
        if place is None or not place.region:
            continue
        regions.setdefault(federation.in_region(key, place.region), set()).add(presence.cluster)
        for zone in place.zones:
            names = federation.in_zone(key, place.region, zone), federation.in_region(key, place.region)
            zones.setdefault(names, set()).add(presence.cluster)
    for name, members in sorted(regions.items()):
        yield _Level(name, frozenset(members), everywhere)
    for (name, region), members in sorted(zones.items()):
        yield _Level(name, frozenset(members), region)


def _level_records(service: FederatedService, federation: Federation, level: _Level) -> list[RecordSet]:
    if service.front and service.serving and not level.beyond:
        return _front_records(service, federation, level.name)
    here = [each for each in service.serving if level.members is None or each.cluster in level.members]
    if not here or service.front:
        return [RecordSet(level.name, CNAME, service.ttl, (Datum(f"{level.beyond}."),))] if level.beyond else []
    return [*_addresses(level.name, service.ttl, here), *_services(service, federation, level.name, here)]


def _front_records(service: FederatedService, federation: Federation, name: str) -> list[RecordSet]:
    """Return the records of one name that leads everybody to the balancer in front of all clusters."""
    found = [
        RecordSet(name, kind, service.ttl, data)
        for kind in (A, AAAA)
        if (data := _sorted(Datum(address) for address in service.front if _kind(address) == kind))
    ]
    target = federation.hostname(service.key)
    return found + [
        RecordSet(_port_name(port, name), SRV, service.ttl, (Datum(f"{_SRV_PRIORITY} 1 {port.number} {target}."),))
        for port in service.ports
        if port.name
    ]


def _addresses(name: str, ttl: int, presences: Iterable[Presence]) -> list[RecordSet]:
    data: dict[str, dict[str, Datum]] = {A: {}, AAAA: {}}
    for presence in presences:
        inside = {_kind(ip): ip for ip in reversed(presence.cluster_ips)}
        for address in presence.live:
            kind = _kind(address)
            datum = Datum(address, presence.cluster, presence.weight, inside.get(kind, ""), presence.release)
            data[kind].setdefault(address, datum)
    return [RecordSet(name, kind, ttl, _sorted(found.values())) for kind, found in data.items() if found]


def _kind(address: str) -> str:
    # Every address was read as one before it was decided on; this is asked for each of them on every level.
    return AAAA if ":" in address else A


def _services(
    service: FederatedService, federation: Federation, name: str, presences: list[Presence]
) -> list[RecordSet]:
    return [
        RecordSet(
            _port_name(port, name),
            SRV,
            service.ttl,
            _sorted(
                _service_datum(service, federation, port, cluster, sum(each.weight for each in there))
                for cluster, there in _by_cluster(presences).items()
            ),
        )
        for port in service.ports
        if port.name
    ]


def _port_name(port: Port, name: str) -> str:
    return f"_{port.name}._{port.protocol.lower()}.{name}"


def _by_cluster(presences: Iterable[Presence]) -> dict[str, list[Presence]]:
    found: dict[str, list[Presence]] = {}
    for presence in presences:
        found.setdefault(presence.cluster, []).append(presence)
    return found


def _service_datum(service: FederatedService, federation: Federation, port: Port, cluster: str, weight: int) -> Datum:
    """Return where a cluster's clients of a port go; the name there knows how they are shared by its releases."""
    target = federation.in_cluster(service.key, cluster)
    return Datum(f"{_SRV_PRIORITY} {min(weight, _LARGEST_WEIGHT)} {port.number} {target}.", cluster, weight)


def _sorted(data: Iterable[Datum]) -> tuple[Datum, ...]:
    return tuple(sorted(data))
