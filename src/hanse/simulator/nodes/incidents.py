"""What a kubelet tells in events when a pod's status changes for the worse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig, name_of, namespace_of
from hanse.simulator.nodes.conduct import failing_probes
from hanse.simulator.nodes.containers import KILLED, known

_REFUSED = "connect: connection refused"


@dataclass(frozen=True, slots=True)
class Incident:
    """One event of a pod."""

    reason: str
    message: str
    warning: bool = True


def incidents_between(pod: Obj, status: Obj) -> Iterator[Incident]:
    """Yield what happened to a pod on the way from the status that it shows to another."""
    if status.get("reason") == "Evicted" and dig(pod, "status", "reason") != "Evicted":
        yield Incident("Evicted", status["message"])
    for entry in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        before = known(pod, entry["name"])
        if before.get("state") != entry.get("state"):
            yield from _of_state(pod, before, entry)
        elif before.get("ready") and not entry["ready"]:
            yield from _of_probes(pod)


def _of_state(pod: Obj, before: Obj, entry: Obj) -> Iterator[Incident]:
    name = entry["name"]
    reason = dig(entry, "state", "waiting", "reason", default="")
    if reason == "ErrImagePull":
        yield Incident("Failed", f'Failed to pull image "{entry["image"]}": {entry["state"]["waiting"]["message"]}')
    if reason == "ImagePullBackOff":
        yield Incident("BackOff", entry["state"]["waiting"]["message"], warning=False)
    ended = dig(entry, "state", "terminated") or (dig(entry, "lastState", "terminated") if reason else None)
    if ended and "running" in (before.get("state") or {}) and ended["exitCode"] == KILLED:
        kind = "liveness" if before.get("started") else "startup"
        yield from _of_probes(pod)
        told = f"Container {name} failed {kind} probe, will be restarted"
        yield Incident("Killing", told, warning=False)
    if reason == "CrashLoopBackOff":
        where = f"{name_of(pod)}_{namespace_of(pod)}({pod['metadata'].get('uid', '')})"
        yield Incident("BackOff", f"Back-off restarting failed container {name} in pod {where}")


def _of_probes(pod: Obj) -> Iterator[Incident]:
    address = dig(pod, "status", "podIP", default="")
    for kind in sorted(failing_probes(pod) & {"readiness", "liveness", "startup"}):
        yield Incident("Unhealthy", f"{kind.capitalize()} probe failed: dial tcp {address}: {_REFUSED}")
