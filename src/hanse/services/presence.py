"""A service of the federation as clients find it: where it is, by which addresses, and which of them serve."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.kube.manifest import Key

DEFAULT_TTL_SECONDS = 180


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cluster is, and how busy it says to be: 0 is idle, 1 full, None untold."""

    cluster: str
    region: str = ""
    zones: tuple[str, ...] = ()
    load: float | None = None


@dataclass(frozen=True, slots=True, order=True)
class Port:
    """A port of a Service; one without a name has no SRV record."""

    name: str
    protocol: str
    number: int


@dataclass(frozen=True, slots=True)
class Presence:
    """A Service in one cluster."""

    cluster: str
    # What clients anywhere reach it by: IPv4 and IPv6 addresses, sorted. Host names of load balancers are resolved.
    addresses: tuple[str, ...] = ()
    # What clients in the same cluster reach it by.
    cluster_ips: tuple[str, ...] = ()
    # Those of the addresses to which nobody is led while the others serve: a majority of checkers calls them dead.
    dead: tuple[str, ...] = ()
    # How many of its endpoints are ready there, None where that cannot be seen.
    backends: int | None = None
    # Whether clients are led there, and why not.
    serving: bool = True
    why: str = ""
    # The share of clients that it should get beside others that are as near.
    weight: int = 1
    # Whether clients are led there only since there is nobody else of whom more is known.
    doubtful: bool = False
    # Whose it is, where several releases of an application serve under one name: then a cluster has several presences.
    release: str = ""

    @property
    def live(self) -> tuple[str, ...]:
        """The addresses to which clients anywhere are led."""
        return tuple(each for each in self.addresses if each not in self.dead) if self.serving else ()


@dataclass(frozen=True, slots=True)
class FederatedService:
    """A Service of the federation, with its presence in every cluster that has it, in order of name.

    Where releases of an application serve under one name, each of them has a presence of its own in a cluster.
    """

    key: Key
    ports: tuple[Port, ...] = ()
    presences: tuple[Presence, ...] = ()
    ttl: int = DEFAULT_TTL_SECONDS
    # The addresses of a balancer in front of all clusters; clients are led to it while any cluster serves.
    front: tuple[str, ...] = ()
    # Only these have names in DNS: of type LoadBalancer, or with external addresses of their own.
    published: bool = True

    @property
    def serving(self) -> tuple[Presence, ...]:
        """The presences to which clients are led."""
        return tuple(each for each in self.presences if each.live)
