"""TCP: a connection that opens is enough."""

from __future__ import annotations

import asyncio

from hanse.services.health.checks import Check
from hanse.services.health.standing import Finding


async def probe(check: Check, address: str) -> Finding:
    """Connect and hang up; raises OSError where nobody takes the connection."""
    _reader, writer = await asyncio.open_connection(address, check.port)
    # Nothing was said, so that there is nothing to wait for.
    writer.transport.abort()
    return Finding(alive=True)
