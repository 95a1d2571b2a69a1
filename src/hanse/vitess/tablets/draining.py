"""Drains of a shard's tablets: one at a time, never the primary, and never while a tablet is missing. Pure.

Who wants to take a tablet away annotates its Pod with `started`. The operator answers with `acknowledged`, and with
`finished` once the tablet may go: its turn has come and it is not the primary, which another tablet has become first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from hanse.api.vitess_records.topology import TabletAlias
from hanse.vitess.topology.steps import Told


class DrainState(Enum):
    """How far the drain of a tablet is."""

    NOT_DRAINING = "not draining"
    DRAINING = "draining"
    ACKNOWLEDGED = "acknowledged"
    FINISHED = "finished"
    INVALID = "finished, and never acknowledged"


@dataclass(frozen=True, slots=True)
class DrainTablet:
    """A tablet's Pod as a drain sees it."""

    alias: TabletAlias
    available: bool = True
    """Whether it has been ready for a while."""
    desired: bool = True
    """Whether it shall exist; one that is turned down need not be available."""
    started: bool = False
    acknowledged: bool = False
    finished: bool = False
    slow_shutdown: bool = False
    """Whether its MySQL must write everything out before it stops, since the next one is of another version."""

    @property
    def state(self) -> DrainState:
        """How far it is."""
        if self.finished:
            return DrainState.FINISHED if self.acknowledged else DrainState.INVALID
        if self.acknowledged:
            return DrainState.ACKNOWLEDGED
        return DrainState.DRAINING if self.started else DrainState.NOT_DRAINING

    @property
    def aborted(self) -> bool:
        """Whether who wanted it drained no longer does."""
        return not self.started and (self.acknowledged or self.finished)


@dataclass(frozen=True, slots=True)
class DrainPass:
    """What one look at a shard leads to."""

    states: Mapping[TabletAlias, DrainState] = field(default_factory=dict)
    """The new state of tablets that change; NOT_DRAINING removes what was answered."""
    slow_shutdown: tuple[TabletAlias, ...] = ()
    """Tablets that have to be told to stop slowly before they are said to be finished."""
    replace_primary: bool = False
    """Whether another tablet has to become primary now."""
    told: tuple[Told, ...] = ()


def plan_drains(tablets: Sequence[DrainTablet], primary: TabletAlias | None) -> DrainPass:
    """Say what follows from how the tablets of a shard in this cluster are; `primary` is who its record names."""
    missing = sorted(str(each.alias) for each in tablets if each.desired and not each.available)
    wanted = any(each.started or each.acknowledged or each.finished for each in tablets)
    if not wanted:
        return DrainPass()
    if missing:
        return _waits("NotReconcilingDrain", f"no tablet is drained while {', '.join(missing)} is not available")
    if primary is None:
        return _waits("NotReconcilingDrain", "no tablet is drained while the shard has no primary")
    if aborted := [each.alias for each in tablets if each.aborted]:
        names = ", ".join(sorted(map(str, aborted)))
        told = Told("AbortingDrain", f"nobody wants {names} drained any more", warning=False)
        return DrainPass(dict.fromkeys(aborted, DrainState.NOT_DRAINING), told=(told,))
    if invalid := sorted(str(each.alias) for each in tablets if each.state is DrainState.INVALID):
        message = f"{', '.join(invalid)} is finished and was never acknowledged: remove the annotation finished"
        return _waits("InvalidDrainState", message)
    return _advance(tablets, primary)


def _advance(tablets: Sequence[DrainTablet], primary: TabletAlias) -> DrainPass:
    by_state: dict[DrainState, list[DrainTablet]] = {}
    for each in sorted(tablets, key=lambda tablet: tablet.alias):
        by_state.setdefault(each.state, []).append(each)
    finished = by_state.get(DrainState.FINISHED, [])
    primary_finished = any(each.alias == primary for each in finished)
    if fresh := by_state.get(DrainState.DRAINING):
        acknowledged = dict.fromkeys((each.alias for each in fresh), DrainState.ACKNOWLEDGED)
        return DrainPass(acknowledged, replace_primary=primary_finished)
    if finished:
        return DrainPass(replace_primary=primary_finished)
    waiting = by_state.get(DrainState.ACKNOWLEDGED)
    if not waiting:
        return DrainPass()
    due = waiting[0]
    slow = (due.alias,) if due.slow_shutdown else ()
    if due.alias == primary:
        return DrainPass(slow_shutdown=slow, replace_primary=True)
    return DrainPass({due.alias: DrainState.FINISHED}, slow_shutdown=slow)


def _waits(reason: str, message: str) -> DrainPass:
    return DrainPass(told=(Told(reason, message),))
