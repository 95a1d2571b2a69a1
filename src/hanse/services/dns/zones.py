"""The zones that a server answers for, and by what it orders its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hanse.services.dns.names import to_wire
from hanse.services.dns.zone import Zone
from hanse.services.geography.atlas import Atlas


class Zones:
    """All zones of a server; a name belongs to the zone with the longest domain that covers it."""

    def __init__(self, *zones: Zone, atlas: Atlas | None = None, complete: bool = True) -> None:
        self.atlas = atlas or Atlas()
        # Until everything has been seen once, nobody is told that something does not exist.
        self.complete = complete
        self._zones = {zone.apex: zone for zone in zones}
        self._listeners: list[Callable[[Zone], None]] = []

    def __iter__(self) -> Iterator[Zone]:
        return iter(self._zones.values())

    def put(self, zone: Zone) -> None:
        """Answer for a zone, in place of an earlier one of the same domain."""
        self._zones[zone.apex] = zone
        self._tell(zone)

    def remove(self, domain: str) -> None:
        """Answer for a domain no longer."""
        self._zones.pop(to_wire(domain).lower(), None)

    def get(self, domain: str) -> Zone | None:
        """Return the zone of a domain."""
        return self._zones.get(to_wire(domain).lower())

    def of(self, name: bytes) -> tuple[Zone, int] | None:
        """Return the zone of a name in lower case, and where in the name its domain begins."""
        at = 0
        while True:
            if (zone := self._zones.get(name[at:])) is not None:
                return zone, at
            if not name[at]:
                return None
            at += 1 + name[at]

    def subscribe(self, listener: Callable[[Zone], None]) -> None:
        """Call `listener` with each zone that is new or has got a new serial."""
        self._listeners.append(listener)

    def commit(self, now: float) -> None:
        """Give every zone that changed a new serial, and tell of it."""
        for zone in list(self):
            if zone.commit(now):
                self._tell(zone)

    def _tell(self, zone: Zone) -> None:
        for listener in self._listeners:
            listener(zone)
