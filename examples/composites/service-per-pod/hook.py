"""ServicePerPod: a Service for every pod of a StatefulSet whose annotation names the ports.

examples.hanse.dev/service-per-pod: "80:8080,9100"      port 80 leads to the pod's 8080, 9100 to 9100
"""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

PORTS = "examples.hanse.dev/service-per-pod"
# Kubernetes puts it on every pod of a StatefulSet.
POD_NAME = "statefulset.kubernetes.io/pod-name"


def sync(request: Obj) -> Obj:
    """Return one Service for each pod that the StatefulSet shall have."""
    target = request["object"]
    first = target["spec"].get("ordinals", {}).get("start", 0)
    ordinals = range(first, first + target["spec"].get("replicas", 1))
    return {"attachments": [service(target, f"{target['metadata']['name']}-{ordinal}") for ordinal in ordinals]}


def finalize(request: Obj) -> Obj:
    """Take all Services away, also where only the annotation is gone, and let the StatefulSet go when none is left."""
    return {"attachments": [], "finalized": not request["attachments"]["Service.v1"]}


def service(target: Obj, pod: str) -> Obj:
    """Make the Service of one pod."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": pod, "labels": {"app.kubernetes.io/part-of": target["metadata"]["name"]}},
        "spec": {"selector": {POD_NAME: pod}, "ports": ports(target["metadata"]["annotations"][PORTS])},
    }


def ports(text: str) -> list[Obj]:
    """Read `PORT[:TARGET],...`."""
    pairs = [entry.partition(":") for entry in text.split(",")]
    return [
        {"name": f"port-{int(port)}", "port": int(port), "targetPort": int(target or port)} for port, _, target in pairs
    ]
