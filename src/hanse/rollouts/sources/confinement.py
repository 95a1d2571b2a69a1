"""Runs a program on files that strangers wrote: bounded in time, memory and output, without network or environment."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from hanse.kube import launcher
from hanse.rollouts.sources.settings import MEGABYTE, Limits

_COMPLAINT_BYTES = MEGABYTE
_CHUNK = 64 * 1024
# Go reserves far more addresses than it ever uses; what it uses is counted as data.
_ADDRESSES_BYTES = 8 * 1024 * MEGABYTE


class ProgramProblem(Exception):
    """Why a program gave nothing; a part of a sentence. `complaint` is what it wrote, "" where it was stopped.

    `transient` tells that a machine with more time to spare might have let it end.
    """

    def __init__(self, message: str, complaint: str = "", *, transient: bool = False) -> None:
        super().__init__(message)
        self.complaint = complaint
        self.transient = transient


@dataclass(frozen=True, slots=True)
class Confinement:
    """Where a program runs: a private folder, which is also its home, and the limits."""

    folder: Path
    limits: Limits

    async def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> bytes:
        """Return what the program writes; raises ProgramProblem. Whatever it started ends with it."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            launcher.__file__,
            self._limits(),
            *command,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            cwd=self.folder,
            env={**self._environment(), **(environment or {})},
            start_new_session=True,
        )
        ended = False
        try:
            async with asyncio.timeout(self.limits.render_seconds):
                written, complaint = await self._listen(process)
                code = await process.wait()
                ended = True
        except TimeoutError as error:
            raise ProgramProblem(f"it took longer than {self.limits.render_seconds:g} s", transient=True) from error
        finally:
            # Not after its own end: its number may be somebody else's by then.
            if not ended:
                _kill(process)
                await process.wait()
        if code == 0:
            return written
        raise _failure(code, complaint, self.limits)

    async def _listen(self, process: Process) -> tuple[bytes, str]:
        assert process.stdout is not None and process.stderr is not None  # noqa: S101, PT018 - both are pipes
        async with asyncio.TaskGroup() as tasks:
            output = tasks.create_task(_read(process.stdout, self.limits.output_bytes, process))
            complaint = tasks.create_task(_read(process.stderr, _COMPLAINT_BYTES, process))
        for stream in (output, complaint):
            if stream.result() is None:
                raise ProgramProblem(f"it writes more than {self.limits.output_bytes / MEGABYTE:g} MB")
        return output.result() or b"", (complaint.result() or b"").decode(errors="replace")

    def _limits(self) -> str:
        resources = {
            "AS": _ADDRESSES_BYTES,
            "DATA": self.limits.render_memory_bytes,
            # Two threads' worth, and some: the clock ends it before, unless the control plane itself is gone.
            "CPU": 2 * int(self.limits.render_seconds) + 5,
            "FSIZE": self.limits.output_bytes,
            "NOFILE": 256,
            "CORE": 0,
        }
        return orjson.dumps({"parent": os.getpid(), "resources": resources}).decode()

    def _environment(self) -> dict[str, str]:
        home = str(self.folder)
        # Collecting earlier keeps honest charts from the hard limit.
        soft = self.limits.render_memory_bytes * 3 // 4
        return {"HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "GOMEMLIMIT": str(soft), "GOMAXPROCS": "2"}


async def _read(stream: asyncio.StreamReader, most_bytes: int, process: Process) -> bytes | None:
    """Return all that a program writes; None where that is too much, and then the program has been ended."""
    written = bytearray()
    while chunk := await stream.read(_CHUNK):
        if len(written) <= most_bytes:
            written += chunk
        if len(written) > most_bytes and process.returncode is None:
            _kill(process)
    return bytes(written) if len(written) <= most_bytes else None


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        # The whole group: also what the program may have started.
        os.killpg(process.pid, signal.SIGKILL)


def _failure(code: int, complaint: str, limits: Limits) -> ProgramProblem:
    # One that is killed from outside is one that the machine had no memory for.
    if code == -signal.SIGKILL or "out of memory" in complaint or "cannot allocate memory" in complaint:
        return ProgramProblem(f"it used more than {limits.render_memory_bytes // MEGABYTE} MB of memory")
    return ProgramProblem(f"it failed with code {code}", complaint)
