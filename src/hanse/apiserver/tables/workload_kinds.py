"""Tables of pods and of the kinds that run them."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.tables.columns import (
    NONE,
    Printer,
    age,
    columns,
    containers_of,
    created,
    duration,
    selector_text,
)
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.runtime import parse_timestamp

_INTEGERS = {"desired": "integer", "current": "integer", "ready": "integer"}


def _pod_cells(pod: Obj, now: float) -> list[Any]:
    told = pod.get("status") or {}
    containers = dig(pod, "spec", "containers", default=[])
    statuses: list[Obj] = told.get("containerStatuses") or []
    ready = sum(1 for one in statuses if one.get("ready") and "running" in (one.get("state") or {}))
    return [
        name_of(pod),
        f"{ready}/{len(containers)}",
        pod_reason(pod),
        _restarts(statuses, now),
        created(pod, now),
        told.get("podIP") or NONE,
        dig(pod, "spec", "nodeName") or NONE,
        told.get("nominatedNodeName") or NONE,
        _gates(pod),
    ]


def pod_reason(pod: Obj) -> str:
    """Return the word that sums up a pod's state."""
    told = pod.get("status") or {}
    reason = str(told.get("reason") or told.get("phase") or "")
    for condition in told.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    waiting = _init_reason(pod)
    reason = waiting or _container_reason(told, reason)
    if pod["metadata"].get("deletionTimestamp"):
        if told.get("reason") == "NodeLost":
            return "Unknown"
        if told.get("phase") not in ("Succeeded", "Failed"):
            return "Terminating"
    return reason


def _init_reason(pod: Obj) -> str:
    total = len(dig(pod, "spec", "initContainers", default=[]))
    for place, one in enumerate(dig(pod, "status", "initContainerStatuses", default=[])):
        ended = dig(one, "state", "terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if ended is not None:
            return "Init:" + str(ended.get("reason") or f"ExitCode:{ended.get('exitCode')}")
        waiting = dig(one, "state", "waiting", "reason")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{place}/{total}"
    return ""


def _container_reason(told: Obj, reason: str) -> str:
    running = False
    for one in reversed(told.get("containerStatuses") or []):
        waiting, ended = dig(one, "state", "waiting", "reason"), dig(one, "state", "terminated")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = ended.get("reason") or f"ExitCode:{ended.get('exitCode')}"
        elif one.get("ready") and "running" in (one.get("state") or {}):
            running = True
    if reason == "Completed" and running:
        ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in told.get("conditions") or ())
        return "Running" if ready else "NotReady"
    return reason


def _restarts(statuses: list[Obj], now: float) -> str:
    total = sum(int(one.get("restartCount") or 0) for one in statuses)
    last = [dig(one, "lastState", "terminated", "finishedAt") for one in statuses]
    ended = sorted(one for one in last if one)
    return f"{total} ({age(ended[-1], now)} ago)" if total and ended else str(total)


def _gates(pod: Obj) -> str:
    gates = dig(pod, "spec", "readinessGates", default=[])
    if not gates:
        return NONE
    conditions = {one.get("type"): one.get("status") for one in dig(pod, "status", "conditions", default=[])}
    passed = sum(1 for gate in gates if conditions.get(gate.get("conditionType")) == "True")
    return f"{passed}/{len(gates)}"


def _pod_conditions(pod: Obj) -> list[Obj]:
    phase = dig(pod, "status", "phase")
    if phase not in ("Succeeded", "Failed"):
        return []
    told = {
        "Succeeded": "The pod has completed successfully.",
        "Failed": "The pod failed.",
    }[phase]
    return [{"type": "Completed", "status": "True", "reason": phase, "message": told}]


def _deployment_cells(obj: Obj, now: float) -> list[Any]:
    told, spec = obj.get("status") or {}, obj["spec"]
    names, images = containers_of(dig(spec, "template", "spec"))
    return [
        name_of(obj),
        f"{told.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        told.get("updatedReplicas", 0),
        told.get("availableReplicas", 0),
        created(obj, now),
        names,
        images,
        selector_text(spec.get("selector")),
    ]


def _replicas_cells(obj: Obj, now: float) -> list[Any]:
    told, spec = obj.get("status") or {}, obj["spec"]
    names, images = containers_of(dig(spec, "template", "spec"))
    counts = [spec.get("replicas", 0), told.get("replicas", 0), told.get("readyReplicas", 0)]
    return [name_of(obj), *counts, created(obj, now), names, images, selector_text(spec.get("selector"))]


