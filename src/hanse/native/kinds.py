"""Which plain objects are federated: a listed set of kinds, less what must stay where it is."""

from __future__ import annotations

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.kube.manifest import Obj, controller_of, name_of, namespace_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, SECRETS, SERVICES, Resource

DEFAULT_KINDS: tuple[Resource, ...] = (NAMESPACES, CONFIGMAPS, SECRETS, SERVICES, DEPLOYMENTS)

_LOCAL_SECRETS = frozenset(
    {
        "kubernetes.io/service-account-token",
        "bootstrap.kubernetes.io/token",
        "helm.sh/release.v1",
    }
)


def is_federated(obj: Obj, kinds: tuple[Resource, ...] = DEFAULT_KINDS) -> bool:
    """Tell whether an object of a federated kind goes into the members."""
    kind, name, namespace = obj["kind"], name_of(obj), namespace_of(obj)
    if kind == "Namespace":
        return not _is_reserved(name) and name != "default"
    if _is_reserved(namespace):
        return False
    if kind == "Service" and (namespace, name) == ("default", "kubernetes"):
        return False
    if kind == "ConfigMap" and name == "kube-root-ca.crt":
        return False
    if kind == "Secret" and obj.get("type") in _LOCAL_SECRETS:
        return False
    owner = controller_of(obj)
    return owner is None or not any(
        owner["kind"] == other.kind and owner["apiVersion"] == other.api_version for other in kinds
    )


def _is_reserved(namespace: str) -> bool:
    return namespace.startswith("kube-") or namespace == SYSTEM_NAMESPACE
