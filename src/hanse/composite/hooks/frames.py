"""What passes between Hanse and the processes in which hooks run: frames of a kind, a length and so many bytes.

A question is a head that says which code is meant (JSON on one line), a line break and the request's JSON. Both sides
import this; the side of the hook for little money, so nothing is imported here that is not there already.
"""

from __future__ import annotations

import struct

HEAD = struct.Struct(">cI")

# What a process sends: that it has started, an answer, or why there is none (the end of a sentence).
READY = b"r"
ANSWER = b"a"
FAILURE = b"f"
# It has used up its memory, or its code is not the one that is asked for any more: a new process is wanted.
EXHAUSTED = b"e"
STALE = b"s"
# What it is sent.
QUESTION = b"q"


def frame(kind: bytes, payload: bytes) -> bytes:
    """Write one frame."""
    return HEAD.pack(kind, len(payload)) + payload


def question(head: bytes, body: bytes) -> bytes:
    """Write the question to the code that a head names."""
    return frame(QUESTION, b"%b\n%b" % (head, body))


def parted(payload: bytes) -> tuple[bytes, bytes]:
    """Return a question's head and body."""
    head, _, body = payload.partition(b"\n")
    return head, body
