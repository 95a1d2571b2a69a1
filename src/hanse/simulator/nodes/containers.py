"""The life of one container: waiting, running, ended, restarted after longer and longer pauses.

`advance` is one step from the status that is shown to the one that is true now. Whatever must have been lasting for
a while is asked of a stopwatch, so a kubelet that takes over goes on where the status says that the container is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanse.kube.manifest import Obj, dig, uid_of
from hanse.simulator.nodes.conduct import Course, is_missing
from hanse.simulator.nodes.stopwatch import Stopwatch

_FIRST_BACKOFF_SECONDS = 10.0
_LAST_BACKOFF_SECONDS = 300.0
_PULL_SECONDS = 2.0
# The exit codes of a container that was killed, and of one that heeded being told to stop.
KILLED = 137
TERMINATED = 143


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a container's next step depends on besides itself."""

    pod: Obj
    course: Course
    restarts: bool
    start_seconds: float
    failing: frozenset[str]
    now: str


def waiting(pod: Obj, container: Obj, reason: str) -> Obj:
    """Return the status of a container that has not run yet."""
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": known(pod, container["name"]).get("restartCount", 0),
        "state": {"waiting": {"reason": reason}},
        "lastState": {},
    }


def known(pod: Obj, name: str) -> Obj:
    """Return the status that a pod shows of one of its containers; empty where it shows none."""
    status = pod.get("status") or {}
    entries = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return next((entry for entry in entries if entry.get("name") == name), {})


def advance(container: Obj, before: Obj, around: Circumstances, watch: Stopwatch) -> Obj:
    """Return a container's status after whatever is due by now."""
    if is_missing(before["image"]):
        return _unpullable(before, watch)
    state: Obj = before.get("state") or {}
    if "running" in state:
        return _running(container, before, around, watch)
    if "terminated" in state and not restarts_after(around, state["terminated"]["exitCode"]):
        return before
    again = "terminated" in state or dig(state, "waiting", "reason") == "CrashLoopBackOff"
    if again and not watch.due(_lap(before, "restart"), backoff_seconds(before) + around.start_seconds):
        return before
    return _running(container, _started(before, around, again=again), around, watch)


def restarts_after(around: Circumstances, exit_code: int) -> bool:
    """Tell whether a container that ended so is started again."""
    policy = around.pod["spec"].get("restartPolicy", "Always")
    return around.restarts or policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def backoff_seconds(status: Obj) -> float:
    """Return how long an ended container waits before it is restarted: not at all at first, then longer each time."""
    restarts = int(status.get("restartCount") or 0)
    if restarts == 0:
        return 0.0
    return float(min(_FIRST_BACKOFF_SECONDS * 2.0 ** (restarts - 1), _LAST_BACKOFF_SECONDS))


def ended(before: Obj, around: Circumstances, exit_code: int, reason: str = "") -> Obj:
    """Return the status of a running container that has just ended; one that must wait for its restart says so."""
    state = {
        "exitCode": exit_code,
        "reason": reason or ("Error" if exit_code else "Completed"),
        "startedAt": dig(before, "state", "running", "startedAt", default=around.now),
        "finishedAt": around.now,
    }
    if before.get("containerID"):
        state["containerID"] = before["containerID"]
    made = {**before, "ready": False, "started": False}
    pause = backoff_seconds(before)
    if not pause or not restarts_after(around, exit_code):
        return {**made, "state": {"terminated": state}}
    message = f"back-off {pause:g}s restarting failed container={before['name']}"
    looping = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return {**made, "state": looping, "lastState": {"terminated": state}}


def _unpullable(before: Obj, watch: Stopwatch) -> Obj:
    image = before["image"]
    if watch.due(f"{before['name']}/pull", _PULL_SECONDS):
        reason, message = "ImagePullBackOff", f'Back-off pulling image "{image}"'
    else:
        reason, message = "ErrImagePull", f'failed to pull and unpack image "{image}": not found'
    return {**before, "state": {"waiting": {"reason": reason, "message": message}}}


def _started(before: Obj, around: Circumstances, *, again: bool) -> Obj:
    restarts = int(before.get("restartCount") or 0) + again
    ended_state = dig(before, "state", "terminated")
    return {
        **before,
        "imageID": f"simulated://{before['image']}",
        "containerID": f"simulated://{uid_of(around.pod)}/{before['name']}/{restarts}",
        "restartCount": restarts,
        "state": {"running": {"startedAt": around.now}},
        "lastState": {"terminated": ended_state} if ended_state else before.get("lastState") or {},
    }


def _running(container: Obj, before: Obj, around: Circumstances, watch: Stopwatch) -> Obj:
    course = around.course
    if course.seconds is not None and watch.due(_lap(before, "run"), course.seconds):
        return ended(before, around, course.exit_code)
    started = _passes(container, "startup", before, around, watch)
    doomed = "liveness" if started else "startup"
    if _has_failed(container, doomed, before, around, watch):
        return ended(before, around, KILLED)
    ready = started and _passes(container, "readiness", before, around, watch)
    return {**before, "started": started, "ready": ready}


def _passes(container: Obj, kind: str, before: Obj, around: Circumstances, watch: Stopwatch) -> bool:
    probe = container.get(f"{kind}Probe")
    if probe is None:
        return True
    return kind not in around.failing and watch.due(_lap(before, kind), _seconds(probe, "initialDelaySeconds", 0))


def _has_failed(container: Obj, kind: str, before: Obj, around: Circumstances, watch: Stopwatch) -> bool:
    probe = container.get(f"{kind}Probe")
    lap = _lap(before, f"{kind} fails")
    if probe is None or kind not in around.failing:
        watch.forget(lap)
        return False
    patience = _seconds(probe, "periodSeconds", 10) * _seconds(probe, "failureThreshold", 3)
    return watch.due(lap, _seconds(probe, "initialDelaySeconds", 0) + patience)


def _seconds(probe: Obj, field: str, otherwise: float) -> float:
    value: Any = probe.get(field)
    return float(otherwise if value is None else value)


def _lap(status: Obj, what: str) -> str:
    return f"{status['name']}/{status.get('restartCount', 0)}/{what}"
