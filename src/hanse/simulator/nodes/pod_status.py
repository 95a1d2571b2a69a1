"""What a kubelet reports of a pod: where it stands, step by step from its arrival to its end."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.kube.conditions import condition, find_condition, is_true, merge_conditions
from hanse.kube.manifest import Obj, dig
from hanse.simulator.nodes.conduct import course_of, failing_probes, scarce_resource
from hanse.simulator.nodes.containers import (
    KILLED,
    TERMINATED,
    Circumstances,
    advance,
    ended,
    known,
    restarts_after,
    waiting,
)
from hanse.simulator.nodes.stopwatch import Stopwatch


@dataclass(frozen=True, slots=True)
class Host:
    """The node as its pods see it, at this moment."""

    address: str
    pod_address: str
    start_seconds: float
    now: str


def is_finished(pod: Obj) -> bool:
    """Tell whether a pod's containers have ended for good."""
    return dig(pod, "status", "phase") in ("Succeeded", "Failed")


def is_running(pod: Obj) -> bool:
    """Tell whether any container of a pod runs."""
    entries: list[Obj] = dig(pod, "status", "containerStatuses", default=[])
    return any("running" in (entry.get("state") or {}) for entry in entries)


def next_status(pod: Obj, host: Host, watch: Stopwatch) -> Obj:
    """Return what is true of a pod now that is neither finished nor being deleted."""
    status = pod.get("status") or {}
    if not status.get("containerStatuses"):
        return _arrived(pod, host)
    if not status.get("podIP") and not watch.due("sandbox", host.start_seconds):
        return dict(status)
    resource = scarce_resource(pod)
    if resource:
        return _ended_by_kubelet(pod, host, "Evicted", f"The node was low on resource: {resource}. ")
    limit = pod["spec"].get("activeDeadlineSeconds")
    if limit is not None and watch.due("deadline", float(limit)):
        told = "Pod was active on the node longer than the specified deadline"
        return _ended_by_kubelet(pod, host, "DeadlineExceeded", told)
    return _lived(pod, host, watch)


def crashed_status(pod: Obj, host: Host) -> Obj:
    """Return the status of a pod whose running containers have all just exited with an error."""
    entries = [
        ended(entry, _around(pod, container, host, sidecar=False), 1)
        if "running" in (entry.get("state") or {})
        else entry
        for container, entry in _mains(pod)
    ]
    return _told(pod, host, dig(pod, "status", "initContainerStatuses", default=[]), entries)


def stopped_status(pod: Obj, host: Host) -> Obj:
    """Return the last status of a pod that was told to stop while its containers ran."""
    mains = [
        ended(entry, _around(_never_again(pod), container, host, sidecar=False), TERMINATED)
        if "running" in (entry.get("state") or {})
        else entry
        for container, entry in _mains(pod)
    ]
    unready = [entry["name"] for entry in mains]
    changes = {"phase": "Failed", "containerStatuses": mains}
    conditions = _conditions(pod, sandbox=False, initialized=True, unready=unready, done=True)
    return _merged(pod, changes, conditions, host)


def _never_again(pod: Obj) -> Obj:
    return {**pod, "spec": {**pod["spec"], "restartPolicy": "Never"}}


def _arrived(pod: Obj, host: Host) -> Obj:
    spec = pod["spec"]
    reason = "PodInitializing" if spec.get("initContainers") else "ContainerCreating"
    changes: Obj = {
        "phase": "Pending",
        "hostIP": host.address,
        "hostIPs": [{"ip": host.address}],
        "startTime": dig(pod, "status", "startTime", default=host.now),
        "containerStatuses": [waiting(pod, entry, reason) for entry in spec["containers"]],
    }
    if spec.get("initContainers"):
        changes["initContainerStatuses"] = [waiting(pod, entry, reason) for entry in spec["initContainers"]]
    unready = [entry["name"] for entry in spec["containers"]]
    conditions = _conditions(pod, sandbox=False, initialized=not spec.get("initContainers"), unready=unready)
    return _merged(pod, changes, conditions, host)


def _lived(pod: Obj, host: Host, watch: Stopwatch) -> Obj:
    """Advance the init containers one after the other, then the others together."""
    first, initialized = [], True
    for container in pod["spec"].get("initContainers") or ():
        before = known(pod, container["name"]) or waiting(pod, container, "PodInitializing")
        sidecar = container.get("restartPolicy") == "Always"
        around = _around(pod, container, host, sidecar=sidecar)
        over = not sidecar and _exit_code(before) == 0
        entry = before if over or not initialized else advance(container, before, around, watch)
        first.append(_completed(entry))
        initialized = initialized and (entry["started"] if sidecar else _exit_code(entry) == 0)
    mains = []
    for container, before in _mains(pod):
        around = _around(pod, container, host, sidecar=False)
        mains.append(advance(container, before, around, watch) if initialized else before)
    return _told(pod, host, first, mains)


def _mains(pod: Obj) -> list[tuple[Obj, Obj]]:
    containers = pod["spec"]["containers"]
    return [(entry, known(pod, entry["name"]) or waiting(pod, entry, "ContainerCreating")) for entry in containers]


