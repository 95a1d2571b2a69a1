"""From an intent and the world to what each member shall have: pure, and the same for a rehearsal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from hanse.api.clusters import Cluster
from hanse.kube.manifest import Obj, dig
from hanse.kube.patches.json_patch import JsonPatchError
from hanse.kube.resources import NAMESPACES
from hanse.placement.ask import State
from hanse.placement.decision import Decision, decide
from hanse.placement.fleet import Fleet
from hanse.placement.planner import Preferences
from hanse.placement.transition import Holding, next_replicas
from hanse.propagation.candidates import ClusterIndex, candidate_of
from hanse.propagation.comparison import Absent, Present, Released, Wanted
from hanse.propagation.intent import Intent
from hanse.propagation.rendering import owned_by, render


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known of a source's copy in one cluster.

    `seen` is False while what the cluster has cannot be relied on: it has not told everything yet, or no changes arrive
    from it. `refusal` says why that has lasted so long that one goes on without it.
    """

    seen: bool
    copy: Obj | None = None
    refusal: str = ""


UNSEEN = Observation(seen=False)


@dataclass(frozen=True, slots=True)
class Planned:
    """A decision and what follows from it now."""

    decision: Decision
    wanted: dict[str, Wanted]


def plan(
    intent: Intent,
    clusters: Sequence[Cluster],
    observed: Mapping[str, Observation],
    *,
    now: float = 0.0,
    index: ClusterIndex | None = None,
) -> Planned:
    """Decide where the object goes and what each cluster shall have next on the way there.

    `index` is what somebody who plans often keeps between two plans.
    """
    refusals = refusals_of(clusters, observed)
    blind = any(not refusals[cluster.name] and not observed.get(cluster.name, UNSEEN).seen for cluster in clusters)
    copies = {
        name: observation.copy
        for name, observation in observed.items()
        if observation.seen
        and observation.copy is not None
        and owned_by(observation.copy, intent.source_uid)
        and not refusals.get(name)
    }
    state = State(
        current={name: _held(intent, copy) for name, copy in copies.items()},
        refusals={name: why for name, why in refusals.items() if why},
        now=now,
    )
    fleet = index.of(clusters) if index is not None else Fleet(map(candidate_of, clusters))
    decision = decide(fleet, intent.placement, replicas=intent.replicas, state=state, key=str(intent.key))
    counts = _replicas_now(intent, decision, copies, blind=blind)
    patches = _patches(intent, fleet)
    notes = list(decision.notes)
    wanted: dict[str, Wanted] = {}
    for verdict in decision.verdicts:
        name, count = verdict.cluster, counts.get(verdict.cluster)
        if intent.replicas is not None and not observed.get(name, UNSEEN).seen:
            # How many it shall have next depends on how many it has, which it has yet to tell.
            continue
        if not verdict.chosen and (name not in copies or blind):
            continue
        if not verdict.chosen and not count:
            # Leaving: it drains as the others get ready, and goes when nothing is left in it.
            wanted[name] = Absent(intent.source_uid)
            continue
        try:
            manifest = render(intent, count, patches.get(name, ()))
        except JsonPatchError as error:
            # What it has stays; the others get theirs.
            notes.append(f"the overrides for {name} do not apply: {error}")
            continue
        shared = verdict.chosen and intent.resource == NAMESPACES
        wanted[name] = Present(manifest, intent.source_uid, shared=shared)
    return Planned(replace(decision, notes=tuple(notes)), wanted)


def _held(intent: Intent, copy: Obj) -> int:
    """Return what placement shall count as running in a cluster.

    The planner of federation v1 looks at what is ready. Everything else keeps to what was asked of the cluster: a
    rollout, in which pods come and go, is no reason to move any.
    """
    if isinstance(intent.placement.division, Preferences):
        return int(dig(copy, "status", "readyReplicas", default=0))
    return int(dig(copy, "spec", "replicas", default=0))


def _patches(intent: Intent, fleet: Fleet) -> dict[str, list[Obj]]:
    """Return the operations of all overrides for each cluster that has any, in order."""
    found: dict[str, list[Obj]] = {}
    for override in intent.overrides:
        for slot in fleet.slots(fleet.within(override.clusters)):
            found.setdefault(fleet.names[slot], []).extend(override.patch)
    return found


def refusals_of(clusters: Sequence[Cluster], observed: Mapping[str, Observation]) -> dict[str, str]:
    """Return for each cluster why no work may go there now, "" where it may."""
    return {cluster.name: cluster.refusal or observed.get(cluster.name, UNSEEN).refusal for cluster in clusters}


def _replicas_now(intent: Intent, decision: Decision, copies: Mapping[str, Obj], *, blind: bool) -> dict[str, int]:
    """Return how many replicas each cluster shall be asked for now.

    While one of the clusters cannot be relied on, what the others hold stays as it is: the replicas that seem to be
    missing may well be there.
    """
    if intent.replicas is None:
        return {}
    planned = {verdict.cluster: verdict.replicas or 0 for verdict in decision.verdicts if verdict.chosen}
    if blind:
        return planned | {name: dig(copy, "spec", "replicas", default=0) for name, copy in copies.items()}
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


def tear_down(source_uid: str, clusters: Sequence[Cluster], confirmed: Collection[str], *, orphan: bool) -> TornDown:
    """Remove (or release) every copy; a cluster counts as done only when it has confirmed that it has none."""
    wish: Wanted = Released(source_uid) if orphan else Absent(source_uid)
    wanted = {cluster.name: wish for cluster in clusters if not cluster.refusal}
    waiting = tuple(cluster.name for cluster in clusters if cluster.name not in confirmed)
    return TornDown(wanted, waiting)
