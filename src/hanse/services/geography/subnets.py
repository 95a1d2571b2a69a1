"""A table of subnets: which place an address is in, by its longest prefix. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from hanse.services.geography.vantage import NOWHERE, Vantage

_BITS = {4: 32, 6: 128}
_MAPPED = "::ffff:"


@dataclass(frozen=True, slots=True)
class Located:
    """What the table says of a subnet, and the length of the prefix for whose every address it says the same."""

    vantage: Vantage
    scope: int


class Subnets:
    """Finds the place of an address or of a client's subnet, IPv4 and IPv6."""

    def __init__(self, entries: Iterable[tuple[str, Vantage]] = ()) -> None:
        # By family, then by length of prefix, the longest first: {24: {number of the prefix: place}}.
        tables: dict[int, dict[int, dict[int, Vantage]]] = {4: {}, 6: {}}
        # Prefixes inside which the table is finer still.
        self._divided: set[tuple[int, int, int]] = set()
        for cidr, vantage in entries:
            network = ip_network(cidr, strict=False)
            length = network.prefixlen
            number = int(network.network_address) >> (_BITS[network.version] - length)
            tables[network.version].setdefault(length, {})[number] = vantage
            for shorter in range(length):
                self._divided.add((network.version, shorter, number >> (length - shorter)))
        self._tables = {
            version: sorted(table.items(), key=lambda item: -item[0]) for version, table in tables.items() if table
        }

    def __bool__(self) -> bool:
        return bool(self._tables)

    def of_address(self, address: str) -> Vantage:
        """Return the place of an address; nowhere for one that is in no subnet, or no address."""
        if not self._tables:
            return NOWHERE
        try:
            parsed = ip_address(address.removeprefix(_MAPPED).partition("%")[0])
        except ValueError:
            return NOWHERE
        return self.of_prefix(parsed.version, int(parsed), _BITS[parsed.version]).vantage

    def of_prefix(self, version: int, address: int, length: int) -> Located:
        """Return the place of a client's subnet, of which only the first `length` bits are known."""
        bits = _BITS[version]
        for known, places in self._tables.get(version, ()):
            if known <= length and (found := places.get(address >> (bits - known))) is not None:
                return Located(found, self._scope(version, address, known, length))
        return Located(NOWHERE, self._scope(version, address, 0, length))

    def _scope(self, version: int, address: int, known: int, length: int) -> int:
        """Return the shortest prefix from `known` on that no entry divides; `length` where none is so short."""
        bits = _BITS[version]
        for scope in range(known, length):
            if (version, scope, address >> (bits - scope)) not in self._divided:
                return scope
        return length
