"""Small workloads and pods for the tables of the workload controllers' decisions."""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Key, Obj
from hanse.kube.runtime import timestamp
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.controller_revisions import POD_REVISION, new_revision

NOW = 1_800_000_000.0


def workload(kind: str, spec: Obj, *, name: str = "web", status: Obj | None = None, **metadata: Any) -> Obj:
    """Make a workload of a kind with one container, created a minute ago."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}}
    group = {"Job": "batch/v1", "CronJob": "batch/v1"}.get(kind, "apps/v1")
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-of-{name}",
            "generation": 1,
            "creationTimestamp": timestamp(NOW - 60),
            **metadata,
        },
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template, **spec},
        "status": status or {},
    }


def revision_of(owner: Obj, number: int = 1, image: str = "nginx:1") -> Obj:
    """Make a ControllerRevision of a workload with an image."""
    containers = [{"name": "main", "image": image}]
    template = {**owner["spec"]["template"], "spec": {"containers": containers}}
    made = new_revision({**owner, "spec": {**owner["spec"], "template": template}}, number)
    made["metadata"]["uid"] = f"uid-of-revision-{number}"
    return made


def pod(name: str, revision: str = "", **facts: Any) -> PodFacts:
    """Make a pod that has been running and ready for half a minute, unless told otherwise."""
    said = {
        "phase": "Running",
        "ready": True,
        "ready_since": NOW - 30,
        "created": NOW - 40,
        "node": "node-1",
        "owner_uid": "uid-of-web",
        **facts,
    }
    return PodFacts(key=Key("default", name), uid=f"uid-{name}", labels={"app": "web", POD_REVISION: revision}, **said)


def starting(name: str, revision: str = "", **facts: Any) -> PodFacts:
    """Make a pod that is not ready yet."""
    return pod(name, revision, **{"ready": False, "phase": "Pending", **facts})
