"""The doors into pods: functions that answer for what happens inside of them.

An API server stores pods and runs none. Whoever runs them (a simulator, a test) registers functions here, and the
subresources log, exec, attach, portforward and proxy lead to those.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from hanse.kube.transport import Request, Response


class PodSession(Protocol):
    """A command that runs in a container, or a container that is attached to: its streams and its terminal."""

    @property
    def namespace(self) -> str:
        """The pod's namespace."""

    @property
    def pod(self) -> str:
        """The pod's name."""

    @property
    def container(self) -> str:
        """The container's name."""

    @property
    def command(self) -> tuple[str, ...]:
        """What to run; empty where the container itself is attached to."""

    @property
    def tty(self) -> bool:
        """Whether the streams are one terminal."""

    @property
    def terminal_size(self) -> tuple[int, int] | None:
        """The terminal's width and height, once the client has told them."""

    async def read(self) -> bytes:
        """Return what the client typed next; b"" once it has closed its side."""

    async def write(self, data: bytes) -> None:
        """Send to standard output."""

    async def write_error(self, data: bytes) -> None:
        """Send to standard error."""


# Namespace, pod and the query of `log`; the text at once, or piece by piece where it is followed.
PodLogs = Callable[[str, str, Mapping[str, str]], Awaitable[bytes | AsyncIterator[bytes]]]
# Runs the session's command, or attaches to its container, and gives the exit code.
PodRun = Callable[[PodSession], Awaitable[int]]
# Namespace, pod and port; raises OSError where nothing listens.
PodDial = Callable[[str, str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
# Namespace, pod, port ("" where none was named) and the request as the pod sees it; raises OSError likewise.
PodHttp = Callable[[str, str, str, Request], Awaitable[Response]]


@dataclass(slots=True)
class PodDoors:
    """The functions that are registered; None where nobody answers."""

    logs: PodLogs | None = None
    exec: PodRun | None = None
    attach: PodRun | None = None
    dial: PodDial | None = None
    http: PodHttp | None = None
