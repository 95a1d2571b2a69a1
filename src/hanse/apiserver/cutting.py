"""Connections that are to end now, asked in a way that asyncio's TLS takes in every state.

A TLS transport that was closed twice has let go of its protocol, and fails on whatever is asked of it after that
(CPython 3.11). There is nothing left to cut then, and nothing that anybody would still read.
"""

from __future__ import annotations

import asyncio


def cut(transport: asyncio.BaseTransport | None) -> None:
    """Drop a connection at once."""
    if not isinstance(transport, asyncio.WriteTransport):
        return
    try:
        transport.abort()
    except AttributeError:
        return


def unread_bytes(transport: asyncio.WriteTransport) -> int:
    """Return how much of what was written its reader has yet to take."""
    try:
        return transport.get_write_buffer_size()
    except AttributeError:
        return 0
