"""What a kubelet reports of a pod: being created, running, crashed; and in which stage a pod is found."""

from __future__ import annotations

from enum import Enum, auto

from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj, dig, is_deleting, uid_of

_FIRST_BACKOFF_SECONDS = 10.0
_LAST_BACKOFF_SECONDS = 300.0


class Stage(Enum):
    """What a kubelet has to do with a pod of its node."""

    ARRIVED = auto()
    CREATING = auto()
    RUNNING = auto()
    CRASHED = auto()
    FINISHED = auto()
    STOPPING = auto()


def stage_of(pod: Obj) -> Stage:
    """Tell from a pod's manifest alone where it stands, so that a kubelet can take over at any moment."""
    status = pod.get("status") or {}
    phase = status.get("phase") or "Pending"
    containers: list[Obj] = status.get("containerStatuses") or []
    if is_deleting(pod):
        return Stage.STOPPING
    if phase in ("Succeeded", "Failed"):
        return Stage.FINISHED
    if phase == "Pending":
        return Stage.CREATING if containers else Stage.ARRIVED
    if all("running" in (entry.get("state") or {}) for entry in containers):
        return Stage.RUNNING
    return Stage.CRASHED


def creating_status(pod: Obj, host_address: str, now: str) -> Obj:
    """Return the status of a pod whose containers are being made."""
    spec = pod["spec"]
    names = ", ".join(container["name"] for container in spec["containers"])
    message = f"containers with unready status: [{names}]"
    status = {
        "phase": "Pending",
        "hostIP": host_address,
        "hostIPs": [{"ip": host_address}],
        "startTime": dig(pod, "status", "startTime", default=now),
        "containerStatuses": [_container(pod, entry, _waiting("ContainerCreating")) for entry in spec["containers"]],
    }
    if spec.get("initContainers"):
        waiting = _waiting("PodInitializing")
        status["initContainerStatuses"] = [_container(pod, entry, waiting) for entry in spec["initContainers"]]
    return _merged(pod, status, _conditions(sandbox=False, unready=message), now)


def running_status(pod: Obj, address: str, now: str) -> Obj:
    """Return the status of a pod whose containers run and are ready; those that had crashed have restarted."""
    spec = pod["spec"]
    status: Obj = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "containerStatuses": [_started(pod, entry, now) for entry in spec["containers"]],
    }
    if spec.get("initContainers"):
        status["initContainerStatuses"] = [_initialised(pod, entry, now) for entry in spec["initContainers"]]
    return _merged(pod, status, _conditions(sandbox=True), now)


def crashed_status(pod: Obj, now: str) -> Obj:
    """Return the status of a running pod whose containers have all just exited with an error."""
    spec = pod["spec"]
    names = ", ".join(container["name"] for container in spec["containers"])
    status: Obj = {"containerStatuses": [_crashed(pod, entry, now) for entry in spec["containers"]]}
    if spec.get("restartPolicy") == "Never":
        status["phase"] = "Failed"
    message = f"containers with unready status: [{names}]"
    return _merged(pod, status, _conditions(sandbox=True, unready=message), now)


def backoff_seconds(pod: Obj) -> float:
    """Return how long a crashed pod waits before it is restarted: not at all at first, then longer each time."""
    restarts = restarts_of(pod)
    if restarts == 0:
        return 0.0
    return min(_FIRST_BACKOFF_SECONDS * 2.0 ** (restarts - 1), _LAST_BACKOFF_SECONDS)


def restarts_of(pod: Obj) -> int:
    """Return how often the most restarted container of a pod was restarted."""
    entries: list[Obj] = dig(pod, "status", "containerStatuses", default=[])
    return max((int(entry.get("restartCount") or 0) for entry in entries), default=0)


def _merged(pod: Obj, changes: Obj, conditions: list[Obj], now: str) -> Obj:
    before = pod.get("status") or {}
    return {**before, **changes, "conditions": merge_conditions(before.get("conditions"), conditions, now)}


def _conditions(*, sandbox: bool, unready: str = "") -> list[Obj]:
    states = [("PodReadyToStartContainers", sandbox), ("Initialized", True), ("Ready", not unready)]
    states += [("ContainersReady", not unready), ("PodScheduled", True)]
    found = []
    for kind, holds in states:
        entry = condition(kind, holds, "" if holds else "ContainersNotReady", "" if holds else unready)
        found.append({field: value for field, value in entry.items() if value})
    return found


def _waiting(reason: str, message: str = "") -> Obj:
    waiting = {"reason": reason, "message": message} if message else {"reason": reason}
    return {"waiting": waiting}


def _known(pod: Obj, name: str) -> Obj:
    entries: list[Obj] = dig(pod, "status", "containerStatuses", default=[])
    return next((entry for entry in entries if entry.get("name") == name), {})


def _container(pod: Obj, container: Obj, state: Obj, *, ready: bool = False) -> Obj:
    before = _known(pod, container["name"])
    made = {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": before.get("restartCount", 0),
        "state": state,
        "lastState": before.get("lastState") or {},
    }
    if ready:
        made["imageID"] = f"simulated://{made['image']}"
        made["containerID"] = _container_id(pod, container["name"], made["restartCount"])
    return made


def _container_id(pod: Obj, name: str, restarts: int) -> str:
    return f"simulated://{uid_of(pod)}/{name}/{restarts}"


def _started(pod: Obj, container: Obj, now: str) -> Obj:
    before = _known(pod, container["name"])
    state = before.get("state") or {}
    if "running" in state:
        return before
    made = _container(pod, container, {"running": {"startedAt": now}}, ready=True)
    crashed = "terminated" in state or dig(state, "waiting", "reason") == "CrashLoopBackOff"
    if crashed:
        made["restartCount"] += 1
        made["containerID"] = _container_id(pod, container["name"], made["restartCount"])
        if "terminated" in state:
            made["lastState"] = {"terminated": state["terminated"]}
    return made


def _initialised(pod: Obj, container: Obj, now: str) -> Obj:
    state = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}
    return {**_container(pod, container, state, ready=True), "started": False}


def _crashed(pod: Obj, container: Obj, now: str) -> Obj:
    before = _known(pod, container["name"])
    started = dig(before, "state", "running", "startedAt", default=now)
    ended = {"exitCode": 1, "reason": "Error", "startedAt": started, "finishedAt": now}
    if before.get("containerID"):
        ended["containerID"] = before["containerID"]
    made = {**before, "ready": False, "started": False}
    if backoff_seconds(pod) and pod["spec"].get("restartPolicy") != "Never":
        message = f"back-off {backoff_seconds(pod):g}s restarting failed container={container['name']}"
        return {**made, "state": _waiting("CrashLoopBackOff", message), "lastState": {"terminated": ended}}
    return {**made, "state": {"terminated": ended}}
