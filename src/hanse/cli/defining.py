"""Defining kinds in any cluster, for a command that goes on only once they are served."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.resources import CRDS

_SERVED_SECONDS = 30.0
_PAUSE_SECONDS = 0.1


async def define(client: Client, definitions: Sequence[Obj]) -> None:
    """Apply definitions and wait until their kinds are served; raises TimeoutError."""
    for each in definitions:
        await client.apply(CRDS, each)
    async with asyncio.timeout(_SERVED_SECONDS):
        for each in definitions:
            while not is_true(dig(await client.get(CRDS, name_of(each)), "status", "conditions"), "Established"):
                await client.runtime.sleep(_PAUSE_SECONDS)
    client.discovery.forget()
