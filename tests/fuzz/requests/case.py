"""One case: the bytes that go over one connection after the other, and what has to come back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Ending(Enum):
    """What becomes of a connection once its bytes are written."""

    ANSWER = "answer"
    """An answer has to come; the connection goes on to the next request."""
    WHATEVER = "whatever"
    """The bytes are no request: an answer or the end of the connection has to come."""
    HALF_CLOSED = "half-closed"
    """No more bytes come; the server has to end the connection."""
    ABORTED = "aborted"
    """The client is gone before any answer."""
    LEFT_OPEN = "left open"
    """The client stays, and sends a byte now and then."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What is sent on one connection."""

    data: bytes
    method: str = "GET"
    ending: Ending = Ending.ANSWER
    tls: bool = True


def head(method: str, path: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the head of a request."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1", errors="replace")


def request(
    method: str, path: str, body: bytes = b"", content: str = "application/json", *more: tuple[str, str]
) -> Sent:
    """Return a whole request."""
    headers = [("Host", "127.0.0.1"), ("Content-Length", str(len(body))), *more]
    if content:
        headers.append(("Content-Type", content))
    return Sent(head(method, path, headers) + body, method)
