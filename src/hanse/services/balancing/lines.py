"""What a balancer shall do, as values: where it listens for whom, and to which clusters it leads with which weight.

A pure function makes it from the services of the federation and what they ask. Nothing here knows of HAProxy: a
cloud's global balancer is told the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hanse.api.service_addresses import BALANCER_ANNOTATION
from hanse.kube.manifest import Key
from hanse.services.balancing.wishes import Mode, Wish, WishError, parse_wish
from hanse.services.presence import FederatedService, Port, Presence

# The weight of the cluster that gets most; the others have their share of it, and 0 is drained.
FULL_WEIGHT = 256


@dataclass(frozen=True, slots=True)
class Target:
    """An address in one cluster; one of weight 0 keeps its connections and gets no new ones."""

    cluster: str
    address: str
    port: int
    weight: int


@dataclass(frozen=True, slots=True)
class Line:
    """One port of a Service: where clients come in, and where they are led."""

    service: Key
    port: int
    listen: int
    mode: Mode = Mode.TCP
    # Only requests for these hosts, where there are any.
    hosts: tuple[str, ...] = ()
    # Whether clients of one address are led to the same place while that serves.
    sticky: bool = False
    idle_seconds: int = 3600
    targets: tuple[Target, ...] = ()

    @property
    def name(self) -> str:
        """The name of the line, which no other has: NAMESPACE.SERVICE.PORT."""
        return f"{self.service.namespace}.{self.service.name}.{self.port}"


@dataclass(frozen=True, slots=True)
class Asking:
    """A service that asks to be balanced."""

    service: FederatedService
    # What its annotation says.
    text: str
    sticky: bool = False
    # When it was created: who came first keeps a port that two ask for.
    since: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that a service asked for and does not get, and why, in one sentence."""

    service: Key
    why: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """The lines of all services in order of name, and what could not be drawn."""

    lines: tuple[Line, ...] = ()
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True)
class PortRange:
    """Ports on which a balancer may listen, both ends included."""

    first: int
    last: int

    def __contains__(self, port: int) -> bool:
        return self.first <= port <= self.last


ANY_PORT = (PortRange(1, 65535),)


def draw_lines(askings: Iterable[Asking], allowed: tuple[PortRange, ...] = ANY_PORT) -> Drawn:
    """Return what a balancer shall do for the services; the oldest of those that ask for one entrance gets it."""
    lines: list[Line] = []
    troubles: list[Trouble] = []
    entrances = _Entrances()
    for asking in sorted(askings, key=lambda asking: (asking.since, asking.service.key)):
        try:
            wish = parse_wish(asking.text)
            ways = wish.entrances(asking.service.ports)
        except WishError as error:
            troubles.append(_trouble(asking, str(error)))
            continue
        troubles += (_trouble(asking, why) for why in _unbalanced(asking.service, wish))
        for port, number in sorted(ways.items()):
            line = _line(asking, wish, port, number)
            if not any(number in each for each in allowed):
                troubles.append(_trouble(asking, f"listen: port {number} is not one that this balancer may open"))
            elif why := entrances.taken(line):
                troubles.append(_trouble(asking, why))
            else:
                entrances.take(line)
                lines.append(line)
    return Drawn(tuple(sorted(lines, key=lambda line: line.name)), tuple(troubles))


class _Entrances:
    """Who has which port, and on a port of HTTP which hosts of it; "" is every host that nobody else has."""

    def __init__(self) -> None:
        self._held: dict[int, dict[str, Line]] = {}

    def taken(self, line: Line) -> str:
        held = self._held.get(line.listen, {})
        other = next((each for each in held.values() if each.mode is not line.mode or line.mode is Mode.TCP), None)
        if other is not None:
            return f"listen: port {line.listen} belongs to Service {other.service}; choose another"
        for host in line.hosts or ("",):
            if host in held:
                what = f"host {host} of port {line.listen}" if host else f"port {line.listen}"
                return f"listen: {what} belongs to Service {held[host].service}; choose another port or other hosts"
        return ""

    def take(self, line: Line) -> None:
        self._held.setdefault(line.listen, {}).update(dict.fromkeys(line.hosts or ("",), line))


def _trouble(asking: Asking, why: str) -> Trouble:
    return Trouble(asking.service.key, f"{BALANCER_ANNOTATION}: {why}")


def _unbalanced(service: FederatedService, wish: Wish) -> Iterator[str]:
    if wish.listen:
        return
    for port in service.ports:
        if port.protocol != "TCP":
            yield f"port {port.name or port.number} is {port.protocol}, which is not balanced; DNS leads its clients"


def _line(asking: Asking, wish: Wish, port: Port, listen: int) -> Line:
    return Line(
        service=asking.service.key,
        port=port.number,
        listen=listen,
        mode=wish.mode,
        hosts=wish.hosts,
        sticky=asking.sticky,
        idle_seconds=wish.idle_seconds,
        targets=tuple(_targets(asking.service, port)),
    )


def _targets(service: FederatedService, port: Port) -> Iterator[Target]:
    """Yield every address of the service; those to which nobody is led have weight 0."""
    largest = max((_share(each) for each in service.serving), default=0.0)
    for presence in service.presences:
        for address in presence.addresses:
            share = _share(presence) if address in presence.live else 0.0
            weight = max(1, round(FULL_WEIGHT * share / largest)) if share else 0
            yield Target(presence.cluster, address, port.number, weight)


def _share(presence: Presence) -> float:
    """Return what one address gets of what its Service in that cluster shall have."""
    return max(0, presence.weight) / len(presence.live)
