"""What DNS knows of a federation, taken in object by object, and the zone that follows from it.

An object that cannot be understood changes nothing: what was known before is served on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hanse.api.federation import FederationError, FederationSettings, Overload, parse_federation
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj
from hanse.kube.runtime import Runtime
from hanse.services.addresses import parse_addresses
from hanse.services.dns.rdata import to_rdata
from hanse.services.dns.types import Type
from hanse.services.dns.zone import Nameserver, Zone
from hanse.services.dns.zones import Zones
from hanse.services.geography.atlas import Atlas, overloaded_clusters
from hanse.services.geography.distances import Distances
from hanse.services.geography.subnets import Subnets
from hanse.services.geography.vantage import Vantage
from hanse.services.naming import Federation
from hanse.services.places import place_of
from hanse.services.presence import FederatedService, Place
from hanse.services.records import RecordSet, records_of

log = Log("hanse")

# What reading a stored object raises that is not as its schema says, or holds what is no address.
_NONSENSE = (ValueError, KeyError, TypeError, AttributeError)


class Book:
    """The services of a federation, their places and their names; what changes is told to `changed`."""

    def __init__(
        self,
        zones: Zones,
        runtime: Runtime,
        *,
        nameservers: Sequence[Nameserver] = (),
        address: str = "",
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """`address` is that of a server whose name nobody gave; it is called `ns` in the federation's domain."""
        self.zones = zones
        self.settings: FederationSettings | None = None
        self.places: dict[str, Place] = {}
        self.services: dict[Key, FederatedService] = {}
        self._runtime = runtime
        self._nameservers = tuple(nameservers)
        self._address = address
        self._changed = changed
        self._zone: Zone | None = None
        self._overloaded: frozenset[str] = frozenset()
        self._subnets, self._distances = Subnets(), Distances()

    @property
    def federation(self) -> Federation | None:
        """What the federation is called, None while it has no name in DNS."""
        return None if self.settings is None else Federation(self.settings.name, self.settings.domain)

    def take_federation(self, obj: Obj | None) -> None:
        """Take in the Federation object, or that there is none."""
        try:
            settings = None if obj is None else parse_federation(obj)
        except FederationError as error:
            log.warning("Kept the names of the federation as they were", error=str(error))
            return
        if settings == self.settings:
            return
        before, self.settings = self.federation, settings
        self._read_map(settings)
        self._draw_atlas()
        if self.federation != before and self.zones.complete:
            self._open_zone()

    def take_cluster(self, name: str, obj: Obj | None) -> None:
        """Take in a Cluster object, or that it is gone."""
        before = self.places.pop(name, None)
        place = None if obj is None else place_of(obj)
        if place is not None:
            self.places[name] = place
        if place == before:
            return
        self._draw_atlas()
        if self._zone is not None and _levels(place) != _levels(before):
            for service in self.services.values():
                if any(presence.cluster == name for presence in service.presences):
                    self._publish(service)

    def take_service(self, key: Key, obj: Obj | None) -> None:
        """Take in a ServiceAddresses object, or that it is gone."""
        if obj is None:
            if self.services.pop(key, None) is not None:
                self._replace(key, [])
            return
        try:
            service = parse_addresses(obj)
            _check_addresses(service)
        except _NONSENSE as error:
            log.warning("Kept the names of a service as they were", service=str(key), error=str(error))
            return
        self.services[key] = service
        self._publish(service)

    def complete(self) -> None:
        """Begin to answer: everything that there is has been taken in once."""
        if not self.zones.complete:
            self.zones.complete = True
            self._open_zone()

    def records(self, service: FederatedService) -> list[RecordSet]:
        """Return the records of a service."""
        return [] if self.federation is None else records_of(service, self.federation, self.places)

    def _open_zone(self) -> None:
        before, self._zone = self._zone, None
        if self.settings is not None:
            self._zone = self._new_zone(self.settings.domain, before)
            for service in self.services.values():
                self._publish(service)
            self._zone.commit(self._runtime.now())
            self.zones.put(self._zone)
            log.info("Answering for a domain", domain=self._zone.domain, names=len(self._zone))
        if before is not None and (self._zone is None or before.apex != self._zone.apex):
            self.zones.remove(before.domain)

    def _new_zone(self, domain: str, before: Zone | None) -> Zone:
        own = Nameserver(f"ns.{domain}", (self._address,) if self._address else ())
        # Secondaries of a domain that stays must not see its serial go back.
        since = self._runtime.now() if before is None else max(self._runtime.now(), before.serial + 1)
        return Zone(domain, self._nameservers or (own,), now=since)

    def _publish(self, service: FederatedService) -> None:
        self._replace(service.key, self.records(service))

    def _replace(self, key: Key, records: list[RecordSet]) -> None:
        if self._zone is None:
            return
        for why in self._zone.replace(key, records):
            log.warning("Left a name out of DNS", service=str(key), why=why)
        self._changed()

    def _read_map(self, settings: FederationSettings | None) -> None:
        subnets, distances = ((), ()) if settings is None else (settings.subnets, settings.distances)
        self._subnets = Subnets((str(each.network), Vantage(each.cluster, each.region, each.zone)) for each in subnets)
        self._distances = Distances((each.start, each.end, each.distance) for each in distances)

    def _draw_atlas(self) -> None:
        overload = Overload() if self.settings is None else self.settings.overload
        self._overloaded = overloaded_clusters(self.places, self._overloaded, mark=overload.mark, clear=overload.clear)
        self.zones.atlas = Atlas(
            self.places, subnets=self._subnets, distances=self._distances, overloaded=self._overloaded
        )


def _check_addresses(service: FederatedService) -> None:
    """Raise ValueError where one of a service's addresses is none: the others alone would not be what was decided."""
    for presence in service.presences:
        for address in (*presence.addresses, *presence.cluster_ips):
            to_rdata(Type.AAAA if ":" in address else Type.A, address)


def _levels(place: Place | None) -> tuple[str, tuple[str, ...]]:
    """Return what of a place is in names."""
    return ("", ()) if place is None else (place.region, place.zones)
