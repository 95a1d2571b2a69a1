"""How the classes of clients find a service and ask it, from the well-written to the dumbest.

Each asks again and again at a bounded rate and takes down every try. A class differs from the others only in which
addresses it knows and how many of them it tries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import dns.asyncquery
import dns.exception
import dns.message
import dns.rdatatype

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 15.0
_LOOKUP_SECONDS = 5.0


class Unserved(Exception):
    """A try that came to nothing, and why."""


@dataclass(frozen=True, slots=True)
class Try:
    """One question: when it was asked and answered on the loop's clock, by which cluster, or why not."""

    begun: float
    ended: float
    cluster: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service is found: its name, its port, and the DNS server that knows it."""

    name: str
    port: int
    dns_host: str
    dns_port: int


@dataclass(slots=True)
class Asker:
    """A client and what became of its questions."""

    kind: str
    ask: Callable[[], Awaitable[str]]
    tries: list[Try] = field(default_factory=list)
    # Beside the cancellation of its task, which wait_for of Python 3.11 may swallow.
    done: bool = False

    async def keep_asking(self, every: float) -> None:
        """Ask until it is done, at most once in so many seconds."""
        loop = asyncio.get_running_loop()
        while not self.done:
            begun = loop.time()
            try:
                cluster, why = await self.ask(), ""
            except Unserved as error:
                cluster, why = "", str(error)
            self.tries.append(Try(begun, loop.time(), cluster, why))
            await asyncio.sleep(max(0.0, begun + every - loop.time()))


async def look_up(place: Place) -> list[str]:
    """Return the addresses of a service in the order of the answer; raises Unserved."""
    query = dns.message.make_query(place.name, dns.rdatatype.A)
    try:
        answer = await dns.asyncquery.udp(query, place.dns_host, port=place.dns_port, timeout=_LOOKUP_SECONDS)
    except (OSError, dns.exception.DNSException) as error:
        raise Unserved(f"lookup: {error!r}") from error
    found = [item.address for rrset in answer.answer if rrset.rdtype == dns.rdatatype.A for item in rrset]
    if not found:
        raise Unserved("lookup: there is no address")
    return found


async def request(addresses: list[str], port: int) -> str:
    """Ask the first of the addresses that takes a connection who it is; raises Unserved."""
    why = "there is no address"
    for address in addresses:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(address, port)
        except (OSError, TimeoutError) as error:
            why = f"{address}: {error!r}"
            continue
        return await _question(address, reader, writer)
    raise Unserved(why)


async def _question(address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            writer.write(b"GET / HTTP/1.1\r\nHost: failover\r\nConnection: close\r\n\r\n")
            answer = (await reader.read()).decode(errors="replace")
    except (OSError, TimeoutError) as error:
        raise Unserved(f"{address}: {error!r}") from error
    finally:
        writer.close()
    return answered_by(answer, address)


def answered_by(answer: str, where: str) -> str:
    """Return the cluster that an answer names; raises Unserved where it is a refusal or is cut off."""
    status, _, body = answer.partition("\r\n")
    named = [line.removeprefix("cluster: ") for line in body.splitlines() if line.startswith("cluster: ")]
    if " 200 " not in f"{status} " or not named:
        raise Unserved(f"{where}: {status or 'closed without an answer'}")
    return named[0]


def well_written(place: Place) -> Asker:
    """Look the name up for every connection and try all addresses in order."""

    async def ask() -> str:
        return await request(await look_up(place), place.port)

    return Asker("well-written", ask)


async def dumb(place: Place) -> Asker:
    """Look the name up once, whatever its TTL, and try all addresses in order."""
    addresses = await look_up(place)
    return Asker("dumb", lambda: request(addresses, place.port))


async def dumber(place: Place) -> Asker:
    """Look the name up once and try the first address only."""
    first = (await look_up(place))[:1]
    return Asker("dumber", lambda: request(first, place.port))


def dumbest(address: str, port: int) -> Asker:
    """Know one fixed address, which is a balancer's."""
    return Asker("dumbest, behind HAProxy", lambda: request([address], port))
