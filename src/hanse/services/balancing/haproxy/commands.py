"""From the servers that a running HAProxy has to those that it shall have: commands, or the need for a new process."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence

from hanse.services.balancing.haproxy.configuration import slot_name
from hanse.services.balancing.haproxy.slots import Seated, Slot

# How `show servers state` numbers its columns, and the bits of an administrative state that close a server.
_BACKEND, _SERVER, _ADDRESS, _ADMIN, _WEIGHT, _PORT = 1, 3, 4, 6, 7, 18
_MAINTENANCE = 0x01 | 0x02 | 0x20 | 0x40
_NO_ADDRESS = ("0.0.0.0", "-")


def commands_between(running: Mapping[str, Sequence[Slot]], wanted: Sequence[Seated]) -> list[str]:
    """Return the commands that bring running servers to the wanted ones; who begins comes before who ends."""
    steps: list[tuple[bool, list[str]]] = []
    for each in wanted:
        have = running[each.line.name]
        for index, (before, after) in enumerate(zip(have, each.slots, strict=True)):
            server = f"{each.line.name}/{slot_name(index)}"
            if commands := list(_commands(server, before, after)):
                steps.append((after.weight < before.weight or not after.open, commands))
    return [command for _, commands in sorted(steps, key=lambda step: step[0]) for command in commands]


def _commands(server: str, before: Slot, after: Slot) -> Iterator[str]:
    if not after.open:
        if before.open:
            yield f"set server {server} state maint"
        return
    moved = (before.address, before.port) != (after.address, after.port)
    if moved:
        if before.open:
            yield f"set server {server} state maint"
        yield f"set server {server} addr {after.address} port {after.port}"
    if moved or before.weight != after.weight or not before.open:
        yield f"set server {server} weight {after.weight}"
    if moved or not before.open:
        yield f"set server {server} state ready"


def parse_servers(text: str) -> dict[str, tuple[Slot, ...]]:
    """Read the answer to `show servers state`: the places of every backend, in order; raises ValueError."""
    found: dict[str, list[tuple[int, Slot]]] = {}
    # The first line is the version of the format, the second names the columns.
    for line in text.splitlines()[2:]:
        fields = line.split()
        if fields:
            found.setdefault(fields[_BACKEND], []).append((int(fields[_SERVER].removeprefix("s")), _slot(fields)))
    return {name: tuple(slot for _, slot in sorted(slots, key=lambda each: each[0])) for name, slots in found.items()}


def _slot(fields: list[str]) -> Slot:
    if fields[_ADDRESS] in _NO_ADDRESS:
        return Slot()
    is_open = not int(fields[_ADMIN]) & _MAINTENANCE
    weight = int(fields[_WEIGHT]) if is_open else 0
    return Slot(fields[_ADDRESS], int(fields[_PORT]), weight, is_open)


def parse_facts(text: str) -> dict[str, str]:
    """Read the answer to `show info`."""
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


def parse_statistics(text: str) -> list[dict[str, str]]:
    """Read the answer to `show stat`: a row for every entrance, backend and server."""
    return list(csv.DictReader(text.removeprefix("# ").splitlines()))


def same_servers(running: Mapping[str, Sequence[Slot]], wanted: Sequence[Seated]) -> bool:
    """Tell whether a running process has exactly the wanted servers, whoever had its closed places."""
    return {name: tuple(map(_said, slots)) for name, slots in running.items()} == {
        each.line.name: tuple(map(_said, each.slots)) for each in wanted
    }


def _said(slot: Slot) -> Slot:
    return slot if slot.open else Slot()
