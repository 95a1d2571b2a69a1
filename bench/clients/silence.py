"""An address at which nothing answers, not even with a refusal: what a machine without power is to its clients.

On loopback a closed port refuses at once. A listener whose queue is full drops what comes, as a dead machine does.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

_PROBE_SECONDS = 0.2
_LONGEST_WAIT_SECONDS = 20.0


@contextmanager
def silence(listener: socket.socket) -> Iterator[None]:
    """Have a bound socket swallow every connection for the length of a block."""
    listener.listen(0)
    stuffed: list[socket.socket] = []
    try:
        while _stuff(listener.getsockname(), stuffed):
            pass
        yield
    finally:
        for each in (*stuffed, listener):
            each.close()


def _stuff(where: tuple[str, int], stuffed: list[socket.socket]) -> bool:
    """Add one connection to the queue; False once there is no room for another."""
    one = socket.socket()
    one.settimeout(_PROBE_SECONDS)
    stuffed.append(one)
    try:
        one.connect(where)
    except TimeoutError:
        return False
    return True


async def bound(address: str, port: int) -> socket.socket:
    """Return a socket on an address, as soon as whoever had it is gone."""
    async with asyncio.timeout(_LONGEST_WAIT_SECONDS):
        while True:
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((address, port))
            except OSError as error:
                listener.close()
                if error.errno != errno.EADDRINUSE:
                    raise
                await asyncio.sleep(0.005)
            else:
                return listener
