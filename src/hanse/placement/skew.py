"""Evenness over parts of the fleet: no two differ by more than a given number of replicas."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.placement.ask import Spread
from hanse.placement.dividing import Shares, divide
from hanse.placement.spreading import noun_of, parts_of
from hanse.placement.work import Work


def divide_evenly(work: Work, slots: Sequence[int], total: int, frozen: int, spread: Spread) -> Shares:
    """Divide as the placement says, then move as little as keeps the parts within the skew."""
    whole = divide(work, slots, total, frozen)
    skew = spread.max_skew if spread.max_skew is not None else total
    parts, _ = parts_of(work, sum(1 << slot for slot in slots), spread.by)
    names = sorted(parts)
    within = {name: work.fleet.slots(part) for name, part in parts.items()}
    wished = [sum(whole.counts[slot] for slot in within[name]) for name in names]
    if not names or max(wished) - min(wished) <= skew:
        return whole
    most = [sum(divide(work, within[name], total, frozen).counts.values()) for name in names]
    levels = within_skew(total, wished, most, skew)
    counts: dict[int, int] = {}
    tells: dict[int, tuple[str, int, Shares]] = {}
    for name, level in zip(names, levels, strict=True):
        inner = divide(work, within[name], level, frozen)
        counts |= inner.counts
        tells |= dict.fromkeys(within[name], (name, level, inner))
    noun = noun_of(spread.by)

    def tell(slot: int) -> str:
        name, level, inner = tells[slot]
        return (
            f"{noun} {name} gets {level} of {total} replicas, no two differing by more than {skew}; {inner.tell(slot)}"
        )

    smallest = names[most.index(min(most))]
    remedy = (
        f"with a skew of {skew} no {noun} may get more than {skew} beyond {noun} {smallest}, which takes {min(most)}; "
        f"raise maxSkew or make room there"
    )
    return Shares(counts, max(0, total - sum(counts.values())), tell, remedy)


def within_skew(total: int, wished: Sequence[int], most: Sequence[int], skew: int) -> list[int]:
    """Return the levels nearest to the wishes whose greatest and smallest differ by no more than `skew`.

    No level exceeds what its part can take, and their sum does not exceed `total`.
    """
    floor = _greatest_floor(total, wished, most, skew)
    levels = [_level(wish, limit, floor, skew) for wish, limit in zip(wished, most, strict=True)]
    left = total - sum(levels)
    by_wish = sorted(range(len(levels)), key=lambda place: (levels[place], -wished[place], place))
    # What is left lifts the lowest first, one step: so the parts come nearer to each other and never further apart.
    for place in by_wish:
        if left > 0 and levels[place] == floor < most[place] and skew > 0:
            levels[place] += 1
            left -= 1
    ceiling = min(levels) + skew
    for place in by_wish:
        more = max(0, min(left, ceiling - levels[place], most[place] - levels[place]))
        levels[place] += more
        left -= more
    return levels


def _level(wish: int, limit: int, floor: int, skew: int) -> int:
    return min(max(wish, floor), floor + skew, limit)


def _greatest_floor(total: int, wished: Sequence[int], most: Sequence[int], skew: int) -> int:
    low, high = 0, max(0, min(most, default=0))
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_level(wish, limit, middle, skew) for wish, limit in zip(wished, most, strict=True)) <= total:
            low = middle
        else:
            high = middle - 1
    return low
