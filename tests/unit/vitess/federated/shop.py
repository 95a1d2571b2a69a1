"""The worked example: `shop` over east and west, as the fact sheet has it."""

from __future__ import annotations

from copy import deepcopy

from hanse.kube.manifest import Obj
from hanse.vitess.federated.homes import Site
from hanse.vitess.federated.plan import Plan
from hanse.vitess.federated.planning import Facts, Planned, next_plan

EAST_CELLS = ("useast1a", "useast1b", "useast1c")
WEST_CELLS = ("uswest2a", "uswest2b", "uswest2c")
CELLS = (*EAST_CELLS, *WEST_CELLS)
SITES = (Site("east", "us-east-1"), Site("west", "us-west-2"))
GLOBAL = {"implementation": "etcd2", "address": "etcd-global.vt.example:2379", "rootPath": "/vitess/shop/global"}


def pool(cell: str, kind: str = "replica", replicas: int = 1, **more: object) -> Obj:
    """Write a pool of tablets."""
    return {"cell": cell, "type": kind, "replicas": replicas, "mysqld": {}, **more}


def keyspace(name: str, pools: list[Obj], parts: int = 2, **more: object) -> Obj:
    """Write a keyspace in equal parts."""
    template = {"tabletPools": pools, "databaseInitScriptSecret": {"name": "init", "key": "init.sql"}}
    return {"name": name, "partitionings": [{"equal": {"parts": parts, "shardTemplate": template}}], **more}


def cell(name: str, cluster: str) -> Obj:
    """Write a cell with an etcd of its own that every cluster can find."""
    lockserver = {"etcd": {}, "cellInfoAddress": f"etcd-{name}.vt.example:2379"}
    return {"name": name, "cluster": cluster, "lockserver": lockserver}


def shop(**more: object) -> Obj:
    """Write the federated VitessCluster of the example."""
    spec: Obj = {
        "images": {"vttablet": "vitess/lite:v21"},
        "globalLockserver": {"external": GLOBAL},
        "cells": [*(cell(name, "east") for name in EAST_CELLS), *(cell(name, "west") for name in WEST_CELLS)],
        "keyspaces": [keyspace("orders", [pool("useast1a", replicas=2), pool("uswest2a"), pool("uswest2b", "rdonly")])],
    }
    return deepcopy(
        {
            "apiVersion": "planetscale.com/v2",
            "kind": "VitessCluster",
            "metadata": {"name": "shop", "namespace": "vt", "uid": "u1", "generation": 1},
            "spec": spec | more,
        }
    )


def planned(source: Obj, before: Plan | None = None, **facts: object) -> Planned:
    """Plan the example with both of its clusters registered."""
    return next_plan(source, before, Facts(**{"sites": SITES, **facts}))  # type: ignore[arg-type]


def plan_of(source: Obj, before: Plan | None = None, **facts: object) -> Plan:
    """Return a plan of which nothing is refused."""
    found = planned(source, before, **facts)
    assert found.refusals == ()
    return found.plan
