"""Publishes into a zone of the built-in DNS server, in the same process.

The built-in server follows the host by itself; this serves names of other origin beside them, and holds the interface
to what a server of our own must keep.
"""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.runtime import Runtime
from hanse.services.dns.zone import Zone
from hanse.services.providers.interface import Change, Refused, Stale, additions, plain, removals
from hanse.services.records import RecordSet


class BuiltIn:
    """A zone of the built-in server whose records are kept here."""

    largest_batch = 10_000

    def __init__(self, zone: Zone, runtime: Runtime) -> None:
        self._zone = zone
        self._runtime = runtime
        self._names: dict[str, dict[str, RecordSet]] = {}

    def stored(self, wanted: RecordSet) -> RecordSet:
        # The server knows its askers: clusters and weights are kept.
        return wanted if wanted.data and wanted.data[0].cluster else plain(wanted)

    async def records(self) -> list[RecordSet]:
        return sorted(each for here in self._names.values() for each in here.values())

    async def apply(self, changes: Sequence[Change]) -> None:
        for change in changes:
            told = change.before or change.after
            if told is not None and self._names.get(told.name, {}).get(told.type) != change.before:
                raise Stale(f"the zone {self._zone.domain} has changed since it was read")
        touched = {each.name for each in (*removals(changes), *additions(changes))}
        before = {name: dict(self._names.get(name, {})) for name in touched}
        for record in removals(changes):
            del self._names[record.name][record.type]
        for record in additions(changes):
            self._names.setdefault(record.name, {})[record.type] = record
        refused = [why for name in sorted(touched) for why in self._serve(name)]
        if refused:
            self._names |= before
            for name in touched:
                self._serve(name)
            raise Refused(f"the built-in server cannot serve it: {refused[0]}")
        self._zone.commit(self._runtime.now())

    def _serve(self, name: str) -> list[str]:
        records = self._names.get(name, {})
        if not records:
            self._names.pop(name, None)
        return self._zone.replace(("published", name), records.values())

    async def close(self) -> None:
        """Nothing to let go of: the zone is the server's."""
