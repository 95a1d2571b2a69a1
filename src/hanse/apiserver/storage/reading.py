"""The half of a storage engine that answers from memory, which all engines share."""

from __future__ import annotations

from pathlib import Path

from hanse.apiserver.storage.index import Index
from hanse.apiserver.storage.interface import Change, Record, Stale, StorageError
from hanse.apiserver.storage.snapshot import write_snapshot
from hanse.kube.runtime import Runtime


class Reading:
    """Reads of an index that the engine keeps in step with what it has stored."""

    def __init__(self, history: int) -> None:
        self._index = Index(history)
        self._runtime: Runtime | None = None

    @property
    def revision(self) -> int:
        return self._index.revision

    def get(self, bucket: str, path: str) -> Record | None:
        return self._index.get(bucket, path)

    def scan(self, bucket: str, prefix: str = "") -> list[Record]:
        return self._index.scan(bucket, prefix)

    def scan_at(self, bucket: str, prefix: str, revision: int) -> list[Record]:
        return self._index.scan_at(bucket, prefix, revision)

    def changes(self, bucket: str, since: int) -> list[Change]:
        return self._index.changes(bucket, since)

    def buckets(self) -> list[str]:
        return self._index.buckets()

    async def backup(self, path: Path) -> None:
        # Taken from memory: writers neither wait for it nor show in it.
        held, revision = self._index.all(), self._index.revision
        await self._required_runtime().in_thread(lambda: write_snapshot(path, held, revision))

    def _expected(self, bucket: str, path: str, revision: int) -> Record | None:
        """Return what a write replaces; raises Stale where that is not what its writer has seen."""
        before = self._index.get(bucket, path)
        if (before.revision if before else 0) != revision:
            raise Stale
        return before

    def _required_runtime(self) -> Runtime:
        if self._runtime is None:
            raise StorageError("the storage is not open")
        return self._runtime
