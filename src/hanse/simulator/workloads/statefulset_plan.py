"""Decides the next step of a StatefulSet: which pods and claims to make, which to remove, and what its status says.

In order (OrderedReady) every pod waits for all before it, and everything else waits for every pod; at once (Parallel)
nothing waits but the update of templates. The rules and their order are upstream's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hanse.kube.manifest import Key, Obj, dig, is_deleting, name_of, namespace_of
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.controller_revisions import POD_REVISION
from hanse.simulator.workloads.replicas import is_available, min_ready_seconds, wanted_replicas
from hanse.simulator.workloads.statefulset_pods import (
    claim_owners,
    claims_of,
    is_stale,
    ordinal_of,
    ordinals_of,
    pod_of,
)


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """A claim that shall have other owners."""

    claim: Obj
    owners: list[Obj]


@dataclass(frozen=True, slots=True)
class StatefulSetPlan:
    """The next step of a StatefulSet."""

    status: Obj
    claims: tuple[Obj, ...] = ()
    create: tuple[Obj, ...] = ()
    reown: tuple[ClaimChange, ...] = ()
    delete: tuple[PodFacts, ...] = ()


@dataclass(slots=True)
class _Steps:
    claims: list[Obj] = field(default_factory=list)
    create: list[Obj] = field(default_factory=list)
    reown: list[ClaimChange] = field(default_factory=list)
    delete: list[PodFacts] = field(default_factory=list)


class _Situation:
    """A StatefulSet and its pods, by ordinal."""

    def __init__(
        self,
        stateful_set: Obj,
        pods: Sequence[PodFacts],
        revisions: tuple[Obj, Obj],
        claims: Mapping[Key, Obj],
        now: float,
    ) -> None:
        self.set = stateful_set
        self.current, self.update = revisions
        self.claims = claims
        self.now = now
        self.ordered = dig(stateful_set, "spec", "podManagementPolicy") != "Parallel"
        numbered = {ordinal_of(stateful_set, pod.key.name): pod for pod in pods}
        self.ordinals = ordinals_of(stateful_set)
        self.replicas = {ordinal: numbered.get(ordinal) for ordinal in self.ordinals}
        beyond = [ordinal for ordinal in numbered if ordinal is not None and ordinal not in self.replicas]
        self.condemned = {ordinal: numbered[ordinal] for ordinal in sorted(beyond, reverse=True)}

    @property
    def pods(self) -> list[PodFacts]:
        return [pod for pod in (*self.replicas.values(), *self.condemned.values()) if pod is not None]

    def available(self, pod: PodFacts) -> bool:
        return pod.phase == "Running" and is_available(pod, min_ready_seconds(self.set), self.now)

    def unavailable(self, pod: PodFacts | None) -> bool:
        return pod is None or not self.available(pod) or pod.deleting

    def first_unavailable(self) -> PodFacts | None:
        """Return the first pod that is not as it should be; one that does not exist yet stands for nobody."""
        for pod in self.replicas.values():
            if self.unavailable(pod):
                return pod
        for pod in reversed(self.condemned.values()):
            if self.unavailable(pod):
                return pod
        return None

    def revision_for(self, ordinal: int) -> Obj:
        """Return the revision with which a pod is born: below the partition the current one."""
        strategy: Obj = dig(self.set, "spec", "updateStrategy", default={})
        rolling = strategy.get("rollingUpdate")
        if rolling is not None:
            kept = int(rolling.get("partition") or 0)
        elif strategy.get("type") == "RollingUpdate":
            kept = int(dig(self.set, "status", "currentReplicas", default=0))
        else:
            kept = 0
        return self.current if ordinal < self.ordinals.start + kept else self.update


def plan_statefulset(
    stateful_set: Obj,
    pods: Sequence[PodFacts],
    *,
    current: Obj,
    update: Obj,
    claims: Mapping[Key, Obj],
    now: float,
) -> StatefulSetPlan:
    """Compare a StatefulSet with its pods and claims; `current` and `update` are the revisions that it goes between."""
    here = _Situation(stateful_set, pods, (current, update), claims, now)
    steps = _Steps()
    rolled_away = 0
    if not is_deleting(stateful_set) and _fill(here, steps) and _shrink(here, steps):
        rolled_away = _roll(here, steps)
    return StatefulSetPlan(
        status=_status(here, rolled_away),
        claims=tuple(steps.claims),
        create=tuple(steps.create),
        reown=tuple(steps.reown),
        delete=tuple(steps.delete),
    )


def _fill(here: _Situation, steps: _Steps) -> bool:
    """See to each ordinal that shall exist; tells whether anything may come after."""
    for ordinal, pod in here.replicas.items():
        settled = _born(here, ordinal, steps) if pod is None else _kept(here, ordinal, pod, steps)
        if not settled and here.ordered:
            return False
    return True


def _born(here: _Situation, ordinal: int, steps: _Steps) -> bool:
    made = pod_of(here.set, ordinal, here.revision_for(ordinal))
    wanted = claims_of(here.set, ordinal)
    known = [here.claims[_key(claim)] for claim in wanted if _key(claim) in here.claims]
    if not any(is_stale(claim, name_of(made)) for claim in known):
        steps.claims += [claim for claim in wanted if _key(claim) not in here.claims]
        steps.create.append(made)
    return False


def _kept(here: _Situation, ordinal: int, pod: PodFacts, steps: _Steps) -> bool:
    if pod.finished:
        if not pod.deleting:
            steps.delete.append(pod)
        return False
    if pod.phase == "Pending":
        steps.claims += [claim for claim in claims_of(here.set, ordinal) if _key(claim) not in here.claims]
    if here.unavailable(pod):
        return False
    _reown(here, ordinal, pod, steps, condemned=False)
    return True


def _reown(here: _Situation, ordinal: int, pod: PodFacts, steps: _Steps, *, condemned: bool) -> None:
    for wanted in claims_of(here.set, ordinal):
        claim = here.claims.get(_key(wanted))
        owners = claim_owners(here.set, claim, pod, condemned=condemned) if claim else None
        if claim is not None and owners is not None:
            steps.reown.append(ClaimChange(claim, owners))


def _shrink(here: _Situation, steps: _Steps) -> bool:
    """Remove the pods beyond the wanted ordinals, the highest first; tells whether anything may come after."""
    for ordinal, pod in here.condemned.items():
        _reown(here, ordinal, pod, steps, condemned=True)
    first = here.first_unavailable()
    for pod in here.condemned.values():
        if pod.deleting:
            if here.ordered:
                return False
            continue
        waits = here.ordered and not here.available(pod) and pod is not first
        if not waits:
            steps.delete.append(pod)
        if here.ordered:
            return False
    return True


def _roll(here: _Situation, steps: _Steps) -> int:
    """Take away the highest pod of an old revision once all above it are available; returns how many were taken."""
    strategy: Obj = dig(here.set, "spec", "updateStrategy", default={})
    if strategy.get("type") == "OnDelete":
        return 0
    partition = int(dig(strategy, "rollingUpdate", "partition", default=0))
    for ordinal in reversed(here.ordinals[partition:]):
        pod = here.replicas[ordinal]
        if pod is not None and pod.labels.get(POD_REVISION) != name_of(here.update) and not pod.deleting:
            if pod not in steps.delete:
                steps.delete.append(pod)
            return 1
        if here.unavailable(pod):
            return 0
    return 0


def _status(here: _Situation, rolled_away: int) -> Obj:
    pods, current, update = here.pods, name_of(here.current), name_of(here.update)
    staying = [pod.labels.get(POD_REVISION) for pod in pods if not pod.deleting]
    counts = {
        "readyReplicas": sum(1 for pod in pods if pod.phase == "Running" and pod.ready),
        "currentReplicas": staying.count(current) - rolled_away,
        "updatedReplicas": staying.count(update),
    }
    wanted = wanted_replicas(here.set)
    rolling = dig(here.set, "spec", "updateStrategy", "type") == "RollingUpdate"
    if rolling and len(pods) == wanted and counts["readyReplicas"] == wanted == counts["updatedReplicas"]:
        counts["currentReplicas"], current = counts["updatedReplicas"], update
    return {
        "observedGeneration": here.set["metadata"].get("generation", 0),
        "replicas": len(pods),
        **{name: count for name, count in counts.items() if count},
        "availableReplicas": sum(1 for pod in pods if here.available(pod)),
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": int(dig(here.set, "status", "collisionCount", default=0)),
    }


def _key(claim: Obj) -> Key:
    return Key(namespace_of(claim), name_of(claim))
