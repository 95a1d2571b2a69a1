"""From an intent and the world to what each member shall have: pure, and the same for a rehearsal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hanse.api.clusters import Cluster
from hanse.kube.manifest import Obj, dig
from hanse.placement.decision import Candidate, Decision, decide
from hanse.placement.transition import Holding, next_replicas
from hanse.propagation.comparison import Absent, Present, Released, Wanted
from hanse.propagation.intent import Intent
from hanse.propagation.rendering import owned_by, render


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known of a source's copy in one cluster; `seen` is False while the cluster has not told everything."""

    seen: bool
    copy: Obj | None = None


UNSEEN = Observation(seen=False)


@dataclass(frozen=True, slots=True)
class Planned:
    """A decision and what follows from it now."""

    decision: Decision
    wanted: dict[str, Wanted]


def plan(intent: Intent, clusters: Sequence[Cluster], observed: Mapping[str, Observation]) -> Planned:
    """Decide where the object goes and what each cluster shall have next on the way there."""
    refusals = {cluster.name: cluster.refusal for cluster in clusters}
    candidates = [Candidate(cluster.name, cluster.labels, cluster.refusal) for cluster in clusters]
    copies = {
        name: observation.copy
        for name, observation in observed.items()
        if observation.copy is not None and owned_by(observation.copy, intent.source_uid) and not refusals.get(name)
    }
    decision = decide(
        candidates,
        intent.selector,
        replicas=intent.replicas,
        preferences=intent.preferences,
        current={name: dig(copy, "status", "readyReplicas", default=0) for name, copy in copies.items()},
        key=str(intent.key),
    )
    counts = _replicas_now(intent, decision, copies)
    wanted: dict[str, Wanted] = {}
    for verdict in decision.verdicts:
        count = counts.get(verdict.cluster)
        if verdict.chosen:
            wanted[verdict.cluster] = Present(render(intent, count), intent.source_uid)
        elif verdict.cluster in copies:
            # Leaving: it drains as the others get ready, and goes when nothing is left in it.
            leaving = Present(render(intent, count), intent.source_uid) if count else Absent(intent.source_uid)
            wanted[verdict.cluster] = leaving
    return Planned(decision, wanted)


def _replicas_now(intent: Intent, decision: Decision, copies: Mapping[str, Obj]) -> dict[str, int]:
    if intent.replicas is None:
        return {}
    planned = {verdict.cluster: verdict.replicas or 0 for verdict in decision.verdicts if verdict.chosen}
    held = {
        name: Holding(
            replicas=dig(copy, "spec", "replicas", default=0),
            available=dig(copy, "status", "availableReplicas", default=0),
        )
        for name, copy in copies.items()
    }
    return next_replicas(sum(planned.values()), planned, held)


@dataclass(frozen=True, slots=True)
class TornDown:
    """What is left to do for a source that is being deleted: wishes, and the clusters that keep it waiting."""

    wanted: dict[str, Wanted]
    waiting_for: tuple[str, ...]


def tear_down(
    source_uid: str, clusters: Sequence[Cluster], observed: Mapping[str, Observation], *, orphan: bool
) -> TornDown:
    """Remove (or release) every copy; a cluster that cannot be asked may have one and is waited for."""
    wanted: dict[str, Wanted] = {}
    waiting = []
    for cluster in clusters:
        observation = observed.get(cluster.name, UNSEEN)
        if not observation.seen or cluster.refusal:
            waiting.append(cluster.name)
        elif observation.copy is not None and owned_by(observation.copy, source_uid):
            wanted[cluster.name] = Released(source_uid) if orphan else Absent(source_uid)
            waiting.append(cluster.name)
    return TornDown(wanted, tuple(waiting))
