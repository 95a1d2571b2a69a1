"""What the federation wants in DNS, read from the host: every Service's record sets, as far as they are known.

Unknown is not empty: without a Federation that can be understood, or before everything was listed once, there is
nothing to be said, and so nothing to be removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.api.clusters import CLUSTERS
from hanse.api.federation import FEDERATION_NAME, FEDERATIONS, FederationError, FederationSettings, parse_federation
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.manifest import Key, is_deleting
from hanse.services.addresses import parse_addresses
from hanse.services.naming import Federation
from hanse.services.places import place_of
from hanse.services.presence import Place
from hanse.services.records import RecordSet, records_of

_FEDERATION = Key("", FEDERATION_NAME)


class WantedRecords:
    """Keeps the record sets of every Service; a change of a Service works out its own again, and no other's."""

    def __init__(self, host: Client) -> None:
        self._federations = Cache(host, FEDERATIONS)
        self._clusters = Cache(host, CLUSTERS)
        self._addresses = Cache(host, SERVICE_ADDRESSES)
        self._caches = (self._federations, self._clusters, self._addresses)
        self._known: dict[Key, list[RecordSet]] = {}
        self._places: dict[str, Place] | None = None
        self._listeners: list[Callable[[], None]] = []

    async def run(self) -> None:
        """Follow the host until cancelled."""
        self._federations.subscribe(self._world_changed)
        self._clusters.subscribe(self._cluster_changed)
        self._addresses.subscribe(self._service_changed)
        async with asyncio.TaskGroup() as tasks:
            for cache in self._caches:
                tasks.create_task(cache.run())

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever something else may be wanted."""
        self._listeners.append(listener)

    @property
    def settings(self) -> FederationSettings | None:
        """What the Federation says; None while there is none that can be understood."""
        if not self._federations.synced:
            return None
        obj = self._federations.get(_FEDERATION)
        try:
            return None if obj is None or is_deleting(obj) else parse_federation(obj)
        except FederationError:
            return None

    def records(self) -> dict[Key, list[RecordSet]] | None:
        """Return the record sets of every Service, None while they are not known."""
        settings = self.settings
        if settings is None or not all(cache.synced for cache in self._caches):
            return None
        federation, places = Federation(settings.name, settings.domain), self._where()
        for key in self._addresses:
            obj = self._addresses.get(key) if key not in self._known else None
            if obj is not None:
                self._known[key] = records_of(parse_addresses(obj), federation, places)
        return dict(self._known)

    def region_of(self, cluster: str) -> str:
        """Return the region of a cluster, "" where it is not known."""
        place = self._where().get(cluster) if self._clusters.synced else None
        return place.region if place is not None else ""

    def _where(self) -> dict[str, Place]:
        # Asked on other threads too, while changes come in.
        places = self._places
        if places is None:
            places = self._places = {place.cluster: place for place in map(place_of, self._clusters.objects())}
        return places

    def _service_changed(self, change: Change) -> None:
        self._known.pop(change.key, None)
        self._tell()

    def _cluster_changed(self, change: Change) -> None:
        """Work everything out again if a cluster has moved; its health and load say nothing about names."""
        before, after = (None if obj is None else place_of(obj) for obj in (change.old, change.new))
        if before is None or after is None or (before.region, before.zones) != (after.region, after.zones):
            self._world_changed(change)

    def _world_changed(self, _change: Change) -> None:
        self._known.clear()
        self._places = None
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
