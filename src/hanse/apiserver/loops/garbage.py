"""Owners and dependents: what belongs to something that is gone goes too, in the order that the deletion asked for.

An index of owner uids is kept from the changes alone. An object whose owners are all gone is deleted; an owner that
is deleted in the foreground waits for its blocking dependents; one that is orphaned lets go of them first.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from hanse.apiserver.core import Core
from hanse.apiserver.loops.worker import Worker
from hanse.apiserver.registry import Served
from hanse.apiserver.storage import Change, Stale
from hanse.apiserver.system_writes import delete_as_server
from hanse.kube.manifest import Obj, finalizers_of, is_deleting

_ORPHAN = "orphan"
_FOREGROUND = "foregroundDeletion"


class _Reference(msgspec.Struct, gc=False):
    uid: str = ""


class _Metadata(msgspec.Struct, gc=False):
    uid: str = ""
    ownerReferences: list[_Reference] | None = None  # noqa: N815 - the wire's name
    finalizers: list[str] | None = None
    deletionTimestamp: str | None = None  # noqa: N815 - the wire's name


class _Head(msgspec.Struct, gc=False):
    metadata: _Metadata


_heads = msgspec.json.Decoder(_Head)


class Place(NamedTuple):
    """Where an object is stored."""

    bucket: str
    path: str


class GarbageCollector:
    """Deletes what lost its owners."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._worker: Worker[Place] = Worker("garbage-collector", core.runtime, self._reconcile)
        self._uids: dict[str, Place] = {}
        self._dependents: dict[str, set[Place]] = {}
        self._owners: dict[Place, tuple[str, ...]] = {}

    async def start(self) -> None:
        """Index what is stored, then follow."""
        for bucket in self._core.storage.buckets():
            for record in self._core.storage.scan(bucket):
                self._index(Place(bucket, record.path), _heads.decode(record.value).metadata)
        self._core.hub.listen(self._hear)
        for place in list(self._owners):
            self._worker.add(place)
        for bucket in self._core.storage.buckets():
            for record in self._core.storage.scan(bucket):
                if b'"deletionTimestamp"' in record.value:
                    self._worker.add(Place(bucket, record.path))
        self._worker.start()

    async def stop(self) -> None:
        """Stop following."""
        await self._worker.stop()

    def _hear(self, change: Change) -> None:
        place = Place(change.bucket, change.path)
        metadata = _heads.decode(change.value).metadata
        if change.deleted:
            self._forget(place, metadata.uid)
            return
        before = self._owners.get(place, ())
        self._index(place, metadata)
        if self._owners.get(place, ()) != before or (metadata.deletionTimestamp and _waits(metadata.finalizers or [])):
            self._worker.add(place)

    def _index(self, place: Place, metadata: _Metadata) -> None:
        self._uids[metadata.uid] = place
        owners = tuple(one.uid for one in metadata.ownerReferences or ())
        before = self._owners.get(place, ())
        if owners == before:
            return
        for uid in before:
            self._drop(uid, place)
        for uid in owners:
            self._dependents.setdefault(uid, set()).add(place)
        if owners:
            self._owners[place] = owners
        else:
            self._owners.pop(place, None)

    def _forget(self, place: Place, uid: str) -> None:
        self._uids.pop(uid, None)
        for owner in self._owners.pop(place, ()):
            self._drop(owner, place)
            # An owner in the foreground may have waited for this one.
            if owner in self._uids:
                self._worker.add(self._uids[owner])
        for dependent in sorted(self._dependents.get(uid, ())):
            self._worker.add(dependent)

    def _drop(self, uid: str, place: Place) -> None:
        held = self._dependents.get(uid)
        if held is not None:
            held.discard(place)
            if not held:
                del self._dependents[uid]

    async def _reconcile(self, place: Place) -> None:
        kind = self._core.registry.of_bucket(place.bucket)
        record = self._core.storage.get(*place)
        if kind is None or record is None:
            return
        obj = self._core.stored_form(kind, record.value)
        if is_deleting(obj):
            if _ORPHAN in finalizers_of(obj):
                await self._orphan(kind, obj, record.revision)
            elif _FOREGROUND in finalizers_of(obj):
                await self._foreground(kind, obj, record.revision)
        owners = obj["metadata"].get("ownerReferences") or []
        if owners and not is_deleting(obj):
            await self._check_owners(kind, obj, record.revision, owners)

    async def _check_owners(self, kind: Served, obj: Obj, revision: int, owners: list[Obj]) -> None:
        solid: list[Obj] = []
        waiting: list[Obj] = []
        for owner in owners:
            place = self._uids.get(owner["uid"])
            if place is None or not self._same_scope(place, obj):
                continue
            (waiting if self._in_foreground(place) else solid).append(owner)
        metadata = obj["metadata"]
        if solid:
            if len(solid) < len(owners):
                metadata["ownerReferences"] = solid
                await self._core.replace(kind, obj, revision)
            return
        # Owners that go in the foreground take their dependents' own dependents along in the same way.
        propagation = "Foreground" if waiting and self._dependents.get(metadata["uid"]) else "Background"
        if finalizers_of(obj) and _ORPHAN in finalizers_of(obj):
            propagation = "Orphan"
        await delete_as_server(
            self._core,
            kind,
            metadata.get("namespace") or "",
            metadata["name"],
            uid=metadata["uid"],
            propagation=propagation,
        )

    def _same_scope(self, owner: Place, obj: Obj) -> bool:
        # A namespaced owner in another namespace owns nothing here.
        namespace, slash, _ = owner.path.partition("/")
        return not slash or namespace == obj["metadata"].get("namespace")

    def _in_foreground(self, place: Place) -> bool:
        record = self._core.storage.get(*place)
        if record is None:
            return False
        metadata = _heads.decode(record.value).metadata
        return bool(metadata.deletionTimestamp) and _FOREGROUND in (metadata.finalizers or ())

    async def _orphan(self, kind: Served, obj: Obj, revision: int) -> None:
        uid = obj["metadata"]["uid"]
        for place in sorted(self._dependents.get(uid, ())):
            await self._let_go(place, uid)
        if finalizers_of(obj) == [_ORPHAN]:
            # Whoever else holds the object may have dependents that no owner reference names, and no other way to
            # learn that they are to stay; so this word goes last.
            await self._without_finalizer(kind, obj, revision, _ORPHAN)

    async def _let_go(self, place: Place, uid: str) -> None:
        while True:
            kind, record = self._core.registry.of_bucket(place.bucket), self._core.storage.get(*place)
            if kind is None or record is None:
                return
            obj = self._core.stored_form(kind, record.value)
            rest = [one for one in obj["metadata"].get("ownerReferences") or [] if one["uid"] != uid]
            if rest:
                obj["metadata"]["ownerReferences"] = rest
            else:
                obj["metadata"].pop("ownerReferences", None)
            try:
                await self._core.replace(kind, obj, record.revision)
            except Stale:
                continue
            return

    async def _foreground(self, kind: Served, obj: Obj, revision: int) -> None:
        uid = obj["metadata"]["uid"]
        blocked = False
        for place in sorted(self._dependents.get(uid, ())):
            record = self._core.storage.get(*place)
            dependent = self._core.registry.of_bucket(place.bucket)
            if record is None or dependent is None:
                continue
            found = self._core.stored_form(dependent, record.value)
            blocked = blocked or _blocks(found, uid)
            if not is_deleting(found):
                self._worker.add(place)
        if not blocked:
            await self._without_finalizer(kind, obj, revision, _FOREGROUND)

    async def _without_finalizer(self, kind: Served, obj: Obj, revision: int, finalizer: str) -> None:
        rest = [one for one in finalizers_of(obj) if one != finalizer]
        if rest:
            obj["metadata"]["finalizers"] = rest
            await self._core.replace(kind, obj, revision)
            return
        obj["metadata"].pop("finalizers", None)
        if obj["metadata"].get("deletionGracePeriodSeconds"):
            await self._core.replace(kind, obj, revision)
        else:
            await self._core.remove(kind, obj, revision)


def _waits(finalizers: list[str]) -> bool:
    return _ORPHAN in finalizers or _FOREGROUND in finalizers


def _blocks(dependent: Obj, uid: str) -> bool:
    owners = dependent["metadata"].get("ownerReferences") or ()
    return any(one["uid"] == uid and one.get("blockOwnerDeletion") for one in owners)
