"""What the hooks of the first Vitess operator are asked: the example's VitessCluster, and what exists of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from hanse.kube.manifest import Obj
from hanse.vitess.first import cell, cluster, etcd, keyspace, shard

FOLDER = Path(__file__).parents[4] / "examples" / "vitess" / "first"
CELLS = "VitessCell.vitess.io/v1alpha1"
KEYSPACES = "VitessKeyspace.vitess.io/v1alpha1"
SHARDS = "VitessShard.vitess.io/v1alpha1"
ETCDS = "EtcdCluster.etcd.database.coreos.com/v1beta2"
KINDS = {
    "cluster": (CELLS,),
    "cell": ("Service.v1", "ConfigMap.v1", "Deployment.apps/v1", "Job.batch/v1", ETCDS, KEYSPACES),
    "keyspace": (SHARDS,),
    "shard": ("Pod.v1", "PersistentVolumeClaim.v1", "Job.batch/v1"),
    "etcd": ("Service.v1", "PersistentVolumeClaim.v1", "Pod.v1"),
}
SYNC: dict[str, Callable[[Obj], Obj]] = {
    "cluster": cluster.sync,
    "cell": cell.sync,
    "keyspace": keyspace.sync,
    "shard": shard.sync,
    "etcd": etcd.sync,
}


def vitess(**spec: Any) -> Obj:
    """Return the example's VitessCluster, of which some fields are others; None takes a field away."""
    found: Obj = yaml.safe_load((FOLDER / "my-vitess.yaml").read_text())
    found["spec"] = {key: value for key, value in {**found["spec"], **spec}.items() if value is not None}
    return found


def asked(layer: str, parent: Obj, *existing: Obj) -> Obj:
    """Return what the sync hook of a layer is told."""
    children: dict[str, dict[str, Obj]] = {kind: {} for kind in KINDS[layer]}
    for obj in existing:
        children[f"{obj['kind']}.{obj['apiVersion']}"][obj["metadata"]["name"]] = obj
    return {"controller": {}, "parent": parent, "children": children, "related": {}, "finalizing": False}


def below(layer: str, parent: Obj) -> list[Obj]:
    """Return the children that a parent's hook wants where nothing exists."""
    found: list[Obj] = SYNC[layer](asked(layer, parent))["children"]
    return found


def named(objects: Iterable[Obj], name: str, kind: str = "") -> Obj:
    """Return the object of that name."""
    return next(each for each in objects if each["metadata"]["name"] == name and (not kind or each["kind"] == kind))


def a_cell(name: str = "zone1", **spec: Any) -> Obj:
    return named(below("cluster", vitess(**spec)), f"vitess-{name}")


def a_keyspace(name: str = "main", **spec: Any) -> Obj:
    return named(below("cell", a_cell(**spec)), f"vitess-zone1-{name}")


def a_shard(name: str = "main-x-80", **tablets: Any) -> Obj:
    """Return a shard of the example, of whose tablets some fields are others."""
    keyspace_name = name.split("-", maxsplit=1)[0]
    found = copy.deepcopy(named(below("keyspace", a_keyspace(keyspace_name)), f"vitess-zone1-{name}"))
    found["spec"]["tablets"] |= tablets
    return found


def an_etcd(**spec: Any) -> Obj:
    found = named(below("cell", a_cell("global")), "vitess-global-etcd")
    return {**found, "spec": {**found["spec"], **spec}}


def now(obj: Obj, *conditions: str, leaving: bool = False) -> Obj:
    """Return an object of which conditions hold, or do not if a "!" is before them."""
    told = [{"type": each.removeprefix("!"), "status": "False" if "!" in each else "True"} for each in conditions]
    metadata = {**obj["metadata"], **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else {})}
    return {**obj, "metadata": metadata, "status": {"conditions": told}}


def complete(objects: Iterable[Obj]) -> list[Obj]:
    """Return objects that all do their work."""
    return [now(each, "Ready", "Available", "Complete") for each in objects]
