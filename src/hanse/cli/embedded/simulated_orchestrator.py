"""Who takes over from a primary that is gone, as VTOrc would choose: pure."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.vitess_records.topology import TabletAlias, TabletType
from hanse.simulator.tablets.tablet import SimulatedTablet

# VTOrc's own patience is of that order: one that is made anew in place comes back sooner.
FAILOVER_SECONDS = 10.0


class Absences:
    """Since when primaries are away."""

    def __init__(self) -> None:
        self._since: dict[TabletAlias, float] = {}

    def is_over(self, primary: TabletAlias, *, up: bool, now: float) -> bool:
        """Take in whether a primary is there, and tell whether it was away for long enough to be replaced."""
        if up:
            self._since.pop(primary, None)
            return False
        return now - self._since.setdefault(primary, now) >= FAILOVER_SECONDS


def heir(family: Mapping[TabletAlias, SimulatedTablet]) -> TabletAlias | None:
    """Return the replica that has most; None where none is up."""
    able = [each for each in family.values() if each.mysql.up and each.record.type == TabletType.REPLICA]
    best = max(able, key=lambda each: (each.mysql.executed.count, str(each.alias)), default=None)
    return best.alias if best is not None else None
