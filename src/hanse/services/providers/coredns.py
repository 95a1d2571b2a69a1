"""Publishes into the etcd from which CoreDNS answers (its `etcd` plugin), in SkyDNS' layout.

A batch is one transaction that demands of every key it touches what the listing showed. Only keys that differ are
written: a set of many addresses of which one has changed is one put.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hanse.api.dns_zones import CoreDnsSettings
from hanse.services.providers.etcd_gateway import LARGEST_TRANSACTION, EtcdAccess, EtcdGateway, Write
from hanse.services.providers.interface import Change, Stale, plain, removals
from hanse.services.providers.skydns import keys_of, read_keys, set_prefix, zone_prefix
from hanse.services.records import RecordSet


class CoreDns:
    """A zone that CoreDNS serves from etcd."""

    # An alias has two keys.
    largest_batch = LARGEST_TRANSACTION // 2

    def __init__(self, zone: str, settings: CoreDnsSettings, access: EtcdAccess) -> None:
        self._zone = zone
        self._prefix = settings.prefix
        self._etcd = EtcdGateway(settings.endpoints, access, settings.timeout_seconds)
        # Messages as they are in etcd, to the byte: an older Hanse may have spelt the same record otherwise.
        self._listed: dict[str, bytes] = {}

    def stored(self, wanted: RecordSet) -> RecordSet:
        return plain(wanted)

    async def records(self) -> list[RecordSet]:
        self._listed = await self._etcd.range(zone_prefix(self._prefix, self._zone))
        return read_keys(self._listed, self._prefix)

    async def apply(self, changes: Sequence[Change]) -> None:
        writes = self._writes(changes)
        # Only a single name with very many addresses needs more than one transaction; its claim is in the first.
        for at in range(0, len(writes), LARGEST_TRANSACTION):
            # What a first part has put there is there by right.
            part = [replace(each, vacant="") if at else each for each in writes[at : at + LARGEST_TRANSACTION]]
            if not await self._etcd.transact(part):
                raise Stale(f"the zone {self._zone} in etcd has changed since it was read")
            self._take(part)

    async def close(self) -> None:
        await self._etcd.close()

    def _writes(self, changes: Sequence[Change]) -> list[Write]:
        before = {
            key: self._listed.get(key, told)
            for record in removals(changes)
            for key, told in keys_of(record, self._prefix).items()
        }
        after: dict[str, bytes] = {}
        vacant: dict[str, str] = {}
        for change in changes:
            if change.after is not None:
                keys, stem = keys_of(change.after, self._prefix), set_prefix(change.after, self._prefix)
                after |= keys
                vacant |= {key: stem for key in keys if change.before is None and key.startswith(stem)}
        return [
            Write(key, before.get(key), after.get(key), vacant.get(key, ""))
            for key in dict.fromkeys([*after, *before])
            if before.get(key) != after.get(key)
        ]

    def _take(self, writes: Sequence[Write]) -> None:
        for write in writes:
            if write.after is None:
                self._listed.pop(write.key, None)
            else:
                self._listed[write.key] = write.after
