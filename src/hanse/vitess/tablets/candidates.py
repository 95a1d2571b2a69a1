"""Who may become primary when the primary of a shard is drained, and who of them it is. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hanse.api.planetscale.values import PoolType
from hanse.api.vitess_records.positions import Position
from hanse.api.vitess_records.topology import Tablet, TabletAlias, TabletType


@dataclass(frozen=True, slots=True)
class TabletPod:
    """What the Pod of a tablet says of it."""

    pool: PoolType
    ready: bool = False
    drains: bool = False
    """Whether it carries any annotation of a drain."""


def candidates(
    records: Iterable[Tablet],
    pods: Mapping[TabletAlias, TabletPod],
    primary: TabletAlias,
    own_cells: Collection[str],
) -> list[Tablet]:
    """Return the tablets of own cells that may take over, by their aliases."""
    found = [
        record
        for record in records
        if record.alias is not None
        and record.alias != primary
        and record.alias.cell in own_cells
        and (pod := pods.get(record.alias)) is not None
        and pod.ready
        and not pod.drains
        and _eligible(pod.pool, record.type)
    ]
    return sorted(found, key=lambda record: record.alias or TabletAlias())


def most_advanced(tablets: Sequence[Tablet], positions: Mapping[TabletAlias, Position]) -> Tablet | None:
    """Return the tablet that has most, of those that say how much they have; the first where none says it."""
    if not tablets:
        return None
    answered = [each for each in tablets if each.alias in positions]
    if not answered:
        return tablets[0]
    for each in answered:
        mine = _position(each, positions)
        if all(mine.at_least(_position(other, positions)) for other in answered):
            return each
    return max(answered, key=lambda each: _position(each, positions).count)


def _position(tablet: Tablet, positions: Mapping[TabletAlias, Position]) -> Position:
    return positions[tablet.alias or TabletAlias()]


def _eligible(pool: PoolType, kind: TabletType) -> bool:
    if pool is PoolType.EXTERNAL_MASTER:
        return kind in (TabletType.SPARE, TabletType.PRIMARY)
    return kind == TabletType.REPLICA
