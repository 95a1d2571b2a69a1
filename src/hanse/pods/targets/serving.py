"""What runs for each target that is used: everything that was attached, restarted by itself when it fails."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hanse.clusters.member import Member
from hanse.clusters.roster import Attachment
from hanse.kube.log import Log
from hanse.kube.runtime import Runtime

log = Log("hanse")

_RESTART_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Running:
    member: Member
    task: asyncio.Task[None]


class Serving:
    """Runs the attachments once a member, for as long as it is kept."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._attachments: list[Attachment] = []
        self._running: dict[str, _Running] = {}

    def attach(self, work: Attachment) -> None:
        """Run `work` for every member that is kept from now on."""
        self._attachments.append(work)

    def member(self, name: str) -> Member | None:
        """Return a member that is served."""
        running = self._running.get(name)
        return running.member if running is not None else None

    async def keep(self, name: str, member: Member | None, tasks: asyncio.TaskGroup) -> None:
        """Have exactly this member served under its name, nobody where it is None."""
        running = self._running.get(name)
        if running is not None and member is not None and not running.task.done() and _same(running.member, member):
            return
        if running is not None:
            running.task.cancel()
            await asyncio.wait({running.task})
            del self._running[name]
        if member is not None:
            self._running[name] = _Running(member, tasks.create_task(self._serve(member)))

    async def _serve(self, member: Member) -> None:
        async with asyncio.TaskGroup() as tasks:
            for work in self._attachments:
                tasks.create_task(self._forever(member.name, functools.partial(work, member)))

    async def _forever(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
            except Exception:
                log.exception("Work for a target ended; starting it again", target=name)
            await self._runtime.sleep(_RESTART_SECONDS)


def _same(one: Member, other: Member) -> bool:
    return one.client is other.client and one.namespace == other.namespace
