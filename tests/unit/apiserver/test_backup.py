"""Backups, restoration, a full store, and what watchers and crashes may see of concurrent writers."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hanse.apiserver.storage import (
    Change,
    Compacted,
    MemoryStorage,
    OutOfSpace,
    SqliteStorage,
    Stale,
    Storage,
    StorageError,
    restore_snapshot,
)
from hanse.kube.runtime import SystemRuntime


def body(text: str, size: int = 0) -> bytes:
    return b'{"metadata":{"name":"%b"},"data":"%b"}' % (text.encode(), b"x" * size)


def nobody(change: Change) -> None:
    """Let changes pass."""


async def opened(storage: Storage, publish: Callable[[Change], None] = nobody) -> Storage:
    await storage.open(SystemRuntime(), publish)
    return storage


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_backup_holds_one_moment_and_a_restored_store_goes_on_from_it(tmp_path: Path, kind: str) -> None:
    storage = await opened(MemoryStorage() if kind == "memory" else SqliteStorage(tmp_path / "db"))
    for count in range(20):
        await storage.write("b", f"ns/{count}", body("a"), 0)
    expected, moment = storage.scan("b"), storage.revision
    writing = asyncio.create_task(storage.write("b", "later", body("l"), 0))
    await storage.backup(tmp_path / "backup")
    late = (await writing).revision
    await storage.close()
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o600

    assert restore_snapshot(tmp_path / "backup", tmp_path / "new") in (20, 21)
    again = await opened(SqliteStorage(tmp_path / "new"))
    assert [record for record in again.scan("b") if record.path != "later"] == expected
    with pytest.raises(Compacted):
        again.changes("b", late)
    assert (await again.write("b", "next", body("n"), 0)).revision > moment + 1_000_000
    await again.close()


async def test_writers_do_not_wait_for_a_backup(tmp_path: Path) -> None:
    storage = await opened(SqliteStorage(tmp_path / "db"))
    for count in range(50):
        await storage.write("b", f"k{count}", body("a", 10_000), 0)
    saving = asyncio.create_task(storage.backup(tmp_path / "backup"))
    written = await asyncio.gather(*(storage.write("b", f"n{count}", body("a"), 0) for count in range(50)))
    await saving
    assert len(written) == 50
    assert len(storage.scan("b")) == 100
    await storage.close()


async def test_a_store_is_replaced_whole_by_a_restoration(tmp_path: Path) -> None:
    for name, key in (("old", "gone"), ("saved", "kept")):
        storage = await opened(SqliteStorage(tmp_path / name))
        await storage.write("b", key, body("x"), 0)
        if name == "saved":
            await storage.backup(tmp_path / "backup")
        await storage.close()
    (tmp_path / "old-wal").write_bytes(b"left over")
    restore_snapshot(tmp_path / "backup", tmp_path / "old")
    again = await opened(SqliteStorage(tmp_path / "old"))
    assert [record.path for record in again.scan("b")] == ["kept"]
    await again.close()


async def test_what_is_no_backup_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no backup" * 200)
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE t (x)").connection.commit()
    for name, sentence in (("text", "is not a backup"), ("other", "is not a backup"), ("none", "there is no backup")):
        with pytest.raises(StorageError, match=sentence):
            restore_snapshot(tmp_path / name, tmp_path / "store")
    assert not (tmp_path / "store").exists()


async def test_a_backup_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    storage = await opened(MemoryStorage())
    with pytest.raises(StorageError, match="could not be written: No such file or directory"):
        await storage.backup(tmp_path / "none" / "backup")
    assert os.listdir(tmp_path) == []


async def fill(storage: Storage, *, size: int = 20_000) -> dict[str, int]:
    """Write until there is no room; returns what was acknowledged."""
    acknowledged: dict[str, int] = {}
    for count in range(1000):
        try:
            record = await storage.write("b", f"k{count}", body("a", size), 0)
        except OutOfSpace:
            return acknowledged
        acknowledged[record.path] = record.revision
    raise AssertionError("the store never filled up")


async def test_a_full_store_refuses_writes_and_loses_none(tmp_path: Path) -> None:
    seen: list[Change] = []
    storage = await opened(SqliteStorage(tmp_path / "db", quota=1_000_000), seen.append)
    acknowledged = await fill(storage)
    assert len(acknowledged) > 10
    assert {change.path: change.revision for change in seen} == acknowledged
    # Room is made by deleting, and then there is room again.
    await storage.compact(storage.revision)
    for path in list(acknowledged)[:5]:
        await storage.delete("b", path, acknowledged.pop(path))
        await storage.compact(storage.revision)
    acknowledged["small"] = (await storage.write("b", "small", body("s"), 0)).revision
    await storage.close()
    with closing(sqlite3.connect(tmp_path / "db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    again = await opened(SqliteStorage(tmp_path / "db"))
    assert {record.path: record.revision for record in again.scan("b")} == acknowledged
    await again.close()


async def test_a_write_that_finds_no_room_does_not_fail_those_beside_it(tmp_path: Path) -> None:
    storage = await opened(SqliteStorage(tmp_path / "db", quota=200_000))
    sizes = [10, 10, 400_000, 10, 10]
    writes = [storage.write("b", f"k{place}", body("a", size), 0) for place, size in enumerate(sizes)]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert [isinstance(one, OutOfSpace) for one in outcomes] == [size > 1000 for size in sizes]
    assert [record.path for record in storage.scan("b")] == ["k0", "k1", "k3", "k4"]
    await storage.close()


async def test_history_on_disk_stays_within_its_bound(tmp_path: Path) -> None:
    storage = await opened(SqliteStorage(tmp_path / "db", history=50))
    revision = 0
    for _ in range(400):
        revision = (await storage.write("b", "k", body("a"), revision)).revision
    await storage.close()
    (kept,) = sqlite3.connect(tmp_path / "db").execute("SELECT count(*) FROM log").fetchone()
    assert 50 <= kept <= 101


Script = list[list[tuple[str, str]]]
scripts = st.lists(
    st.lists(st.tuples(st.sampled_from(["put", "put", "delete"]), st.sampled_from("abcd")), max_size=12),
    min_size=1,
    max_size=5,
)


class Watcher:
    """Follows the store from some revision on: what it missed first, then what is published."""

    def __init__(self, storage: Storage) -> None:
        self.since = storage.revision
        self.seen: list[Change] = []

    def catch_up(self, storage: Storage, since: int) -> None:
        self.since = since
        self.seen = storage.changes("b", since)


async def perform(storage: Storage, script: list[tuple[str, str]], acknowledged: list[tuple[int, str, bool]]) -> None:
    for action, path in script:
        held = storage.get("b", path)
        try:
            if action == "put":
                record = await storage.write("b", path, body(path), held.revision if held else 0)
                acknowledged.append((record.revision, path, False))
            elif held is not None:
                record = await storage.delete("b", path, held.revision)
                acknowledged.append((record.revision, path, True))
        except Stale:
            continue


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writers=scripts, joins=st.lists(st.integers(0, 30), max_size=4))
async def test_every_watcher_sees_each_keys_versions_in_order_none_missing_none_invented(
    tmp_path: Path, kind: str, writers: Script, joins: list[int]
) -> None:
    (tmp_path / "db").unlink(missing_ok=True)
    published: list[Change] = []
    watchers: list[Watcher] = []
    storage: Storage = MemoryStorage() if kind == "memory" else SqliteStorage(tmp_path / "db", synchronous="NORMAL")

    def publish(change: Change) -> None:
        published.append(change)
        for watcher in watchers:
            watcher.seen.append(change)
        # Somebody joins in the middle, from a revision in the past.
        if len(published) in joins:
            joined = Watcher(storage)
            joined.catch_up(storage, change.revision // 2)
            watchers.append(joined)

    await opened(storage, publish)
    watchers.append(Watcher(storage))
    acknowledged: list[tuple[int, str, bool]] = []
    await asyncio.gather(*(perform(storage, script, acknowledged) for script in writers))
    history = sorted(acknowledged)
    final = {record.path: record.revision for record in storage.scan("b")}
    await storage.close()

    assert [(one.revision, one.path, one.deleted) for one in published] == history
    for watcher in watchers:
        expected = [entry for entry in history if entry[0] > watcher.since]
        assert [(one.revision, one.path, one.deleted) for one in watcher.seen] == expected
    last = {path: (revision, deleted) for revision, path, deleted in history}
    assert final == {path: revision for path, (revision, deleted) in last.items() if not deleted}
