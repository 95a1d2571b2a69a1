"""VitessKeyspace: from its shards to one VitessShard each. Pure."""

from __future__ import annotations

from hanse.api.vitess.kinds import SHARD_LABEL, VITESS_SHARDS
from hanse.kube.manifest import Obj, name_of
from hanse.vitess.first.levels import absent, holds, inherited, named, of_kind, ready_condition

_SHARDS = f"{VITESS_SHARDS.kind}.{VITESS_SHARDS.api_version}"
# What a keyspace has that is not divided.
_UNSHARDED = ({"name": "0"},)


def sync(request: Obj) -> Obj:
    """Return the shards of a keyspace in one cell, in its order, and its status."""
    keyspace = request["parent"]
    wanted = keyspace["spec"].get("shards") or _UNSHARDED
    observed = of_kind(request["children"], _SHARDS)
    ready = named(each for each in observed if holds(each, "Ready"))
    missing = absent("shard", (shard_name(each) for each in wanted), ready)
    return {
        "status": {"shards": named(observed), "readyShards": ready, "conditions": [ready_condition(missing)]},
        "children": [shard_of(keyspace, each) for each in wanted],
    }


def shard_name(shard: Obj) -> str:
    """Return what Vitess calls a shard: its name, or its key range."""
    if "keyRange" not in shard:
        return str(shard["name"])
    bounds = shard["keyRange"]
    return f"{bounds.get('start', '')}-{bounds.get('end', '')}"


def safe_name(shard: Obj) -> str:
    """Return what a shard is called where a name may not begin or end with a dash."""
    if "keyRange" not in shard:
        return str(shard["name"])
    bounds = shard["keyRange"]
    return f"{bounds.get('start') or 'x'}-{bounds.get('end') or 'x'}"


def shard_of(keyspace: Obj, shard: Obj) -> Obj:
    """Make the object of a shard."""
    spec, safe = keyspace["spec"], safe_name(shard)
    family = inherited(keyspace, SHARD_LABEL, safe)
    return {
        "apiVersion": VITESS_SHARDS.api_version,
        "kind": VITESS_SHARDS.kind,
        "metadata": {"name": f"{name_of(keyspace)}-{safe}", "labels": family["template"]["metadata"]["labels"]},
        "spec": {
            **shard,
            **family,
            "name": shard_name(shard),
            "cluster": spec["cluster"],
            "cell": spec["cell"],
            "cells": spec.get("cells") or [spec["cell"]],
            "keyspace": spec["name"],
            "tablets": spec.get("tablets") or {},
            "backupFlags": spec.get("backupFlags") or {},
        },
    }
