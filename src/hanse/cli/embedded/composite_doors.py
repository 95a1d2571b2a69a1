"""The door of lambda controllers in an embedded federation: every cluster serves their kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hanse.api.metacontroller.definitions import HOME, METACONTROLLER_CRDS
from hanse.kube.client import Client
from hanse.kube.resources import CRDS, NAMESPACES


async def serve_composites_in(members: Mapping[str, Client]) -> None:
    """Have all clusters serve the kinds of lambda controllers, whether or not their door is open at the moment."""
    await asyncio.gather(*map(_serve, members.values()))


async def _serve(client: Client) -> None:
    await client.apply(NAMESPACES, HOME)
    for crd in METACONTROLLER_CRDS:
        await client.apply(CRDS, crd)