def _around(pod: Obj, container: Obj, host: Host, *, sidecar: bool) -> Circumstances:
    is_init = any(entry["name"] == container["name"] for entry in pod["spec"].get("initContainers") or ())
    may_end = (is_init and not sidecar) or pod["spec"].get("restartPolicy", "Always") != "Always"
    course = course_of(pod, container, may_end=may_end)
    if is_init and not sidecar:
        # What comes before the others is there to end, and has succeeded once it ended well.
        bare = not container.get("command") and not container.get("args")
        course = course_of({"metadata": {}}, {**container, "command": ["true"]} if bare else container, may_end=True)
    return Circumstances(pod, course, sidecar, host.start_seconds, failing_probes(pod), host.now)


def _exit_code(entry: Obj) -> int | None:
    code = dig(entry, "state", "terminated", "exitCode")
    return None if code is None else int(code)


def _completed(entry: Obj) -> Obj:
    return {**entry, "ready": True} if _exit_code(entry) == 0 else entry


def _told(pod: Obj, host: Host, first: list[Obj], mains: list[Obj]) -> Obj:
    phase = _phase(pod, host, first, mains)
    done = phase in ("Succeeded", "Failed")
    initialized = all(_exit_code(entry) == 0 or entry.get("started") for entry in first)
    unready = [entry["name"] for entry in (*first, *mains) if not entry["ready"]]
    changes: Obj = {"phase": phase, "containerStatuses": mains}
    if first:
        changes["initContainerStatuses"] = first
    if host.pod_address:
        changes |= {"podIP": host.pod_address, "podIPs": [{"ip": host.pod_address}]}
    conditions = _conditions(
        pod, sandbox=not done, initialized=initialized, unready=unready, completed=phase == "Succeeded", done=done
    )
    return _merged(pod, changes, conditions, host)


def _phase(pod: Obj, host: Host, first: list[Obj], mains: list[Obj]) -> str:
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Never" and any(_exit_code(entry) not in (None, 0) for entry in first if not _is_sidecar(pod, entry)):
        return "Failed"
    codes = [_exit_code(entry) for entry in mains]
    over = [
        code is not None and not restarts_after(_around(pod, entry, host, sidecar=False), code)
        for entry, code in zip(pod["spec"]["containers"], codes, strict=True)
    ]
    if all(over):
        return "Succeeded" if not any(codes) else "Failed"
    begun = any("waiting" not in (entry.get("state") or {}) or entry.get("lastState") for entry in mains)
    return "Running" if begun else "Pending"


def _is_sidecar(pod: Obj, entry: Obj) -> bool:
    containers = pod["spec"].get("initContainers") or ()
    return any(one["name"] == entry["name"] and one.get("restartPolicy") == "Always" for one in containers)


def _ended_by_kubelet(pod: Obj, host: Host, reason: str, message: str) -> Obj:
    mains = [
        ended(entry, _around(_never_again(pod), container, host, sidecar=False), KILLED)
        if "running" in (entry.get("state") or {})
        else entry
        for container, entry in _mains(pod)
    ]
    unready = [entry["name"] for entry in mains]
    changes = {"phase": "Failed", "reason": reason, "message": message, "containerStatuses": mains}
    conditions = _conditions(pod, sandbox=False, initialized=True, unready=unready, done=True)
    return _merged(pod, changes, conditions, host)


def _conditions(
    pod: Obj, *, sandbox: bool, initialized: bool, unready: list[str], completed: bool = False, done: bool = False
) -> list[Obj]:
    trouble = ("", "")
    if done:
        trouble = ("PodCompleted" if completed else "PodFailed", "")
    elif unready:
        trouble = ("ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    states = [
        ("PodReadyToStartContainers", sandbox, ("", "")),
        ("Initialized", initialized, ("", "") if initialized else _incomplete(pod)),
        ("Ready", not any(trouble) and not _closed_gates(pod), trouble if any(trouble) else _gate_trouble(pod)),
        ("ContainersReady", not any(trouble), trouble),
        ("PodScheduled", True, ("", "")),
    ]
    found = []
    for kind, holds, (reason, message) in states:
        entry = condition(kind, holds, reason, message)
        found.append({field: value for field, value in entry.items() if value})
    return found


def _incomplete(pod: Obj) -> tuple[str, str]:
    names = [entry["name"] for entry in pod["spec"].get("initContainers") or ()]
    open_ones = [name for name in names if _exit_code(known(pod, name)) != 0]
    return "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(open_ones)}]"


def _closed_gates(pod: Obj) -> list[str]:
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    return [gate for gate in gates if not is_true(dig(pod, "status", "conditions"), gate)]


def _gate_trouble(pod: Obj) -> tuple[str, str]:
    closed = _closed_gates(pod)
    if not closed:
        return "", ""
    return "ReadinessGatesNotReady", f'the status of pod readiness gate "{closed[0]}" is not "True"'


def _merged(pod: Obj, changes: Obj, conditions: list[Obj], host: Host) -> Obj:
    before = pod.get("status") or {}
    known_ones: list[Obj] = before.get("conditions") or []
    # What is said already stays as the server has it, with the fields that it adds.
    news = [entry for entry in conditions if not _is_said(entry, find_condition(known_ones, entry["type"]))]
    return {**before, **changes, "conditions": merge_conditions(known_ones, news, host.now)}


def _is_said(entry: Obj, before: Obj | None) -> bool:
    fields = ("status", "reason", "message")
    return before is not None and all((before.get(field) or "") == (entry.get(field) or "") for field in fields)
