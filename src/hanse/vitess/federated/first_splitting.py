"""A VitessCluster of the first generation into one for each member: by its cells, as the second's is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hanse.api.vitess.kinds import GLOBAL_CELL
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of
from hanse.vitess.federated.reading import CLUSTER_FIELD, FEDERATION_FIELD, REGION_FIELD, cells_of, keyspaces_of
from hanse.vitess.federated.refusal import Refusal
from hanse.vitess.federated.splitting import PARENT_LABEL

ADDRESS_FIELD = "spec.federation.topoGlobalServerAddress"
_ADDRESS_FLAG, _WATCH_FLAG = "topo_global_server_address", "cells_to_watch"
_NOT_COPIED = ("hanse.dev/", "kubectl.kubernetes.io/")


def first_homes(spec: Obj) -> dict[str, str]:
    """Return the cluster of every cell that names one."""
    return {str(cell.get("name")): str(cell[CLUSTER_FIELD]) for cell in cells_of(spec) if cell.get(CLUSTER_FIELD)}


def first_refusals(spec: Obj, before: Mapping[str, str]) -> list[Refusal]:
    """Say what keeps a VitessCluster from being split; `before` is where its cells are."""
    found, homes = [], first_homes(spec)
    seen: dict[str, str] = {}
    for place, cell in enumerate(cells_of(spec)):
        name, home, field = str(cell.get("name")), cell.get(CLUSTER_FIELD), f"spec.cells[{place}].{CLUSTER_FIELD}"
        if not home:
            found.append(Refusal(field, f"name the cluster of cell {name}"))
        elif seen.setdefault(name, home) != home:
            found.append(
                Refusal(field, f"cell {name} is in clusters {seen[name]} and {home}; a cell is in one cluster")
            )
        elif before.get(name, home) != home:
            sentence = (
                f"cell {name} is in cluster {before[name]}, and its data does not move to {home}; remove it first"
            )
            found.append(Refusal(field, sentence))
    if GLOBAL_CELL not in homes:
        found.append(Refusal("spec.cells", f"list the cell {GLOBAL_CELL}, which has the etcd and the vtctld of all"))
    elif len(set(homes.values())) > 1 and not _address(spec):
        sentence = f"give the address at which pods of every cluster reach the etcd of cell {GLOBAL_CELL}"
        found.append(Refusal(ADDRESS_FIELD, sentence))
    for place, keyspace in enumerate(keyspaces_of(spec)):
        unknown = [cell for cell in keyspace.get("cells") or () if cell not in seen]
        field = f"spec.keyspaces[{place}].cells"
        found += [Refusal(field, f"no cell {cell!r} is listed in spec.cells") for cell in unknown]
    return found


def _address(spec: Obj) -> str:
    return str(dig(spec, FEDERATION_FIELD, "topoGlobalServerAddress", default=""))


def split_first(source: Obj) -> dict[str, Obj]:
    """Return the VitessCluster of every member: its cells, and the keyspaces that have tablets in them."""
    spec = source.get("spec") or {}
    homes = first_homes(spec)
    return {member: _part(source, spec, homes, member) for member in sorted(set(homes.values()))}


def _part(source: Obj, spec: Obj, homes: Mapping[str, str], member: str) -> Obj:
    metadata, own = source["metadata"], [cell for cell, home in homes.items() if home == member]
    everywhere = [cell for cell in homes if cell != GLOBAL_CELL]
    address = _address(spec)
    made = {field: value for field, value in spec.items() if field != FEDERATION_FIELD}
    made["cells"] = [_cell(cell, everywhere, address) for cell in cells_of(spec) if cell.get("name") in own]
    made["keyspaces"] = [
        _keyspace(each, own, address) for each in keyspaces_of(spec) if set(each.get("cells") or ()) & set(own)
    ]
    annotations = {name: text for name, text in annotations_of(source).items() if not name.startswith(_NOT_COPIED)}
    kept = {"annotations": annotations} if annotations else {}
    labels = {**labels_of(source), PARENT_LABEL: metadata["name"]}
    named = {"name": metadata["name"], "namespace": metadata.get("namespace", ""), "labels": labels}
    return {"apiVersion": source["apiVersion"], "kind": source["kind"], "metadata": {**named, **kept}, "spec": made}


def _cell(cell: Obj, everywhere: Sequence[str], address: str) -> Obj:
    made = {field: value for field, value in cell.items() if field not in (CLUSTER_FIELD, REGION_FIELD)}
    for component in ("vtctld", "vtgate"):
        if component in made:
            flags = {_ADDRESS_FLAG: address} if address else {}
            if component == "vtgate":
                flags[_WATCH_FLAG] = ",".join(everywhere)
            made[component] = _flagged(made[component], flags)
    return made


def _keyspace(keyspace: Obj, own: Sequence[str], address: str) -> Obj:
    made = {**keyspace, "cells": [cell for cell in keyspace.get("cells") or () if cell in own]}
    if address:
        tablets = made.get("tablets") or {}
        defaults = tablets.get("defaults") or {}
        vttablet = _flagged(defaults.get("vttablet") or {}, {_ADDRESS_FLAG: address})
        made["tablets"] = {**tablets, "defaults": {**defaults, "vttablet": vttablet}}
    return made


def _flagged(component: Obj, flags: Mapping[str, str]) -> Obj:
    """Return a component with flags that its user's own win over."""
    return {**component, "flags": {**flags, **(component.get("flags") or {})}}
