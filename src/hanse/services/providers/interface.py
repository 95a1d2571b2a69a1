"""What a DNS server must be able to do so that a federation can publish into a zone of it.

A provider lists its zone completely and applies changes, each of one name and type, in batches that take effect
together wherever the server can do that. It does nothing on its own: what to change is decided in `publishing.py`,
when and again in `publisher.py`.

ProviderError           what was asked may or may not have happened; trying again later may help
├── Stale               the zone is not as the changes took it to be: nothing was applied, list it again
└── Refused             the server will not have these changes: nothing was applied, others may pass
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hanse.services.records import Datum, RecordSet


class ProviderError(Exception):
    """What a provider could not do, in one sentence for people; never holds a credential."""


class Stale(ProviderError):
    """Somebody else changed the zone meanwhile; nothing of the batch was applied."""


class Refused(ProviderError):
    """The server answers, and will not have what the batch says; nothing of it was applied."""


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one record set: None before is a new one, None after is removed."""

    before: RecordSet | None
    after: RecordSet | None

    @property
    def values(self) -> int:
        """How many values it takes away and brings, by which batches are measured."""
        return sum(len(each.data) for each in (self.before, self.after) if each is not None)


class Provider(Protocol):
    """One zone of one DNS server."""

    # How many values one batch may hold so that it still takes effect together.
    largest_batch: int

    def stored(self, wanted: RecordSet) -> RecordSet:
        """Return a record set as `records` will list it once it was applied."""

    async def records(self) -> list[RecordSet]:
        """List the zone completely, whoever wrote it; raises ProviderError, and never returns a part."""

    async def apply(self, changes: Sequence[Change]) -> None:
        """Make changes, removals first; raises Stale where a record set is not as its change says it was."""

    async def close(self) -> None:
        """Let go of every connection."""


def plain(wanted: RecordSet) -> RecordSet:
    """Return a record set without what only servers that know their askers can use."""
    data = tuple(Datum(value) for value in sorted(set(wanted.values)))
    return RecordSet(wanted.name, wanted.type, wanted.ttl, data)


def removals(changes: Sequence[Change]) -> list[RecordSet]:
    """Return what changes take away."""
    return [change.before for change in changes if change.before is not None]


def additions(changes: Sequence[Change]) -> list[RecordSet]:
    """Return what changes bring."""
    return [change.after for change in changes if change.after is not None]
