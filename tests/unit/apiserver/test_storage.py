"""Both storage engines keep the same promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hanse.apiserver.storage import Change, Compacted, MemoryStorage, SqliteStorage, Stale, Storage, StorageError
from hanse.apiserver.storage.interface import restamp, stamp
from hanse.kube.runtime import SystemRuntime


def body(text: str) -> bytes:
    return b'{"metadata":{"name":"%b"}}' % text.encode()


def stamped(text: str, revision: int) -> bytes:
    return b'{"metadata":{"resourceVersion":"%d","name":"%b"}}' % (revision, text.encode())


class Kept:
    """An open storage and what it published."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.published: list[Change] = []


@pytest.fixture(params=["memory", "sqlite"])
async def kept(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kept]:
    storage: Storage = (
        MemoryStorage(history=50) if request.param == "memory" else SqliteStorage(tmp_path / "db", history=50)
    )
    opened = Kept(storage)
    await storage.open(SystemRuntime(), opened.published.append)
    yield opened
    await storage.close()


async def test_a_write_is_read_back_with_its_revision(kept: Kept) -> None:
    record = await kept.storage.write("b", "ns/a", body("a"), 0)
    assert record.value == stamped("a", 1)
    assert kept.storage.get("b", "ns/a") == record
    assert kept.storage.revision == 1


async def test_a_write_with_the_wrong_expectation_is_stale(kept: Kept) -> None:
    await kept.storage.write("b", "a", body("a"), 0)
    for expected in (0, 7):
        with pytest.raises(Stale):
            await kept.storage.write("b", "a", body("a"), expected)
    with pytest.raises(Stale):
        await kept.storage.delete("b", "nothing", 1)


async def test_only_one_of_many_writers_with_the_same_expectation_wins(kept: Kept) -> None:
    attempts = [kept.storage.write("b", "a", body(f"w{count}"), 0) for count in range(20)]
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    assert sum(isinstance(one, Stale) for one in outcomes) == 19
    assert len(kept.published) == 1


async def test_scans_are_ordered_and_bounded_by_their_prefix(kept: Kept) -> None:
    for path in ("b/x", "a/y", "a/x", "ab/x"):
        await kept.storage.write("b", path, body("o"), 0)
    assert [record.path for record in kept.storage.scan("b", "a/")] == ["a/x", "a/y"]
    assert [record.path for record in kept.storage.scan("b")] == ["a/x", "a/y", "ab/x", "b/x"]


async def test_the_past_can_be_listed(kept: Kept) -> None:
    first = await kept.storage.write("b", "a", body("old"), 0)
    moment = (await kept.storage.write("b", "c", body("c"), 0)).revision
    await kept.storage.write("b", "a", body("new"), first.revision)
    await kept.storage.delete("b", "c", moment)
    await kept.storage.write("b", "d", body("d"), 0)
    assert [record.value for record in kept.storage.scan_at("b", "", moment)] == [stamped("old", 1), stamped("c", 2)]


async def test_history_beyond_the_window_is_gone(kept: Kept) -> None:
    for count in range(60):
        await kept.storage.write("b", f"a{count}", body("a"), 0)
    with pytest.raises(Compacted):
        kept.storage.changes("b", 5)
    assert len(kept.storage.changes("b", 10)) == 50
    await kept.storage.compact(40)
    with pytest.raises(Compacted):
        kept.storage.scan_at("b", "", 39)


async def test_concurrent_writes_are_published_once_each_in_order(kept: Kept) -> None:
    await asyncio.gather(*(kept.storage.write("b", f"a{count}", body("a"), 0) for count in range(40)))
    assert [change.revision for change in kept.published] == list(range(1, 41))


async def test_sqlite_remembers_objects_history_and_revision(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "db")
    await storage.open(SystemRuntime(), lambda change: None)
    first = await storage.write("b", "a", body("one"), 0)
    second = await storage.write("b", "a", body("two"), first.revision)
    await storage.write("b", "c", body("c"), 0)
    await storage.delete("b", "a", second.revision)
    before = storage.changes("b", 0)
    await storage.close()
    again = SqliteStorage(tmp_path / "db")
    await again.open(SystemRuntime(), lambda change: None)
    assert [record.path for record in again.scan("b")] == ["c"]
    assert again.revision == 4
    assert [(one.revision, one.path, one.previous, one.deleted) for one in again.changes("b", 0)] == [
        (one.revision, one.path, one.previous, one.deleted) for one in before
    ]
    assert (await again.write("b", "e", body("e"), 0)).revision == 5
    await again.close()


async def test_a_file_in_use_or_not_a_database_is_refused_in_words(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "db")
    await storage.open(SystemRuntime(), lambda change: None)
    with pytest.raises(StorageError, match="db is in use by another process"):
        await SqliteStorage(tmp_path / "db").open(SystemRuntime(), lambda change: None)
    await storage.close()
    (tmp_path / "text").write_text("no database" * 100)
    with pytest.raises(StorageError, match="cannot be opened: file is not a database"):
        await SqliteStorage(tmp_path / "text").open(SystemRuntime(), lambda change: None)


async def test_a_write_goes_through_when_its_writer_is_cancelled(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "db")
    await storage.open(SystemRuntime(), lambda change: None)
    writer = asyncio.create_task(storage.write("b", "a", body("a"), 0))
    await asyncio.sleep(0)
    writer.cancel()
    await asyncio.gather(writer, return_exceptions=True)
    await storage.compact(0)
    assert storage.get("b", "a") is not None
    await storage.close()


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_restamping_replaces_only_the_revision(first: int, second: int) -> None:
    assert restamp(stamp(body("a"), first), second) == stamp(body("a"), second)


Step = tuple[str, str]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["put", "delete"]), st.sampled_from("abc")), max_size=30))
async def test_every_past_moment_is_what_it_was(steps: list[Step]) -> None:
    storage = MemoryStorage()
    await storage.open(SystemRuntime(), lambda change: None)
    moments = {0: storage.scan("b")}
    for action, path in steps:
        held = storage.get("b", path)
        if action == "put":
            await storage.write("b", path, body(path), held.revision if held else 0)
        elif held:
            await storage.delete("b", path, held.revision)
        moments[storage.revision] = storage.scan("b")
    for revision, expected in moments.items():
        assert storage.scan_at("b", "", revision) == expected
