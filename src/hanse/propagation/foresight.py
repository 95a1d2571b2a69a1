"""What a change on the federation would change in each cluster: two plans compared, the present one and the next.

Compared is where each plan leads in the end, not the steps on the way there, so that replicas which have to wait for
others are shown with the number that they come to. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from hanse.api.names import RENDERED_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.placement.decision import Verdict
from hanse.propagation.comparison import Present
from hanse.propagation.planning import Planned


class Effect(StrEnum):
    """What would happen to the copy in one cluster."""

    CREATED = "created"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """One cluster's part of a change: its copy now and then, None where there is none; and why it goes or comes."""

    cluster: str
    effect: Effect
    now: Obj | None
    then: Obj | None
    why: str = ""


def foresee(now: Planned | None, then: Planned | None) -> list[ClusterChange]:
    """Compare two plans for the same object; None stands for an object that does not exist."""
    return list(_changes(_ends(now), _ends(then), then))


def _changes(
    now: dict[str, Obj | None], then: dict[str, Obj | None], planned: Planned | None
) -> Iterator[ClusterChange]:
    for cluster in sorted(now.keys() | then.keys()):
        if planned is not None and cluster not in then:
            # It cannot be asked, so what it may have is left alone.
            continue
        before, after = now.get(cluster), then.get(cluster)
        why = _reason(planned, cluster)
        if before is None and after is not None:
            yield ClusterChange(cluster, Effect.CREATED, None, after, why)
        elif before is not None and after is None:
            yield ClusterChange(cluster, Effect.REMOVED, before, None, why)
        elif before != after:
            yield ClusterChange(cluster, Effect.CHANGED, before, after, why)


def _ends(planned: Planned | None) -> dict[str, Obj | None]:
    """Return what each cluster has in the end; a cluster about which nothing can be said is not in it."""
    if planned is None:
        return {}
    found: dict[str, Obj | None] = {}
    # Where no cluster is chosen at all, what runs stays where it is.
    leaving = bool(planned.decision.chosen())
    for verdict in planned.decision.verdicts:
        wanted = planned.wanted.get(verdict.cluster)
        if not verdict.chosen:
            if leaving and not verdict.keep:
                found[verdict.cluster] = None
        elif isinstance(wanted, Present):
            found[verdict.cluster] = _in_the_end(wanted.manifest, verdict)
    return found


def _in_the_end(manifest: Obj, verdict: Verdict) -> Obj:
    annotations = {name: value for name, value in annotations_of(manifest).items() if name != RENDERED_ANNOTATION}
    result: Obj = {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}
    if verdict.replicas is not None and dig(manifest, "spec", "replicas") is not None:
        result["spec"] = {**manifest["spec"], "replicas": verdict.replicas}
    return result


def _reason(planned: Planned | None, cluster: str) -> str:
    verdict = planned.decision.of(cluster) if planned is not None else None
    return verdict.reasons[-1] if verdict is not None and verdict.reasons else ""
