"""What an object of each kind divides by: replicas, the parts of a Job, the limits of an autoscaler or a budget."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from hanse.api.names import (
    AUTOSCALED_ANNOTATION,
    DEPLOYMENT_PREFERENCES_ANNOTATION,
    JOB_PREFERENCES_ANNOTATION,
    REPLICA_SET_PREFERENCES_ANNOTATION,
)
from hanse.api.plain_kinds import (
    AUTOSCALERS,
    CRON_JOBS,
    DAEMON_SETS,
    DISRUPTION_BUDGETS,
    JOBS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.kube.resources import DEPLOYMENTS, REPLICASETS, Resource
from hanse.placement.autoscalers import Limits
from hanse.propagation.intent import Problem
from hanse.propagation.parts import (
    CRON_SCALE,
    JOB_SCALE,
    MAX_UNAVAILABLE,
    MIN_AVAILABLE,
    AutoscalerParts,
    BudgetParts,
    JobParts,
    Parts,
    ScaledParts,
)
from hanse.propagation.scale import WORKLOAD, Scale
from hanse.propagation.statuses.jobs import job_finished
from hanse.propagation.teaching import Lesson

# The annotation of federation v1 that divides a kind; ReplicationControllers became ReplicaSets.
_PREFERENCES = {
    DEPLOYMENTS: DEPLOYMENT_PREFERENCES_ANNOTATION,
    REPLICASETS: REPLICA_SET_PREFERENCES_ANNOTATION,
    REPLICATION_CONTROLLERS: REPLICA_SET_PREFERENCES_ANNOTATION,
    JOBS: JOB_PREFERENCES_ANNOTATION,
    CRON_JOBS: JOB_PREFERENCES_ANNOTATION,
}
_REPLICATED = frozenset({DEPLOYMENTS, REPLICASETS, REPLICATION_CONTROLLERS, STATEFUL_SETS})
_SCALABLE = frozenset({DEPLOYMENTS.kind, REPLICASETS.kind})


@dataclass(frozen=True, slots=True)
class Divisible:
    """How an object divides; `replicas` is None where it goes whole into every chosen cluster."""

    replicas: int | None = None
    scale: Scale = WORKLOAD
    parts: Parts | None = None


def preferences_of(resource: Resource) -> str:
    """Return the annotation that divides objects of a kind, "" where there is none."""
    return _PREFERENCES.get(resource, "")


def runs_pods(resource: Resource, taught: Lesson | None = None) -> bool:
    """Tell whether objects of a kind run something, so that taints of clusters concern them."""
    if taught is not None and taught.scale is not None:
        return True
    return resource in _REPLICATED or resource in _PREFERENCES or resource == DAEMON_SETS


def divisible(resource: Resource, source: Obj, taught: Lesson | None = None) -> Divisible | Problem:
    """Return how an object divides, or why that cannot be said."""
    if resource in _REPLICATED:
        if (text := annotations_of(source).get(AUTOSCALED_ANNOTATION)) is not None:
            return _scaled(text)
        return Divisible(dig(source, "spec", "replicas", default=1))
    if resource == JOBS:
        return _job(source.get("spec") or {}, JOB_SCALE, finished=job_finished(source))
    if resource == CRON_JOBS:
        return _job(dig(source, "spec", "jobTemplate", "spec", default={}), CRON_SCALE)
    if resource == AUTOSCALERS:
        return _autoscaler(source.get("spec") or {})
    if resource == DISRUPTION_BUDGETS:
        return _budget(source)
    if taught is not None and taught.scale is not None:
        scale = taught.scale
        asked = dig(source, *scale.replicas, default=1)
        if isinstance(asked, bool) or not isinstance(asked, int) or asked < 0:
            return Problem("InvalidReplicas", f"{'.'.join(scale.replicas)} must be a number that is not negative")
        return Divisible(asked, scale)
    return Divisible()


def _job(spec: Obj, scale: Scale, *, finished: bool = False) -> Divisible:
    completions = spec.get("completions")
    parallelism = int(spec.get("parallelism", 1))
    if completions is not None:
        # More would have nothing to do.
        parallelism = min(parallelism, int(completions))
    return Divisible(parallelism, scale, JobParts(parallelism, completions, finished, scale))


def _autoscaler(spec: Obj) -> Divisible | Problem:
    target = dig(spec, "scaleTargetRef", "kind", default="")
    if target not in _SCALABLE:
        known = " or ".join(sorted(_SCALABLE))
        return Problem(
            "InvalidTarget", f"spec.scaleTargetRef.kind must be {known} to scale over clusters, not {target}"
        )
    limits = Limits(spec.get("minReplicas", 1), spec.get("maxReplicas", 1))
    if limits.min_replicas < 0 or limits.max_replicas < 1:
        return Problem(
            "InvalidLimits", "spec.minReplicas must not be negative, and spec.maxReplicas must be at least 1"
        )
    if limits.min_replicas > limits.max_replicas:
        return Problem("InvalidLimits", "spec.minReplicas must not exceed spec.maxReplicas")
    return Divisible(parts=AutoscalerParts(limits))


def _budget(source: Obj) -> Divisible:
    """Divide a number of pods; a percentage means the same in every cluster."""
    for field in (MIN_AVAILABLE, MAX_UNAVAILABLE):
        number = dig(source, *field)
        if isinstance(number, int):
            return Divisible(parts=BudgetParts(field, number))
    return Divisible()


def _scaled(text: str) -> Divisible | Problem:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        document = None
    fields = {name.lower(): value for name, value in document.items()} if isinstance(document, dict) else {}
    names = fields.get("names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return Problem(
            "InvalidAutoscaledClusters", f'annotation {AUTOSCALED_ANNOTATION} must be like {{"Names":["a"]}}'
        )
    return Divisible(parts=ScaledParts(tuple(names)))


def autoscaled_clusters(names: list[str]) -> str:
    """Write the annotation that names the clusters in which a workload is scaled, as federation v1 wrote it."""
    return orjson.dumps({"Names": sorted(names)}).decode()
