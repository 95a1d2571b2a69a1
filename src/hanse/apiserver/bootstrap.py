"""What every cluster has from its first moment: namespaces, the API's own Service, the user-facing roles."""

from __future__ import annotations

from ipaddress import IPv4Network

from hanse.apiserver import objects
from hanse.apiserver.core import Call, Core
from hanse.apiserver.identity import SERVER
from hanse.apiserver.requests import Options, ResourcePath
from hanse.apiserver.verbs.create import create_object
from hanse.kube.errors import AlreadyExists
from hanse.kube.manifest import Obj
from hanse.kube.resources import gvk
from hanse.kube.transport import Request

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_RBAC = "rbac.authorization.k8s.io/v1"
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_CORE = [
    "configmaps", "endpoints", "events", "limitranges", "persistentvolumeclaims", "pods", "pods/log", "pods/status",
    "replicationcontrollers", "replicationcontrollers/scale", "replicationcontrollers/status", "resourcequotas",
    "resourcequotas/status", "serviceaccounts", "services", "services/status",
]  # fmt: skip
_GROUPS: dict[str, list[str]] = {
    "apps": [
        "controllerrevisions", "daemonsets", "daemonsets/status", "deployments", "deployments/scale",
        "deployments/status", "replicasets", "replicasets/scale", "replicasets/status", "statefulsets",
        "statefulsets/scale", "statefulsets/status",
    ],
    "autoscaling": ["horizontalpodautoscalers", "horizontalpodautoscalers/status"],
    "batch": ["cronjobs", "cronjobs/status", "jobs", "jobs/status"],
    "discovery.k8s.io": ["endpointslices"],
    "networking.k8s.io": ["ingresses", "ingresses/status", "networkpolicies"],
    "policy": ["poddisruptionbudgets", "poddisruptionbudgets/status"],
}  # fmt: skip


async def bootstrap(core: Core) -> None:
    """Make what is missing of that; what is there stays as it is."""
    for manifest in _manifests(core):
        await make(core, manifest)


async def make(core: Core, manifest: Obj) -> None:
    """Create an object in the server's own name unless it exists."""
    served = core.registry.find_kind(*gvk(manifest))
    if served is None:
        return
    metadata = manifest["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if core.storage.get(served.bucket, objects.path_of(namespace, name)) is not None:
        return
    resource = served.resource
    request = Request("POST", resource.path(namespace), headers={"user-agent": "kube-apiserver/"})
    path = ResourcePath(resource.group, resource.version, namespace, resource.plural)
    try:
        await create_object(Call(core, SERVER, request, path, Options(()), served, "create"), manifest)
    except AlreadyExists:
        return


def _manifests(core: Core) -> list[Obj]:
    return [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in _NAMESPACES),
        _kubernetes_service(core),
        *_priority_classes(),
        *_roles(),
    ]


def _kubernetes_service(core: Core) -> Obj:
    first = str(IPv4Network(core.service_network)[1])
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": first,
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    }


_CRITICAL = {
    "system-cluster-critical": (
        2_000_000_000,
        "must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (2_000_001_000, "must not be moved from their current node."),
}


def _priority_classes() -> list[Obj]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": f"Used for system critical pods that {told}",
        }
        for name, (value, told) in _CRITICAL.items()
    ]


def _role(name: str, rules: list[Obj]) -> Obj:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    annotations = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    return {"apiVersion": _RBAC, "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def _rules(verbs: list[str], *, core: list[str] | None = None) -> list[Obj]:
    listed = {"": core if core is not None else _CORE, **_GROUPS}
    return [{"apiGroups": [group], "resources": resources, "verbs": verbs} for group, resources in listed.items()]


def _roles() -> list[Obj]:
    everything = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    view = [*_rules(_READ), {"apiGroups": [""], "resources": ["namespaces"], "verbs": _READ}]
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": _READ + _WRITE}
    run = {"apiGroups": [""], "resources": ["pods/eviction", "serviceaccounts/token"], "verbs": ["create"]}
    edit = [*view, *_rules(_WRITE), secrets, run]
    access = {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["rolebindings", "roles"],
        "verbs": _READ + _WRITE,
    }
    reviews = {
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        "verbs": ["create"],
    }
    myself = {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]}
    paths = {
        "nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", "/version", "/version/"],
        "verbs": ["get"],
    }
    return [
        _role("cluster-admin", everything),
        _role("admin", [*edit, access]),
        _role("edit", edit),
        _role("view", view),
        _role("system:basic-user", [reviews, myself]),
        _role("system:discovery", [paths]),
        _binding("cluster-admin", "system:masters"),
        _binding("system:basic-user", "system:authenticated"),
        _binding("system:discovery", "system:authenticated"),
    ]


def _binding(role: str, group: str) -> Obj:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    return {
        "apiVersion": _RBAC,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role, "labels": labels},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
    }
