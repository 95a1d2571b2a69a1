"""One drain at a time for each shard, whichever clusters its tablets are in; and who becomes primary in its place.

Operators see to it that they finish one drain of a shard at a time in their own cluster. Over clusters a token does: it
is a record beside the shard's, in the lockserver that all of them share, so that no control plane is needed for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

# As upstream: a tablet is available once it was ready for so long, and may lag by so much to become primary.
AVAILABLE_SECONDS = 30.0
LARGEST_LAG_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Token:
    """Whose drain it is, in which cluster, and since when (seconds of the epoch)."""

    alias: str
    member: str
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class TabletSight:
    """A tablet as it is seen now.

    `ready_for` is for how long it was ready, `lag` how far it is behind in seconds (None where it does not say), and
    `position` how many transactions it has. `drain` tells whether somebody wants it drained, `finished` that it is.
    """

    alias: str
    member: str
    cell: str
    type: str = "REPLICA"
    ready_for: float = 0.0
    drain: bool = False
    finished: bool = False
    lag: float | None = None
    position: int = 0

    @property
    def available(self) -> bool:
        """Whether it can be relied on."""
        return self.ready_for >= AVAILABLE_SECONDS


def next_token(
    stored: Token | None,
    tablets: Sequence[TabletSight],
    *,
    heard: Collection[str],
    whole: bool,
    now: float,
    primary: str = "",
) -> Token | None:
    """Say whose turn it is.

    A drain under way keeps its turn, and so does one in a member that is not `heard` of: nobody knows how far it is.
    It ends when every tablet of the shard is there and available again (`whole`), and only then another one begins:
    the lowest alias first, the primary last. Where all could take over from a primary only after their own drains,
    it lets them go first.
    """
    waiting = {tablet.alias: tablet for tablet in tablets if tablet.drain}
    others = [alias for alias in waiting if alias != primary]
    if stored is not None and not (whole and others and _yields(stored, primary, tablets)):
        lasts = stored.alias in waiting or stored.member not in heard or not whole
        if lasts:
            return stored
    if not waiting or not whole:
        return None
    leader = next((tablet.member for tablet in tablets if tablet.alias == primary), "")
    # Its own operator may insist on a primary; whoever drains elsewhere is free of that.
    first = min((waiting[alias] for alias in others or waiting), key=lambda each: (each.member == leader, each.alias))
    return Token(first.alias, first.member, now)


def _yields(stored: Token, primary: str, tablets: Sequence[TabletSight]) -> bool:
    """Tell whether a primary can do nothing with its turn; one that is drained already may go any moment."""
    holder = next((each for each in tablets if each.alias == stored.alias), None)
    if holder is None or holder.alias != primary or holder.finished:
        return False
    return not eligible(tablets, primary)


def is_whole(tablets: Collection[TabletSight], expected: Collection[str], heard: Collection[str]) -> bool:
    """Tell whether every tablet that a shard shall have is there and available, as far as all members were heard of."""
    available = {tablet.alias for tablet in tablets if tablet.available}
    return set(expected) <= available and all(tablet.member in heard for tablet in tablets)


def eligible(tablets: Iterable[TabletSight], primary: str) -> list[TabletSight]:
    """Return the tablets that may become primary now."""
    return [
        tablet
        for tablet in tablets
        if tablet.alias != primary
        and tablet.type == "REPLICA"
        and tablet.available
        and not tablet.drain
        and not tablet.finished
        and tablet.lag is not None
        and tablet.lag <= LARGEST_LAG_SECONDS
    ]


def best_candidate(
    tablets: Iterable[TabletSight], primary: str, *, preferred_cells: Sequence[str] = (), excluded: Collection[str] = ()
) -> TabletSight | None:
    """Return who becomes primary: in the preferred cells first, then whoever has most; nobody in excluded members."""
    able = [tablet for tablet in eligible(tablets, primary) if tablet.member not in excluded]
    ranks: Mapping[str, int] = {cell: place for place, cell in enumerate(preferred_cells)}
    return min(able, key=lambda each: (ranks.get(each.cell, len(ranks)), -each.position, each.alias), default=None)


@dataclass(frozen=True, slots=True)
class Reparent:
    """A planned change of primary: only if `expected` still is it."""

    expected: str
    new: str
    member: str


def reparent_for_drain(
    token: Token | None, primary: str, tablets: Sequence[TabletSight], *, preferred_cells: Sequence[str] = ()
) -> Reparent | str:
    """Say who takes over from a primary that drains and finds nobody in its own cluster; "" where nobody has to.

    Where it does, its own operator reparents. Another sentence says why the drain has to wait.
    """
    if token is None or token.alias != primary:
        return ""
    if any(tablet.member == token.member for tablet in eligible(tablets, primary)):
        return ""
    found = best_candidate(tablets, primary, preferred_cells=preferred_cells)
    if found is None:
        return f"{primary} is the primary and no other tablet of the shard can take over; it is not drained"
    return Reparent(primary, found.alias, found.member)
