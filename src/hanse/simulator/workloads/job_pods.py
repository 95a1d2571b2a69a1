"""The pods of a Job: how they are made, what their Job reads of them, and how sets of indexes are written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, annotations_of, dig, finalizers_of, name_of
from hanse.kube.runtime import parse_timestamp
from hanse.simulator.pods import PodFacts, pod_facts
from hanse.simulator.workloads.pod_writes import new_pod

TRACKING = "batch.kubernetes.io/job-tracking"
JOB_NAME = "batch.kubernetes.io/job-name"

_INDEX = "batch.kubernetes.io/job-completion-index"
_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
_LONGEST_NAME_PREFIX = 58


@dataclass(frozen=True, slots=True)
class JobPod:
    """One pod, as far as its Job decides on it."""

    facts: PodFacts
    index: int | None
    # Whether the Job has not counted it yet: then its finalizer keeps it from vanishing.
    tracked: bool
    ended: float
    status: Obj

    @classmethod
    def of(cls, pod: Obj) -> JobPod:
        """Read a pod's manifest."""
        index = annotations_of(pod).get(_INDEX, "")
        return cls(
            facts=pod_facts(pod),
            index=int(index) if index.isdigit() else None,
            tracked=TRACKING in finalizers_of(pod),
            ended=_ended(pod),
            status=pod.get("status") or {},
        )


def _ended(pod: Obj) -> float:
    """Return when a pod ended, as well as it can be known."""
    states = [
        dig(entry, "state", "terminated", "finishedAt") for entry in dig(pod, "status", "containerStatuses") or ()
    ]
    if states and all(states):
        return max(parse_timestamp(state) for state in states)
    ready = find_condition(dig(pod, "status", "conditions"), "Ready") or {}
    if ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return parse_timestamp(ready["lastTransitionTime"])
    metadata = pod["metadata"]
    if metadata.get("deletionTimestamp"):
        return parse_timestamp(metadata["deletionTimestamp"]) - float(metadata.get("deletionGracePeriodSeconds") or 0)
    return parse_timestamp(metadata["creationTimestamp"])


def job_pod(job: Obj, index: int | None = None) -> Obj:
    """Return a new pod of a Job, for one index where the Job counts by them."""
    pod = new_pod(job, job["spec"]["template"])
    metadata = pod["metadata"]
    finalizers = metadata.get("finalizers") or []
    if TRACKING not in finalizers:
        metadata["finalizers"] = [*finalizers, TRACKING]
    if index is None:
        return pod
    metadata["annotations"] = {**(metadata.get("annotations") or {}), _INDEX: str(index)}
    metadata["labels"] = {**(metadata.get("labels") or {}), _INDEX: str(index)}
    suffix = f"-{index}-"
    metadata["generateName"] = name_of(job)[: _LONGEST_NAME_PREFIX - len(suffix)] + suffix
    spec = {**pod["spec"], "hostname": f"{name_of(job)}-{index}"}
    for kind in ("initContainers", "containers"):
        if spec.get(kind):
            spec[kind] = [_knowing_index(container) for container in spec[kind]]
    return {**pod, "spec": spec}


def _knowing_index(container: Obj) -> Obj:
    variables = container.get("env") or []
    if any(variable.get("name") == _INDEX_VARIABLE for variable in variables):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{_INDEX}']"}}
    return {**container, "env": [*variables, {"name": _INDEX_VARIABLE, "valueFrom": source}]}


def read_indexes(text: str) -> set[int]:
    """Read indexes as a Job's status writes them: `0,2-5`."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def write_indexes(indexes: Iterable[int]) -> str:
    """Write indexes as a Job's status does; three or more in a row are a range."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs]
    return ",".join(parts)
