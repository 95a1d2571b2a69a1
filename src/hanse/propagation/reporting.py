"""What a report is made of, and when it is worth telling."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from hanse.propagation.comparison import Present
from hanse.propagation.desk import Desk
from hanse.propagation.intent import Intent, Ref
from hanse.propagation.planning import UNSEEN, Observation, Planned
from hanse.propagation.rendering import owns
from hanse.propagation.report import Report, Row

# Members report a rollout pod by pod; the federation's status follows in steps of this size.
STATUS_SECONDS = 0.3
# While so many objects change within a second, getting them to the members comes first and their status follows later.
_STORM = 20
_STORM_SECONDS = 2.0
_LONGEST_STORM_SECONDS = 60.0
# A change that is still on its way to the members is worth telling only if it takes this long.
UNSETTLED_SECONDS = 2.0


def rows_of(
    target: Ref,
    intent: Intent,
    planned: Planned,
    refusals: Mapping[str, str],
    observed: Mapping[str, Observation],
    desk: Desk,
) -> Iterator[Row]:
    """Yield each cluster's part of a report."""
    forbidden = dict(intent.placement.forbidden)
    for verdict in planned.decision.verdicts:
        cluster, wanted = verdict.cluster, planned.wanted.get(verdict.cluster)
        observation = observed.get(cluster, UNSEEN)
        copy, spoiled = observation.copy, planned.spoiled.get(cluster, "")
        own = copy is not None and owns(intent, copy)
        shared = copy is not None and not own and isinstance(wanted, Present) and wanted.shared
        yield Row(
            cluster=cluster,
            wanted=wanted.manifest if isinstance(wanted, Present) else None,
            observed=copy if own or shared else None,
            live=not refusals.get(cluster) and cluster not in forbidden,
            trouble=spoiled or desk.trouble(cluster, target) or observation.refusal,
            reason="ApplyOverridesFailed" if spoiled else desk.reason(cluster, target),
            shared=shared,
            held=forbidden.get(cluster) or planned.held.get(cluster, ""),
        )


class Settling:
    """Remembers since when sources wait for their members."""

    def __init__(self) -> None:
        self._since: dict[Ref, float] = {}

    def wait(self, ref: Ref, report: Report, now: float) -> float:
        """Return how long to wait before telling of a change that is merely on its way; 0 for anything else."""
        if report.settled or report.trouble:
            self.forget(ref)
            return 0.0
        return max(0.0, self._since.setdefault(ref, now) + UNSETTLED_SECONDS - now)

    def forget(self, ref: Ref) -> None:
        """Forget a source that has settled, or is gone."""
        self._since.pop(ref, None)


class Pace:
    """Says how soon a status is looked at and told: in small steps, or after the storm while much changes at once."""

    def __init__(self) -> None:
        self._changed: deque[float] = deque(maxlen=_STORM)
        self._held_since: dict[Ref, float] = {}
        self._final: set[Ref] = set()

    def changed(self, now: float) -> None:
        """Note that members were asked for something new."""
        self._changed.append(now)

    def note(self, ref: Ref, *, final: bool) -> None:
        """Note that what members come to show of a source leads to nothing but its status, or that it may."""
        (self._final.add if final else self._final.discard)(ref)

    def seconds(self, now: float) -> float:
        """Return how long a look at a status waits for more to happen."""
        return _STORM_SECONDS if self._is_storm(now) else STATUS_SECONDS

    def rest(self, ref: Ref, now: float) -> float:
        """Return how long a source that only its status may change is left alone; 0 where it is looked at now."""
        return self.hold(ref, now) if ref in self._final else 0.0

    def hold(self, ref: Ref, now: float) -> float:
        """Return how long a status that could be told waits for the end of the storm; 0 where it waits no longer."""
        if self._is_storm(now) and now - self._held_since.setdefault(ref, now) < _LONGEST_STORM_SECONDS:
            return _STORM_SECONDS
        self._held_since.pop(ref, None)
        return 0.0

    def forget(self, ref: Ref) -> None:
        """Forget a source that is gone."""
        self._held_since.pop(ref, None)
        self._final.discard(ref)

    def _is_storm(self, now: float) -> bool:
        return len(self._changed) == _STORM and now - self._changed[0] < 1.0
