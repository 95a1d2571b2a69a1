"""A federated VitessCluster into one VitessCluster for each member, every one with its own cells and pools alone.

Names, key ranges and flags are the same everywhere, so that tablets have the identities that one big cluster would give
them; what only one may do is switched on in one member, and what needs to know of all of them in none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hanse.kube.manifest import Obj, annotations_of, dig, labels_of
from hanse.kube.patches.differences import digest
from hanse.vitess.federated.leaving import emptied
from hanse.vitess.federated.plan import Entries, Plan
from hanse.vitess.federated.quorum import lockserver_for
from hanse.vitess.federated.reading import (
    CLUSTER_FIELD,
    FEDERATION_FIELD,
    REGION_FIELD,
    ShardId,
    cell_names,
    cells_of,
    keyspaces_of,
    partitioning_shards,
    pool_cells,
)
from hanse.vitess.federated.staging import with_version

# By this label of the members' objects people find those of one federated cluster.
PARENT_LABEL = "vitess.hanse.dev/federated-cluster"
# On a member's object: a digest of what it was given, by which it is known whether that has arrived.
PART_ANNOTATION = "vitess.hanse.dev/part"
# One member knows too little to do these: whoever sees all of them does (`aliases`, `pruning`).
FEDERATED_SWITCHES = ("registerCellsAliases", "pruneCells", "pruneKeyspaces", "pruneShards")
_WATCH_FLAG = "cells_to_watch"
_NOT_COPIED = ("hanse.dev/", "kubectl.kubernetes.io/")


def split(source: Obj, plan: Plan) -> dict[str, Obj]:
    """Return the VitessCluster of every member of a plan."""
    return {member: member_object(source, plan, member) for member in plan.members}


def member_object(source: Obj, plan: Plan, member: str) -> Obj:
    """Return the VitessCluster of one member."""
    spec = with_version(source.get("spec") or {}, plan.versions.get(member))
    metadata = source["metadata"]
    annotations = {name: text for name, text in annotations_of(source).items() if not name.startswith(_NOT_COPIED)}
    part = _member_spec(spec, metadata["name"], plan, member)
    return {
        "apiVersion": source["apiVersion"],
        "kind": source["kind"],
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata.get("namespace", ""),
            "labels": {**labels_of(source), PARENT_LABEL: metadata["name"]},
            "annotations": {**annotations, PART_ANNOTATION: digest(part)},
        },
        "spec": part,
    }


def _member_spec(spec: Obj, name: str, plan: Plan, member: str) -> Obj:
    leaving = plan.leaving.get(member, Entries())
    own = frozenset(plan.cells_on(member))
    everywhere = [*cell_names(spec), *(cell for cell in plan.homes if cell not in cell_names(spec))]
    cells = [_cell(cell, everywhere) for cell in cells_of(spec) if plan.homes.get(cell.get("name", "")) == member]
    cells += [_cell(cell, everywhere) for _, cell in sorted(leaving.cells.items())]
    keyspaces = [_keyspace(each, own, plan, member) for each in keyspaces_of(spec) if pool_cells(each) & own]
    keyspaces += [each for _, each in sorted(leaving.keyspaces.items())]
    made = {field: value for field, value in spec.items() if field != FEDERATION_FIELD}
    made |= {
        "cells": cells,
        "keyspaces": keyspaces,
        "globalLockserver": lockserver_for(spec, name, plan.quorum, member),
        "topologyReconciliation": {
            **(spec.get("topologyReconciliation") or {}),
            **dict.fromkeys(FEDERATED_SWITCHES, False),
        },
    }
    return _with_own_cells(made, own)


def _cell(cell: Obj, everywhere: Collection[str]) -> Obj:
    """Return a cell whose gateways see the primaries of every member; by themselves they look at their own cells."""
    made = {field: value for field, value in cell.items() if field not in (CLUSTER_FIELD, REGION_FIELD)}
    gateway = made.get("gateway") or {}
    flags = gateway.get("extraFlags") or {}
    if not any(flag.lstrip("-") == _WATCH_FLAG for flag in flags):
        flags = {**flags, _WATCH_FLAG: ",".join(everywhere)}
    return {**made, "gateway": {**gateway, "extraFlags": flags}}


def _with_own_cells(spec: Obj, own: Collection[str]) -> Obj:
    """Have dashboards only in the member's own cells, of those that were asked for."""
    made = dict(spec)
    if wanted := dig(made, "vitessDashboard", "cells"):
        here = [cell for cell in wanted if cell in own]
        # No cells means all of them, so that none at all has to be said by the number.
        made["vitessDashboard"] = {
            **made["vitessDashboard"],
            **({"cells": here} if here else {"cells": [], "replicas": 0}),
        }
    if wanted := dig(made, "vtadmin", "cells"):
        here = [place for place, cell in enumerate(wanted) if cell in own]
        if not here:
            del made["vtadmin"]
            return made
        addresses = made["vtadmin"].get("apiAddresses") or []
        if len(addresses) == len(wanted):
            addresses = [addresses[place] for place in here]
        made["vtadmin"] = {**made["vtadmin"], "cells": [wanted[place] for place in here], "apiAddresses": addresses}
    return made


