"""What a report is made of, and when it is worth telling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hanse.propagation.comparison import Present
from hanse.propagation.desk import Desk
from hanse.propagation.intent import Intent, Ref
from hanse.propagation.planning import UNSEEN, Observation, Planned
from hanse.propagation.rendering import owns
from hanse.propagation.report import Report, Row

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
    for verdict in planned.decision.verdicts:
        cluster, wanted = verdict.cluster, planned.wanted.get(verdict.cluster)
        observation = observed.get(cluster, UNSEEN)
        copy, spoiled = observation.copy, planned.spoiled.get(cluster, "")
        yield Row(
            cluster=cluster,
            wanted=wanted.manifest if isinstance(wanted, Present) else None,
            observed=copy if copy is not None and owns(intent, copy) else None,
            live=not refusals.get(cluster) and not intent.forbids(cluster),
            trouble=spoiled or desk.trouble(cluster, target) or observation.refusal,
            reason="ApplyOverridesFailed" if spoiled else desk.reason(cluster, target),
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
