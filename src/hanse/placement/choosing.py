"""Which of the usable clusters have the work, and how many replicas each: groups in order, spread, division."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hanse.placement.ask import ClusterTerm, Group
from hanse.placement.dividing import Shares, divide
from hanse.placement.sifting import Sifted, sift
from hanse.placement.skew import divide_evenly
from hanse.placement.spreading import Spreading, spread_over
from hanse.placement.work import Refused, Tell, Work


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision in its smallest form: sets of clusters and numbers, with sentences to be made on demand."""

    chosen: int = 0
    waiting: int = 0
    refused: tuple[Refused, ...] = ()
    shares: Shares = field(default_factory=Shares)
    group: str = ""
    impossible: str = ""
    until: float | None = None


def choose(work: Work) -> Choice:
    """Choose clusters and divide replicas among them.

    A cluster that has only just come back is still done without where others have taken over its share: should it go
    again, nothing has moved twice.
    """
    choice = _choose(work)
    returning = work.returning & choice.chosen
    if returning and _taken_over(work, choice, returning):
        return _choose(work, returning)
    return choice


def _taken_over(work: Work, choice: Choice, returning: int) -> bool:
    asked = {work.fleet.slot(name): count for name, count in work.state.asked.items()} or work.held
    others = work.fleet.slots(choice.chosen & ~returning)
    return sum(asked.get(slot, 0) for slot in others) > sum(choice.shares.counts.get(slot, 0) for slot in others)


def _choose(work: Work, returning: int = 0) -> Choice:
    sifted = sift(work, returning)
    best: Choice | None = None
    for group, clusters in _attempts(work, sifted):
        choice = _attempt(work, sifted, group, clusters)
        if choice.chosen and not choice.impossible and not choice.shares.unplaced:
            return choice
        if best is None or _merit(choice) > _merit(best):
            best = choice
    return best if best is not None else _attempt(work, sifted, None, sifted.usable)


def _merit(choice: Choice) -> tuple[bool, bool, int]:
    return not choice.impossible, choice.chosen != 0, -choice.shares.unplaced


def _attempts(work: Work, sifted: Sifted) -> Iterator[tuple[Group | None, int]]:
    """Yield the sets of clusters to be tried, the most wanted first."""
    for group in _in_order(work):
        within = work.fleet.everyone if group is None else work.fleet.within(group.clusters)
        clusters = within & (sifted.usable | sifted.waiting)
        preferred = clusters & ~sifted.avoided
        if preferred & sifted.usable and preferred != clusters:
            yield group, preferred
        if clusters & sifted.usable or sifted.waiting & clusters:
            yield group, clusters


def _in_order(work: Work) -> list[Group | None]:
    """Return the groups in the order in which they are tried: where the work is comes first if it does not go back."""
    groups = _by_liking(work, list(work.placement.groups) or [None])
    if work.placement.failover.fail_back or not work.held:
        return groups

    def held(group: Group | None) -> int:
        within = work.fleet.within(group.clusters) if group is not None else 0
        return sum(count + 1 for slot, count in work.held.items() if within >> slot & 1)

    return sorted(groups, key=held, reverse=True)


def _by_liking(work: Work, groups: Sequence[Group | None]) -> list[Group | None]:
    """Divide each group by how much its clusters are liked, those that are liked most first."""
    liked: dict[int, int] = {}
    for liking in work.placement.likings:
        for slot in work.fleet.slots(work.fleet.within(liking.clusters)):
            liked[slot] = liked.get(slot, 0) + liking.weight
    if not any(liked.values()):
        return list(groups)
    found: list[Group | None] = []
    for group in groups:
        within = work.fleet.everyone if group is None else work.fleet.within(group.clusters)
        names: dict[int, list[str]] = {}
        for slot in work.fleet.slots(within):
            names.setdefault(liked.get(slot, 0), []).append(work.fleet.names[slot])
        prefix = f"{group.name} " if group is not None else ""
        found += [
            Group(f"{prefix}of preference {weight}", ClusterTerm(names=tuple(names[weight])))
            for weight in sorted(names, reverse=True)
        ]
    return found


def _attempt(work: Work, sifted: Sifted, group: Group | None, clusters: int) -> Choice:
    refused = list(sifted.refused)
    left_out = sifted.usable & ~clusters
    if left_out:
        refused.append(Refused(left_out, _passed_over(group, sifted)))
    spreading = spread_over(work, clusters)
    refused += spreading.refused
    if spreading.impossible:
        return _as_it_is(work, sifted, refused, spreading)
    shares = _shares(work, sifted, spreading.clusters)
    return Choice(
        chosen=spreading.clusters & ~sifted.waiting,
        waiting=spreading.clusters & sifted.waiting,
        refused=tuple(refused),
        shares=shares,
        group=group.name if group is not None else "",
        until=sifted.until,
    )


def _passed_over(group: Group | None, sifted: Sifted) -> Tell:
    def tell(slot: int) -> str:
        if sifted.avoided >> slot & 1:
            return "a taint asks to avoid it, and the others suffice"
        return f"it is not in group {group.name}, which has the work" if group is not None else "others have the work"

    return tell


def _as_it_is(work: Work, sifted: Sifted, refused: list[Refused], spreading: Spreading) -> Choice:
    """Leave everything where it is: what was asked for cannot be had, and that takes nothing away from anybody."""
    stays = work.holders & sifted.usable
    refused.append(Refused(sifted.usable & ~stays, lambda _slot: spreading.impossible))
    counts = {slot: work.held[slot] for slot in work.fleet.slots(stays)} if work.replicas is not None else {}
    unplaced = max(0, (work.replicas or 0) - sum(counts.values()))
    shares = Shares(counts, unplaced, lambda slot: f"it keeps the {work.held[slot]} that it has", spreading.impossible)
    return Choice(stays, 0, tuple(refused), shares, impossible=spreading.impossible, until=sifted.until)


def _shares(work: Work, sifted: Sifted, clusters: int) -> Shares:
    if work.replicas is None:
        return Shares()
    slots, total = work.fleet.slots(clusters), max(0, work.replicas)
    skewed = next((spread for spread in work.placement.spread if spread.max_skew is not None), None)
    if skewed is not None:
        return divide_evenly(work, slots, total, sifted.frozen, skewed)
    return divide(work, slots, total, sifted.frozen)
