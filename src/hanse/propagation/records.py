"""Objects that a front door keeps on the host beside its sources: what tools of other systems look for there.

A record is brought to what it shall be when it shall be something else than before. One that somebody deletes comes
back with the next change: nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Key, Obj, key_of
from hanse.kube.patches.differences import digest
from hanse.kube.resources import Resource
from hanse.propagation.intent import Ref

_IDENTITY = frozenset({"apiVersion", "kind", "metadata", "status"})


@dataclass(frozen=True, slots=True)
class Record:
    """An object that shall have these fields; without `create` only where it is there already."""

    resource: Resource
    obj: Obj
    create: bool = True


class Records:
    """Keeps the records of sources."""

    def __init__(self, host: Client) -> None:
        self._host = host
        self._kept: dict[Ref, dict[tuple[Resource, Key], str]] = {}

    async def keep(self, source: Ref, records: Iterable[Record]) -> None:
        """Bring the records of a source up to date; Conflict says that somebody wrote one meanwhile."""
        kept = self._kept.setdefault(source, {})
        for record in records:
            place, fingerprint = (record.resource, key_of(record.obj)), digest(record.obj)
            if kept.get(place) == fingerprint:
                continue
            try:
                await self._write(record)
            except NotFound:
                # The host does not serve the kind, or the object went away: there is nothing to keep.
                pass
            kept[place] = fingerprint
        if not kept:
            del self._kept[source]

    def forget(self, source: Ref) -> None:
        """Forget what was written for a source."""
        self._kept.pop(source, None)

    async def _write(self, record: Record) -> None:
        resource, wanted, key = record.resource, record.obj, key_of(record.obj)
        live = await self._host.find(resource, key.name, key.namespace)
        if live is None:
            if not record.create:
                return
            try:
                live = await self._host.create(resource, wanted)
            except AlreadyExists:
                live = await self._host.get(resource, key.name, key.namespace)
        fields = {name: value for name, value in wanted.items() if name not in _IDENTITY}
        if any(live.get(name) != value for name, value in fields.items()):
            live = await self._host.update(resource, {**live, **fields})
        if "status" in wanted and live.get("status") != wanted["status"]:
            await self._host.update(resource, {**live, "status": wanted["status"]}, subresource="status")
