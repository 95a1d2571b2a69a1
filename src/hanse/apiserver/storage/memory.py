"""Storage that lives as long as the process: for simulated clusters and tests."""

from __future__ import annotations

from collections.abc import Callable

from hanse.apiserver.storage.interface import Change, Record, Stale, restamp, stamp
from hanse.apiserver.storage.reading import Reading
from hanse.kube.runtime import Runtime


class MemoryStorage(Reading):
    """Keeps objects in memory only; a write is visible before `write` returns."""

    def __init__(self, *, history: int = 10_000) -> None:
        super().__init__(history)
        self._publish: Callable[[Change], None] | None = None

    async def open(self, runtime: Runtime, publish: Callable[[Change], None]) -> None:
        self._publish = publish
        self._runtime = runtime

    async def write(self, bucket: str, path: str, body: bytes, expected: int) -> Record:
        before = self._expected(bucket, path, expected)
        revision = self._index.revision + 1
        value = stamp(body, revision)
        self._apply(Change(bucket, path, revision, value, before.value if before else None))
        return Record(path, value, revision)

    async def delete(self, bucket: str, path: str, expected: int, body: bytes | None = None) -> Record:
        before = self._expected(bucket, path, expected)
        if before is None:
            raise Stale
        revision = self._index.revision + 1
        value = stamp(body, revision) if body is not None else restamp(before.value, revision)
        self._apply(Change(bucket, path, revision, value, before.value, deleted=True))
        return Record(path, value, revision)

    async def compact(self, revision: int) -> None:
        self._index.forget(revision)

    async def close(self) -> None:
        self._publish = None

    def _apply(self, change: Change) -> None:
        self._index.apply(change)
        if self._publish is not None:
            self._publish(change)
