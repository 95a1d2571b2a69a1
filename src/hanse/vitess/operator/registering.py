"""What each kind has to change in topology, out of its spec and the status that it is about to show."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hanse.api.planetscale.kinds import KEYSPACE_LABEL
from hanse.api.planetscale.reading import read_cell, read_lockserver, read_switches
from hanse.api.vitess_records.topology import CellInfo, TabletAlias
from hanse.kube.manifest import Obj, labels_of, name_of, namespace_of
from hanse.vitess.identity import parse_alias
from hanse.vitess.topology.addresses import TopologyInvalid, cell_info
from hanse.vitess.topology.picture import TopologyPicture
from hanse.vitess.topology.planning import (
    plan_cells,
    plan_keyspace,
    prune_keyspaces,
    prune_shard_cells,
    prune_shards,
    prune_srv_keyspaces,
    prune_tablets,
)
from hanse.vitess.topology.steps import Step, Told


def cluster_steps(
    parent: Obj, status: Obj, picture: TopologyPicture, *, cells: Collection[str] = (), keyspaces: Collection[str] = ()
) -> list[Step]:
    """Return what a VitessCluster registers and prunes: its alias, its cells, and keyspaces that are gone.

    Of `cells` and `keyspaces` there still are objects: what belongs to those is not removed from under them.
    """
    spec, cluster, namespace = parent["spec"], name_of(parent), namespace_of(parent)
    shared, switches = read_lockserver(spec.get("globalLockserver")), read_switches(spec)
    wanted: dict[str, CellInfo] = {}
    steps: list[Step] = []
    for raw in spec.get("cells") or ():
        cell = read_cell(raw)
        try:
            wanted[cell.name] = cell_info(cluster, namespace, shared, cell.name, cell.lockserver)
        except TopologyInvalid as problem:
            steps.append(Told("TopoInvalid", str(problem)))
    named = {str(raw["name"]) for raw in spec.get("cells") or ()}
    leaving = {*(status.get("orphanedCells") or {}), *cells, *named} - set(wanted)
    steps += plan_cells(picture, wanted, leaving, switches)
    asked = {str(raw["name"]) for raw in spec.get("keyspaces") or ()}
    left = {*(status.get("orphanedKeyspaces") or {}), *keyspaces} - asked
    return steps + prune_keyspaces(picture, named, asked, left, switches)


def cell_steps(parent: Obj, status: Obj, picture: TopologyPicture) -> list[Step]:
    """Return what a VitessCell prunes: keyspaces that its vtgates need not know any more."""
    spec = parent["spec"]
    return prune_srv_keyspaces(picture, str(spec["name"]), status.get("keyspaces") or (), read_switches(spec))


def keyspace_steps(parent: Obj, status: Obj, picture: TopologyPicture, *, shards: Collection[str] = ()) -> list[Step]:
    """Return what a VitessKeyspace registers and prunes: itself, and shards that are gone; of `shards` there still are
    objects.
    """
    spec = parent["spec"]
    name = str(spec["name"])
    present = {*(status.get("shards") or {}), *(status.get("orphanedShards") or {}), *_wanted_shards(status), *shards}
    steps = plan_keyspace(picture, name, str(spec.get("durabilityPolicy") or ""), str(spec.get("sidecarDbName") or ""))
    return steps + prune_shards(picture, _own_cells(spec), name, present, read_switches(spec))


def _wanted_shards(status: Obj) -> Iterable[str]:
    return (name for each in status.get("partitionings") or () for name in each["shardNames"])


def _own_cells(spec: Obj) -> list[str]:
    return list(spec.get("allCells") or ())


def shard_steps(parent: Obj, status: Obj, picture: TopologyPicture, *, tablets: Collection[str] = ()) -> list[Step]:
    """Return what a VitessShard prunes: tablets that are gone, and cells in which it is no longer; of `tablets` there
    still are Pods.
    """
    spec, labels = parent["spec"], labels_of(parent)
    keyspace, shard = labels[KEYSPACE_LABEL], str(spec["name"])
    switches, cells = read_switches(spec), _own_cells(spec)
    there = [*(status.get("tablets") or {}), *(status.get("orphanedTablets") or {}), *tablets]
    present = {TabletAlias(*parsed) for alias in there if (parsed := parse_alias(alias)) is not None}
    used = {*(status.get("cells") or ()), *(alias.cell for alias in present)}
    steps = prune_tablets(picture, cells, keyspace, shard, present, switches)
    return steps + prune_shard_cells(picture, cells, keyspace, shard, used, switches)
