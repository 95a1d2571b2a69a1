"""Storage in one SQLite file: a write is answered after it is on disk.

Writers hand their change to a queue and wait; one flush at a time carries whatever has gathered in a single
transaction on another thread (group commit), then makes the batch visible in order. The log keeps what each key held
*before* a write, which together with the present objects gives the recent history back after a restart.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from hanse.apiserver.storage.interface import Change, OutOfSpace, Record, Stale, StorageError, restamp, stamp
from hanse.apiserver.storage.reading import Reading
from hanse.apiserver.storage.snapshot import SCHEMA
from hanse.kube.runtime import Runtime

# A file in use by another process stays so; waiting longer only delays saying it.
_LOCK_SECONDS = 0.5


class SqliteStorage(Reading):
    """Keeps objects in a file that survives kill -9; `synchronous="NORMAL"` trades the last moments for speed.

    With a `quota` the file grows no further than so many bytes; what finds no room is refused with OutOfSpace.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        history: int = 10_000,
        quota: int | None = None,
    ) -> None:
        super().__init__(history)
        self._path = Path(path)
        self._synchronous = synchronous
        self._history = history
        self._quota = quota
        self._queue: list[tuple[Change, asyncio.Future[None]]] = []
        self._pending: dict[tuple[str, str], asyncio.Future[None]] = {}
        self._assigned = 0
        self._trimmed = 0
        self._flusher: asyncio.Task[None] | None = None
        self._database: sqlite3.Connection | None = None
        self._publish: Callable[[Change], None] | None = None

    async def open(self, runtime: Runtime, publish: Callable[[Change], None]) -> None:
        self._runtime = runtime
        self._publish = publish
        try:
            await runtime.in_thread(self._load)
        except sqlite3.Error as error:
            if self._database is not None:
                self._database.close()
                self._database = None
            raise StorageError(_why_not_open(self._path, error)) from error
        self._assigned = self._index.revision

    async def write(self, bucket: str, path: str, body: bytes, expected: int) -> Record:
        before = await self._settled(bucket, path, expected)
        revision = self._next_revision()
        value = stamp(body, revision)
        await self._submit(Change(bucket, path, revision, value, before.value if before else None))
        return Record(path, value, revision)

    async def delete(self, bucket: str, path: str, expected: int, body: bytes | None = None) -> Record:
        before = await self._settled(bucket, path, expected)
        if before is None:
            raise Stale
        revision = self._next_revision()
        value = stamp(body, revision) if body is not None else restamp(before.value, revision)
        await self._submit(Change(bucket, path, revision, value, before.value, deleted=True))
        return Record(path, value, revision)

    async def compact(self, revision: int) -> None:
        await self._drained()
        self._index.forget(revision)
        oldest = self._index.oldest
        try:
            await self._required_runtime().in_thread(lambda: self._trim(oldest))
        except sqlite3.Error as error:
            raise _refusal(error) from error

    async def close(self) -> None:
        if self._database is None:
            return
        await self._drained()
        self._publish = None
        database, self._database = self._database, None
        await self._required_runtime().in_thread(database.close)

    # A key with a write under way has no settled revision: wait for the outcome, then compare.
    async def _settled(self, bucket: str, path: str, expected: int) -> Record | None:
        while (pending := self._pending.get((bucket, path))) is not None:
            await asyncio.wait([pending])
        return self._expected(bucket, path, expected)

    def _next_revision(self) -> int:
        self._assigned += 1
        return self._assigned

    async def _submit(self, change: Change) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # A writer that was cancelled never looks at its outcome; this look keeps asyncio from reporting that.
        done.add_done_callback(lambda future: future.exception())
        self._queue.append((change, done))
        self._pending[change.bucket, change.path] = done
        if self._flusher is None:
            self._flusher = asyncio.create_task(self._flush())
        # The write goes through even when the one who asked for it goes away.
        await asyncio.shield(done)

    async def _flush(self) -> None:
        runtime = self._required_runtime()
        try:
            while self._queue:
                batch, self._queue = self._queue, []
                changes = [change for change, _ in batch]
                try:
                    await runtime.in_thread(lambda changes=changes: self._commit(changes))  # type: ignore[misc]
                except sqlite3.Error as error:
                    await self._separately(batch, error)
                else:
                    self._accept(batch)
        finally:
            self._flusher = None

    async def _separately(self, batch: list[tuple[Change, asyncio.Future[None]]], error: sqlite3.Error) -> None:
        """Try the writes of a failed batch one by one, so that one that finds no room does not fail the others."""
        if len(batch) == 1 or not _is_full(error):
            self._refuse(batch, _refusal(error))
            return
        for one in batch:
            try:
                await self._required_runtime().in_thread(lambda one=one: self._commit([one[0]]))  # type: ignore[misc]
            except sqlite3.Error as own:
                self._refuse([one], _refusal(own))
            else:
                self._accept([one])

    def _accept(self, batch: list[tuple[Change, asyncio.Future[None]]]) -> None:
        for change, done in batch:
            self._index.apply(change)
            self._pending.pop((change.bucket, change.path), None)
            if self._publish is not None:
                self._publish(change)
            done.set_result(None)

    def _refuse(self, batch: list[tuple[Change, asyncio.Future[None]]], error: StorageError) -> None:
        for change, done in batch:
            self._pending.pop((change.bucket, change.path), None)
            done.set_exception(error)

    async def _drained(self) -> None:
        while self._flusher is not None:
            await asyncio.wait([self._flusher])

    def _required_database(self) -> sqlite3.Connection:
        if self._database is None:
            raise sqlite3.ProgrammingError("the storage is closed")
        return self._database

    def _load(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self._path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False)
        self._database = database
        # Exclusive from the first look on, the store has no index file beside it: it opens on a full disk as well.
        database.execute("PRAGMA locking_mode=EXCLUSIVE")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute(f"PRAGMA synchronous={self._synchronous}")
        database.executescript(SCHEMA)
        if self._quota is not None:
            (size,) = database.execute("PRAGMA page_size").fetchone()
            database.execute(f"PRAGMA max_page_count={max(1, self._quota // size)}")
        for bucket, path, revision, value in database.execute("SELECT bucket, path, revision, value FROM objects"):
            self._index.load(bucket, Record(path, value, revision))
        marks = dict(database.execute("SELECT name, value FROM marks"))
        self._index.revision = marks.get("revision", 0)
        self._trimmed = marks.get("oldest", 0)
        rows = database.execute(
            "SELECT revision, bucket, path, previous FROM log WHERE revision > ? ORDER BY revision DESC LIMIT ?",
            (self._trimmed, self._history),
        ).fetchall()
        oldest = rows[-1][0] - 1 if len(rows) == self._history else self._trimmed
        self._index.load_log(rows, oldest)

    def _commit(self, changes: list[Change]) -> None:
        with self._transaction() as database:
            for change in changes:
                self._store(database, change)
            newest = changes[-1].revision
            database.execute("INSERT OR REPLACE INTO marks VALUES ('revision', ?)", (newest,))
            # Trimming in strides keeps the log within twice its window without a delete in every batch.
            trimmed = newest - self._history if newest - self._trimmed > 2 * self._history else 0
            if trimmed:
                _trim_within(database, trimmed)
        self._trimmed = max(self._trimmed, trimmed)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        database = self._required_database()
        database.execute("BEGIN IMMEDIATE")
        try:
            yield database
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise

    @staticmethod
    def _store(database: sqlite3.Connection, change: Change) -> None:
        if change.deleted:
            database.execute("DELETE FROM objects WHERE bucket = ? AND path = ?", (change.bucket, change.path))
        else:
            database.execute(
                "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)",
                (change.bucket, change.path, change.revision, change.value),
            )
        database.execute(
            "INSERT INTO log VALUES (?, ?, ?, ?)", (change.revision, change.bucket, change.path, change.previous)
        )

    def _trim(self, oldest: int) -> None:
        with self._transaction() as database:
            _trim_within(database, oldest)
        self._trimmed = oldest


def _trim_within(database: sqlite3.Connection, oldest: int) -> None:
    database.execute("DELETE FROM log WHERE revision <= ?", (oldest,))
    database.execute("INSERT OR REPLACE INTO marks VALUES ('oldest', ?)", (oldest,))


def _is_full(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


def _refusal(error: sqlite3.Error) -> StorageError:
    kind = OutOfSpace if _is_full(error) else StorageError
    return kind(f"the write could not be stored: {error}")


def _why_not_open(path: Path, error: sqlite3.Error) -> str:
    if "locked" in str(error):
        return f"{path} is in use by another process"
    return f"{path} cannot be opened: {error}"
