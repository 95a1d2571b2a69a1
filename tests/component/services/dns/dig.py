"""The real `dig`, asked about a server on loopback."""

import asyncio
import shutil

import pytest

needs_dig = pytest.mark.skipif(shutil.which("dig") is None, reason="dig is not installed (Debian: bind9-dnsutils)")


async def dig(server, *words):
    """Type a question for `dig`; return the lines that it prints, with single blanks in them."""
    target = [f"@{server.host}", "-p", str(server.port), "+tries=1", "+timeout=30"]
    running = await asyncio.create_subprocess_exec(
        "dig", *target, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await running.communicate()
    return [" ".join(line.split()) for line in printed.decode().splitlines() if line.strip()]


async def answered(server, *words):
    """The answers alone."""
    return await dig(server, "+noall", "+answer", *words)
