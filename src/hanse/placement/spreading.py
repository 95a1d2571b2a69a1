"""Over how many parts of the fleet work goes: which regions, zones, clusters, when there are more than asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from hanse.placement.ask import Duplicated, Spread
from hanse.placement.hashing import fnv1_32
from hanse.placement.work import Refused, Tell, Work

Parts = dict[str, int]

_NOUNS = {"cluster": "cluster", "provider": "provider", "region": "region", "zone": "zone"}


@dataclass(frozen=True, slots=True)
class Spreading:
    """The clusters that are left, why others are not, and why it cannot be done ("" where it can)."""

    clusters: int
    refused: tuple[Refused, ...] = ()
    impossible: str = ""


def spread_over(work: Work, clusters: int) -> Spreading:
    """Choose as many parts of the fleet as were asked for."""
    refused: list[Refused] = []
    done: list[Spread] = []
    for spread in work.placement.spread:
        parts, nowhere = parts_of(work, clusters, spread.by)
        if nowhere:
            refused.append(Refused(nowhere, _nowhere(spread), unwanted=True))
            clusters &= ~nowhere
        if spread.max_groups is not None and len(parts) > max(0, spread.max_groups):
            taken = _picked(work, parts, spread.max_groups, done)
            dropped = clusters & ~taken
            # After a loss, or a return, clusters change places without anybody having asked for it.
            refused.append(Refused(dropped, _crowded(work, spread), unwanted=not work.disturbed))
            clusters = taken
        done.append(spread)
    return Spreading(clusters, tuple(refused), _impossible(work, clusters))


def parts_of(work: Work, clusters: int, by: str) -> tuple[Parts, int]:
    """Return the clusters of each part, and those of which it cannot be told."""
    sets, nowhere = work.fleet.divided(by)
    return {name: part for name, within in sets.items() if (part := within & clusters)}, nowhere & clusters


def noun_of(by: str) -> str:
    """Return how sentences name a part of the fleet."""
    return _NOUNS.get(by, f"label {by}")


def _nowhere(spread: Spread) -> Tell:
    return lambda _slot: f"it has no {noun_of(spread.by)}, over which work is spread"


def _crowded(work: Work, spread: Spread) -> Tell:
    names, noun = work.fleet.parts(spread.by), noun_of(spread.by)
    limit = f"at most {spread.max_groups} {_plural(noun, spread.max_groups or 0)}"
    if spread.by == "cluster":
        return lambda _slot: f"{limit} may be used, and others come first"
    return lambda slot: f"{limit} may be used, and others come before {names[slot]}"


def _plural(noun: str, count: int) -> str:
    if noun.startswith("label "):
        return f"values of {noun}"
    return noun if count == 1 else f"{noun}s"


def _impossible(work: Work, clusters: int) -> str:
    for spread in work.placement.spread:
        found = sorted(parts_of(work, clusters, spread.by)[0])
        if len(found) < spread.min_groups:
            noun = noun_of(spread.by)
            have = f"only {', '.join(found)} can be used" if found else "none can be used"
            return (
                f"at least {spread.min_groups} {_plural(noun, spread.min_groups)} are asked for and {have}: "
                f"lower minGroups, raise maxGroups or let more clusters be chosen"
            )
    return ""


def _picked(work: Work, parts: Parts, count: int, done: Sequence[Spread]) -> int:
    """Take the best parts, one from each part of the earlier constraints before a second from any."""
    earlier = [work.fleet.parts(spread.by) for spread in done]
    best = sorted(parts, key=lambda name: _claim(work, name, parts[name]))
    seen: dict[tuple[str, ...], int] = {}
    turns: dict[str, int] = {}
    for name in best:
        first = (parts[name] & -parts[name]).bit_length() - 1
        parent = tuple(names[first] for names in earlier)
        turns[name] = seen[parent] = seen.get(parent, -1) + 1
    best.sort(key=lambda name: turns[name])
    picked, others = best[: max(0, count)], best[max(0, count) :]
    if work.rooms is not None and work.replicas and not isinstance(work.placement.division, Duplicated):
        picked = _roomier(work, parts, picked, others)
    return reduce(or_, (parts[name] for name in picked), 0)


def _claim(work: Work, name: str, part: int) -> tuple[int, int, int, int, str]:
    """Order parts: what has the work already, then where most room is, then the hash."""
    holders = work.fleet.slots(part & work.holders) if part & work.holders else ()
    held = sum(work.held[slot] for slot in holders)
    return -held, -len(holders), -_room(work, part), fnv1_32((name + work.key).encode()), name


def _room(work: Work, part: int, *, untold: int = 0) -> int:
    """Return how many replicas a part has room for; a cluster of which no limit is known counts as `untold`."""
    rooms = work.rooms
    if rooms is None:
        return 0
    return sum(untold if (room := rooms[slot]) is None else room for slot in work.fleet.slots(part))


def _roomier(work: Work, parts: Parts, picked: list[str], others: list[str]) -> list[str]:
    """Exchange the smallest parts for greater ones while what was picked cannot hold all replicas."""
    rooms = {name: _room(work, part, untold=work.replicas or 0) for name, part in parts.items()}
    picked = sorted(picked, key=lambda name: rooms[name], reverse=True)
    for other in sorted(others, key=lambda name: (-rooms[name], name)):
        if sum(rooms[name] for name in picked) >= (work.replicas or 0) or not picked:
            break
        if rooms[other] <= rooms[picked[-1]]:
            break
        picked = sorted([*picked[:-1], other], key=lambda name: rooms[name], reverse=True)
    return picked
