"""The built-in DNS server put together: a server, the follower that fills it, and the word to its secondaries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from hanse.kube.client import Client
from hanse.services.dns.book import Book
from hanse.services.dns.follower import Follower
from hanse.services.dns.keeping import Keeper
from hanse.services.dns.limits import Limits, Network
from hanse.services.dns.notifier import Notifier, Secondary
from hanse.services.dns.server import DnsServer
from hanse.services.dns.zone import Nameserver
from hanse.services.dns.zones import Zones

DNS_PORT = 53


@dataclass(frozen=True, slots=True)
class DnsOptions:
    """Where a server listens, what it is called, and who may copy its zones; port 0 is any that is free."""

    host: str = "127.0.0.1"
    port: int = 0
    # Further addresses and ports to listen on.
    others: tuple[tuple[str, int], ...] = ()
    nameservers: tuple[Nameserver, ...] = ()
    transfers: tuple[Network, ...] = ()
    secondaries: tuple[Secondary, ...] = ()
    limits: Limits = field(default_factory=Limits)
    # Several processes share the port.
    reuse_port: bool = False
    # A file for what is known, so that a start while the host is away is no loss.
    keep: Path | None = None


async def serve_dns(
    host: Client, options: DnsOptions, *, listening: Callable[[DnsServer], None] = lambda _server: None
) -> None:
    """Answer for the federation of a host until cancelled; `listening` is called once the port is open.

    Any number of these may run: all that they need of the host is to read it. Raises OSError where the port is taken.
    """
    zones = Zones(complete=False)
    server = DnsServer(zones, host.runtime, options.limits, transfers=options.transfers)
    try:
        for address in ((options.host, options.port), *options.others):
            await server.start(*address, reuse_port=options.reuse_port)
        listening(server)
        changed = asyncio.Event()
        book = Book(
            zones,
            host.runtime,
            nameservers=options.nameservers,
            address=_reachable(server.host),
            changed=changed.set,
        )
        async with asyncio.TaskGroup() as tasks:
            keeper = None if options.keep is None else Keeper(options.keep, host.runtime)
            tasks.create_task(Follower(host, book, changed, keeper).run())
            tasks.create_task(Notifier(zones, options.secondaries, host.runtime).run())
    finally:
        await server.close()


def parse_address(text: str, port: int = DNS_PORT) -> tuple[str, int]:
    """Read HOST, HOST:PORT or [IPv6]:PORT, with an IP address for a host; raises ValueError with a sentence."""
    host, number = text, str(port)
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        number = rest.removeprefix(":") or number
    elif text.count(":") == 1:
        host, _, number = text.partition(":")
    try:
        found = str(ip_address(host)), int(number)
    except ValueError as error:
        raise ValueError(f"{text!r} must be an IP address and a port, such as 127.0.0.1:8053 or [::1]:8053") from error
    if not 0 <= found[1] <= 0xFFFF:
        raise ValueError(f"{text!r} has no port from 0 to 65535")
    return found


def _reachable(host: str) -> str:
    """Return the address by which others may reach a server that listens there; "" where it listens everywhere."""
    return "" if ip_address(host).is_unspecified else host
