"""Storage that lives as long as the process: for simulated clusters and tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hanse.apiserver.storage.index import Index
from hanse.apiserver.storage.interface import Change, Record, Stale, StorageError, restamp, stamp
from hanse.apiserver.storage.snapshot import write_snapshot
from hanse.kube.runtime import Runtime


class MemoryStorage:
    """Keeps objects in memory only; a write is visible before `write` returns."""

    def __init__(self, *, history: int = 10_000) -> None:
        self._index = Index(history)
        self._publish: Callable[[Change], None] | None = None
        self._runtime: Runtime | None = None

    @property
    def revision(self) -> int:
        return self._index.revision

    async def open(self, runtime: Runtime, publish: Callable[[Change], None]) -> None:
        self._publish = publish
        self._runtime = runtime

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

    async def write(self, bucket: str, path: str, body: bytes, expected: int) -> Record:
        before = self._before(bucket, path, expected)
        revision = self._index.revision + 1
        value = stamp(body, revision)
        self._apply(Change(bucket, path, revision, value, before.value if before else None))
        return Record(path, value, revision)

    async def delete(self, bucket: str, path: str, expected: int, body: bytes | None = None) -> Record:
        before = self._before(bucket, path, expected)
        if before is None:
            raise Stale
        revision = self._index.revision + 1
        value = stamp(body, revision) if body is not None else restamp(before.value, revision)
        self._apply(Change(bucket, path, revision, value, before.value, deleted=True))
        return Record(path, value, revision)

    async def compact(self, revision: int) -> None:
        self._index.forget(revision)

    async def backup(self, path: Path) -> None:
        held, revision = self._index.all(), self._index.revision
        await self._required_runtime().in_thread(lambda: write_snapshot(path, held, revision))

    async def close(self) -> None:
        self._publish = None

    def _required_runtime(self) -> Runtime:
        if self._runtime is None:
            raise StorageError("the storage is not open")
        return self._runtime

    def _before(self, bucket: str, path: str, expected: int) -> Record | None:
        before = self._index.get(bucket, path)
        if (before.revision if before else 0) != expected:
            raise Stale
        return before

    def _apply(self, change: Change) -> None:
        self._index.apply(change)
        if self._publish is not None:
            self._publish(change)