def _statefulset_cells(obj: Obj, now: float) -> list[Any]:
    ready = f"{dig(obj, 'status', 'readyReplicas', default=0)}/{dig(obj, 'spec', 'replicas', default=0)}"
    return [name_of(obj), ready, created(obj, now), *containers_of(dig(obj, "spec", "template", "spec"))]


def _daemonset_cells(obj: Obj, now: float) -> list[Any]:
    told, spec = obj.get("status") or {}, obj["spec"]
    names = (
        "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable",
    )  # fmt: skip
    return [
        name_of(obj),
        *(told.get(name, 0) for name in names),
        selector_text(dig(spec, "template", "spec", "nodeSelector")),
        created(obj, now),
        *containers_of(dig(spec, "template", "spec")),
        selector_text(spec.get("selector")),
    ]


def _job_cells(obj: Obj, now: float) -> list[Any]:
    told, spec = obj.get("status") or {}, obj["spec"]
    done, wanted, width = told.get("succeeded", 0), spec.get("completions"), spec.get("parallelism") or 0
    total = wanted if wanted is not None else f"1 of {width}" if width > 1 else 1
    return [
        name_of(obj),
        _job_state(obj),
        f"{done}/{total}",
        _job_duration(told, now),
        created(obj, now),
        *containers_of(dig(spec, "template", "spec")),
        selector_text(spec.get("selector")),
    ]


def _job_state(obj: Obj) -> str:
    true = {one["type"] for one in dig(obj, "status", "conditions", default=[]) if one.get("status") == "True"}
    if "Complete" in true:
        return "Complete"
    if "Failed" in true:
        return "Failed"
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for name in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if name in true:
            return name
    return "Running"


def _job_duration(told: Obj, now: float) -> str:
    if not told.get("startTime"):
        return ""
    end = parse_timestamp(told["completionTime"]) if told.get("completionTime") else now
    return duration(end - parse_timestamp(told["startTime"]))


def _cronjob_cells(obj: Obj, now: float) -> list[Any]:
    spec, told = obj["spec"], obj.get("status") or {}
    last = told.get("lastScheduleTime")
    template = dig(spec, "jobTemplate", "spec", default={})
    return [
        name_of(obj),
        spec.get("schedule"),
        spec.get("timeZone") or NONE,
        str(bool(spec.get("suspend"))),
        len(told.get("active") or ()),
        age(last, now) if last else NONE,
        created(obj, now),
        *containers_of(dig(template, "template", "spec")),
        selector_text(template.get("selector")),
    ]


def _template_cells(obj: Obj, now: float) -> list[Any]:  # noqa: ARG001 - the shape of every row
    names, images = containers_of(dig(obj, "template", "spec"))
    return [name_of(obj), names, images, selector_text(dig(obj, "template", "metadata", "labels"))]


_REPLICAS = Printer(
    columns("Name|Desired|Current|Ready|Age", "Containers|Images|Selector", **_INTEGERS), _replicas_cells
)
PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Pod"): Printer(
        columns("Name|Ready|Status|Restarts|Age", "IP|Node|Nominated Node|Readiness Gates"),
        _pod_cells,
        _pod_conditions,
    ),
    ("", "PodTemplate"): Printer(columns("Name|Containers|Images|Pod Labels"), _template_cells),
    ("", "ReplicationController"): _REPLICAS,
    ("apps", "ReplicaSet"): _REPLICAS,
    ("apps", "Deployment"): Printer(
        columns("Name|Ready|Up-to-date|Available|Age", "Containers|Images|Selector"), _deployment_cells
    ),
    ("apps", "StatefulSet"): Printer(columns("Name|Ready|Age", "Containers|Images"), _statefulset_cells),
    ("apps", "DaemonSet"): Printer(
        columns(
            "Name|Desired|Current|Ready|Up-to-date|Available|Node Selector|Age",
            "Containers|Images|Selector",
            **_INTEGERS,
            up_to_date="integer",
            available="integer",
        ),
        _daemonset_cells,
    ),
    ("batch", "Job"): Printer(
        columns("Name|Status|Completions|Duration|Age", "Containers|Images|Selector"), _job_cells
    ),
    ("batch", "CronJob"): Printer(
        columns(
            "Name|Schedule|Timezone|Suspend|Active|Last Schedule|Age",
            "Containers|Images|Selector",
            suspend="boolean",
            active="integer",
        ),
        _cronjob_cells,
    ),
}
