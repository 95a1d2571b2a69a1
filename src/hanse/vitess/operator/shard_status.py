"""What a VitessShard shows: each tablet, the primary, whether it serves, and its backups."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.vitess_records.topology import TabletAlias
from hanse.kube.conditions import condition
from hanse.kube.manifest import Obj, dig
from hanse.vitess.identity import parse_alias
from hanse.vitess.operator.cluster_status import UPDATED, any_available
from hanse.vitess.operator.initial_backups import has_initial_backup
from hanse.vitess.operator.pods import is_available, is_ready, is_running
from hanse.vitess.operator.shard_scene import ShardScene
from hanse.vitess.operator.tablet_rolling import TabletState, lowest_generation, tablet_states
from hanse.vitess.operator.tablets import Tablet
from hanse.vitess.operator.verdicts import Tri, ready_condition


def shard_status(scene: ShardScene, orphans: Mapping[str, Mapping[str, Obj]]) -> Obj:
    """Return the status of a VitessShard."""
    states = {state.tablet.name: state for state in tablet_states(scene)}
    tablets = {tablet.alias: _tablet(scene, tablet, states.get(tablet.name)) for tablet in scene.tablets}
    primary = scene.primary or ""
    status: Obj = {
        "tablets": tablets,
        "cells": sorted({pool.cell for pool in scene.template.pools}),
        "vitessOrchestrator": {"available": any_available(scene.observed, "vtorc")},
        "hasMaster": scene.has_primary,
        "hasInitialBackup": has_initial_backup(scene),
        "servingWrites": _serving_writes(scene),
        "idle": _idle(scene),
        "backupLocations": [_location(scene, each.name) for each in scene.locations],
        "lowestPodGeneration": lowest_generation(scene),
        **{kind: dict(those) for kind, those in orphans.items()},
    }
    if primary:
        status["masterAlias"] = primary
    status["conditions"] = [_ready(scene, tablets), _updated(tablets)]
    return status


def _tablet(scene: ShardScene, tablet: Tablet, state: TabletState | None) -> Obj:
    pod, claim = (state.live if state is not None else None), scene.claim(tablet)
    told: Obj = {
        "poolType": str(tablet.pool.type),
        "index": tablet.index,
        "running": Tri.of(None if pod is None else is_running(pod)),
        "ready": Tri.of(None if pod is None else is_ready(pod)),
        "available": Tri.of(None if pod is None else is_available(pod, scene.observed.now)),
        "dataVolumeBound": Tri.of(None if claim is None else dig(claim, "status", "phase") == "Bound"),
        "type": _type(scene, tablet),
    }
    if state is not None and state.pending:
        told["pendingChanges"] = state.pending
    return told


def _type(scene: ShardScene, tablet: Tablet) -> str:
    """Return as what topology knows a tablet, in Vitess' own words."""
    if scene.picture is None or tablet.pool.cell not in scene.picture.local:
        return "unknown"
    cell, uid = parse_alias(tablet.alias) or ("", 0)
    found = scene.picture.local[tablet.pool.cell].tablets.get(TabletAlias(cell, uid))
    return "unknown" if found is None else found.value.type.name.lower()


def _serving_writes(scene: ShardScene) -> Tri:
    if scene.picture is None:
        return Tri.UNKNOWN
    record = scene.picture.shards.get((scene.place.keyspace, str(scene.place.key_range)))
    return Tri.of(record is not None and record.value.is_primary_serving)


def _idle(scene: ShardScene) -> Tri:
    """Tell whether no vtgate of any cell is led to the shard; what one cell does not say is not known."""
    if scene.picture is None:
        return Tri.UNKNOWN
    if scene.picture.serving_cells(scene.place.keyspace, str(scene.place.key_range)):
        return Tri.FALSE
    unread = set(scene.picture.cells) - set(scene.picture.local)
    return Tri.of(None if unread else True)


def _location(scene: ShardScene, name: str) -> Obj:
    backups = scene.backups(name)
    complete = [each for each in backups if dig(each, "status", "complete")]
    incomplete = [each for each in backups if dig(each, "status", "complete") is False]
    told: Obj = {
        "name": name,
        "completeBackups": len(complete),
        "incompleteBackups": len(incomplete),
    }
    times = [time for each in complete if (time := dig(each, "status", "startTime"))]
    return {**told, "latestCompleteBackupTime": max(times)} if times else told


def _ready(scene: ShardScene, tablets: Mapping[str, Obj]) -> Obj:
    behind = sorted(alias for alias, each in tablets.items() if each["ready"] is not Tri.TRUE)
    if behind:
        return ready_condition(scene.parent, False, "TabletsNotReady", f"not ready: {', '.join(behind)}")
    if scene.has_primary is Tri.UNKNOWN:
        return ready_condition(scene.parent, None, "TopologyUnknown", "topology does not say who the primary is")
    if tablets and scene.has_primary is Tri.FALSE:
        return ready_condition(scene.parent, False, "NoPrimary", "the shard has no primary")
    return ready_condition(scene.parent, True, "TabletsReady", "all tablets are ready")


def _updated(tablets: Mapping[str, Obj]) -> Obj:
    waiting = sorted(alias for alias, each in tablets.items() if each.get("pendingChanges"))
    said = f"tablets wait to be made anew: {', '.join(waiting)}" if waiting else ""
    return condition(UPDATED, not waiting, "Scheduled" if waiting else "UpToDate", said)
