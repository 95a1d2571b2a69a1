"""What the server asks of a storage engine.

Objects are JSON bytes without kind and apiVersion that begin with their metadata, so that the engine can stamp the
revision of a write into them without parsing. One counter numbers all writes; a write's number is the object's
resourceVersion. Reads are answered from memory at once; a write is visible, and published, once it is durable.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from hanse.kube.runtime import Runtime

_HEAD = b'{"metadata":{'
_STAMP = b'{"metadata":{"resourceVersion":"'


class Record(msgspec.Struct, gc=False, frozen=True):
    """One object at rest: its place within its bucket, its bytes and the revision that wrote them."""

    path: str
    value: bytes
    revision: int


class Change(msgspec.Struct, gc=False, frozen=True):
    """One write: what the object became (its last state when deleted) and what it was before."""

    bucket: str
    path: str
    revision: int
    value: bytes
    previous: bytes | None
    deleted: bool = False


class StorageError(Exception):
    """The engine could not make a write durable."""


class OutOfSpace(StorageError):
    """There is no room for a write; what was stored before is untouched."""


class Stale(Exception):
    """Somebody else wrote the key first."""


class Compacted(Exception):
    """The history asked for is no longer kept."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"revision {asked} is older than {oldest}")
        self.asked = asked
        self.oldest = oldest


class Storage(Protocol):
    """A revisioned map of (bucket, path) to bytes."""

    @property
    def revision(self) -> int:
        """The revision of the newest visible write."""

    async def open(self, runtime: Runtime, publish: Callable[[Change], None]) -> None:
        """Load what is stored; `publish` is called once for every later write, in the order of revisions."""

    def get(self, bucket: str, path: str) -> Record | None:
        """Return the object under a key."""

    def scan(self, bucket: str, prefix: str = "") -> list[Record]:
        """Return the objects whose path begins with the prefix, in the order of their paths."""

    def scan_at(self, bucket: str, prefix: str, revision: int) -> list[Record]:
        """Return what `scan` would have returned at an earlier revision; raises Compacted."""

    def changes(self, bucket: str, since: int) -> list[Change]:
        """Return a bucket's writes after a revision; raises Compacted."""

    def buckets(self) -> list[str]:
        """Return the names of the buckets that hold anything."""

    async def write(self, bucket: str, path: str, body: bytes, expected: int) -> Record:
        """Put an object whose present revision is `expected` (0: it must not exist); raises Stale."""

    async def delete(self, bucket: str, path: str, expected: int, body: bytes | None = None) -> Record:
        """Remove an object whose present revision is `expected`, giving its last state; raises Stale."""

    async def compact(self, revision: int) -> None:
        """Forget the history up to a revision."""

    async def backup(self, path: Path) -> None:
        """Write all objects of this moment into a new file, without holding writers up; raises StorageError."""

    async def close(self) -> None:
        """Release files and threads."""


def stamp(body: bytes, revision: int) -> bytes:
    """Write a revision into an encoded object that has none yet."""
    return b"".join((_STAMP, b"%d" % revision, b'",', memoryview(body)[len(_HEAD) :]))


def restamp(value: bytes, revision: int) -> bytes:
    """Replace the revision in a stamped object."""
    end = value.index(b'"', len(_STAMP))
    return b"".join((_STAMP, b"%d" % revision, memoryview(value)[end:]))