def _keyspace(keyspace: Obj, own: Collection[str], plan: Plan, member: str) -> Obj:
    """Return a keyspace with all its shards, and of the pools those in the member's cells."""
    name = str(keyspace.get("name", ""))
    partitionings = [_partitioning(each, name, own, plan, member) for each in keyspace.get("partitionings") or ()]
    return {**keyspace, "partitionings": partitionings}


def _partitioning(partitioning: Obj, keyspace: str, own: Collection[str], plan: Plan, member: str) -> Obj:
    shards = partitioning_shards(partitioning)
    if not shards:
        return partitioning
    begins = {
        key_range: plan.initializers.get(ShardId(keyspace, str(key_range))) == member for key_range, _, _ in shards
    }
    equal = partitioning.get("equal")
    if equal is not None and len(set(begins.values())) == 1:
        template = _template(equal.get("shardTemplate") or {}, own, begins[shards[0][0]])
        return {**partitioning, "equal": {**equal, "shardTemplate": template}}
    # One template cannot say who begins where that differs from shard to shard: they are written out.
    custom = [
        {
            **_template(template, own, begins[key_range]),
            "keyRange": {"start": key_range.start, "end": key_range.end},
        }
        for key_range, template, _ in shards
    ]
    rest = {field: value for field, value in partitioning.items() if field not in ("equal", "custom")}
    return {**rest, "custom": {**(partitioning.get("custom") or {}), "shards": custom}}


def _template(template: Obj, own: Collection[str], begins: bool) -> Obj:
    pools = [pool for pool in template.get("tabletPools") or () if pool.get("cell") in own]
    replication: Mapping[str, object] = template.get("replication") or {}
    # What is not said means yes upstream, and that in every member at once.
    said = {field: begins and replication.get(field) is not False for field in ("initializeMaster", "initializeBackup")}
    return {**template, "tabletPools": pools, "replication": {**replication, **said}}


def placed_entries(source: Obj, plan: Plan) -> dict[str, Entries]:
    """Return what each member is given of cells and keyspaces, without tablets: it has to be remembered."""
    spec = source.get("spec") or {}
    found = {}
    for member in sorted({plan.homes[cell] for cell in cell_names(spec) if cell in plan.homes}):
        own = frozenset(plan.cells_on(member))
        cells = {cell["name"]: _bare(cell) for cell in cells_of(spec) if plan.homes.get(cell["name"]) == member}
        keyspaces = {each["name"]: emptied(each) for each in keyspaces_of(spec) if pool_cells(each) & own}
        found[member] = Entries(cells, keyspaces)
    return found


def _bare(cell: Obj) -> Obj:
    return {field: value for field, value in cell.items() if field not in (CLUSTER_FIELD, REGION_FIELD)}
