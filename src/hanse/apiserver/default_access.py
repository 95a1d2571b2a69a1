"""The roles and bindings that every cluster has: those that people are given, and those of its own components.

A rule is written as one line: verbs, API groups and resources, apart from each other by bars; `core` is the group "".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hanse.apiserver.controller_access import component_rules, controller_rules, namespaced_rules
from hanse.kube.manifest import Obj

AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_GROUP = "rbac.authorization.k8s.io"
_READ = "get list watch"
_WRITE = "create delete deletecollection patch update"
_ALL = "create delete deletecollection get list patch update watch"
_AGGREGATE = f"{_GROUP}/aggregate-to-"

_EVENTS = "create patch update | core events.k8s.io | events"

_VIEW = (
    (
        f"{_READ} | core | configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods "
        "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status"
    ),
    (
        f"{_READ} | core | bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status "
        "resourcequotas resourcequotas/status"
    ),
    f"{_READ} | core | namespaces",
    f"{_READ} | core events.k8s.io | events",
    f"{_READ} | discovery.k8s.io | endpointslices",
    (
        f"{_READ} | apps | controllerrevisions daemonsets daemonsets/status deployments deployments/scale "
        "deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale "
        "statefulsets/status"
    ),
    f"{_READ} | autoscaling | horizontalpodautoscalers horizontalpodautoscalers/status",
    f"{_READ} | batch | cronjobs cronjobs/status jobs jobs/status",
    (
        f"{_READ} | extensions | daemonsets daemonsets/status deployments deployments/scale deployments/status "
        "ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status "
        "replicationcontrollers/scale"
    ),
    f"{_READ} | policy | poddisruptionbudgets poddisruptionbudgets/status",
    f"{_READ} | networking.k8s.io | ingresses ingresses/status networkpolicies",
    f"{_READ} | resource.k8s.io | resourceclaims resourceclaims/status resourceclaimtemplates",
)
_EDIT = (
    f"{_READ} | core | pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy",
    "impersonate | core | serviceaccounts",
    f"{_WRITE} | core | pods pods/attach pods/exec pods/portforward pods/proxy",
    "create | core | pods/eviction",
    (
        f"{_WRITE} | core | configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale "
        "secrets serviceaccounts services services/proxy"
    ),
    "create | core | serviceaccounts/token",
    f"{_WRITE} | core events.k8s.io | events",
    (
        f"{_WRITE} | apps | daemonsets deployments deployments/rollback deployments/scale replicasets "
        "replicasets/scale statefulsets statefulsets/scale"
    ),
    f"{_WRITE} | autoscaling | horizontalpodautoscalers",
    f"{_WRITE} | batch | cronjobs jobs",
    (
        f"{_WRITE} | extensions | daemonsets deployments deployments/rollback deployments/scale ingresses "
        "networkpolicies replicasets replicasets/scale replicationcontrollers/scale"
    ),
    f"{_WRITE} | policy | poddisruptionbudgets",
    f"{_WRITE} | networking.k8s.io | ingresses networkpolicies",
    f"{_ALL} | coordination.k8s.io | leases",
    f"{_WRITE} | resource.k8s.io | resourceclaims resourceclaimtemplates",
)
_ADMIN = (
    "create | authorization.k8s.io | localsubjectaccessreviews",
    f"{_ALL} | rbac.authorization.k8s.io | rolebindings roles",
)
_REVIEWS = (
    "create | authentication.k8s.io | tokenreviews",
    "create | authorization.k8s.io | subjectaccessreviews",
)
_HEALTH = "/healthz /livez /readyz /version /version/"
_ROLES: dict[str, tuple[str, ...]] = {
    "cluster-admin": ("* | * | *", "* | *"),
    "system:discovery": (
        "get | /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/",
    ),
    "system:basic-user": (
        "create | authorization.k8s.io | selfsubjectaccessreviews selfsubjectrulesreviews",
        "create | authentication.k8s.io | selfsubjectreviews",
    ),
    "system:public-info-viewer": (f"get | {_HEALTH}",),
    "system:monitoring": (
        "get | /flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz",
        "get | core | nodes/metrics",
    ),
    "system:auth-delegator": _REVIEWS,
    "system:service-account-issuer-discovery": (
        "get | /.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
    ),
    "system:kubelet-api-admin": (
        f"{_READ} | core | nodes",
        "proxy | core | nodes",
        "* | core | nodes/log nodes/metrics nodes/proxy nodes/stats",
        "* | core | nodes/configz nodes/healthz nodes/pods",
    ),
    "system:node-bootstrapper": ("create get list watch | certificates.k8s.io | certificatesigningrequests",),
    "system:node-problem-detector": ("get | core | nodes", "patch | core | nodes/status", _EVENTS),
    "system:node-proxier": (
        "list watch | core | endpoints services",
        f"{_READ} | core | nodes",
        _EVENTS,
        "list watch | networking.k8s.io | servicecidrs",
        "list watch | discovery.k8s.io | endpointslices",
    ),
    "system:kube-dns": ("list watch | core | endpoints services",),
    "system:persistent-volume-provisioner": (
        "create delete get list watch | core | persistentvolumes",
        "get list update watch | core | persistentvolumeclaims",
        f"{_READ} | storage.k8s.io | storageclasses",
        "watch | core | events",
        _EVENTS,
    ),
    "system:volume-scheduler": (
        "get list patch update watch | core | persistentvolumes",
        f"{_READ} | storage.k8s.io | storageclasses",
        "get list patch update watch | core | persistentvolumeclaims",
    ),
    "system:kube-controller-manager": (
        _EVENTS,
        "create | coordination.k8s.io | leases",
        "get update | coordination.k8s.io | leases | kube-controller-manager",
        "create | core | secrets serviceaccounts",
        "delete | core | secrets",
        "get | core | configmaps namespaces secrets serviceaccounts",
        "update | core | secrets serviceaccounts",
        *_REVIEWS,
        "list watch | * | *",
        "create | core | serviceaccounts/token",
    ),
    "system:kube-scheduler": (
        _EVENTS,
        "create | coordination.k8s.io | leases",
        "get list update watch | coordination.k8s.io | leases | kube-scheduler",
        f"{_ALL} | coordination.k8s.io | leasecandidates",
        f"{_READ} | core | nodes",
        f"delete {_READ} | core | pods",
        "create | core | bindings pods/binding",
        "patch update | core | pods/status",
        f"{_READ} | core | replicationcontrollers services",
        f"{_READ} | apps extensions | replicasets",
        f"{_READ} | apps | statefulsets",
        f"{_READ} | policy | poddisruptionbudgets",
        f"{_READ} | core | persistentvolumeclaims persistentvolumes",
        *_REVIEWS,
        f"{_READ} | storage.k8s.io | csinodes",
        f"{_READ} | storage.k8s.io | volumeattachments",
        f"{_READ} | core | namespaces",
        f"{_READ} | storage.k8s.io | csidrivers",
        f"{_READ} | storage.k8s.io | csistoragecapacities",
        f"{_READ} | resource.k8s.io | deviceclasses",
        "get list patch update watch | resource.k8s.io | resourceclaims",
        "get list patch update watch | resource.k8s.io | resourceclaims/status",
        "update | core | pods/finalizers",
        f"{_READ} | resource.k8s.io | resourceslices",
        "create delete | resource.k8s.io | resourceclaims",
        "patch update | resource.k8s.io | resourceclaims/binding",
    ),
    "system:node": (
        "create | authentication.k8s.io | tokenreviews",
        "create | authorization.k8s.io | localsubjectaccessreviews subjectaccessreviews",
        f"{_READ} | core | services",
        f"create {_READ} | core | nodes",
        "patch update | core | nodes/status",
        "patch update | core | nodes",
        _EVENTS,
        f"{_READ} | core | pods",
        "create delete | core | pods",
        "patch update | core | pods/status",
        "create | core | pods/eviction",
        f"{_READ} | core | configmaps secrets",
        "get | core | persistentvolumeclaims persistentvolumes",
        "get | core | endpoints",
        f"create {_READ} | certificates.k8s.io | certificatesigningrequests",
        "create delete get patch update | coordination.k8s.io | leases",
        "get | storage.k8s.io | volumeattachments",
        "create | core | serviceaccounts/token",
        "get patch update | core | persistentvolumeclaims/status",
        f"{_READ} | storage.k8s.io | csidrivers",
        "create delete get patch update | storage.k8s.io | csinodes",
        f"{_READ} | node.k8s.io | runtimeclasses",
        "get | resource.k8s.io | resourceclaims",
        "deletecollection | resource.k8s.io | resourceslices",
        "get | core | serviceaccounts",
    ),
}
# Whom a default role is bound to, by the binding's name, which is the role's. Service accounts are of kube-system.
_SUBJECTS: dict[str, tuple[str, ...]] = {
    "cluster-admin": ("Group system:masters",),
    "system:basic-user": ("Group system:authenticated",),
    "system:discovery": ("Group system:authenticated",),
    "system:public-info-viewer": ("Group system:authenticated", "Group system:unauthenticated"),
    "system:monitoring": ("Group system:monitoring",),
    "system:service-account-issuer-discovery": ("Group system:serviceaccounts",),
    "system:kube-controller-manager": ("User system:kube-controller-manager",),
    "system:kube-scheduler": ("User system:kube-scheduler",),
    "system:volume-scheduler": ("User system:kube-scheduler",),
    "system:node-proxier": ("User system:kube-proxy",),
    "system:kube-dns": ("ServiceAccount kube-dns",),
    "system:node": (),
}
# The same within a namespace: the binding, whom it binds and, where that is not its own name, to which role.
_NAMESPACED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("kube-public/system:controller:bootstrap-signer", ("ServiceAccount bootstrap-signer",), ""),
    ("kube-system/system:controller:bootstrap-signer", ("ServiceAccount bootstrap-signer",), ""),
    ("kube-system/system:controller:cloud-provider", ("ServiceAccount cloud-provider",), ""),
    ("kube-system/system:controller:token-cleaner", ("ServiceAccount token-cleaner",), ""),
    (
        "kube-system/system::leader-locking-kube-controller-manager",
        (
            "User system:kube-controller-manager",
            "ServiceAccount kube-controller-manager",
            "ServiceAccount leader-election-controller",
        ),
        "",
    ),
    (
        "kube-system/system::leader-locking-kube-scheduler",
        ("User system:kube-scheduler", "ServiceAccount kube-scheduler"),
        "",
    ),
    (
        "kube-system/system::extension-apiserver-authentication-reader",
        ("User system:kube-controller-manager", "User system:kube-scheduler"),
        "extension-apiserver-authentication-reader",
    ),
)


def default_access() -> Iterator[Obj]:
    """Yield the default roles and bindings as manifests."""
    for name, lines in (_ROLES | component_rules()).items():
        yield _role(name, lines)
    for name, lines in (("admin", _ADMIN), ("edit", _EDIT), ("view", _VIEW)):
        yield _role(f"system:aggregate-to-{name}", lines, f"{_AGGREGATE}{name}")
    # Each with the rules that its selector gathers, in the order of the roles that have them.
    yield _aggregated("admin", (*_EDIT, *_VIEW, *_ADMIN), "")
    yield _aggregated("edit", (*_EDIT, *_VIEW), f"{_AGGREGATE}admin")
    yield _aggregated("view", _VIEW, f"{_AGGREGATE}edit")
    for name, subjects in _SUBJECTS.items():
        yield _binding(name, subjects)
    for name, lines in controller_rules().items():
        yield _role(f"system:controller:{name}", lines)
        yield _binding(f"system:controller:{name}", (f"ServiceAccount {name}",))
    for name, lines in namespaced_rules().items():
        yield _role(name, lines)
    for name, subjects, role in _NAMESPACED:
        yield _binding(name, subjects, role)


def _role(name: str, lines: Sequence[str], label: str = "") -> Obj:
    metadata = _metadata(name, label)
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "Role" if "namespace" in metadata else "ClusterRole",
        "metadata": metadata,
        "rules": [_rule(line) for line in lines],
    }


def _aggregated(name: str, lines: Sequence[str], label: str) -> Obj:
    role = _role(name, lines, label)
    role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {f"{_AGGREGATE}{name}": "true"}}]}
    return role


def _rule(line: str) -> Obj:
    verbs, *rest = (part.split() for part in line.split("|"))
    if len(rest) == 1:
        return {"verbs": verbs, "nonResourceURLs": rest[0]}
    groups, resources, *names = rest
    named = {"resourceNames": names[0]} if names else {}
    return {
        "verbs": verbs,
        "apiGroups": ["" if one == "core" else one for one in groups],
        "resources": resources,
        **named,
    }


def _binding(name: str, subjects: Sequence[str], role: str = "") -> Obj:
    metadata = _metadata(name)
    kind = "Role" if "namespace" in metadata else "ClusterRole"
    bound = {"subjects": [_subject(one) for one in subjects]} if subjects else {}
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        **bound,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": role or metadata["name"]},
    }


def _subject(text: str) -> Obj:
    kind, _, name = text.partition(" ")
    if kind == "ServiceAccount":
        return {"kind": kind, "name": name, "namespace": "kube-system"}
    return {"kind": kind, "apiGroup": _GROUP, "name": name}


def _metadata(name: str, label: str = "") -> Obj:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    if label:
        labels[label] = "true"
    # Names of default roles have no slash but the one after their namespace.
    namespace, _, plain = name.rpartition("/")
    placed = {"name": plain, "namespace": namespace} if namespace else {"name": plain}
    return {**placed, "labels": labels, "annotations": {AUTO_UPDATE: "true"}}
