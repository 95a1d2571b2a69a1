"""`hanse` as a process that kills itself at a write: `python -m tests.crash_points.mortal FATE controller …`.

FATE is a file that says at which write, and is read at each: whoever writes it into the running process' fate decides
how it ends. Only writes whose path has a word in it count, without those by which a Lease is kept or rights are asked
for. Every one that counts is told in a second file, so that a point can be named by what was written there.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import orjson

from hanse.cli.main import main
from hanse.kube.http import HttpTransport
from hanse.kube.transport import Request, Response

_WRITES = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Fate:
    """At which of the writes with a word in their path a process dies, before it is sent or after it is done."""

    word: str
    at: int = 0
    after: bool = False

    def write(self, path: Path) -> None:
        """Make it the fate of whoever looks into the file."""
        draft = path.with_suffix(".new")
        draft.write_bytes(orjson.dumps({"word": self.word, "at": self.at, "after": self.after}))
        draft.replace(path)

    @classmethod
    def read(cls, path: Path) -> Fate:
        """Return what a file says."""
        return cls(**orjson.loads(path.read_bytes()))


def writes_file(fate: Path) -> Path:
    """Return where the writes are told that count."""
    return fate.with_suffix(".writes")


def counts(request: Request, word: str) -> bool:
    """Tell whether a request is one of the writes at which a process may die."""
    kept_out = request.path.endswith("reviews") or "/leases" in request.path
    return request.method in _WRITES and word in request.path and not kept_out


def install(path: Path) -> None:
    """Have every connection of this process look into a file before and after it writes."""
    inner, numbers = HttpTransport.send, count(1)
    known = Fate.read(path)
    told = writes_file(path).open("ab", buffering=0)

    async def send(self: HttpTransport, request: Request, timeout: float) -> Response:
        nonlocal known, numbers
        if request.method not in _WRITES:
            return await inner(self, request, timeout)
        if (fate := Fate.read(path)) != known:
            known, numbers = fate, count(1)
        if not counts(request, fate.word):
            return await inner(self, request, timeout)
        number = next(numbers)
        told.write(f"{number} {request.method} {self.address}{request.path}\n".encode())
        if number == fate.at and not fate.after:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = await inner(self, request, timeout)
        if number == fate.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    HttpTransport.send = send  # type: ignore[method-assign]


if __name__ == "__main__":
    install(Path(sys.argv[1]))
    sys.argv = ["hanse", *sys.argv[2:]]
    main()
