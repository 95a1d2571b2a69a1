"""What one member shows of exported and imported services, followed no further than there is need.

Exports and imports are followed always. What a cluster holds of others' services is followed once any cluster exports
something, and its own Services and EndpointSlices once it exports something itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from hanse.api.mcs import SERVICE_EXPORTS, SERVICE_IMPORTS, SERVICE_NAME_LABEL
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj, is_deleting, labels_of, namespace_of
from hanse.kube.resources import ENDPOINT_SLICES, NAMESPACES, SERVICES
from hanse.services.mcs.endpoints import MANAGED_BY, MANAGED_BY_LABEL, SERVICE_LABEL
from hanse.services.mcs.exports import Export, Refusal, read_export
from hanse.services.mcs.imports import is_ours, service_name
from hanse.services.mcs.planning import Held


class Slices:
    """EndpointSlices by the service that a label of theirs names."""

    def __init__(self, cache: Cache, label: str, changed: Callable[[Key], None]) -> None:
        self.cache = cache
        self._label = label
        self._changed = changed
        self._by_service: dict[Key, set[Key]] = {}
        cache.subscribe(self._take_in)

    def of(self, service: Key) -> list[Obj]:
        """Return the slices of a service, in order of name."""
        found = (self.cache.get(key) for key in sorted(self._by_service.get(service, ())))
        return [entry for entry in found if entry is not None]

    def _take_in(self, change: Change) -> None:
        before, after = self._service_of(change.old), self._service_of(change.new)
        if before is not None and before != after:
            self._by_service[before].discard(change.key)
            if not self._by_service[before]:
                del self._by_service[before]
            self._changed(before)
        if after is not None:
            self._by_service.setdefault(after, set()).add(change.key)
            self._changed(after)

    def _service_of(self, entry: Obj | None) -> Key | None:
        name = labels_of(entry).get(self._label) if entry is not None else None
        return Key(namespace_of(entry), name) if entry is not None and name else None


class MemberView:
    """What one member shows; `changed` hears of every service of which it may show something else now."""

    def __init__(self, name: str, client: Client, changed: Callable[[Key], None], seen: Callable[[], None]) -> None:
        self.name = name
        self._changed = changed
        self._exports = Cache(client, SERVICE_EXPORTS)
        self._imports = Cache(client, SERVICE_IMPORTS)
        self._namespaces = Cache(client, NAMESPACES, metadata_only=True)
        self._derived = Cache(client, SERVICES, labels=SERVICE_NAME_LABEL)
        held = Cache(client, ENDPOINT_SLICES, labels=f"{MANAGED_BY_LABEL}={MANAGED_BY}")
        self._held = Slices(held, SERVICE_NAME_LABEL, changed)
        self._services = Cache(client, SERVICES)
        self._slices = Slices(Cache(client, ENDPOINT_SLICES, project=_without_pods), SERVICE_LABEL, self._if_exported)
        self._asked = asyncio.Event()
        self._exporting = asyncio.Event()
        self._exports.subscribe(self._export_changed)
        self._imports.subscribe(lambda change: changed(change.key))
        self._namespaces.subscribe(self._namespace_changed)
        self._derived.subscribe(self._derived_changed)
        self._services.subscribe(lambda change: self._if_exported(change.key))
        for cache in (*self._ours, *self._sources, self._exports):
            cache.on_connected(lambda _following: seen())

    @property
    def _ours(self) -> tuple[Cache, ...]:
        return self._imports, self._namespaces, self._derived, self._held.cache

    @property
    def _sources(self) -> tuple[Cache, ...]:
        return self._services, self._slices.cache

    @property
    def known(self) -> bool:
        """Whether what the member exports is known."""
        if not self._exports.synced:
            return False
        return not len(self._exports) or all(cache.synced for cache in self._sources)

    @property
    def ready(self) -> bool:
        """Whether what the member holds of others' services is known."""
        return all(cache.synced for cache in self._ours)

    @property
    def keys(self) -> set[Key]:
        """The services that the member exports or imports."""
        return {key for cache in (self._exports, self._imports) if cache.synced for key in cache}

    def ask(self) -> None:
        """Follow what the member holds: somebody exports something."""
        self._asked.set()

    async def run(self) -> None:
        """Follow the member until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._exports.run())
            tasks.create_task(self._imports.run())
            tasks.create_task(_once(self._asked, (self._namespaces, self._derived, self._held.cache)))
            tasks.create_task(_once(self._exporting, self._sources))

    def export(self, key: Key) -> tuple[Obj, Export | Refusal] | None:
        """Return a ServiceExport and what it means, None where the member has none."""
        found = self._exports.get(key)
        if found is None or is_deleting(found):
            return None
        return found, read_export(self.name, found, self._services.get(key))

    def sources(self, key: Key) -> list[Obj]:
        """Return the EndpointSlices of the member's own Service."""
        return self._slices.of(key)

    def held(self, key: Key) -> Held:
        """Return what the member has of a service of many clusters."""
        namespace = self._namespaces.get(Key("", key.namespace))
        return Held(
            self.name,
            has_namespace=namespace is not None and not is_deleting(namespace),
            import_=self._imports.get(key),
            service=self._derived.get(Key(key.namespace, service_name(key))),
            slices=tuple(self._held.of(key)),
        )

    def is_in_the_way(self, key: Key) -> bool:
        """Tell whether something that is not ours has the name of an import."""
        found = self._imports.get(key) if self._imports.synced else None
        return found is not None and not is_ours(found)

    def remember(self, written: Obj) -> None:
        """Take in the answer to a write."""
        caches = {"ServiceImport": self._imports, "ServiceExport": self._exports, "Service": self._derived}
        caches.get(written["kind"], self._held.cache).remember(written)

    def _export_changed(self, change: Change) -> None:
        self._exporting.set()
        self._changed(change.key)

    def _if_exported(self, key: Key) -> None:
        if self._exports.synced and key in self._exports:
            self._changed(key)

    def _namespace_changed(self, change: Change) -> None:
        self._changed(Key(change.key.name, ""))

    def _derived_changed(self, change: Change) -> None:
        for service in (change.old, change.new):
            if service is not None:
                self._changed(Key(change.key.namespace, labels_of(service)[SERVICE_NAME_LABEL]))


async def _once(wanted: asyncio.Event, caches: Iterable[Cache]) -> None:
    await wanted.wait()
    async with asyncio.TaskGroup() as tasks:
        for cache in caches:
            tasks.create_task(cache.run())


def _without_pods(entry: Obj) -> Obj:
    """Leave out of a slice what is nothing to other clusters; it would change with every move of a pod."""
    metadata = entry["metadata"]
    metadata.pop("managedFields", None)
    metadata.pop("annotations", None)
    for endpoint in entry.get("endpoints") or ():
        endpoint.pop("targetRef", None)
        endpoint.pop("nodeName", None)
        endpoint.pop("hints", None)
    return entry
