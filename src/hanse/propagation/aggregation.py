"""The federation's status of an object, in its kind's own shape, out of what the members report.

Only members that answer are counted. `observedGeneration` moves when every one of them has the present rendering and
has seen it, so that `kubectl rollout status` and `kubectl wait` mean on the federation what they mean on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable

from hanse.api.names import STATUS_ANNOTATION
from hanse.api.plain_kinds import (
    AUTOSCALERS,
    CLAIMS,
    CRON_JOBS,
    DAEMON_SETS,
    DISRUPTION_BUDGETS,
    INGRESSES,
    JOBS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from hanse.kube.manifest import Obj, annotations_of
from hanse.kube.resources import DEPLOYMENTS, REPLICASETS, SERVICES, Resource
from hanse.propagation.report import Report
from hanse.propagation.statuses.addresses import ingress_status, service_status
from hanse.propagation.statuses.autoscalers import autoscaler_status
from hanse.propagation.statuses.claims import budget_status, claim_status
from hanse.propagation.statuses.deployments import deployment_status
from hanse.propagation.statuses.jobs import cron_job_status, job_status
from hanse.propagation.statuses.replicas import daemon_set_status, replica_status, stateful_set_status

_STATUSES: dict[Resource, Callable[[Obj, Report, str], Obj]] = {
    DEPLOYMENTS: deployment_status,
    REPLICASETS: replica_status,
    REPLICATION_CONTROLLERS: replica_status,
    STATEFUL_SETS: stateful_set_status,
    DAEMON_SETS: daemon_set_status,
    JOBS: job_status,
    CRON_JOBS: cron_job_status,
    AUTOSCALERS: autoscaler_status,
    DISRUPTION_BUDGETS: budget_status,
    SERVICES: service_status,
    INGRESSES: ingress_status,
    CLAIMS: claim_status,
}
_WITH_CONDITIONS = frozenset(
    {
        DEPLOYMENTS,
        REPLICASETS,
        REPLICATION_CONTROLLERS,
        STATEFUL_SETS,
        DAEMON_SETS,
        JOBS,
        AUTOSCALERS,
        DISRUPTION_BUDGETS,
    }
)


def aggregate(resource: Resource, source: Obj, report: Report, now: str) -> Obj | None:
    """Return the whole new status, None for kinds that have none."""
    made = _STATUSES.get(resource)
    return made(source, report, now) if made is not None else None


def tells_by_condition(resource: Resource) -> bool:
    """Tell whether a kind's status has conditions, and with them a place for what is to be said of an object."""
    return resource in _WITH_CONDITIONS


def told_beside(obj: Obj, sentence: str) -> Obj:
    """Return an object that says this in the annotation for kinds without conditions; the same one if it does."""
    if annotations_of(obj).get(STATUS_ANNOTATION, "") == sentence:
        return obj
    annotations = {name: text for name, text in annotations_of(obj).items() if name != STATUS_ANNOTATION}
    if sentence:
        annotations[STATUS_ANNOTATION] = sentence
    metadata = {name: value for name, value in obj["metadata"].items() if name != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    return {**obj, "metadata": metadata}
