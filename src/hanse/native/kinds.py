"""Which plain objects are federated: a listed set of kinds, less what must stay where it is."""

from __future__ import annotations

from collections.abc import Collection

from hanse.api.admiralty.keys import JOB_MANAGER
from hanse.api.kubefed.forms import GROUPS as KUBEFED_GROUPS
from hanse.api.names import AGENT_NAMESPACE_PREFIX, FEDERATE_ANNOTATION, SYSTEM_NAMESPACE
from hanse.api.plain_kinds import (
    AUTOSCALERS,
    CLAIMS,
    CRON_JOBS,
    DAEMON_SETS,
    DISRUPTION_BUDGETS,
    INGRESSES,
    JOBS,
    LIMIT_RANGES,
    NETWORK_POLICIES,
    PRIORITY_CLASSES,
    QUOTAS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from hanse.api.shipper.kinds import GLOBAL_BLOCKS_NAMESPACE
from hanse.api.shipper.kinds import SYSTEM_NAMESPACE as SHIPPER_NAMESPACE
from hanse.kube.manifest import Obj, annotations_of, controller_of, dig, name_of, namespace_of
from hanse.kube.resources import (
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    REPLICASETS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)

# Federated without being asked. Roles and their bindings are not: whoever may write one on the federation would hand
# out rights in every cluster. Kinds that say what a whole cluster is like are not either.
DEFAULT_KINDS: tuple[Resource, ...] = (
    NAMESPACES,
    CONFIGMAPS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    CLAIMS,
    LIMIT_RANGES,
    QUOTAS,
    PRIORITY_CLASSES,
    DEPLOYMENTS,
    REPLICASETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
    DAEMON_SETS,
    JOBS,
    CRON_JOBS,
    AUTOSCALERS,
    DISRUPTION_BUDGETS,
    INGRESSES,
    NETWORK_POLICIES,
)

_LOCAL_SECRETS = frozenset(
    {
        "kubernetes.io/service-account-token",
        "bootstrap.kubernetes.io/token",
        "helm.sh/release.v1",
    }
)
# Kinds of which every cluster has its own; and the groups of the federation's own kinds.
_NEVER = {
    ("", "Event"): "events tell of one cluster",
    ("events.k8s.io", "Event"): "events tell of one cluster",
    ("coordination.k8s.io", "Lease"): "a lease elects somebody within one cluster",
    ("", "Endpoints"): "endpoints are the addresses of one cluster's pods",
    ("discovery.k8s.io", "EndpointSlice"): "endpoints are the addresses of one cluster's pods",
    ("", "Node"): "nodes are what a cluster is made of",
    ("", "Pod"): "pods are made in the clusters by what is federated, e.g. a Deployment",
}
_OWN_GROUPS = frozenset(
    {
        "hanse.dev",
        "clusterregistry.k8s.io",
        "federation",
        *KUBEFED_GROUPS,
        "multicluster.admiralty.io",
        "shipper.booking.com",
    }
)

# Hanse's own, and Shipper's: what is in them is the host's, the credentials of clusters among it.
RESERVED_NAMESPACES = (SYSTEM_NAMESPACE, SHIPPER_NAMESPACE, GLOBAL_BLOCKS_NAMESPACE)


def why_never(resource: Resource) -> str:
    """Say why a kind can never be federated, "" where it can."""
    if resource.group in _OWN_GROUPS:
        return "it is one of the federation's own kinds"
    return _NEVER.get((resource.group, resource.kind), "")


def is_federated(obj: Obj, kinds: Collection[Resource] = DEFAULT_KINDS) -> bool:
    """Tell whether an object of a federated kind goes into the members."""
    if annotations_of(obj).get(FEDERATE_ANNOTATION) == "false" or _is_furniture(obj):
        return False
    owner = controller_of(obj)
    return owner is None or not any(
        owner["kind"] == other.kind and owner["apiVersion"] == other.api_version for other in kinds
    )


def _is_furniture(obj: Obj) -> bool:
    """Tell whether an object is the host's own: what Kubernetes and Hanse need there, and every cluster has itself."""
    kind, name, namespace = obj["kind"], name_of(obj), namespace_of(obj)
    if _is_reserved(namespace):
        return True
    match kind:
        case "Namespace":
            return _is_reserved(name) or name == "default"
        case "Service":
            return (namespace, name) == ("default", "kubernetes")
        case "ConfigMap":
            return name == "kube-root-ca.crt"
        case "ServiceAccount":
            return name == "default"
        case "Job":
            # It runs whole in one cluster, by another door.
            return bool(dig(obj, "spec", "managedBy") == JOB_MANAGER)
        case "Secret":
            return obj.get("type") in _LOCAL_SECRETS
        case "PriorityClass" | "ClusterRole" | "ClusterRoleBinding":
            return name.startswith(("system-", "system:", "hanse:"))
        case "CustomResourceDefinition":
            return dig(obj, "spec", "group") in _OWN_GROUPS
    return False


def _is_reserved(namespace: str) -> bool:
    return namespace.startswith(("kube-", AGENT_NAMESPACE_PREFIX)) or namespace in RESERVED_NAMESPACES
