"""One root of one lockserver: files with versions, directories that exist while they hold files, and locks.

A directory is nothing of its own: it is there while a file is below it, as in etcd. Every write may demand the version
that its writer has read; nothing is ever overwritten unseen by those who pass it.

TopologyError
├── NoNode          there is no such file
├── NodeExists      there is one already
├── BadVersion      somebody else wrote it meanwhile: read again
├── Unreachable     the lockserver does not answer: what is there is not known, which is never the same as nothing
├── LockTaken       somebody else holds the lock, and did not let it go in time
├── LockLost        the lock that was held has run out: stop, another may act
└── BadRecord       the file is not the record that its path says
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, NewType, Protocol, TypeVar

T = TypeVar("T")

Version = NewType("Version", int)
"""Which writing of a file it is; equal versions of one file mean equal content."""

# Vitess' own: for how long a lock survives its holder, and how long one waits for a lock.
LEASE_SECONDS = 30
LOCK_PATIENCE_SECONDS = 45.0


class TopologyError(Exception):
    """What could not be read or written, in one sentence for people."""


class NoNode(TopologyError):
    """There is no such file."""


class NodeExists(TopologyError):
    """The file is there already."""


class BadVersion(TopologyError):
    """The file is not the one that its writer has read."""


class Unreachable(TopologyError):
    """The lockserver did not answer; a write may or may not have happened."""


class LockTaken(TopologyError):
    """Another holds the lock."""


class LockLost(TopologyError):
    """The lease of a held lock has run out."""


class BadRecord(TopologyError):
    """A file cannot be read as what its path says."""


@dataclass(frozen=True, slots=True)
class Versioned(Generic[T]):
    """A value, and which writing of its file it is from."""

    value: T
    version: Version


class Lock(Protocol):
    """A lock that is held."""

    async def check(self) -> None:
        """Raise LockLost unless it is held still; ask before every step that must not be done by two."""


class TopologyStore(Protocol):
    """The files under one root; paths are relative, without a slash at either end."""

    async def read(self, path: str) -> Versioned[bytes]:
        """Return a file; raises NoNode."""

    async def create(self, path: str, data: bytes) -> Version:
        """Write a file that is not there; raises NodeExists."""

    async def update(self, path: str, data: bytes, version: Version | None) -> Version:
        """Overwrite a file of this version, raises BadVersion otherwise; None writes whatever is there."""

    async def delete(self, path: str, version: Version | None) -> None:
        """Remove a file of this version, None any; raises NoNode or BadVersion."""

    async def names(self, directory: str) -> tuple[str, ...]:
        """Return what is directly in a directory, sorted, without its locks; nothing where there is none."""

    async def read_all(self, directory: str) -> Mapping[str, Versioned[bytes]]:
        """Return every file below a directory ("" for all) by its path, as of one moment; lock files are left out."""

    def lock(
        self, directory: str, action: str, *, patience: float = LOCK_PATIENCE_SECONDS
    ) -> AbstractAsyncContextManager[Lock]:
        """Hold the lock of a directory, which Vitess honours; raises LockTaken when it was not had in time, and NoNode.

        The lock ends with the block, or 30 seconds after its holder was heard of last.
        """

    async def close(self) -> None:
        """Close every connection."""


class Stores(Protocol):
    """Opens the roots of lockservers by address; one that was opened before is given again."""

    def open(self, address: str, root: str) -> TopologyStore:
        """Return the store of a root; the address is a list of host:port, separated by commas."""

    async def close(self) -> None:
        """Close all that were opened."""
