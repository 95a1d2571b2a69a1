"""Backups: all objects of one moment in a file of their own, and a store made from such a file.

A restored store goes on a long way after the revision of its backup, with no history before: whoever remembers a
version from between the backup and its restoration is told to list again, rather than shown another past.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from hanse.apiserver.storage.interface import Record, StorageError

SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    bucket TEXT NOT NULL, path TEXT NOT NULL, revision INTEGER NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (bucket, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS log (
    revision INTEGER PRIMARY KEY, bucket TEXT NOT NULL, path TEXT NOT NULL, previous BLOB
);
CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
# More writes than any server makes between two backups.
_LEAP = 1_000_000_000


def write_snapshot(path: Path, objects: Iterable[tuple[str, Record]], revision: int) -> None:
    """Write objects by bucket, as they are at a revision, into a new file; raises StorageError.

    The file appears whole or not at all.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        # Readable by its owner alone from the first byte on: Secrets are in it.
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(partial, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode=OFF")
            database.execute("PRAGMA synchronous=FULL")
            database.executescript(SCHEMA)
            database.execute("BEGIN")
            rows = ((bucket, one.path, one.revision, one.value) for bucket, one in objects)
            database.executemany("INSERT INTO objects VALUES (?, ?, ?, ?)", rows)
            database.execute("INSERT INTO marks VALUES ('revision', ?), ('oldest', ?)", (revision, revision))
            database.execute("COMMIT")
        _settle(partial, path)
    except (OSError, sqlite3.Error) as error:
        partial.unlink(missing_ok=True)
        raise StorageError(f"the backup {path} could not be written: {_reason(error)}") from error


def restore_snapshot(snapshot: Path, path: Path) -> int:
    """Make a store of a backup and return how many objects it holds; raises StorageError.

    What lay at the store's path is replaced in one step. The store must not be open.
    """
    revision, records = _read_snapshot(snapshot)
    write_snapshot(path, records, revision + _LEAP)
    for left in ("-wal", "-shm"):
        path.with_name(path.name + left).unlink(missing_ok=True)
    return len(records)


def _read_snapshot(snapshot: Path) -> tuple[int, list[tuple[str, Record]]]:
    if not snapshot.is_file():
        raise StorageError(f"there is no backup {snapshot}")
    try:
        with closing(sqlite3.connect(f"{snapshot.absolute().as_uri()}?mode=ro", uri=True)) as database:
            told = database.execute("PRAGMA integrity_check").fetchone()[0]
            if told != "ok":
                raise StorageError(f"the backup {snapshot} is damaged: {told}")
            rows = database.execute("SELECT bucket, path, value, revision FROM objects").fetchall()
            marks = dict(database.execute("SELECT name, value FROM marks"))
    except sqlite3.Error as error:
        raise StorageError(f"{snapshot} is not a backup of an API server: {error}") from error
    return int(marks.get("revision", 0)), [(bucket, Record(path, value, at)) for bucket, path, value, at in rows]


def _settle(partial: Path, path: Path) -> None:
    """Give a finished file its name so that neither a crash nor a power cut leaves half of it."""
    with partial.open("rb+") as file:
        os.fsync(file.fileno())
    partial.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _reason(error: OSError | sqlite3.Error) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
