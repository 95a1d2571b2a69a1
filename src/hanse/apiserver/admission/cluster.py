"""What a cluster decides about objects by itself: namespaces, service accounts, priorities, addresses."""

from __future__ import annotations

from hanse.apiserver import status
from hanse.apiserver.builtin import admission_for, allocation_for, certificates
from hanse.apiserver.core import Call
from hanse.apiserver.registry import Served
from hanse.kube.manifest import Obj
from hanse.kube.resources import NAMESPACES

# Kept by the server itself, so that their deletion is refused.
_IMMORTAL = ("default", "kube-system", "kube-public")


def check_namespace_accepts(call: Call, obj: Obj) -> None:
    """Refuse a new object whose namespace is absent or going away."""
    resource = call.served.resource
    if not resource.namespaced:
        return
    served = call.core.registry.find("", "v1", "namespaces")
    namespace = call.core.read(served, "", call.namespace) if served else None
    if namespace is None:
        raise status.not_found(NAMESPACES, call.namespace)
    if namespace["metadata"].get("deletionTimestamp"):
        name = obj["metadata"].get("name") or ""
        told = f"unable to create new content in namespace {call.namespace} because it is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {call.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise status.forbidden(resource, name, told, [cause])


def check_namespace_may_go(call: Call) -> None:
    """Refuse the deletion of the namespaces that every cluster has."""
    if call.served.bucket == "core/namespaces" and call.path.name in _IMMORTAL:
        raise status.forbidden(call.served.resource, call.path.name, "this namespace may not be deleted")


def admit_new(call: Call, kind: Served, obj: Obj) -> None:
    """Complete a new object with what the cluster decides."""
    if kind.bucket == certificates.BUCKET:
        certificates.sign_for(call.identity, obj)
    admit = admission_for(kind.bucket)
    if admit is not None:
        admit(call.core, obj)


def allocate(call: Call, kind: Served, obj: Obj, old: Obj | None) -> None:
    """Give an object what only the cluster can give: addresses and ports."""
    give = allocation_for(kind.bucket)
    if give is not None:
        give(call.core, obj, old)
