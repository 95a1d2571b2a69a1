"""What a VitessCluster hands down: the specs of its cells, keyspaces and shards, and what of them changes in place."""

from __future__ import annotations

from typing import Any

from hanse.api.planetscale.kinds import (
    CELL_LABEL,
    CLUSTER_LABEL,
    KEYSPACE_LABEL,
    VITESS_CELLS,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.api.planetscale.reading import DEFAULT_ENGINE, read_cell, read_lockserver, read_update_strategy, texts
from hanse.api.planetscale.values import LockserverParams
from hanse.kube.manifest import Obj, dig, labels_of, name_of, namespace_of
from hanse.kube.patches.merge_patch import same
from hanse.vitess.federated.splitting import PARENT_LABEL
from hanse.vitess.naming import cell_name, keyspace_name, shard_name
from hanse.vitess.operator.claims import wanted_size
from hanse.vitess.operator.partitions import ShardPlan
from hanse.vitess.operator.rolling import InPlace, taking
from hanse.vitess.operator.shaping import object_of, with_annotations
from hanse.vitess.operator.tablets import ShardPlace
from hanse.vitess.topology.addresses import global_params

# What acts without a restart, at every level.
_POLICIES = ("updateStrategy", "topologyReconciliation", "turndownPolicy")
_HANDED_DOWN = ("imagePullPolicies", "imagePullSecrets", "extraVitessFlags", "topologyReconciliation", "updateStrategy")
_TO_SHARDS = (*_HANDED_DOWN, "globalLockserver", "images", "zoneMap", "backupLocations", "backupEngine", "allCells")


def lockserver_of(cluster: Obj) -> LockserverParams:
    """Return where a VitessCluster's topology is."""
    found = read_lockserver(dig(cluster, "spec", "globalLockserver"))
    return global_params(name_of(cluster), namespace_of(cluster), found)


def _params(params: LockserverParams) -> Obj:
    return {"implementation": params.implementation, "address": params.address, "rootPath": params.root}


def _given(spec: Obj, names: tuple[str, ...]) -> Obj:
    return {name: spec[name] for name in names if spec.get(name) is not None}


def _federated(obj: Obj) -> dict[str, str]:
    """Return the label that says of which federated cluster an object is a part, where it is one."""
    name = labels_of(obj).get(PARENT_LABEL)
    return {PARENT_LABEL: name} if name else {}


def cell_wish(cluster: Obj, raw: Obj, live: Obj | None) -> Obj:
    """Return a VitessCell; how many vtgates it has is the autoscaler's to say once there is one."""
    spec, cell = cluster["spec"], read_cell(raw)
    replicas = cell.gateway.replicas
    if cell.gateway.autoscaler is not None and live is not None:
        replicas = int(dig(live, "spec", "gateway", "replicas", default=replicas))
    body = {
        **raw,
        "gateway": {**(raw.get("gateway") or {}), "replicas": replicas},
        "globalLockserver": _params(lockserver_of(cluster)),
        "allCells": [str(each["name"]) for each in spec.get("cells") or ()],
        "images": _given(spec.get("images") or {}, ("vtgate",)),
        **_given(spec, _HANDED_DOWN),
    }
    labels = {CLUSTER_LABEL: name_of(cluster), CELL_LABEL: cell.name}
    name = cell_name(name_of(cluster), cell.name)
    return object_of(VITESS_CELLS.api_version, VITESS_CELLS.kind, name, labels, spec=body)


def storage_spec(cluster: Obj, location: Obj) -> Obj:
    """Return the spec of a VitessBackupStorage: the location, and what a vtctld needs that looks into it."""
    spec = cluster["spec"]
    subcontroller = dig(spec, "backup", "subcontroller")
    return {
        "location": location,
        **({"subcontroller": subcontroller} if subcontroller else {}),
        "globalLockserver": _params(lockserver_of(cluster)),
        "images": _given(spec.get("images") or {}, ("vtctld",)),
        **_given(spec, ("imagePullPolicies", "imagePullSecrets", "extraVitessFlags")),
    }


def keyspace_wish(cluster: Obj, raw: Obj) -> Obj:
    """Return a VitessKeyspace."""
    spec, name = cluster["spec"], str(raw["name"])
    images = {**(spec.get("images") or {}), **{key: value for key, value in (raw.get("images") or {}).items() if value}}
    body = {
        **{key: value for key, value in raw.items() if key != "annotations"},
        "globalLockserver": _params(lockserver_of(cluster)),
        "allCells": [str(each["name"]) for each in spec.get("cells") or ()],
        "images": images,
        "zoneMap": {str(each["name"]): str(each["zone"]) for each in spec.get("cells") or () if each.get("zone")},
        "backupLocations": list(dig(spec, "backup", "locations", default=[])),
        "backupEngine": str(dig(spec, "backup", "engine", default=DEFAULT_ENGINE)),
        **_given(spec, _HANDED_DOWN),
    }
    labels = {CLUSTER_LABEL: name_of(cluster), KEYSPACE_LABEL: name, **_federated(cluster)}
    made = object_of(
        VITESS_KEYSPACES.api_version, VITESS_KEYSPACES.kind, keyspace_name(name_of(cluster), name), labels, spec=body
    )
    return with_annotations(made, texts(raw.get("annotations")))


def shard_wish(keyspace: Obj, plan: ShardPlan) -> Obj:
    """Return a VitessShard."""
    spec, cluster = keyspace["spec"], labels_of(keyspace)[CLUSTER_LABEL]
    place = ShardPlace(cluster, str(spec["name"]), plan.key_range)
    body = {
        **{key: value for key, value in plan.template.items() if key != "annotations"},
        "name": str(plan.key_range),
        "keyRange": {"start": plan.key_range.start, "end": plan.key_range.end},
        "databaseName": str(spec.get("databaseName") or f"vt_{spec['name']}"),
        **_given(spec, ("vitessOrchestrator", *_TO_SHARDS)),
    }
    name = shard_name(cluster, place.keyspace, plan.key_range.safe_name)
    labels = {**place.labels, **_federated(keyspace)}
    made = object_of(VITESS_SHARDS.api_version, VITESS_SHARDS.kind, name, labels, spec=body)
    return with_annotations(made, texts(plan.template.get("annotations")))


def cell_in_place(before: Obj, wish: Obj) -> Obj:
    """Take over what restarts no vtgate: how many there are, and policies."""
    after = taking(*_POLICIES)(before, wish)
    gateway = {**(before.get("gateway") or {}), "replicas": wish["gateway"]["replicas"]}
    return {**after, "gateway": gateway}


def keyspace_in_place(spec: Obj) -> InPlace:
    """Return what is taken over of a VitessKeyspace: policies, partitionings that come or go, perhaps larger disks."""
    flows = read_update_strategy(spec).storage_flows

    def taken(before: Obj, wish: Obj) -> Obj:
        after = taking(*_POLICIES)(before, wish)
        known = before.get("partitionings") or []
        after["partitionings"] = [
            _merged_partitioning(known, each, flows=flows) for each in wish.get("partitionings") or []
        ]
        return after

    return taken


def _merged_partitioning(known: list[Obj], wish: Obj, *, flows: bool) -> Obj:
    """Return a partitioning as it is already, where it is: one is known by how it divides the keys."""
    for before in known:
        if same(_division(before), _division(wish)):
            return grown(before, wish) if flows else before
    return wish


def _division(partitioning: Obj) -> Obj:
    equal, custom = partitioning.get("equal") or {}, partitioning.get("custom") or {}
    return {
        "parts": int(equal.get("parts") or 0),
        "hexWidth": int(equal.get("hexWidth") or 0),
        "shards": [shard.get("keyRange") or {} for shard in custom.get("shards") or ()],
    }


def shard_in_place(spec: Obj) -> InPlace:
    """Return what is taken over of a VitessShard: policies, and perhaps larger disks."""
    flows = read_update_strategy(spec).storage_flows

    def taken(before: Obj, wish: Obj) -> Obj:
        after = taking(*_POLICIES)(before, wish)
        return grown(after, wish) if flows else after

    return taken


def grown(before: Any, wish: Any) -> Any:
    """Return what there is with the sizes of disks that are asked for, wherever in it claims are described."""
    if isinstance(before, dict) and isinstance(wish, dict):
        if wanted_size(before) and wanted_size(wish) and "accessModes" in wish:
            requests = {**before["resources"]["requests"], "storage": wanted_size(wish)}
            return {**before, "resources": {**before["resources"], "requests": requests}}
        return {name: grown(value, wish[name]) if name in wish else value for name, value in before.items()}
    if isinstance(before, list) and isinstance(wish, list) and len(before) == len(wish):
        return [grown(mine, theirs) for mine, theirs in zip(before, wish, strict=True)]
    return before
