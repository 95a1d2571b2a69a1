"""The few processes of one hook, and the queue before them.

Each hook has its own, so that one that never answers keeps nobody waiting but its own parents. Processes are started
when they are needed, replaced after whatever may have left them in disorder, and ended when nobody asked for a while.
"""

from __future__ import annotations

import asyncio

from hanse.composite.hooks import frames
from hanse.composite.hooks.answers import cut
from hanse.composite.hooks.calling import CLOSED, HookParts
from hanse.composite.hooks.worker import Allowance, Reply, Worker, WorkerFailed, exhausted

# Code that changes at every look is not waited for.
_MOST_RELOADS = 3
_REASON_CHARACTERS = 600
# After these the process is as good as before.
_ORDERLY = (frames.ANSWER, frames.FAILURE)


class Workers:
    """Asks the processes of one hook; whoever finds none free waits for the first that is."""

    def __init__(self, program: str, allowance: Allowance, parts: HookParts) -> None:
        self._program = program
        self._allowance = allowance
        self._runtime = parts.runtime
        self._idle_seconds = parts.idle_seconds
        self._slots = asyncio.Semaphore(parts.workers)
        self._idle: list[Worker] = []
        # Those that are asked, and those that are not gone yet.
        self._busy: set[Worker] = set()
        self._used = 0.0
        self._dismissal: asyncio.Task[None] | None = None
        self._closed = False

    async def ask(self, question: bytes) -> bytes:
        """Return the answer to a question; raises WorkerFailed."""
        async with self._slots:
            for _ in range(_MOST_RELOADS):
                reply, printed = await self._asked(question)
                if reply.kind != frames.STALE:
                    break
        match reply.kind:
            case frames.ANSWER:
                return reply.payload
            case frames.EXHAUSTED:
                raise WorkerFailed(exhausted(self._allowance))
            case frames.STALE:
                raise WorkerFailed("changes while it is loaded")
            case _:
                raise WorkerFailed(cut(reply.payload.decode(errors="replace"), _REASON_CHARACTERS) + printed)

    async def close(self) -> None:
        """End every process; whoever waits for one is told so."""
        self._closed = True
        if self._dismissal is not None:
            self._dismissal.cancel()
        await self._end_idle()
        await asyncio.gather(*(worker.kill() for worker in self._busy))

    async def _asked(self, question: bytes) -> tuple[Reply, str]:
        worker = await self._free()
        self._busy.add(worker)
        orderly = False
        try:
            reply = await worker.ask(question)
            orderly = reply.kind in _ORDERLY
            printed = worker.printed() if reply.kind == frames.FAILURE else ""
        except WorkerFailed:
            if self._closed:
                raise WorkerFailed(CLOSED) from None
            raise
        finally:
            if orderly and not self._closed:
                self._rest(worker)
            else:
                # Also when nobody waits for the answer any more: it would be taken for that to the next question.
                await worker.end()
            self._busy.discard(worker)
        return reply, printed

    async def _free(self) -> Worker:
        while self._idle and not self._closed:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            await worker.end()
        if not self._closed:
            worker = await Worker.start(self._program, self._allowance)
            if not self._closed:
                return worker
            await worker.end()
        raise WorkerFailed(CLOSED)

    def _rest(self, worker: Worker) -> None:
        self._idle.append(worker)
        self._used = self._runtime.monotonic()
        if self._dismissal is None or self._dismissal.done():
            self._dismissal = asyncio.create_task(self._dismiss())

    async def _dismiss(self) -> None:
        while self._idle:
            left = self._used + self._idle_seconds - self._runtime.monotonic()
            if left > 0:
                await self._runtime.sleep(left)
            else:
                await self._end_idle()

    async def _end_idle(self) -> None:
        ending, self._idle = self._idle, []
        self._busy.update(ending)
        await asyncio.gather(*(worker.end() for worker in ending))
        self._busy.difference_update(ending)
