"""Looking at a member: does its API server answer, and what do its nodes say."""

from __future__ import annotations

import asyncio

from hanse.clusters.health import Probe
from hanse.clusters.topology import Topology, read_topology
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.manifest import uid_of
from hanse.kube.resources import NAMESPACES, NODES
from hanse.kube.transport import Unreachable


async def probe(client: Client, timeout: float) -> Probe:
    """Ask the API server whether it is ready; a hanging one counts as not answering."""
    try:
        async with asyncio.timeout(timeout):
            await client.get_raw("/readyz", timeout=timeout)
    except ApiError as error:
        return Probe(answered=True, healthy=False, why=f"{client.address} answers /readyz with: {error}")
    except Unreachable as error:
        return Probe(answered=False, healthy=False, why=str(error))
    except TimeoutError:
        return Probe(answered=False, healthy=False, why=f"{client.address} did not answer within {timeout:g} s")
    return Probe(answered=True, healthy=True)


async def look_at_nodes(client: Client, timeout: float) -> Topology | None:
    """Read the member's topology; None when it cannot be told now."""
    try:
        async with asyncio.timeout(timeout):
            return read_topology((await client.list(NODES)).items)
    except (ApiError, Unreachable, TimeoutError):
        return None


async def look_at_version(client: Client, timeout: float) -> str:
    """Read the member's version; "" when it cannot be told now."""
    try:
        async with asyncio.timeout(timeout):
            return await client.version(timeout=timeout)
    except (ApiError, Unreachable, TimeoutError):
        return ""


async def look_at_identity(client: Client, timeout: float) -> str:
    """Read what tells one cluster from another, the uid of its kube-system namespace; "" when it cannot be told now."""
    try:
        async with asyncio.timeout(timeout):
            return uid_of(await client.get(NAMESPACES, "kube-system"))
    except (ApiError, Unreachable, TimeoutError):
        return ""
