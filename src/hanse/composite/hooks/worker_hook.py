"""A hook whose code runs in processes of its own, whatever language it is written in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import orjson

from hanse.composite.hooks import frames
from hanse.composite.hooks.answers import UnreadableAnswer, read_answer
from hanse.composite.hooks.calling import HookFailed
from hanse.composite.hooks.sources import OnDisk, Sent, Source, SourceMissing
from hanse.composite.hooks.worker import WorkerFailed
from hanse.composite.hooks.workers import Workers
from hanse.kube.manifest import Obj

Head = Callable[[Sequence[OnDisk | Sent]], Obj]


class WorkerHook:
    """Asks processes; `title` begins every sentence, `head` writes down which code is meant."""

    def __init__(self, title: str, workers: Workers, sources: Sequence[Source], head: Head) -> None:
        self._title = title
        self._workers = workers
        self._sources = sources
        self._head = head
        self._known: tuple[list[OnDisk | Sent], bytes] | None = None

    async def call(self, body: Obj, root: Obj) -> Obj:
        """Return the code's answer to a request; raises HookFailed."""
        try:
            question = frames.question(await self._current_head(), orjson.dumps(body))
            return read_answer(await self._workers.ask(question))
        except (SourceMissing, WorkerFailed, UnreadableAnswer) as error:
            raise HookFailed(f"{self._title} {error}") from error

    async def close(self) -> None:
        """End the processes."""
        await self._workers.close()

    async def _current_head(self) -> bytes:
        code = [await source.read() for source in self._sources]
        if self._known is None or self._known[0] != code:
            self._known = code, orjson.dumps(self._head(code))
        return self._known[1]
