"""Writers, watchers and lost connections in random order: every watcher sees each key's history, whole and in order."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict

import pytest

from hanse.apiserver import ApiServer, MemoryStorage
from hanse.kube.errors import ApiError
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Unreachable
from tests.component.apiserver.conftest import ADMIN, Api, config

CONFIGS = "/api/v1/namespaces/default/configmaps"
KEYS = ("a", "b", "c")
Seen = dict[str, list[tuple[str, int]]]


async def write(api: Api, chance: random.Random, history: Seen, steps: int) -> None:
    for _ in range(steps):
        name = chance.choice(KEYS)
        match chance.choice(("create", "change", "delete")):
            case "create":
                answered = await api.create(CONFIGS, config(name, labels={"watched": "yes"}))
                kind, good = "ADDED", answered.code == 201
            case "change":
                answered = await api.patch(f"{CONFIGS}/{name}", {"data": {"n": str(chance.random())}})
                kind, good = "MODIFIED", answered.code == 200
            case _:
                answered = await api.delete(f"{CONFIGS}/{name}")
                kind, good = "DELETED", answered.code == 200
        if good and kind != "DELETED":
            history[name].append((kind, int(answered.body["metadata"]["resourceVersion"])))
        elif good:
            history[name].append((kind, 0))


async def follow(api: Api, chance: random.Random, seen: Seen, since: str, last: asyncio.Event) -> None:
    """Watch with a connection that is lost now and then, resuming from what was seen."""
    while not last.is_set():
        events = await api.watch(f"{CONFIGS}?labelSelector=watched=yes&resourceVersion={since}")
        for _ in range(chance.randint(1, 8)):
            try:
                kind, obj = await events.next()
            except (Unreachable, ApiError, TimeoutError):
                break
            since = obj["metadata"]["resourceVersion"]
            name = obj["metadata"]["name"]
            if name == "end":
                last.set()
                break
            seen[name].append((kind, int(since)))
        await events.stream.close()


@pytest.mark.parametrize("seed", range(8))
async def test_nothing_is_missed_invented_or_reordered(seed: int) -> None:
    chance = random.Random(seed)
    server = await ApiServer.open(name="x", storage=MemoryStorage(), runtime=SeededRuntime(seed))
    api = Api(server.connect(ADMIN))
    since = (await api.get(CONFIGS)).body["metadata"]["resourceVersion"]
    history: Seen = defaultdict(list)
    watchers: list[Seen] = [defaultdict(list) for _ in range(5)]
    async with asyncio.TaskGroup() as group:
        for seen in watchers:
            group.create_task(follow(api, random.Random(chance.random()), seen, since, asyncio.Event()))
        writers = [group.create_task(write(api, random.Random(chance.random()), history, 40)) for _ in range(4)]
        await asyncio.wait(writers)
        await api.create(CONFIGS, config("end", labels={"watched": "yes"}))
    await server.close()
    assert all(seen == watchers[0] for seen in watchers)
    for name in KEYS:
        versions = [version for _, version in watchers[0][name]]
        assert versions == sorted(set(versions))
        wanted = [(kind, version) for kind, version in history[name] if version]
        assert sorted(one for one in watchers[0][name] if one[0] != "DELETED") == sorted(wanted)
        assert sum(kind == "DELETED" for kind, _ in watchers[0][name]) == sum(
            not version for _, version in history[name]
        )
