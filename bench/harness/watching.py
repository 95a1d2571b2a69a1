"""Follows the members, and says when a set of objects has reached them all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable

import aiohttp

from bench.harness.rest import Api, ApiError, Manifest, clock, log
from bench.harness.workload import RUN_LABEL


class Wave:
    """A set of objects that must reach some state in every member."""

    def __init__(self, keys: Iterable[str], members: int, wanted: Callable[[str | None], bool]):
        self._wanted = wanted
        self._pending = dict.fromkeys(keys, (1 << members) - 1)
        self.total = len(self._pending)
        self.first: dict[str, float] = {}
        self.done: dict[str, float] = {}
        self.complete = asyncio.Event()

    def observe(self, member: int, key: str, image: str | None, now: float) -> None:
        """Take note that a member shows this image for an object, or has none of it."""
        mask = self._pending.get(key)
        if mask is None or not mask & (1 << member) or not self._wanted(image):
            return
        mask &= ~(1 << member)
        self.first.setdefault(key, now)
        if mask:
            self._pending[key] = mask
            return
        del self._pending[key]
        self.done[key] = now
        if not self._pending:
            self.complete.set()


class Watcher:
    """Follows the run's Deployments in all members and feeds the current wave."""

    def __init__(self, members: list[Api], run: str):
        self._members = members
        self._selector = f"labelSelector={RUN_LABEL.replace('/', '%2F')}%3D{run}"
        self._state: list[dict[str, str]] = [{} for _ in members]
        self._tasks: list[asyncio.Task[None]] = []
        self.wave: Wave | None = None
        self.events = 0
        self.relists = 0

    async def start(self) -> None:
        """Return when every member is being watched."""
        ready = [asyncio.Event() for _ in self._members]
        self._tasks = [asyncio.create_task(self._follow(index, event)) for index, event in enumerate(ready)]
        await asyncio.gather(*(event.wait() for event in ready))

    async def stop(self) -> None:
        """End all watches."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def expect(self, keys: Iterable[str], wanted: Callable[[str | None], bool]) -> Wave:
        """Start a wave. The members' present state is not looked at."""
        self.wave = Wave(keys, len(self._members), wanted)
        return self.wave

    def _note(self, member: int, key: str, image: str | None) -> None:
        state = self._state[member]
        if image is None:
            state.pop(key, None)
        else:
            state[key] = image
        if self.wave:
            self.wave.observe(member, key, image, clock())

    @staticmethod
    def _read(obj: Manifest) -> tuple[str, str]:
        meta = obj["metadata"]
        image = obj["spec"]["template"]["spec"]["containers"][0]["image"]
        return f"{meta['namespace']}/{meta['name']}", image

    async def _follow(self, member: int, ready: asyncio.Event) -> None:
        api, base = self._members[member], f"/apis/apps/v1/deployments?{self._selector}"
        while True:
            try:
                listing = await api.get(base)
                found = dict(self._read(item) for item in listing["items"])
                for key in set(self._state[member]) - set(found):
                    self._note(member, key, None)
                for key, image in found.items():
                    self._note(member, key, image)
                version = listing["metadata"]["resourceVersion"]
                async with api.stream(f"{base}&watch=1&timeoutSeconds=3600&resourceVersion={version}") as response:
                    response.raise_for_status()
                    ready.set()
                    await self._consume(member, response)
            except (aiohttp.ClientError, ApiError) as error:
                log(f"watch of {api.name}: {error!r}; listing again")
                await asyncio.sleep(0.5)
            self.relists += 1

    async def _consume(self, member: int, response: aiohttp.ClientResponse) -> None:
        rest = b""
        async for chunk in response.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                event = json.loads(line)
                kind = event["type"]
                if kind == "ERROR":  # the revision is too old: list again
                    return
                if kind == "BOOKMARK":
                    continue
                self.events += 1
                key, image = self._read(event["object"])
                self._note(member, key, None if kind == "DELETED" else image)
