"""What members hold of federated objects, without what differs from one run to the next or marks whose copy it is."""

from __future__ import annotations

from typing import Any

from tests.kubernetes.kubefed.examples import Obj, named
from tests.kubernetes.kubefed.reading import MEMBER_PATHS, read_objects
from tests.kubernetes.real import RealCluster

_LABEL = "kubefed.io/managed"
_OF_ONE_RUN = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
# Hanse's marks, and what a cluster's own controllers write sooner or later.
_OTHERS = ("hanse.dev/", "deployment.kubernetes.io/")
_ALLOCATED = "(allocated)"


def read_members(members: dict[str, RealCluster]) -> dict[str, dict[str, Obj]]:
    """Return by cluster the objects with KubeFed's label, by kind and name."""
    return {name: _read(cluster) for name, cluster in members.items()}


def in_namespaces(found: dict[str, dict[str, Obj]], names: set[str]) -> dict[str, dict[str, Obj]]:
    """Return of what members hold that which is in some namespaces, those included, or has one of these names."""
    return {
        cluster: {key: normalised(obj) for key, obj in sorted(objects.items()) if _belongs(obj, names)}
        for cluster, objects in found.items()
    }


def identities(found: dict[str, dict[str, Obj]]) -> dict[str, Obj]:
    """Return what must stay of every object as long as nobody replaces it: its uid, and what it was given."""
    return {f"{cluster} {key}": _identity(obj) for cluster, objects in found.items() for key, obj in objects.items()}


def normalised(obj: Obj) -> Obj:
    """Return an object as it is in every run, whoever wrote it."""
    uid = obj["metadata"]["uid"]
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _OF_ONE_RUN}
    for part in ("labels", "annotations"):
        kept = {name: value for name, value in (metadata.pop(part, None) or {}).items() if not _is_others(name)}
        if kept:
            metadata[part] = kept
    rest = {name: value for name, value in obj.items() if name not in ("metadata", "status")}
    if obj["kind"] == "Service":
        rest["spec"] = _unallocated(rest["spec"])
    whole: Obj = _replaced({**rest, "metadata": metadata}, uid)
    return whole


def _read(cluster: RealCluster) -> dict[str, Obj]:
    return {f"{obj['kind']} {named(obj)}": obj for obj in read_objects(cluster, MEMBER_PATHS, _LABEL)}


def _belongs(obj: Obj, names: set[str]) -> bool:
    return obj["metadata"].get("namespace", obj["metadata"]["name"]) in names


def _identity(obj: Obj) -> Obj:
    spec = obj.get("spec") or {}
    ports = [port.get("nodePort") for port in spec.get("ports") or []]
    return {"uid": obj["metadata"]["uid"], "clusterIP": spec.get("clusterIP"), "nodePorts": ports}


def _is_others(name: str) -> bool:
    return name.startswith(_OTHERS)


def _unallocated(spec: Obj) -> Obj:
    ports = [{**port, "nodePort": _ALLOCATED} if "nodePort" in port else port for port in spec["ports"]]
    return {**spec, "clusterIP": _ALLOCATED, "clusterIPs": [_ALLOCATED], "ports": ports}


def _replaced(value: Any, uid: str) -> Any:
    """Write an object's own uid, which a Job's selector has, as the word for it."""
    if isinstance(value, dict):
        return {name: _replaced(item, uid) for name, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, uid) for item in value]
    return "(uid)" if value == uid else value
