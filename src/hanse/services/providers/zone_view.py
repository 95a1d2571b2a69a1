"""What a zone has, as a complete listing showed it: by name, and who claims each name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from hanse.kube.manifest import Key
from hanse.services.providers.interface import Change
from hanse.services.providers.ownership import Claim, claimed_name, only_claim, read_claims
from hanse.services.records import RecordSet


class ZoneView:
    """The record sets of a zone. It is kept true by one's own changes, and made anew from every listing."""

    def __init__(self, records: Iterable[RecordSet]) -> None:
        self._names: dict[str, dict[str, RecordSet]] = {}
        self._claims: dict[str, RecordSet] = {}
        # The names that a federation alone claims, by service.
        self._held: dict[str, dict[Key, dict[str, Claim]]] = {}
        for record in records:
            self._put(record)

    def at(self, name: str) -> dict[str, RecordSet]:
        """Return what a name has, by type; ownership records are not a name's own."""
        return self._names.get(name, {})

    def claim(self, name: str) -> RecordSet | None:
        """Return the ownership record of a name."""
        return self._claims.get(name)

    def claims_of(self, federation: str, services: Collection[Key] | None = None) -> dict[str, Claim]:
        """Return each name that a federation alone claims, of some services or of all."""
        held = self._held.get(federation, {})
        among = held if services is None else [service for service in services if service in held]
        return {name: claim for service in sorted(among) for name, claim in held[service].items()}

    def services_of(self, federation: str) -> int:
        """Count the services for which a federation claims names."""
        return len(self._held.get(federation, {}))

    def take(self, changes: Sequence[Change]) -> None:
        """Take in changes that were applied."""
        for change in changes:
            if change.before is not None:
                self._drop(change.before)
        for change in changes:
            if change.after is not None:
                self._put(change.after)

    def _put(self, record: RecordSet) -> None:
        claimed = claimed_name(record)
        if not claimed:
            self._names.setdefault(record.name, {})[record.type] = record
            return
        self._claims[claimed] = record
        claim = only_claim(read_claims(record))
        if claim is not None:
            self._held.setdefault(claim.federation, {}).setdefault(claim.service, {})[claimed] = claim

    def _drop(self, record: RecordSet) -> None:
        claimed = claimed_name(record)
        if not claimed:
            _discard(self._names, record.name, record.type)
            return
        self._claims.pop(claimed, None)
        claim = only_claim(read_claims(record))
        if claim is not None:
            _discard(self._held.get(claim.federation, {}), claim.service, claimed)


K = TypeVar("K")
V = TypeVar("V")


def _discard(table: dict[K, dict[str, V]], key: K, entry: str) -> None:
    """Take an entry out, and what is empty without it."""
    entries = table.get(key, {})
    entries.pop(entry, None)
    if not entries:
        table.pop(key, None)
