"""What a server does for any one asker, and how answers to one that asks too much are thinned out. Pure.

A source address of UDP can be forged, so that answers go to somebody who never asked. Each network of clients, /24 or
/56, may have so many answers a second; of those beyond, a few are sent empty and marked as truncated, which a real
client answers by coming over TCP, and the rest is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

LOOPBACK: tuple[Network, ...] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_MAPPED = "::ffff:"


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes, times and numbers that bound what one client can cost."""

    # Fits into every path without fragments (DNS flag day 2020).
    udp_bytes: int = 1232
    tcp_idle_seconds: float = 10.0
    tcp_connections: int = 500
    tcp_connections_per_client: int = 50
    # To one network of clients by UDP; 0 is without limit.
    answers_per_second: float = 1000.0
    # Every so many answers beyond that are sent as truncated; 0 drops them all.
    slip: int = 2
    # Clients that are not limited.
    exempt: tuple[Network, ...] = LOOPBACK


class Ruling(Enum):
    """What becomes of an answer."""

    SEND = "send"
    TRUNCATE = "truncate"
    DROP = "drop"


@dataclass(slots=True)
class _Account:
    left: float
    since: float
    beyond: int = 0


class AnswerLimiter:
    """Counts the answers to each network of clients."""

    def __init__(self, limits: Limits, *, remembered: int = 20_000) -> None:
        """Networks and addresses come from packets: no more of them are remembered than that."""
        self._limits = limits
        self._remembered = remembered
        self._accounts: dict[str | bytes, _Account] = {}
        self._exempt: dict[str, bool] = {}

    def rule(self, address: str, now: float) -> Ruling:
        """Say what becomes of one more answer to a client."""
        rate = self._limits.answers_per_second
        if not rate or self.is_exempt(address):
            return Ruling.SEND
        account = self._account(client_network(address), now)
        account.left = min(rate, account.left + (now - account.since) * rate)
        account.since = now
        if account.left >= 1.0:
            account.left -= 1.0
            return Ruling.SEND
        account.beyond += 1
        slip = self._limits.slip
        return Ruling.TRUNCATE if slip and account.beyond % slip == 0 else Ruling.DROP

    def is_exempt(self, address: str) -> bool:
        """Tell whether a client is not limited."""
        known = self._exempt.get(address)
        if known is None:
            if len(self._exempt) >= self._remembered:
                self._exempt.clear()
            known = self._exempt[address] = within(address, self._limits.exempt)
        return known

    def _account(self, network: str | bytes, now: float) -> _Account:
        found = self._accounts.get(network)
        if found is None:
            if len(self._accounts) >= self._remembered:
                del self._accounts[next(iter(self._accounts))]
            found = self._accounts[network] = _Account(self._limits.answers_per_second, now)
        return found


def within(address: str, networks: tuple[Network, ...]) -> bool:
    """Tell whether an address is in any of the networks."""
    try:
        parsed = ip_address(address.removeprefix(_MAPPED).partition("%")[0])
    except ValueError:
        return False
    return any(parsed in network for network in networks if network.version == parsed.version)


def client_network(address: str) -> str | bytes:
    """Return what stands for the network of a client: the first 24 bits of an IPv4 address, 56 of an IPv6 one."""
    plain = address.removeprefix(_MAPPED)
    if ":" not in plain:
        return plain.rpartition(".")[0]
    try:
        return ip_address(plain.partition("%")[0]).packed[:7]
    except ValueError:
        return plain
