"""The side of the process in which a hook's code runs: takes on limits, then answers one question after the other.

The pipes are put out of reach of what the code prints: its output goes where its complaints go, and is quoted when it
fails. The process was begun by `hanse.kube.launcher`: it dies with its parent and uses no network. It ends when nobody
can ask it any more.
"""

from __future__ import annotations

import json
import os
import resource
import sys

from hanse.composite.hooks import frames

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import FileIO

_MOST_REASON_CHARACTERS = 1000


class Refusal(Exception):
    """Why the code gave no answer; the end of a sentence that begins with its name."""


class Stale(Exception):
    """The code has changed since it was loaded, so that another process has to load it."""


def serve(opened: Callable[[], Callable[[bytes, bytes], bytes]]) -> None:
    """Answer questions until the pipe ends.

    `opened` gives the function from a question's head and body to its answer, which raises Refusal, Stale or
    MemoryError. What it loads does not count as the code's memory.
    """
    limits = json.loads(sys.argv[1])
    questions, answers = _private_pipes()
    answer = opened()
    _limit(limits["memory"], limits["answer"])
    asked = os.getpid()
    _send(answers, frames.READY, b"")
    while payload := _next(questions):
        # What was printed for an earlier question says nothing about this one.
        os.ftruncate(2, 0)
        kind, reply = _answered(answer, payload, limits["answer"])
        if os.getpid() != asked:
            # The code has forked, and one answer to each question is enough.
            os._exit(0)
        _send(answers, kind, reply)
        del payload, reply


def _answered(answer: Callable[[bytes, bytes], bytes], payload: bytes, most_bytes: int) -> tuple[bytes, bytes]:
    try:
        reply = answer(*frames.parted(payload))
    except Refusal as refusal:
        return frames.FAILURE, str(refusal)[:_MOST_REASON_CHARACTERS].encode(errors="replace")
    except Stale:
        return frames.STALE, b""
    except MemoryError:
        return frames.EXHAUSTED, b""
    if len(reply) > most_bytes:
        told = f"answered with {len(reply) / 2**20:.1f} MB, and {most_bytes / 2**20:g} MB is the most"
        return frames.FAILURE, told.encode()
    return frames.ANSWER, reply


def _private_pipes() -> tuple[FileIO, FileIO]:
    """Return the two pipes under numbers that no code expects; 0 is empty now, and 1 is where 2 leads."""
    questions, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return open(questions, "rb", buffering=0), open(answers, "wb", buffering=0)


def _next(questions: FileIO) -> bytes:
    """Return the next question; b"" where nobody asks any more."""
    head = _exactly(questions, frames.HEAD.size)
    if len(head) < frames.HEAD.size:
        return b""
    _, length = frames.HEAD.unpack(head)
    return _exactly(questions, length)


def _exactly(questions: FileIO, size: int) -> bytes:
    read = bytearray()
    while len(read) < size:
        if not (chunk := questions.read(size - len(read))):
            break
        read += chunk
    return bytes(read)


def _send(answers: FileIO, kind: bytes, payload: bytes) -> None:
    left = memoryview(frames.frame(kind, payload))
    while left:
        left = left[answers.write(left) :]


def _limit(memory: int, file_size: int) -> None:
    # Addresses that are merely reserved cost nothing (Go reserves many); what is used counts as data.
    data = _data_bytes() + memory
    wanted = {"DATA": data, "AS": data + 8 * 2**30, "FSIZE": file_size, "NOFILE": 256, "CORE": 0}
    for name, value in wanted.items():
        which = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(which)
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (allowed, allowed))


def _data_bytes() -> int:
    """Return how much data this process has by now; 0 where the machine does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[5]) * resource.getpagesize()
    except OSError:
        return 0
