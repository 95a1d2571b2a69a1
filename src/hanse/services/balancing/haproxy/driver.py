"""A balancer that is an HAProxy: it observes what the process does, decides by which way it changes, and changes it.

What is true is what the running process says, never what somebody remembers: after a crash of either side the next
`apply` finds what there is and goes on from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from hanse.kube.log import Log
from hanse.kube.runtime import Runtime
from hanse.services.balancing.balancer import BalancerFailure
from hanse.services.balancing.haproxy.commands import commands_between, same_servers
from hanse.services.balancing.haproxy.configuration import Terms, render, structure
from hanse.services.balancing.haproxy.process import HaproxyProcess, PortsTaken, Running
from hanse.services.balancing.haproxy.slots import Seated, Slot, seat
from hanse.services.balancing.lines import Line, Trouble

_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 10.0
log = Log("hanse")


class HaproxyBalancer:
    """The HAProxy of a folder, driven."""

    def __init__(self, process: HaproxyProcess, terms: Terms, runtime: Runtime) -> None:
        self._process = process
        self._terms = terms
        self._runtime = runtime
        self._lines: tuple[Line, ...] | None = None
        self._turn = asyncio.Lock()
        self._applied = asyncio.Event()

    async def apply(self, lines: Sequence[Line]) -> Sequence[Trouble]:
        """Have HAProxy do what the lines say; see `Balancer.apply`."""
        async with self._turn:
            self._lines = tuple(lines)
            self._applied.set()
            return await self._converge(self._lines)

    async def run(self) -> None:
        """Start HAProxy again whenever it ends; one from before is taken over, or started as it was left."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                async with self._turn:
                    self._applied.clear()
                    running = await self._process.observe() or await self._revive()
            except BalancerFailure as error:
                log.warning("HAProxy cannot be started", error=str(error), again_in=pause)
                await self._runtime.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                continue
            if running is None:
                await self._applied.wait()
                continue
            begun = self._runtime.monotonic()
            await self._process.ended(running.pid)
            if self._runtime.monotonic() - begun > _LONGEST_PAUSE_SECONDS:
                pause = _FIRST_PAUSE_SECONDS

    async def _revive(self) -> Running | None:
        if self._lines:
            log.warning("HAProxy has ended and is started again", folder=str(self._process.folder))
            await self._converge(self._lines)
        elif self._lines is None and self._process.configured:
            # Nobody has said yet what it shall do: what it did last is better than nothing.
            await self._process.start()
        return await self._process.observe()

    async def _converge(self, lines: Sequence[Line]) -> list[Trouble]:
        refused: dict[int, str] = {}
        while True:
            kept = [line for line in lines if line.listen not in refused]
            try:
                await self._bring_to(kept)
            except PortsTaken as error:
                if not error.ports.keys() - refused.keys():
                    raise
                refused |= error.ports
                continue
            return [_untaken(line, refused[line.listen]) for line in lines if line.listen in refused]

    async def _bring_to(self, lines: Sequence[Line]) -> None:
        running = await self._process.observe()
        seated = seat_all(lines, {} if running is None else running.slots)
        if running is None:
            if lines:
                await self._process.start(self._text(seated, self._process.free_socket(None)))
                log.info("HAProxy was started", entrances=_entrances(seated))
        elif running.structure != structure(seated, self._terms):
            await self._replace(running, seated)
        elif commands := commands_between(running.slots, seated):
            # Written first: a process that dies between the two comes back as it should be.
            self._process.write(self._text(seated, running.socket))
            await self._process.tell(running, commands)
            log.info("HAProxy was told of a change", commands=commands)
            now = await self._process.observe()
            if now is not None and not same_servers(now.slots, seated):
                log.warning("HAProxy did not take its commands and is replaced", commands=commands)
                await self._replace(now, seated)

    async def _replace(self, running: Running, seated: Sequence[Seated]) -> None:
        await self._process.start(self._text(seated, self._process.free_socket(running)), replaced=running)
        log.info("HAProxy was replaced without a pause", entrances=_entrances(seated))

    def _text(self, seated: Sequence[Seated], socket: Path) -> str:
        return render(seated, self._terms, socket)


def seat_all(lines: Sequence[Line], running: Mapping[str, Sequence[Slot]]) -> list[Seated]:
    """Give the servers of every line their places, those that they have in a running process where there is one."""
    return [seat(line, running.get(line.name, ())) for line in lines]


def _entrances(seated: Sequence[Seated]) -> list[int]:
    return sorted({each.line.listen for each in seated})


def _untaken(line: Line, why: str) -> Trouble:
    return Trouble(
        line.service, f"the balancer cannot listen on port {line.listen}: {why.lower()}; choose another port"
    )
