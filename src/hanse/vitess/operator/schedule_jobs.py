"""The Jobs of scheduled backups: what they run, which of them are over, and which are forgotten."""

from __future__ import annotations

from collections.abc import Iterable

from hanse.api.planetscale.kinds import (
    BACKUP_METHOD_LABEL,
    CLUSTER_LABEL,
    COMPONENT_LABEL,
    DUE_ANNOTATION,
    KEYSPACE_LABEL,
    SCHEDULE_LABEL,
    SHARD_LABEL,
)
from hanse.api.planetscale.reading import texts
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of, name_of
from hanse.kube.runtime import parse_timestamp
from hanse.vitess.naming import cluster_service_name, scheduled_job_name
from hanse.vitess.operator.backup_pods import UPDATE, backup_labels, backup_pod
from hanse.vitess.operator.claims import claim
from hanse.vitess.operator.flags import flag_arguments, merged_flags
from hanse.vitess.operator.initial_backups import backup_wish
from hanse.vitess.operator.schedule_targets import Target
from hanse.vitess.operator.shaping import GRPC_PORT, object_of, with_annotations
from hanse.vitess.operator.shard_scene import ShardScene

VTBACKUP_METHOD = "vtbackup"
CLIENT_METHOD = "vtctldclient"


def target_labels(schedule: Obj, target: Target, method: str) -> dict[str, str]:
    """Return the labels of all Jobs of one target of a schedule."""
    return {
        COMPONENT_LABEL: "vtbackup-schedule",
        CLUSTER_LABEL: str(schedule["spec"]["cluster"]),
        SCHEDULE_LABEL: str(schedule["spec"]["name"]),
        KEYSPACE_LABEL: target.keyspace,
        SHARD_LABEL: target.safe_range,
        BACKUP_METHOD_LABEL: method,
    }


def is_of(job: Obj, target: Target) -> bool:
    """Tell whether a Job is of a target."""
    labels = labels_of(job)
    return (labels.get(KEYSPACE_LABEL), labels.get(SHARD_LABEL)) == (target.keyspace, target.safe_range)


def has_succeeded(job: Obj) -> bool:
    """Tell whether a Job has done its work."""
    return is_true(dig(job, "status", "conditions"), "Complete")


def has_failed(job: Obj) -> bool:
    """Tell whether a Job has given up."""
    return is_true(dig(job, "status", "conditions"), "Failed")


def is_active(job: Obj) -> bool:
    """Tell whether a Job still works."""
    return not has_succeeded(job) and not has_failed(job)


def due_time(job: Obj) -> float:
    """Return the time that a Job was due for."""
    said = annotations_of(job).get(DUE_ANNOTATION, "")
    return float(said) if said.isdigit() else parse_timestamp(job["metadata"]["creationTimestamp"])


def timed_out(job: Obj, minutes: int, now: float) -> bool:
    """Tell whether a Job has worked for too long."""
    return is_active(job) and now - parse_timestamp(job["metadata"]["creationTimestamp"]) > minutes * 60


def beyond_limits(jobs: Iterable[Obj], spec: Obj) -> set[str]:
    """Return the names of Jobs that are over and not kept any longer; the oldest go first."""
    gone: set[str] = set()
    for field, over in (("successfulJobsHistoryLimit", has_succeeded), ("failedJobsHistoryLimit", has_failed)):
        limit = spec.get(field)
        ended = sorted((job for job in jobs if over(job)), key=due_time)
        if limit is not None:
            gone |= {name_of(job) for job in ended[: max(0, len(ended) - int(limit))]}
    return gone


def client_job(schedule: Obj, target: Target, at: int) -> list[Obj]:
    """Return the Job that has a running tablet make a backup."""
    spec = schedule["spec"]
    server = f"{cluster_service_name(str(spec['cluster']), 'vtctld')}:{GRPC_PORT}"
    container: Obj = {
        "name": CLIENT_METHOD,
        "image": spec["image"],
        "command": ["/vt/bin/vtctldclient"],
        "args": [
            f"--server={server}",
            "BackupShard",
            *flag_arguments(merged_flags(target.flags)),
            f"{target.keyspace}/{target.range}",
        ],
        "resources": spec.get("resources") or {},
    }
    pod: Obj = {"containers": [container], "restartPolicy": "Never"}
    return [_job(schedule, target, at, CLIENT_METHOD, {}, pod)]


def backup_job(schedule: Obj, target: Target, at: int, scene: ShardScene) -> list[Obj] | None:
    """Return the Job, with its disk, that makes a backup beside the tablets; None where the shard has no location."""
    wish = backup_wish(scene)
    if wish is None:
        return None
    name = _name(schedule, target, at)
    pod = backup_pod(name, wish, UPDATE, target.flags)
    made = [_job(schedule, target, at, VTBACKUP_METHOD, annotations_of(pod), pod["spec"])]
    if wish.pool.volume_claim is not None:
        labels = {**backup_labels(wish, UPDATE), **target_labels(schedule, target, VTBACKUP_METHOD)}
        made.insert(0, claim(name, labels, wish.pool.volume_claim, None))
    return made


def _name(schedule: Obj, target: Target, at: int) -> str:
    return scheduled_job_name(name_of(schedule), target.keyspace, target.safe_range, at)


def _job(schedule: Obj, target: Target, at: int, method: str, annotations: Obj, pod: Obj) -> Obj:
    spec, labels = schedule["spec"], target_labels(schedule, target, method)
    if spec.get("affinity"):
        pod = {**pod, "affinity": spec["affinity"]}
    # None at all says that they are the tablets' own; an empty list says that there are none.
    if spec.get("tolerations") is not None:
        pod = {**pod, "tolerations": spec["tolerations"]}
    metadata: Obj = {"labels": labels}
    if said := {**annotations, **texts(spec.get("annotations"))}:
        metadata["annotations"] = said
    body = {"backoffLimit": 0, "template": {"metadata": metadata, "spec": pod}}
    job = object_of("batch/v1", "Job", _name(schedule, target, at), labels, spec=body)
    return with_annotations(job, {DUE_ANNOTATION: str(at)})
