"""Asks the vtctld in a VitessBackupStorage's Pod what its location holds; it speaks with every kind of storage."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hanse.api.planetscale.reading import read_location
from hanse.api.vitess_records.vtctld import BackupInfo, BackupStatus
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, dig, uid_of
from hanse.kube.transport import Unreachable
from hanse.vitess.operator.backup_listing import MOST_BACKUPS, StoredBackup
from hanse.vitess.operator.backup_mirroring import EVERY_SECONDS, Listed, Shards, mirror
from hanse.vitess.operator.pods import is_ready
from hanse.vitess.operator.shaping import GRPC_PORT
from hanse.vitess.operator.verdicts import Happening
from hanse.vitess.tablets.calling import CallFailed, VtctldCaller
from hanse.vitess.tablets.vtctld import Vtctld

# Shards that are asked for at a time.
_AT_ONCE = 8
_AGAIN_SECONDS = 5.0
_COMPLETE = {
    BackupStatus.COMPLETE: True,
    BackupStatus.VALID: True,
    BackupStatus.INCOMPLETE: False,
    BackupStatus.INVALID: False,
}


@dataclass(frozen=True, slots=True)
class Listing:
    """Why a location was not listed, "" if it was, what is told of it, and in how many seconds to look again."""

    problem: str = ""
    told: tuple[Happening, ...] = ()
    again: float = EVERY_SECONDS


def vtctld_at(pod: Obj | None) -> str:
    """Return where the vtctld of a Pod answers, "" where it does not yet."""
    address = str(dig(pod, "status", "podIP", default="")) if pod is not None and is_ready(pod) else ""
    if not address:
        return ""
    return f"[{address}]:{GRPC_PORT}" if ":" in address else f"{address}:{GRPC_PORT}"


def stored_backup(keyspace: str, shard: str, info: BackupInfo) -> StoredBackup:
    """Return a backup as vtctld tells of it."""
    said = {"BackupMethod": info.engine} if info.engine else {}
    return StoredBackup(keyspace, shard, info.name, _COMPLETE.get(info.status), said)


class BackupLists:
    """Lists every location once a minute, however often its VitessBackupStorage is looked at."""

    def __init__(self, client: Client, caller: VtctldCaller | None) -> None:
        self._client = client
        self._caller = caller
        self._next: dict[str, tuple[float, Listing]] = {}

    async def look(self, storage: Obj, address: str) -> Listing:
        """Have the VitessBackups of a location be what its vtctld says."""
        if self._caller is None:
            return Listing("nobody here speaks with vtctld: install hanse[vitess]")
        if not address:
            return Listing("the Pod of its vtctld is not ready yet", again=_AGAIN_SECONDS)
        now = self._client.runtime.monotonic()
        self._next = {uid: kept for uid, kept in self._next.items() if kept[0] > now}
        due, listing = self._next.get(uid_of(storage), (now, Listing()))
        if due > now:
            return Listing(listing.problem, listing.told, due - now)
        listing = await self._list(storage, Vtctld(self._caller, address))
        self._next[uid_of(storage)] = (self._client.runtime.monotonic() + listing.again, listing)
        return listing

    async def _list(self, storage: Obj, vtctld: Vtctld) -> Listing:
        try:
            mirrored = await mirror(self._client, storage, lambda shards: _ask(vtctld, shards, doubts(storage)))
        except (ApiError, Unreachable) as error:
            return Listing(str(error), again=_AGAIN_SECONDS)
        return Listing(mirrored.problem, mirrored.told)


def doubts(storage: Obj) -> str:
    """Say why an empty list may be none: of a Ceph that does not answer vtctld says that it holds nothing."""
    kind = read_location(storage["spec"].get("location") or {}).kind
    return "vtctld lists nothing, as it also does while Ceph does not answer" if kind == "ceph" else ""


async def _ask(vtctld: Vtctld, shards: Shards, doubt: str) -> Listed:
    """Return the backups of shards; one of which vtctld says nothing keeps no other waiting."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def ask(keyspace: str, shard: str) -> list[StoredBackup] | str:
        async with slots:
            try:
                found = await vtctld.backups(keyspace, shard, MOST_BACKUPS)
            except CallFailed as error:
                return str(error)
        return [stored_backup(keyspace, shard, each) for each in found]

    those = sorted(shards)
    answers = await asyncio.gather(*(ask(*each) for each in those))
    pairs = list(zip(those, answers, strict=True))
    stored = [backup for _, answer in pairs if not isinstance(answer, str) for backup in answer]
    return Listed(tuple(stored), {shard: answer for shard, answer in pairs if isinstance(answer, str)}, doubt)
