"""One process in which a hook's code runs, seen from Hanse: started, asked within a time, killed with its group."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import IO, NamedTuple

import orjson

from hanse.composite.hooks import frames
from hanse.composite.hooks.answers import cut
from hanse.composite.hooks.calling import MEGABYTE, MOST_ANSWER_BYTES
from hanse.kube import launcher

# An interpreter starts in a fraction of a second; a machine that swaps needs longer.
START_SECONDS = 60.0
# Between the end of a process' pipe and its own.
_ENDING_SECONDS = 10.0
_QUOTED_CHARACTERS = 300
# As Go and Python say it when they cannot even say so in an orderly way.
_OUT_OF_MEMORY = ("out of memory", "cannot allocate memory", "pthread_create failed", "MemoryError")
_LOOKED_AT_BYTES = 4096
# More is as good as no limit, and more than the machine's own numbers can say.
_MOST_MEMORY_BYTES = 2**60


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much a hook may use for one call: seconds, and bytes of memory."""

    seconds: float
    memory: int


class Reply(NamedTuple):
    """What a process sent: the kind of frame, and its content."""

    kind: bytes
    payload: bytes


class WorkerFailed(Exception):
    """Why a process gave no answer; the end of a sentence that begins with the code's name."""


class Worker:
    """One process; it answers one question at a time."""

    def __init__(self, process: Process, said: IO[bytes], allowance: Allowance) -> None:
        self._process = process
        self._said = said
        self._allowance = allowance

    @staticmethod
    async def start(program: str, allowance: Allowance) -> Worker:
        """Start a module of Hanse's as a process under limits, and wait until it can be asked; raises WorkerFailed."""
        # A file and no pipe: nobody has to read it, and what was printed before a reply is there when the reply is.
        with ExitStack() as opened:
            try:
                said = opened.enter_context(tempfile.TemporaryFile("a+b"))
                process = await _spawned(program, said, allowance)
            except OSError as error:
                raise WorkerFailed(f"has no process: the machine starts none ({error.strerror})") from error
            opened.pop_all()
        worker = Worker(process, said, allowance)
        try:
            async with asyncio.timeout(START_SECONDS):
                await worker._next()
        except BaseException as error:
            await worker.end()
            if isinstance(error, TimeoutError):
                raise WorkerFailed(f"has no process: it did not start within {START_SECONDS:g} s") from error
            raise
        return worker

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.returncode is None

    async def ask(self, question: bytes) -> Reply:
        """Return the reply to a question; raises WorkerFailed, after which the process is of no use any more."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        try:
            async with asyncio.timeout(self._allowance.seconds):
                with suppress(ConnectionError):
                    # Of one that has ended the next line tells more.
                    self._process.stdin.write(question)
                    await self._process.stdin.drain()
                return await self._next()
        except TimeoutError as error:
            told = f"took longer than {self._allowance.seconds:g} s{self.printed()}"
            raise WorkerFailed(told) from error

    async def kill(self) -> None:
        """Kill the process and its group, and wait until it is gone; whoever waits for a reply learns of it."""
        self._signal()
        await self._gone()

    async def end(self) -> None:
        """Kill the process and let go of all that belongs to it; nothing may wait for it."""
        self._signal()
        # Before anything is waited for: who gives up waiting has let go all the same.
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._said.close()
        await self._gone()

    def _signal(self) -> None:
        # Not after its own end: its number may be somebody else's by then.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _gone(self) -> None:
        # Some versions of Python wait for the pipes too, which a process outside the group may hold.
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                await self._process.wait()

    def printed(self) -> str:
        """Quote the end of what was printed since the last question, as a part of a sentence; "" where nothing was."""
        said = self._heard(last=True).strip()
        return f'; it printed "{cut(said[-_QUOTED_CHARACTERS:], _QUOTED_CHARACTERS)}"' if said else ""

    async def _next(self) -> Reply:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            kind, length = frames.HEAD.unpack(await self._process.stdout.readexactly(frames.HEAD.size))
            if length > MOST_ANSWER_BYTES:
                raise WorkerFailed(f"answered with more than {MOST_ANSWER_BYTES // MEGABYTE} MB")
            return Reply(kind, await self._process.stdout.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise WorkerFailed(await self._epitaph()) from error

    async def _epitaph(self) -> str:
        try:
            async with asyncio.timeout(_ENDING_SECONDS):
                code = await self._process.wait()
        except TimeoutError:
            return f"closed the pipe to its process{self.printed()}"
        said = self._heard(last=False)
        if any(complaint in said for complaint in _OUT_OF_MEMORY):
            return exhausted(self._allowance)
        if code == -signal.SIGKILL:
            return "was killed, most likely because the machine had no memory left for it"
        if code < 0:
            return f"crashed its process ({signal.Signals(-code).name}){self.printed()}"
        return f"ended its process with exit code {code}{self.printed()}"

    def _heard(self, *, last: bool) -> str:
        number = self._said.fileno()
        start = max(0, os.fstat(number).st_size - _LOOKED_AT_BYTES) if last else 0
        return os.pread(number, _LOOKED_AT_BYTES, start).decode(errors="replace")


def exhausted(allowance: Allowance) -> str:
    """Say that code used more memory than it may; the end of a sentence."""
    return f"used more than {allowance.memory // MEGABYTE} MB of memory"


async def _spawned(program: str, said: IO[bytes], allowance: Allowance) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", launcher.__file__, _confinement()),
        *(sys.executable, "-I", "-u", "-m", program, _limits(allowance)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=said,
        cwd="/",
        env=_environment(allowance),
        start_new_session=True,
        limit=MEGABYTE,
    )


def _confinement() -> str:
    # Memory is limited by the process itself, once it has loaded what it needs to serve.
    return orjson.dumps({"parent": os.getpid(), "resources": {}}).decode()


def _limits(allowance: Allowance) -> str:
    memory = min(allowance.memory, _MOST_MEMORY_BYTES)
    return orjson.dumps({"memory": memory, "answer": MOST_ANSWER_BYTES}).decode()


def _environment(allowance: Allowance) -> dict[str, str]:
    # Nothing of ours, which may hold secrets. The last three are for Jsonnet, which is written in Go: collecting seldom
    # is a third faster, and earlier near the hard limit keeps honest code from it.
    go = {"GOGC": "400", "GOMEMLIMIT": str(min(allowance.memory, _MOST_MEMORY_BYTES) * 3 // 4), "GOMAXPROCS": "2"}
    return {"HOME": "/", "LANG": "C.UTF-8", "PATH": os.defpath, **go}
