"""A filesystem without room: nothing that was stored is lost, writes are refused in words, and room heals it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from hanse.apiserver import ApiServer, SqliteStorage
from hanse.kube.runtime import SystemRuntime
from tests.component.apiserver.conftest import ADMIN, Answered, Api, config

pytestmark = pytest.mark.kubernetes

CONFIGS = "/api/v1/namespaces/default/configmaps"
_BALLAST_BYTES = 1024 * 1024


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 4 MB, a quarter of which somebody else uses; it needs root to be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=True)
    try:
        (folder / "ballast").write_bytes(bytes(_BALLAST_BYTES))
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Api]:
    server = await ApiServer.open(name="small", storage=SqliteStorage(folder / "db"), runtime=SystemRuntime())
    try:
        yield Api(server.connect(ADMIN))
    finally:
        await server.close()


async def put(api: Api, name: str) -> Answered:
    return await api.create(CONFIGS, config(name, data={"text": "x" * 50_000}))


async def fill(api: Api) -> tuple[set[str], Answered]:
    """Create objects until one is refused; return the names of those before it, and the refusal."""
    stored: set[str] = set()
    for number in range(200):
        answer = await put(api, f"c{number}")
        if answer.code != 201:
            return stored, answer
        stored.add(f"c{number}")
    raise AssertionError("the filesystem never filled up")


async def names(api: Api) -> set[str]:
    items = (await api.get(CONFIGS)).body["items"]
    return {one["metadata"]["name"] for one in items} - {"kube-root-ca.crt"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a filesystem")
async def test_a_full_filesystem_loses_nothing_and_heals_when_there_is_room(small: Path) -> None:
    async with opened(small) as api:
        stored, refusal = await fill(api)
        assert stored
        assert refusal.code == 500
        assert "space exceeded" in refusal.body["message"]
        assert await names(api) == stored

    async with opened(small) as api:
        assert await names(api) == stored
        assert (await put(api, "still-full")).code == 500
        (small / "ballast").unlink()
        assert (await put(api, "with-room")).code == 201
        assert await names(api) == {*stored, "with-room"}

    with closing(sqlite3.connect(small / "db")) as database:
        # Closing used the room up again; a look at the store alone needs none.
        database.execute("PRAGMA locking_mode=EXCLUSIVE")
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
