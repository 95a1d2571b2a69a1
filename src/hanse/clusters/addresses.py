"""Which of a member's addresses this process should use, and in which order: pure, but for asking the machine its own.

The longest clientCIDR that holds our address comes first, as the registry's API promises; an address that is meant for
other clients is not tried at all.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from hanse.api.clusters import EVERYONE, Address

# An address that is reserved for documentation: no packet is sent to find out which way one would go.
_ELSEWHERE = ("192.0.2.1", 9)


def usable_addresses(addresses: Sequence[Address], client: str) -> list[str]:
    """Return the servers to try in turn; all of them, in their order, where our own address is not known."""
    if not client:
        return list(dict.fromkeys(address.server for address in addresses))
    fitting = [(prefix, address) for address in addresses if (prefix := _prefix(address.client_cidr, client)) >= 0]
    # The sort is stable: equals stay in the order in which they were written.
    fitting.sort(key=lambda pair: -pair[0])
    return list(dict.fromkeys(address.server for _, address in fitting))


def _prefix(cidr: str, client: str) -> int:
    """Return how many bits of a network fit a client, -1 where they do not."""
    if cidr in ("", EVERYONE, "::/0"):
        return 0
    try:
        network, ours = ipaddress.ip_network(cidr, strict=False), ipaddress.ip_address(client)
    except ValueError:
        # Federation v1 gave up on the whole list here; one bad entry must not hide the good ones.
        return -1
    return network.prefixlen if ours.version == network.version and ours in network else -1


def own_address() -> str:
    """Return the address from which this machine speaks to others; "" where it has no way out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return ""
        return str(probe.getsockname()[0])
