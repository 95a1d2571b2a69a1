"""What a ReplicaSchedulingPreference makes of a federated workload: how many replicas in all, and how they divide.

It speaks for the workload of its own namespace and name. Every ready cluster is a candidate, whatever the workload's
own placement lists; what it decides is not written into the workload, whose spec stays its author's.
"""

from __future__ import annotations

from dataclasses import dataclass

from hanse.api.kubefed.objects import FieldProblem, WrittenPlacement
from hanse.api.kubefed.scheduling import SchedulingPreference
from hanse.federated.placement import Resolved, Surroundings, anywhere, by_selector_only
from hanse.placement.planner import Preference, Preferences
from hanse.propagation.intent import Problem


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Where replicas may go, how many there are and by which rule they divide."""

    resolved: Resolved
    replicas: int
    division: Preferences


def schedule(
    preference: SchedulingPreference, written: WrittenPlacement | FieldProblem, around: Surroundings
) -> Scheduled | Problem:
    """Put a preference in the place of a workload's own placement and replicas.

    Where it asks for it, only clusters that the selectors of workload and namespace choose are candidates; lists of
    clusters then count for nothing, and without a selector there is no candidate.
    """
    resolved = by_selector_only(written, around) if preference.intersect else anywhere(around)
    if isinstance(resolved, Problem):
        return resolved
    # Without a candidate everything is left as it is, unless the namespace itself was taken away.
    steady = Resolved(resolved.term, around.missing, resolved.told)
    clusters = {
        name: Preference(each.weight, each.min_replicas, each.max_replicas)
        for name, each in preference.clusters.items()
    }
    return Scheduled(steady, preference.total_replicas, Preferences(clusters, preference.rebalance))
