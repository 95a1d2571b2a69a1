"""One zone as it is answered from: what each name has, and which names are there only because others are below them.

Records come in sets that belong to an owner, such as a Service; a changed owner replaces its own names alone. Each
record is kept as the bytes that follow its name in a message. What is in the zone is never changed in place, so that
a transfer reads one version from its first record to its last.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from struct import Struct
from typing import NamedTuple

from hanse.services.dns.names import BadName, parents, to_wire
from hanse.services.dns.rdata import BadValue, to_rdata
from hanse.services.dns.types import IN, Type
from hanse.services.records import Datum, RecordSet

_TAIL = Struct("!HHIH")
_SOA_NUMBERS = Struct("!IIIII")
# How long a name may be taken for absent: a service that has just been made is found after at most this.
NEGATIVE_TTL = 30
_APEX_TTL = 3600
_REFRESH, _RETRY, _EXPIRE = 300, 60, 1_209_600
_LARGEST_SERIAL = 2**32


class Entry(NamedTuple):
    """One record without its name, and what is done with it for the sake of the asker."""

    tail: bytes
    cluster: str = ""
    # One by the weight that it has beside others as near.
    share: float = 1.0
    # In place of `tail` for askers in that very cluster.
    inside: bytes = b""


class Records(NamedTuple):
    """All records of one name and type; `target` is where a CNAME leads, in lower case."""

    type: int
    entries: tuple[Entry, ...]
    target: bytes = b""


Node = Mapping[int, Records]
_NOTHING: Node = {}


@dataclass(frozen=True, slots=True)
class Nameserver:
    """A server of the zone by name, with its addresses where the name is in the zone itself."""

    name: str
    addresses: tuple[str, ...] = ()


class Zone:
    """The names of one domain."""

    def __init__(self, domain: str, nameservers: Sequence[Nameserver] = (), *, now: float = 0.0) -> None:
        self.domain = domain
        self.apex = to_wire(domain).lower()
        self.serial = int(now) % _LARGEST_SERIAL
        self._nameservers = tuple(nameservers) or (Nameserver(f"ns.{domain}"),)
        self._nodes: dict[bytes, Node] = {}
        self._owned: dict[Hashable, dict[bytes, Node]] = {}
        self._holders: dict[bytes, list[Hashable]] = {}
        self._below: dict[bytes, int] = {}
        self._changed = False
        self._hold(self, self._own_nodes())
        self._changed = False

    @property
    def soa(self) -> bytes:
        """The zone's SOA record without its name."""
        return self._nodes[self.apex][Type.SOA].entries[0].tail

    def find(self, name: bytes) -> Node | None:
        """Return what a name in lower case has; nothing for one with names below it, None for one that is absent."""
        return self._nodes.get(name)

    def covers(self, name: bytes) -> bool:
        """Tell whether a name in lower case is in the zone, present or not."""
        return self.apex in parents(name)

    def nodes(self) -> list[tuple[bytes, Node]]:
        """Return all names that have records, in an order that depends on them alone."""
        return sorted((name, node) for name, node in self._nodes.items() if node)

    def __len__(self) -> int:
        return sum(1 for node in self._nodes.values() if node)

    def replace(self, owner: Hashable, records: Iterable[RecordSet]) -> list[str]:
        """Give an owner these records in place of all that it had; returns why some of them cannot be served."""
        nodes: dict[bytes, dict[int, Records]] = {}
        refused: list[str] = []
        for each in records:
            try:
                name = to_wire(each.name).lower()
                kept = _records(each)
            except (BadName, BadValue) as error:
                refused.append(str(error))
                continue
            if self.covers(name):
                nodes.setdefault(name, {})[kept.type] = kept
            else:
                refused.append(f"{each.name} is not in {self.domain}")
        self._hold(owner, dict(nodes))
        return refused

    def commit(self, now: float) -> bool:
        """Give what changed since the last time a new serial; returns whether anything did.

        Secondaries look at the serial alone. Called at most once a second it never runs ahead of the clock, so that a
        server that starts anew goes on from a greater one.
        """
        if not self._changed:
            return False
        self.serial = max(int(now), self.serial + 1) % _LARGEST_SERIAL
        self._hold(self, self._own_nodes())
        self._changed = False
        return True

    def _hold(self, owner: Hashable, nodes: dict[bytes, Node]) -> None:
        before = self._owned.get(owner, {})
        if before == nodes:
            return
        self._changed = True
        if nodes:
            self._owned[owner] = nodes
        else:
            del self._owned[owner]
        for name in before.keys() - nodes.keys():
            self._holders[name].remove(owner)
            self._settle(name)
        for name, node in nodes.items():
            if name not in before:
                self._holders.setdefault(name, []).append(owner)
            if before.get(name) != node:
                self._settle(name)

    def _settle(self, name: bytes) -> None:
        """Have a name say what its holder says; of several the one that came first."""
        holders = self._holders[name]
        was_there = bool(self._nodes.get(name))
        if holders:
            self._nodes[name] = self._owned[holders[0]][name]
        else:
            del self._holders[name]
            self._clear(name)
        if was_there != bool(holders):
            self._count_above(name, 1 if holders else -1)

    def _count_above(self, name: bytes, step: int) -> None:
        for parent in parents(name)[1:]:
            if len(parent) < len(self.apex):
                return
            count = self._below[parent] = self._below.get(parent, 0) + step
            if count:
                self._nodes.setdefault(parent, _NOTHING)
            else:
                del self._below[parent]
                if not self._nodes.get(parent):
                    self._clear(parent)

    def _clear(self, name: bytes) -> None:
        if name in self._below:
            self._nodes[name] = _NOTHING
        else:
            self._nodes.pop(name, None)

    def _apex_node(self) -> Node:
        names = to_wire(self._nameservers[0].name) + to_wire(f"hostmaster.{self.domain}")
        soa = names + _SOA_NUMBERS.pack(self.serial, _REFRESH, _RETRY, _EXPIRE, NEGATIVE_TTL)
        servers = [to_wire(each.name) for each in self._nameservers]
        return {
            Type.SOA: Records(Type.SOA, (Entry(_tail(Type.SOA, NEGATIVE_TTL, soa)),)),
            Type.NS: Records(Type.NS, tuple(Entry(_tail(Type.NS, _APEX_TTL, name)) for name in servers)),
        }

    def _own_nodes(self) -> dict[bytes, Node]:
        """Return the zone's own records: its SOA, its servers, and the addresses of those that are named in it."""
        nodes: dict[bytes, dict[int, Records]] = {self.apex: dict(self._apex_node())}
        for server in self._nameservers:
            name = to_wire(server.name).lower()
            for address in server.addresses if self.covers(name) else ():
                kind = Type.AAAA if ":" in address else Type.A
                entry = Entry(_tail(kind, _APEX_TTL, to_rdata(kind, address)))
                node = nodes.setdefault(name, {})
                node[kind] = Records(kind, (*(node[kind].entries if kind in node else ()), entry))
        return dict(nodes)


def _records(records: RecordSet) -> Records:
    try:
        kind = Type[records.type]
    except KeyError as error:
        raise BadValue(f"{records.name}: there is no type {records.type} here") from error
    entries = tuple(_entry(kind, records.ttl, datum) for datum in records.data)
    target = to_wire(records.data[0].value).lower() if kind is Type.CNAME else b""
    return Records(kind, entries, target)


def _entry(kind: Type, ttl: int, datum: Datum) -> Entry:
    inside = _tail(kind, ttl, to_rdata(kind, datum.inside)) if datum.inside else b""
    share = 1.0 / datum.weight if datum.weight > 0 else inf
    return Entry(_tail(kind, ttl, to_rdata(kind, datum.value)), datum.cluster, share, inside)


def _tail(kind: Type, ttl: int, rdata: bytes) -> bytes:
    return _TAIL.pack(kind, IN, ttl, len(rdata)) + rdata
