"""kill -9 in the middle of writing: what was acknowledged is there afterwards."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import aiohttp

from tests.component.apiserver.conftest import config

CONFIGS = "/api/v1/namespaces/default/configmaps"


async def start(folder: Path) -> tuple[asyncio.subprocess.Process, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.component.apiserver.served", str(folder), "0", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(20):
        url, token = (await process.stdout.readline()).decode().split()
    return process, url, token


async def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    process, url, token = await start(tmp_path)
    acknowledged: dict[str, str] = {}
    enough = asyncio.Event()

    async def write(session: aiohttp.ClientSession, writer: int) -> None:
        for count in range(10_000):
            name = f"w{writer}-{count}"
            try:
                async with session.post(url + CONFIGS, json=config(name), ssl=False) as answer:
                    created = await answer.json()
            except (aiohttp.ClientError, ConnectionError):
                return
            acknowledged[name] = created["metadata"]["resourceVersion"]
            if len(acknowledged) >= 60:
                enough.set()

    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session:
        writers = [asyncio.create_task(write(session, number)) for number in range(8)]
        async with asyncio.timeout(20):
            await enough.wait()
        process.kill()
        await asyncio.gather(*writers)
    await process.wait()

    process, url, token = await start(tmp_path)
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(url + CONFIGS, ssl=False) as answer:
        listed = await answer.json()
    process.kill()
    await process.wait()
    stored = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in listed["items"]}
    assert len(acknowledged) >= 60
    assert acknowledged.items() <= stored.items()
    assert int(listed["metadata"]["resourceVersion"]) >= max(int(version) for version in acknowledged.values())
