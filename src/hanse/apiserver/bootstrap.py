"""What every cluster has from its first moment: namespaces, the API's own Service, the user-facing roles."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from ipaddress import IPv4Network

from hanse.apiserver import objects
from hanse.apiserver.core import Call, Core
from hanse.apiserver.default_access import AUTO_UPDATE, default_access
from hanse.apiserver.identity import SERVER
from hanse.apiserver.registry import Served
from hanse.apiserver.requests import Options, ResourcePath
from hanse.apiserver.verbs.create import create_object
from hanse.kube.errors import AlreadyExists
from hanse.kube.manifest import Obj, annotations_of
from hanse.kube.resources import gvk
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Request

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


async def bootstrap(core: Core) -> None:
    """Make what is missing of that; what is there stays as it is, but for rules that default roles have gained."""
    # At once, so that the first start waits for two group commits rather than for one of each; namespaces first.
    await asyncio.gather(*(make(core, manifest) for manifest in _namespaces()))
    access = (_complete(core, manifest) for manifest in default_access())
    await asyncio.gather(*(make(core, manifest) for manifest in _manifests(core)), *access)


async def _complete(core: Core, manifest: Obj) -> None:
    """Make a default role or binding, or add what it lacks unless somebody has switched that off for it."""
    served = core.registry.find_kind(*gvk(manifest))
    metadata = manifest["metadata"]
    live = core.read(served, metadata.get("namespace", ""), metadata["name"]) if served else None
    if served is None:
        return
    if live is None:
        await _place(core, served, manifest)
        return
    if annotations_of(live).get(AUTO_UPDATE) != "true" or "aggregationRule" in live:
        return
    field = "subjects" if "roleRef" in manifest else "rules"
    present = live.get(field) or []
    missing = [one for one in manifest.get(field) or () if one not in present]
    if missing:
        revision = int(live["metadata"]["resourceVersion"])
        await core.replace(served, {**live, field: [*present, *missing]}, revision)


async def _place(core: Core, served: Served, manifest: Obj) -> None:
    """Store a default role or binding as a create request would; by the hundred, the road of those takes too long."""
    now = timestamp(core.runtime.now())
    owned = {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": manifest["apiVersion"],
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": _owned_fields(manifest),
    }
    given = {"managedFields": [owned], "uid": core.runtime.uid(), "creationTimestamp": now}
    with suppress(AlreadyExists):
        await core.insert(served, {**manifest, "metadata": {**manifest["metadata"], **given}})


def _owned_fields(manifest: Obj) -> Obj:
    """Return all fields of a role or binding as managedFields name them: its lists are atomic."""
    metadata: Obj = {
        f"f:{part}": {".": {}, **{f"f:{name}": {} for name in sorted(manifest["metadata"][part])}}
        for part in ("annotations", "labels")
    }
    gathered: Obj = {}
    if "aggregationRule" in manifest:
        gathered = {"f:aggregationRule": {".": {}, "f:clusterRoleSelectors": {}}}
    lists: Obj = {f"f:{part}": {} for part in ("roleRef", "rules", "subjects") if part in manifest}
    return {**gathered, "f:metadata": metadata, **lists}


async def make(core: Core, manifest: Obj, *, agent: str = "kube-apiserver") -> None:
    """Create an object in the server's own name unless it exists; `agent` is who does it in a real cluster."""
    served = core.registry.find_kind(*gvk(manifest))
    if served is None:
        return
    metadata = manifest["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if core.storage.get(served.bucket, objects.path_of(namespace, name)) is not None:
        return
    resource = served.resource
    request = Request("POST", resource.path(namespace), headers={"user-agent": f"{agent}/"})
    path = ResourcePath(resource.group, resource.version, namespace, resource.plural)
    try:
        await create_object(Call(core, SERVER, request, path, Options(()), served, "create"), manifest)
    except AlreadyExists:
        return


def _namespaces() -> list[Obj]:
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in _NAMESPACES]


def _manifests(core: Core) -> list[Obj]:
    return [_kubernetes_service(core), *_priority_classes(), *_client_authority(core)]


def _client_authority(core: Core) -> list[Obj]:
    """Return what tells servers beside this one whose client certificates to believe."""
    if not core.root_certificate:
        return []
    metadata = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    data = {"client-ca-file": core.root_certificate}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}]


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
