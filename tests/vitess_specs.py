"""VitessClusters for tests, in their smallest form."""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Obj

CLAIM: Obj = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def pool(cell: str = "zone1", replicas: int = 3, **more: Any) -> Obj:
    """Return a pool of replicas with MySQL of their own."""
    made: Obj = {"cell": cell, "type": "replica", "replicas": replicas, "mysqld": {}, "dataVolumeClaimTemplate": CLAIM}
    return {**made, **more}


def template(*pools: Obj, **more: Any) -> Obj:
    """Return what a shard consists of."""
    script = {"name": "example-cluster-config", "key": "init_db.sql"}
    return {"databaseInitScriptSecret": script, "tabletPools": list(pools), **more}


def keyspace(name: str = "commerce", parts: int = 1, *pools: Obj, **more: Any) -> Obj:
    """Return a keyspace in equal parts."""
    made: Obj = {
        "name": name,
        "partitionings": [{"equal": {"parts": parts, "shardTemplate": template(*(pools or (pool(),)))}}],
    }
    return {**made, **more}


def vitess_cluster(name: str = "example", **spec: Any) -> Obj:
    """Return a VitessCluster of one cell and one keyspace."""
    body: Obj = {"cells": [{"name": "zone1"}], "keyspaces": [keyspace()], **spec}
    return {
        "apiVersion": "planetscale.com/v2",
        "kind": "VitessCluster",
        "metadata": {"name": name, "namespace": "default"},
        "spec": body,
    }
