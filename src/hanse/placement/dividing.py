"""How many replicas each chosen cluster gets, by each of the divisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hanse.placement.apportionment import apportion
from hanse.placement.ask import Aggregated, ByCapacity, ByFreeCapacity, Duplicated, Equally, Weighted
from hanse.placement.planner import Preferences, plan_replicas
from hanse.placement.work import Tell, Work

Limit = Callable[[int], int | None]


@dataclass(frozen=True, slots=True)
class Shares:
    """Replicas by slot, how many found no place, and the sentences for both.

    `unwanted` are the clusters that get nothing because nobody gave them a weight. `overflow` is what of its replicas a
    cluster has turned out not to hold: they wait there for room, beside as many elsewhere.
    """

    counts: dict[int, int] = field(default_factory=dict)
    unplaced: int = 0
    tell: Tell = lambda _slot: ""
    remedy: str = ""
    unwanted: int = 0
    overflow: dict[int, int] = field(default_factory=dict)


_NO_ROOM = "the chosen clusters have no more room; let more clusters be chosen, free capacity or ask for less a replica"


def divide(work: Work, slots: Sequence[int], total: int, frozen: int = 0) -> Shares:
    """Divide `total` over clusters; those that are frozen get no more than they hold."""
    shares = _divided(work, slots, total, frozen)
    if not work.state.estimated or not isinstance(work.placement.division, Equally | Weighted | ByCapacity):
        return shares
    return _overflowing(shares, _divided(work.unestimated, slots, total, frozen))


def _overflowing(shares: Shares, unlimited: Shares) -> Shares:
    """Leave with a full cluster what it would have if it were not: should it find room, it is known by that."""
    more = {slot: unlimited.counts[slot] - count for slot, count in shares.counts.items()}
    overflow = {slot: extra for slot, extra in more.items() if extra > 0}
    counts = {slot: count + overflow.get(slot, 0) for slot, count in shares.counts.items()}

    def tell(slot: int) -> str:
        extra = overflow.get(slot, 0)
        return f"{shares.tell(slot)}; {extra} more wait there for room" if extra else shares.tell(slot)

    return replace(shares, counts=counts, tell=tell, overflow=overflow)


def _divided(work: Work, slots: Sequence[int], total: int, frozen: int) -> Shares:
    limits = _limits(work, slots, frozen)
    match work.placement.division:
        case Preferences() as preferences:
            return _by_planner(work, slots, total, preferences, frozen)
        case Duplicated():
            return _duplicated(work, slots, total, frozen)
        case Equally():
            return _equally(work, slots, total, limits)
        case Weighted() as weighted:
            return _weighted(work, slots, total, limits, _weights(work, slots, weighted))
        case ByCapacity():
            return _by_capacity(work, slots, total, limits)
        case ByFreeCapacity():
            return _steadily(work, slots, total, limits, _by_free_room)
        case Aggregated():
            return _steadily(work, slots, total, limits, _into_few)


def _limits(work: Work, slots: Sequence[int], frozen: int) -> list[int | None] | None:
    rooms = work.rooms
    if rooms is None and not frozen:
        return None
    limits: list[int | None] = [rooms[slot] if rooms else None for slot in slots]
    for place, slot in enumerate(slots):
        if frozen >> slot & 1:
            held, room = work.held.get(slot, 0), limits[place]
            limits[place] = held if room is None else min(room, held)
    return limits


def _by_planner(work: Work, slots: Sequence[int], total: int, preferences: Preferences, frozen: int) -> Shares:
    names = work.fleet.names
    limits = {names[slot]: work.held.get(slot, 0) for slot in slots if frozen >> slot & 1}
    if work.requests is not None and (rooms := work.rooms) is not None:
        for slot in slots:
            limits[names[slot]] = min(limits.get(names[slot], total), rooms[slot] or 0)
    plan = plan_replicas(
        total,
        [names[slot] for slot in slots],
        preferences,
        key=work.key,
        current=work.state.current,
        capacity=work.state.estimated,
        limits=limits,
        hashes={names[slot]: work.hashes[slot] for slot in slots},
    )
    counts = {slot: plan.replicas[names[slot]] + plan.overflow.get(names[slot], 0) for slot in slots}

    def tell(slot: int) -> str:
        preference, extra = preferences.of(names[slot]), plan.overflow.get(names[slot], 0)
        if preference is None:
            return "the preferences do not name it and have no *, so it gets 0"
        parts = [f"weight {preference.weight}"]
        if preference.min_replicas:
            parts.append(f"at least {preference.min_replicas}")
        if preference.max_replicas is not None:
            parts.append(f"at most {preference.max_replicas}")
        if not preferences.rebalance:
            parts.append("what runs already stays")
        more = f", {extra} of them beyond what it has room for" if extra else ""
        return f"of {total} replicas the preferences ({', '.join(parts)}) give it {counts[slot]}{more}"

    unwanted = sum(1 << slot for slot in slots if preferences.of(names[slot]) is None)
    overflow = {slot: plan.overflow[names[slot]] for slot in slots if names[slot] in plan.overflow}
    return Shares(counts, plan.unplaced, tell, "raise a cluster's maxReplicas or weight", unwanted, overflow)


def _duplicated(work: Work, slots: Sequence[int], total: int, frozen: int) -> Shares:
    counts = {slot: min(total, work.held.get(slot, 0)) if frozen >> slot & 1 else total for slot in slots}
    return Shares(counts, 0 if slots else total, lambda _slot: f"every chosen cluster gets all {total} replicas")


def _equally(work: Work, slots: Sequence[int], total: int, limits: list[int | None] | None) -> Shares:
    # Work too small to be everywhere is the most there is, and names that are alike must not all mean the same cluster.
    ranks = work.hashes if total >= len(slots) else work.ranks
    if limits is None:
        ordered = sorted(slots, key=ranks.__getitem__)
        share, odd = divmod(total, len(ordered)) if ordered else (0, 0)
        counts = dict.fromkeys(ordered, share)
        for slot in ordered[:odd]:
            counts[slot] = share + 1
    else:
        given = apportion(total, [1] * len(slots), [ranks[slot] for slot in slots], limits)
        counts = dict(zip(slots, given, strict=True))
    full = _full(slots, counts, limits)

    def tell(slot: int) -> str:
        ready = "1 ready cluster" if len(slots) == 1 else f"{len(slots)} ready clusters"
        count = f"{total} replicas divided equally over {ready} give it {counts[slot]}"
        return f"{count}, which is all it can take" if slot in full else count

    return Shares(counts, total - sum(counts.values()), tell, _NO_ROOM)


def _full(slots: Sequence[int], counts: dict[int, int], limits: list[int | None] | None) -> set[int]:
    if limits is None:
        return set()
    return {slot for slot, limit in zip(slots, limits, strict=True) if limit is not None and counts[slot] >= limit}


def _weights(work: Work, slots: Sequence[int], weighted: Weighted) -> list[int]:
    sets = [(work.fleet.within(rule.clusters), rule.weight) for rule in weighted.rules]
    return [max((weight for clusters, weight in sets if clusters >> slot & 1), default=0) for slot in slots]


def _weighted(
    work: Work, slots: Sequence[int], total: int, limits: list[int | None] | None, weights: Sequence[int]
) -> Shares:
    given = apportion(total, weights, [work.ranks[slot] for slot in slots], limits)
    counts = dict(zip(slots, given, strict=True))
    weight_of = dict(zip(slots, weights, strict=True))
    full, all_weights = _full(slots, counts, limits), sum(weights)

    def tell(slot: int) -> str:
        if not weight_of[slot]:
            return "no weight is given to it, so it gets 0"
        count = f"of {total} replicas its weight of {weight_of[slot]} in {all_weights} gives it {counts[slot]}"
        return f"{count}, which is all it can take" if slot in full else count

    remedy = _NO_ROOM if all_weights else "no chosen cluster has a weight; give one a weight above 0"
    unwanted = sum(1 << slot for slot in slots if not weight_of[slot])
    return Shares(counts, total - sum(given), tell, remedy, unwanted)


def _by_capacity(work: Work, slots: Sequence[int], total: int, limits: list[int | None] | None) -> Shares:
    sizes = work.fleet.fits(work.requests or {}, free=False)
    weights = [sizes[slot] or 0 for slot in slots]
    shares = _weighted(work, slots, total, limits, weights)

    def tell(slot: int) -> str:
        if sizes[slot] is None:
            return "it does not tell its capacity, so it gets 0"
        size = f"its nodes can hold {sizes[slot]} of {sum(weights)} such replicas"
        return f"of {total} replicas it gets {shares.counts[slot]}: {size}"

    return Shares(shares.counts, shares.unplaced, tell, _NO_ROOM)


Grow = Callable[[Work, Sequence[int], list[int], int, list[int | None]], str]


def _steadily(work: Work, slots: Sequence[int], total: int, limits: list[int | None] | None, grow: Grow) -> Shares:
    """Keep what runs; give only what is missing, take only what is too much."""
    ranks = [work.ranks[slot] for slot in slots]
    bounds: list[int | None] = limits if limits is not None else [None for _ in slots]
    kept = [
        held if bound is None else min(held, max(0, bound))
        for held, bound in zip((work.held.get(slot, 0) for slot in slots), bounds, strict=True)
    ]
    missing = total - sum(kept)
    if missing > 0:
        why = grow(work, slots, kept, missing, bounds)
    elif isinstance(work.placement.division, Aggregated):
        why = _taken_from_the_smallest(kept, ranks, -missing)
    else:
        kept, why = apportion(total, kept, ranks), "replicas are taken in proportion to what runs"
    counts = dict(zip(slots, kept, strict=True))

    def tell(slot: int) -> str:
        before, count = work.held.get(slot, 0), counts[slot]
        if count == before:
            return f"of {total} replicas it keeps the {count} that it has" if count else f"{why}, so it gets 0"
        return f"of {total} replicas it gets {count} after {before}: {why}"

    return Shares(counts, max(0, total - sum(kept)), tell, _NO_ROOM)


def _by_free_room(work: Work, slots: Sequence[int], kept: list[int], missing: int, bounds: list[int | None]) -> str:
    free = [max(0, bound - have) if bound is not None else 0 for bound, have in zip(bounds, kept, strict=True)]
    extra = apportion(missing, free, [work.ranks[slot] for slot in slots], free)
    for place, more in enumerate(extra):
        kept[place] += more
    return "what is missing goes in proportion to free room"


def _into_few(work: Work, slots: Sequence[int], kept: list[int], missing: int, bounds: list[int | None]) -> str:
    """Fill what is in use, then where most room is."""
    alone = missing == 1 and not any(kept)

    def room(place: int) -> int:
        bound = bounds[place]
        return missing if bound is None else max(0, bound - kept[place])

    order = sorted(range(len(slots)), key=lambda place: (-kept[place], -room(place), work.ranks[slots[place]]))
    for place in order:
        more = min(missing, room(place))
        kept[place] += more
        missing -= more
    if alone:
        return "it goes where most room is"
    return "the fewest clusters that have room are filled, those in use first"


def _taken_from_the_smallest(kept: list[int], ranks: Sequence[int], surplus: int) -> str:
    for place in sorted(range(len(kept)), key=lambda place: (kept[place], -ranks[place])):
        less = min(surplus, kept[place])
        kept[place] -= less
        surplus -= less
    return "what is too much is taken where the least is"
