"""What a release has in each of its clusters, as its targets tell of it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hanse.api.shipper.kinds import CLUSTERS_ANNOTATION
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.rollouts.door import share_of

# What a kubelet says of a container that has failed; other words come up whenever one starts.
_FAILURES = frozenset(
    {
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "InvalidImageName",
        "RegistryUnavailable",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "PreStartHookError",
        "PostStartHookError",
        "Error",
        "OOMKilled",
        "ContainerCannotRun",
        "StartError",
        "DeadlineExceeded",
        "Evicted",
    }
)


@dataclass(frozen=True, slots=True)
class Targets:
    """A release's three targets, None where one does not exist."""

    installation: Obj | None = None
    capacity: Obj | None = None
    traffic: Obj | None = None


NO_TARGETS = Targets()


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """What a release has in one cluster: pods available of those wanted, traffic, and what is wrong."""

    name: str
    available: int = 0
    desired: int = 0
    percent: int = 0
    achieved_percent: int = 0
    weight: int = 0
    achieved_weight: int = 0
    installed: bool = False
    sad_pods: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    failing: bool = False


def clusters_of(release: Obj, targets: Targets) -> tuple[ClusterReading, ...]:
    """Return what a release has in each of its clusters, in order of name."""
    chosen = [name for name in annotations_of(release).get(CLUSTERS_ANNOTATION, "").split(",") if name]
    named = {name for kind in ("capacity", "traffic") for name in _entries(getattr(targets, kind), "spec")}
    return tuple(_cluster(name, targets) for name in sorted({*chosen, *named}))


def _cluster(name: str, targets: Targets) -> ClusterReading:
    wanted, shown = _entries(targets.capacity, "spec").get(name, {}), _entries(targets.capacity, "status").get(name, {})
    weighted, led = _entries(targets.traffic, "spec").get(name, {}), _entries(targets.traffic, "status").get(name, {})
    installed = _entries(targets.installation, "status").get(name, {})
    percent, total = int(wanted.get("percent") or 0), int(wanted.get("totalReplicaCount") or 0)
    return ClusterReading(
        name=name,
        available=int(shown.get("availableReplicas") or 0),
        desired=share_of(total, percent),
        percent=percent,
        achieved_percent=int(shown.get("achievedPercent") or 0),
        weight=int(weighted.get("weight") or 0),
        achieved_weight=int(led.get("achievedTraffic") or 0),
        installed=is_true(installed.get("conditions"), "Ready"),
        sad_pods=tuple(str(pod.get("name", "")) for pod in shown.get("sadPods") or ()),
        problems=_problems(installed, shown, led),
        failing=any(map(_is_failure, shown.get("conditions") or ())),
    )


def _entries(target: Obj | None, part: str) -> dict[str, Obj]:
    entries = dig(target, part, "clusters", default=[]) if target is not None else []
    return {entry["name"]: entry for entry in entries if isinstance(entry, dict)}


def _is_failure(condition: Obj) -> bool:
    """Tell whether a condition says that pods have failed, and not merely that they are yet to be ready."""
    if condition.get("status") != "False":
        return False
    if condition.get("reason") == "DeploymentStuck":
        return True
    reasons = " ".join(re.findall(r"\[([^\]]*)\]", str(condition.get("message") or "")))
    return not _FAILURES.isdisjoint(reasons.split())


def _problems(*entries: Obj) -> tuple[str, ...]:
    """Return what is wrong, each sentence once: several conditions may give it under reasons of their own."""
    told: dict[str, str] = {}
    for entry in entries:
        for found in entry.get("conditions") or ():
            if found.get("status") == "False":
                reason, message = str(found.get("reason") or ""), str(found.get("message") or "")
                told.setdefault(message or reason, f"{reason}: {message}" if reason and message else reason or message)
    return tuple(each for each in told.values() if each)
