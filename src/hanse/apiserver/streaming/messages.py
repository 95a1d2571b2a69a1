"""A connection that carries whole messages both ways, whatever lies below it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol


class Messages(Protocol):
    """Binary messages to and from one client."""

    async def receive(self) -> bytes | None:
        """Return the client's next message; None once it has gone."""

    async def send(self, message: bytes) -> None:
        """Send a message; one to a client that has gone is dropped."""


# What is done with a connection, given the subprotocol that was agreed on.
Converse = Callable[[str, Messages], Awaitable[None]]
