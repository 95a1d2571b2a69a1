"""A VitessKeyspace: its shards, those that must stay for a while, and whether it serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hanse.api.planetscale.kinds import SCHEDULED_ANNOTATION, VITESS_SHARDS
from hanse.api.planetscale.reading import read_update_strategy
from hanse.api.planetscale.values import UpdateType
from hanse.kube.conditions import condition, find_condition
from hanse.kube.manifest import Obj, annotations_of, dig, name_of
from hanse.vitess.operator.cluster_status import UPDATED, pending_of
from hanse.vitess.operator.clusters import Gathered, is_idle
from hanse.vitess.operator.lower_specs import shard_in_place, shard_wish
from hanse.vitess.operator.partitions import given_partitionings, keyspace_shards, partitioning_shards
from hanse.vitess.operator.verdicts import Happening, Observed, Tri, Verdict, ready_condition
from hanse.vitess.tablets.resharding import ReshardingReport

RESYNC_SECONDS = 15.0


def sync_keyspace(parent: Obj, observed: Observed, reshard: ReshardingReport) -> Verdict:
    """Return the shards of a VitessKeyspace; `reshard` is how far a change of their number is."""
    spec, gathered = parent["spec"], Gathered()
    at_once = read_update_strategy(spec).type is UpdateType.IMMEDIATE
    live, wanted = dict(observed.of(VITESS_SHARDS)), []
    for plan in keyspace_shards(spec):
        wish = shard_wish(parent, plan)
        found = live.pop(name_of(wish), None)
        wanted.append((str(plan.key_range), wish, found))
        gathered.roll(VITESS_SHARDS, wish, found, at_once=at_once, in_place=shard_in_place(wish["spec"]))
    for orphan in live.values():
        if not is_idle(orphan):
            said = "it still serves, or it is not known whether it does; switch its traffic to other shards first"
            gathered.keep(orphan, "orphanedShards", str(dig(orphan, "spec", "name")), "Serving", said)
    status = _status(parent, {name: found for name, _, found in wanted}, _resharding(reshard))
    status |= {"resharding": reshard.status} if reshard.status else {}
    gathered.events += [Happening(each.reason, each.message, warning=each.warning) for each in reshard.told]
    status |= {kind: dict(those) for kind, those in gathered.orphans.items()}
    return Verdict(
        tuple(gathered.children), status, tuple(gathered.events), tuple(gathered.marks), again=RESYNC_SECONDS
    )


def _resharding(report: ReshardingReport) -> list[Obj]:
    return [condition("ReshardingActive", *report.active), condition("ReshardingInSync", *report.in_sync)]


def _status(parent: Obj, shards: Mapping[str, Obj | None], conditions: Sequence[Obj]) -> Obj:
    spec = parent["spec"]
    told = {name: shard_summary(live) for name, live in shards.items() if live is not None}
    partitionings = [
        _partitioning([str(plan.key_range) for plan in partitioning_shards(each)], told)
        for _, each in given_partitionings(spec)
    ]
    pools = [pool for plan in keyspace_shards(spec) for pool in plan.template.get("tabletPools") or ()]
    idle = not any(int(pool.get("replicas") or 0) for pool in pools)
    return {
        "desiredShards": len(shards),
        "shards": told,
        "partitionings": partitionings,
        "idle": Tri.of(idle),
        "conditions": [_ready(parent, partitionings, told), _updated(shards), *conditions],
    }


_COUNTS = ("desiredTablets", "tablets", "readyTablets", "updatedTablets")


def shard_summary(live: Obj) -> Obj:
    """Return what a keyspace shows of one of its shards."""
    status = live.get("status") or {}
    tablets: Mapping[str, Obj] = status.get("tablets") or {}
    return {
        "hasMaster": str(status.get("hasMaster") or Tri.UNKNOWN),
        "servingWrites": str(status.get("servingWrites") or Tri.UNKNOWN),
        "desiredTablets": sum(int(pool.get("replicas") or 0) for pool in dig(live, "spec", "tabletPools", default=[])),
        "tablets": sum(each.get("running") in (Tri.TRUE, Tri.FALSE) for each in tablets.values()),
        "readyTablets": sum(each.get("ready") == Tri.TRUE for each in tablets.values()),
        "updatedTablets": sum(
            each.get("running") != Tri.UNKNOWN and not each.get("pendingChanges") for each in tablets.values()
        ),
        **pending_of(live),
        "cells": list(status.get("cells") or ()),
    }


def _partitioning(names: list[str], told: Mapping[str, Obj]) -> Obj:
    shards = [told.get(name) for name in names]
    serving = {str((shard or {}).get("servingWrites") or Tri.UNKNOWN) for shard in shards}
    return {
        "shardNames": names,
        "servingWrites": serving.pop() if len(serving) == 1 else _mixed(serving),
        **{count: sum(int((shard or {}).get(count) or 0) for shard in shards) for count in _COUNTS},
    }


def _mixed(serving: set[str]) -> str:
    return Tri.UNKNOWN if Tri.UNKNOWN in serving else Tri.FALSE


def _ready(parent: Obj, partitionings: Sequence[Obj], told: Mapping[str, Obj]) -> Obj:
    serving = [each for each in partitionings if each["servingWrites"] == Tri.TRUE]
    if not serving:
        return ready_condition(parent, False, "NoServingPartitioning", "no partitioning is known to take writes")
    behind = [
        f"{name}: {told[name]['readyTablets']} of {told[name]['desiredTablets']} tablets are ready"
        for name in serving[0]["shardNames"]
        if told[name]["readyTablets"] < told[name]["desiredTablets"]
    ]
    if behind:
        return ready_condition(parent, False, "TabletsNotReady", "; ".join(behind))
    # Ready tablets without a primary take no write, whatever the records of their shards say.
    headless = [name for name in serving[0]["shardNames"] if told[name]["hasMaster"] != Tri.TRUE]
    if headless:
        return ready_condition(parent, False, "NoPrimary", f"no primary is known of {', '.join(headless)}")
    return ready_condition(parent, True, "TabletsReady", "all tablets that take writes are ready")


def _updated(shards: Mapping[str, Obj | None]) -> Obj:
    waiting = [
        name for name, live in shards.items() if live is not None and SCHEDULED_ANNOTATION in annotations_of(live)
    ]
    behind = [
        name
        for name, live in shards.items()
        if live is None
        or dig(live, "status", "observedGeneration") != dig(live, "metadata", "generation")
        or dig(find_condition(dig(live, "status", "conditions"), UPDATED) or {}, "status") == "False"
    ]
    if waiting:
        return condition(UPDATED, False, "Scheduled", f"shards wait to be released: {', '.join(waiting)}")
    return condition(UPDATED, not behind, "Rolling" if behind else "UpToDate", ", ".join(behind))
