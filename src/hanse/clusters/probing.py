"""Looking at a member: does its API server answer at any of its addresses, and what do its nodes and pods say."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable
from typing import TypeVar

from hanse.api.admiralty.keys import PROXY_SCHEDULER
from hanse.clusters.health import Probe, Symptom
from hanse.clusters.member_transport import MemberTransport
from hanse.clusters.topology import Demand, Topology, read_demand, read_topology
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Forbidden, Unauthorized
from hanse.kube.manifest import uid_of
from hanse.kube.resources import NAMESPACES, NODES, PODS
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Unreachable

T = TypeVar("T")

# Finished pods hold nothing, pods without a node hold nothing yet, and those that run elsewhere hold nothing here.
_HOLDING_PODS = f"spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed,spec.schedulerName!={PROXY_SCHEDULER}"


async def probe_member(transport: MemberTransport, runtime: Runtime, timeout: float) -> Probe:
    """Try the addresses in turn until one is healthy, and use that one from now on.

    Where none is, an answer counts more than silence: a server that says what is wrong is not gone.
    """
    ways = transport.ways
    found: list[Probe] = []
    for way in ways:
        seen = await probe(Client(way, runtime), timeout / len(ways))
        if seen.healthy:
            transport.use(way)
            return seen
        found.append(seen)
    return next((seen for seen in found if seen.answered), found[0])


async def probe(client: Client, timeout: float) -> Probe:
    """Ask the API server whether it is ready; a hanging one counts as not answering."""
    try:
        async with asyncio.timeout(timeout):
            await client.get_raw("/readyz", timeout=timeout)
    except Unauthorized as error:
        return Probe(answered=True, healthy=False, why=str(error), symptom=Symptom.NOT_AUTHENTICATED)
    except Forbidden as error:
        return Probe(answered=True, healthy=False, why=str(error), symptom=Symptom.NOT_AUTHORIZED)
    except ApiError as error:
        why = f"{client.address} answers /readyz with: {error}"
        return Probe(answered=True, healthy=False, why=why, symptom=Symptom.NOT_READY)
    except Unreachable as error:
        return Probe(answered=False, healthy=False, why=str(error), symptom=_symptom(error.__cause__))
    except TimeoutError:
        why = f"{client.address} did not answer within {timeout:g} s"
        return Probe(answered=False, healthy=False, why=why, symptom=Symptom.NOT_RESPONDING)
    return Probe(answered=True, healthy=True, symptom=Symptom.READY)


def _symptom(cause: BaseException | None) -> Symptom:
    if isinstance(cause, ssl.CertificateError):
        return Symptom.NOT_TRUSTED
    # A connection that could not even be made is an OSError too, and says more than that it took long.
    if isinstance(cause, TimeoutError) and getattr(cause, "os_error", None) is None:
        return Symptom.NOT_RESPONDING
    return Symptom.NOT_REACHABLE


async def look_at_nodes(client: Client, timeout: float) -> Topology | Forbidden | None:
    """Read the member's topology; None when it cannot be told now, the refusal when it may not be."""

    async def look() -> Topology:
        return read_topology((await client.list(NODES)).items)

    try:
        return await _within(look(), timeout)
    except Forbidden as refusal:
        return refusal


async def look_at_pods(client: Client, timeout: float) -> Demand | None:
    """Add up what the member's running pods ask for, a page at a time; None when it cannot be told now."""

    async def look() -> Demand:
        demand = Demand()
        async for page in client.pages(PODS, fields=_HOLDING_PODS):
            demand = demand.plus(read_demand(page.items or ()))
        return demand

    try:
        return await _within(look(), timeout)
    except Forbidden:
        return None


async def look_at_version(client: Client, timeout: float) -> str:
    """Read the member's version; "" when it cannot be told now."""
    try:
        return await _within(client.version(timeout=timeout), timeout) or ""
    except Forbidden:
        return ""


async def look_at_identity(client: Client, timeout: float) -> str:
    """Read what tells one cluster from another, the uid of its kube-system namespace; "" when it cannot be told now."""

    async def look() -> str:
        return uid_of(await client.get(NAMESPACES, "kube-system"))

    try:
        return await _within(look(), timeout) or ""
    except Forbidden:
        return ""


async def _within(work: Awaitable[T], timeout: float) -> T | None:
    """Wait for an answer; None when none comes, or not in time. A refusal is passed on: it needs a person."""
    try:
        async with asyncio.timeout(timeout):
            return await work
    except Forbidden:
        raise
    except (ApiError, Unreachable, TimeoutError):
        return None
