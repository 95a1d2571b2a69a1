"""Pods and their subresources: binding, status, eviction, logs, ephemeral containers; and what is no longer allowed."""

from __future__ import annotations

from typing import Any

from tests.contract.step import TABLE, Step, delete, get, json_patch, manifest, merge, namespace, post, strategic

PODS = "/api/v1/namespaces/pods/pods"


def _pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "app", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}
    return manifest("v1", "Pod", name, metadata={"labels": {"app": "x"}}, spec={"containers": [container], **spec})


_READY = {
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.9",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "app", "ready": True, "restartCount": 2, "image": "nginx", "imageID": "i"}],
    }
}

STEPS: list[Step] = [
    *namespace("pods"),
    post("pods/create", PODS, _pod("a")),
    get("pods/table of a pending one", f"{PODS}/a", accept=TABLE),
    merge("pods/change its image", f"{PODS}/a", {"spec": {"containers": [{"name": "app", "image": "nginx:2"}]}}),
    strategic(
        "pods/change its image in place", f"{PODS}/a", {"spec": {"containers": [{"name": "app", "image": "nginx:2"}]}}
    ),
    strategic("pods/add a container", f"{PODS}/a", {"spec": {"containers": [{"name": "more", "image": "x"}]}}),
    json_patch("pods/name its node", f"{PODS}/a?dryRun=All", [{"op": "add", "path": "/spec/nodeName", "value": "n"}]),
    post("pods/bind", f"{PODS}/a/binding", manifest("v1", "Binding", "a", target={"kind": "Node", "name": "node-x"})),
    post(
        "pods/bind again",
        f"{PODS}/a/binding",
        manifest("v1", "Binding", "a", target={"kind": "Node", "name": "node-x"}),
    ),
    post("pods/bind to nothing", f"{PODS}/a/binding", manifest("v1", "Binding", "a", target={"kind": "Node"})),
    post(
        "pods/bind what is absent",
        f"{PODS}/absent/binding",
        manifest("v1", "Binding", "absent", target={"kind": "Node", "name": "n"}),
    ),
    get("pods/after binding", f"{PODS}/a"),
    merge("pods/report its status", f"{PODS}/a/status", _READY),
    merge("pods/a status that cannot be", f"{PODS}/a/status", {"status": {"phase": "Dreaming"}}),
    get("pods/table of a running one", f"{PODS}/a", accept=TABLE),
    get("pods/by node", f"{PODS}?fieldSelector=spec.nodeName%3Dnode-x"),
    get("pods/by address", f"{PODS}?fieldSelector=status.podIP%3D10.0.0.9"),
    get("pods/log of an absent pod", f"{PODS}/absent/log", accept=""),
    get("pods/log of an absent container", f"{PODS}/a/log?container=zz", accept=""),
    post("pods/evict what is absent", f"{PODS}/absent/eviction", manifest("policy/v1", "Eviction", "absent")),
    post(
        "pods/a budget that forbids",
        "/apis/policy/v1/namespaces/pods/poddisruptionbudgets",
        manifest(
            "policy/v1", "PodDisruptionBudget", "b", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
        ),
    ),
    post("pods/evict under a budget", f"{PODS}/a/eviction", manifest("policy/v1", "Eviction", "a")),
    post(
        "pods/evict dry run",
        f"{PODS}/a/eviction",
        manifest("policy/v1", "Eviction", "a", deleteOptions={"dryRun": ["All"]}),
    ),
    delete("pods/the budget goes", "/apis/policy/v1/namespaces/pods/poddisruptionbudgets/b"),
    post("pods/evict", f"{PODS}/a/eviction", manifest("policy/v1", "Eviction", "a")),
    get("pods/it ends gracefully", f"{PODS}/a"),
    delete("pods/sooner", f"{PODS}/a?gracePeriodSeconds=5"),
    delete("pods/now", f"{PODS}/a", {"gracePeriodSeconds": 0}),
    get("pods/gone", f"{PODS}/a"),
    post("pods/create another", PODS, _pod("b")),
    delete("pods/one without a node goes at once", f"{PODS}/b"),
    post(
        "pods/with every field that has a default",
        PODS,
        _pod(
            "c",
            initContainers=[{"name": "i", "image": "busybox:1", "command": ["true"]}],
            volumes=[
                {"name": "c", "configMap": {"name": "x"}},
                {"name": "s", "secret": {"secretName": "x"}},
                {"name": "e", "emptyDir": {}},
                {"name": "h", "hostPath": {"path": "/x"}},
                {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
                {"name": "d", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            ],
            affinity={
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 1,
                            "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}},
                        }
                    ]
                }
            },
            topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
        ),
    ),
    post(
        "pods/with probes and hooks",
        PODS,
        manifest(
            "v1",
            "Pod",
            "d",
            spec={
                "containers": [
                    {
                        "name": "app",
                        "image": "nginx:latest",
                        "ports": [{"containerPort": 80}],
                        "livenessProbe": {"httpGet": {"port": 80}},
                        "readinessProbe": {"tcpSocket": {"port": 80}},
                        "startupProbe": {"exec": {"command": ["true"]}},
                        "lifecycle": {"preStop": {"httpGet": {"port": "x"}}},
                        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                        "resources": {"limits": {"cpu": "0.5", "memory": "1Gi"}},
                    }
                ]
            },
        ),
    ),
    strategic(
        "pods/ephemeral container",
        f"{PODS}/c/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}},
    ),
    get("pods/quality of service guaranteed", f"{PODS}/d"),
    post("pods/host network", PODS, _pod("e", hostNetwork=True)),
    post(
        "pods/for a service account", PODS, _pod("f", serviceAccountName="default", automountServiceAccountToken=False)
    ),
    delete("pods/all of them", f"{PODS}?labelSelector=app"),
]
