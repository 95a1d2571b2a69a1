"""What happened in a simulated run, in order: every change of every object, and every fault.

The lines of two runs with the same seed are the same, byte for byte: each names the digest of what was stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from hanse.apiserver import MemoryStorage
from hanse.apiserver.storage import Change
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import dig
from hanse.kube.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened; `notable` ones are what a person wants to read."""

    at: float
    place: str
    text: str
    notable: bool = False

    def __str__(self) -> str:
        """Write it as a line of the log."""
        whole, part = divmod(round(self.at * 1000), 1000)
        clock = f"{whole // 3600:02}:{whole % 3600 // 60:02}:{whole % 60:02}.{part:03}"
        return f"{clock} {self.place:<12} {self.text}"


class EventLog:
    """Collects what happens; whoever listens hears each entry as it is made."""

    def __init__(self, listener: Callable[[Entry], None] | None = None) -> None:
        self.entries: list[Entry] = []
        self._listener = listener

    def add(self, at: float, place: str, text: str, *, notable: bool = False) -> None:
        """Write an entry."""
        entry = Entry(at, place, text, notable)
        self.entries.append(entry)
        if self._listener is not None:
            self._listener(entry)

    def text(self) -> str:
        """Return the whole log."""
        return "".join(f"{entry}\n" for entry in self.entries)

    def digest(self) -> str:
        """Return what two logs have in common if and only if they are the same, as far as 32 bits can tell."""
        return f"{zlib.crc32(self.text().encode()):08x}"


class RecordedStorage(MemoryStorage):
    """A storage in memory that writes every change of it into a log."""

    def __init__(self, place: str, log: EventLog) -> None:
        super().__init__()
        self._place = place
        self._log = log

    async def open(self, runtime: Runtime, publish: Callable[[Change], None]) -> None:
        def record(change: Change) -> None:
            at = runtime.monotonic()
            verb = "deleted" if change.deleted else "created" if change.previous is None else "changed"
            digest = zlib.crc32(change.value)
            self._log.add(at, self._place, f"{verb} {change.bucket} {change.path} {change.revision} {digest:08x}")
            if told := _story(change):
                self._log.add(at, self._place, told, notable=True)
            publish(change)

        await super().open(runtime, record)


def _story(change: Change) -> str:
    """Say what a change means to a person, "" where it means little."""
    if change.bucket == "core/events" and change.previous is None:
        event = orjson.loads(change.value)
        about = event.get("involvedObject") or {}
        return f"{event.get('reason')} {about.get('kind')} {about.get('name')}: {event.get('message')}"
    if change.bucket.endswith("/clusters") and not change.deleted:
        before, after = _health(change.previous), _health(change.value)
        return f"cluster {change.path} is {after}" if before != after else ""
    return ""


def _health(value: bytes | None) -> str:
    conditions = dig(orjson.loads(value), "status", "conditions", default=[]) if value else []
    ready = find_condition(conditions, "Ready")
    return "not judged" if ready is None else "Ready" if ready.get("status") == "True" else "not Ready"
