"""Decides the next step of a Deployment: which ReplicaSet to make, size, annotate or forget, and what its status says.

One step at a time, as upstream: every write brings an event, and the event the next look. The plan is a value, so that
it can be tabulated in tests; carrying it out is the controller's part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting, name_of
from hanse.kube.runtime import timestamp
from hanse.simulator.workloads import deployment_status as statuses
from hanse.simulator.workloads import revisions, rollout
from hanse.simulator.workloads.replicas import min_ready_seconds


@dataclass(frozen=True, slots=True)
class ReplicaSetChange:
    """What is to change of one ReplicaSet; `replicas` is None where its size stays."""

    replica_set: Obj
    replicas: int | None = None
    annotations: dict[str, str] = field(default_factory=dict)
    min_ready_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class DeploymentPlan:
    """The next step of a Deployment."""

    status: Obj
    create: Obj | None = None
    changes: tuple[ReplicaSetChange, ...] = ()
    forget: tuple[Obj, ...] = ()
    revision: str = ""
    look_again_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Situation:
    deployment: Obj
    new: Obj | None
    old: tuple[Obj, ...]
    bounds: rollout.Bounds
    revision: int
    now: float

    @property
    def replica_sets(self) -> tuple[Obj, ...]:
        return (*self.old, self.new) if self.new else self.old

    @property
    def generations(self) -> tuple[rollout.Generation | None, list[rollout.Generation]]:
        new = revisions.generation_of(self.new) if self.new else None
        return new, [revisions.generation_of(entry) for entry in self.old]

    @property
    def recreates(self) -> bool:
        return bool(dig(self.deployment, "spec", "strategy", "type") == "Recreate")

    def counted(self) -> Obj:
        return statuses.counted_status(self.deployment, self.new, self.replica_sets, self.bounds, self.now)

    def progressed(self) -> Obj:
        status = statuses.with_progress(self.deployment, self.new, self.counted(), self.now)
        return statuses.with_failures(self.new, self.replica_sets, status)


def plan_deployment(deployment: Obj, replica_sets: Sequence[Obj], *, old_running: bool, now: float) -> DeploymentPlan:
    """Compare a Deployment with its ReplicaSets; `old_running` tells whether pods of old ones still run."""
    new = revisions.present_revision(deployment, replica_sets)
    old = tuple(entry for entry in replica_sets if new is None or name_of(entry) != name_of(new))
    deployment = _with_pause_noted(deployment, timestamp(now))
    bounds = rollout.bounds_of(deployment)
    situation = _Situation(deployment, new, old, bounds, revisions.next_revision(old), now)
    if is_deleting(deployment):
        return DeploymentPlan(status=situation.counted())
    present, past = situation.generations
    if dig(deployment, "spec", "paused", default=False):
        return _scaled(situation, forget=revisions.forgotten_revisions(deployment, old))
    if rollout.is_scaling(bounds, [*past, *([present] if present else [])]):
        return _scaled(situation, forget=[])
    if present is None and not (situation.recreates and (old_running or any(entry.replicas for entry in past))):
        return _born(situation)
    return _rolled(situation, old_running=old_running)


def _with_pause_noted(deployment: Obj, stamp: str) -> Obj:
    """Say in Progressing that a rollout is paused or goes on again."""
    conditions: list[Obj] = dig(deployment, "status", "conditions", default=[])
    reason = (find_condition(conditions, "Progressing") or {}).get("reason")
    paused = bool(dig(deployment, "spec", "paused", default=False))
    if statuses.deadline_of(deployment) is None or reason == "ProgressDeadlineExceeded":
        return deployment
    if paused == (reason == "DeploymentPaused"):
        return deployment
    if paused:
        entry = statuses.condition_of("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", stamp)
    else:
        entry = statuses.condition_of("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed", stamp)
    noted = statuses.with_condition(conditions, entry)
    return {**deployment, "status": {**(deployment.get("status") or {}), "conditions": noted}}


def _born(situation: _Situation) -> DeploymentPlan:
    """Make the ReplicaSet of a template that has none yet."""
    deployment, bounds = situation.deployment, situation.bounds
    _, past = situation.generations
    replicas = rollout.first_size(bounds, past, recreate=situation.recreates)
    made = revisions.new_replica_set(deployment, revision=situation.revision, replicas=replicas, bounds=bounds)
    status = situation.counted()
    if statuses.deadline_of(deployment) is not None:
        message = f'Created new replica set "{name_of(made)}"'
        stamp = timestamp(situation.now)
        entry = statuses.condition_of("Progressing", "True", "NewReplicaSetCreated", message, stamp)
        status = {**status, "conditions": statuses.with_condition(status["conditions"], entry)}
    return DeploymentPlan(status=status, create=made, revision=_revision_to_note(deployment, str(situation.revision)))


def _scaled(situation: _Situation, *, forget: Sequence[Obj]) -> DeploymentPlan:
    """Share out a changed number of replicas; the rollout itself does not move."""
    present, past = situation.generations
    sizes = rollout.scaling_step(situation.bounds, present, past, rolling=not situation.recreates)
    return DeploymentPlan(
        status=situation.counted(),
        changes=_changes(situation, sizes),
        forget=tuple(forget),
        revision=_present_revision(situation),
    )


def _rolled(situation: _Situation, *, old_running: bool) -> DeploymentPlan:
    """Move the rollout on by one step."""
    present, past = situation.generations
    if situation.recreates or present is None:
        sizes = rollout.recreate_step(situation.bounds, present, past, old_running=old_running)
    else:
        sizes = rollout.rolling_step(situation.bounds, present, past)
    status = situation.progressed()
    done = not sizes and statuses.is_complete(situation.deployment, status)
    return DeploymentPlan(
        status=status,
        changes=_changes(situation, sizes),
        forget=tuple(revisions.forgotten_revisions(situation.deployment, situation.old)) if done else (),
        revision=_present_revision(situation),
        look_again_seconds=statuses.seconds_until_overdue(situation.deployment, status, situation.now),
    )


def _changes(situation: _Situation, sizes: rollout.Sizes) -> tuple[ReplicaSetChange, ...]:
    found = []
    for replica_set in situation.replica_sets:
        annotations: dict[str, str] = {}
        replicas = min_ready = None
        if replica_set is situation.new:
            annotations |= revisions.annotations_to_write(situation.deployment, replica_set, situation.revision)
            wanted = min_ready_seconds(situation.deployment)
            min_ready = wanted if wanted != min_ready_seconds(replica_set) else None
        if name_of(replica_set) in sizes:
            size = sizes[name_of(replica_set)]
            replicas = size if size != dig(replica_set, "spec", "replicas", default=0) else None
            have = annotations_of(replica_set)
            noted = revisions.size_annotations(situation.bounds)
            annotations |= {key: value for key, value in noted.items() if have.get(key) != value}
        if annotations or replicas is not None or min_ready is not None:
            found.append(ReplicaSetChange(replica_set, replicas, annotations, min_ready))
    return tuple(found)


def _present_revision(situation: _Situation) -> str:
    if situation.new is None:
        return ""
    newest = max(situation.revision, revisions.revision_of(situation.new))
    return _revision_to_note(situation.deployment, str(newest))


def _revision_to_note(deployment: Obj, revision: str) -> str:
    return revision if annotations_of(deployment).get(revisions.REVISION) != revision else ""
