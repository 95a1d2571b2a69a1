"""How a request reaches an API server: over HTTP, or in process without a socket.

A transport carries one request and gives its answer back. It knows nothing of Kubernetes beyond that: no retries,
no parsing, no credentials but those it was made with. `Unreachable` means that no complete answer came.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request; header names are lower case, the path is decoded and has no query."""

    method: str
    path: str
    query: Query = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """A complete answer; header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Stream(Protocol):
    """An answer whose body arrives piece by piece (a watch, a log)."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; ends when the server ends it, raises Unreachable when it breaks."""

    async def close(self) -> None:
        """Hang up; safe to call twice."""


class Transport(Protocol):
    """A way to one API server as one user."""

    @property
    def address(self) -> str:
        """Where it leads, for messages to people."""

    async def send(self, request: Request, timeout: float) -> Response:
        """Send a request and wait for the whole answer; raises Unreachable."""

    async def stream(self, request: Request, timeout: float) -> Stream:
        """Send a request and return once the answer begins; `timeout` bounds the wait for that."""

    async def close(self) -> None:
        """Close every connection."""


class Unreachable(Exception):
    """No complete answer came: refused, reset, timed out or not verifiable."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"{address} cannot be reached: {why}")
        self.address = address
        self.why = why
