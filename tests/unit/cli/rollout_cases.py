"""Applications, releases and targets as the controllers leave them, for tests of what is read from them."""

from typing import Any

from hanse.api.shipper.kinds import (
    APP_LABEL,
    APPLICATIONS,
    CAPACITY_TARGETS,
    CLUSTERS_ANNOTATION,
    GENERATION_ANNOTATION,
    HASH_LABEL,
    INSTALLATION_TARGETS,
    RELEASE_LABEL,
    RELEASES,
    TRAFFIC_TARGETS,
)
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

STEPS = [
    {
        "name": "staging",
        "capacity": {"incumbent": 100, "contender": 1},
        "traffic": {"incumbent": 100, "contender": 0},
    },
    {
        "name": "full on",
        "capacity": {"incumbent": 0, "contender": 100},
        "traffic": {"incumbent": 0, "contender": 100},
    },
]


def environment(version: str = "0.0.1", **values: Any) -> Obj:
    return {
        "chart": {"name": "nginx", "version": version, "repoUrl": "https://charts.example.com"},
        "values": values or {"replicaCount": 3},
        "clusterRequirements": {"regions": [{"name": "local"}]},
        "strategy": {"steps": STEPS},
    }


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Obj:
    found = {"type": kind, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {**found, **({"reason": reason} if reason else {}), **({"message": message} if message else {})}


def application(name: str = "web", version: str = "0.0.1", *, namespace: str = "shop", **more: Any) -> Obj:
    """An application; `conditions` and `annotations` may be given."""
    made = _object(APPLICATIONS, name, namespace, more.get("annotations") or {}, {})
    made["spec"] = {"revisionHistoryLimit": 3, "template": environment(version)}
    if conditions := more.get("conditions"):
        made["status"] = {"conditions": conditions}
    return made


def release(
    app: str = "web",
    generation: int = 0,
    *,
    version: str = "0.0.1",
    step: int = 0,
    achieved: int | None = None,
    complete: bool = False,
    namespace: str = "shop",
    **more: Any,
) -> Obj:
    """A release named `<app>-<generation>`; `conditions`, `progress`, `annotations`, `deleting` may be given."""
    name = f"{app}-{generation}"
    annotations = {GENERATION_ANNOTATION: str(generation), CLUSTERS_ANNOTATION: "eu", **more.get("annotations", {})}
    made = _object(RELEASES, name, namespace, annotations, _labels(app, name))
    made["spec"] = {"targetStep": step, "environment": environment(version)}
    conditions = [*more.get("conditions", [condition("Scheduled", "True")])]
    if complete:
        conditions.append(condition("Complete", "True"))
    status: Obj = {"conditions": conditions}
    if achieved is not None:
        status["achievedStep"] = {"step": achieved, "name": STEPS[achieved]["name"]}
    for field in ("strategy", "progress"):
        if field in more:
            status[field] = more[field]
    made["status"] = status
    if more.get("deleting"):
        made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return made


def targets(of: Obj, *, percent: int = 100, available: int = 3, weight: int = 100, sad: int = 0) -> list[Obj]:
    """The InstallationTarget, CapacityTarget and TrafficTarget of a release in its cluster `eu`."""
    name, app = of["metadata"]["name"], of["metadata"]["labels"][APP_LABEL]
    ready = [condition("Operational", "True"), condition("Ready", "True")]
    unready = [condition("Ready", "False", "PodsNotReady", '1/3: 1x"app" containers with [CrashLoopBackOff]')]

    def made(resource: Resource, spec: Obj, status: Obj) -> Obj:
        obj = _object(resource, name, of["metadata"]["namespace"], {}, _labels(app, name))
        return {**obj, "spec": spec, "status": {"clusters": [{"name": "eu", "conditions": ready, **status}]}}

    capacity: Obj = {"availableReplicas": available, "achievedPercent": percent}
    if sad:
        pods = [{"name": f"{name}-{index}"} for index in range(sad)]
        capacity |= {"sadPods": pods, "conditions": unready}
    share = {"name": "eu", "percent": percent, "totalReplicaCount": 3}
    return [
        made(INSTALLATION_TARGETS, {"clusters": ["eu"], "canOverride": False}, {}),
        made(CAPACITY_TARGETS, {"clusters": [share]}, capacity),
        made(TRAFFIC_TARGETS, {"clusters": [{"name": "eu", "weight": weight}]}, {"achievedTraffic": weight}),
    ]


def _labels(app: str, name: str) -> dict[str, str]:
    return {APP_LABEL: app, RELEASE_LABEL: name, HASH_LABEL: "71fd5980"}


def _object(resource: Resource, name: str, namespace: str, annotations: Obj, labels: Obj) -> Obj:
    metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
