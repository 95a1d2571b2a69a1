"""How an API server is told of the first Vitess operator's kinds: schemas, columns, and what is refused.

Users write the VitessCluster alone, so it is there that a wrong field is refused. The kinds below it are written by
their controllers, which add a few fields on each level.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column, definition
from hanse.api.vitess.kinds import ETCD_CLUSTERS, VITESS_CELLS, VITESS_CLUSTERS, VITESS_KEYSPACES, VITESS_SHARDS
from hanse.api.vitess.schemas import (
    BACKUP_FLAGS,
    CELL,
    CELL_NAME,
    COMPONENT_STATUS,
    CONDITIONS,
    FAMILY,
    KEYSPACE,
    OBSERVED,
    SHARD_BOUNDS,
    TABLETS,
    count,
    mapped,
    names,
    validations,
)
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

KNOWN_CELLS = "keyspaces[].cells must name cells of spec.cells"
PLAIN_NAME = "metadata.name becomes part of the names of Services: lower-case letters, digits and -, a letter first"
SHORT_NAMES = "metadata.name and a cell's name must have 35 characters together at most: Jobs are named after both"
FIXED_SIZE = "size cannot be changed: members of a running etcd are added and removed by etcdctl; make another one"

_CELLS_ARE_KNOWN = (
    "!has(self.keyspaces) || self.keyspaces.all(keyspace, keyspace.cells.all(cell, "
    "self.cells.exists(known, known.name == cell)))"
)
_VITESS = ("vitess",)
_CLUSTER_NAME = text("The VitessCluster")
_AGE = column("Age", "date", ".metadata.creationTimestamp")


def _condition(kind: str, field: str = "status") -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{field}'


def _kind(
    resource: Resource,
    short: str,
    description: str,
    spec: dict[str, Any],
    status: dict[str, Any],
    *columns: dict[str, Any],
    rules: tuple[tuple[str, str], ...] = (),
) -> Obj:
    told = {**status, "observedGeneration": OBSERVED, "conditions": CONDITIONS}
    properties = {
        "apiVersion": text(),
        "kind": text(),
        "metadata": {"type": "object"},
        "spec": spec,
        "status": record(told, "What is the case; written by the operator"),
    }
    shown = [
        *columns,
        column("Ready", "string", _condition("Ready")),
        column("Updated", "string", _condition("Updated")),
        column("Why", "string", _condition("Ready", "message"), priority=1),
        _AGE,
    ]
    schema = record(properties, description, required=["spec"], **(validations(*rules) if rules else {}))
    return definition(resource, schema, shown, short=(short,), categories=_VITESS, status=True)


VITESS_CLUSTER_CRD = _kind(
    VITESS_CLUSTERS,
    "vt",
    "A Vitess cluster as one object: its cells and keyspaces.",
    record(
        {
            **FAMILY,
            "cells": mapped("Its failure domains; that named global holds etcd and vtctld", CELL, 50, minItems=1),
            "keyspaces": mapped("Its databases", KEYSPACE, 100),
            "backupFlags": BACKUP_FLAGS,
        },
        "What it consists of",
        required=["selector", "template", "cells"],
        **validations((_CELLS_ARE_KNOWN, KNOWN_CELLS)),
    ),
    {"cells": names("The cells that exist"), "readyCells": names("Those that are ready")},
    column("Cells", "string", ".status.readyCells"),
    rules=(
        ("self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')", PLAIN_NAME),
        ("self.spec.cells.all(cell, self.metadata.name.size() + cell.name.size() <= 35)", SHORT_NAMES),
    ),
)

VITESS_CELL_CRD = _kind(
    VITESS_CELLS,
    "vtc",
    "One cell of a VitessCluster, which is the place to change it.",
    record(
        {
            **FAMILY,
            **CELL["properties"],
            "cluster": _CLUSTER_NAME,
            "keyspaces": mapped("The keyspaces with tablets here", KEYSPACE, 100),
            "backupFlags": BACKUP_FLAGS,
        },
        "What it consists of",
        required=["selector", "template", "name", "cluster"],
    ),
    {
        "keyspaces": names("The keyspaces that exist"),
        "readyKeyspaces": names("Those that are ready"),
        "etcd": record({"clusters": count("That exist"), "availableClusters": count("That are available")}),
        "vtctld": record({**COMPONENT_STATUS, "configMaps": count("That exist")}),
        "vtgate": record(COMPONENT_STATUS),
        "orchestrator": record(COMPONENT_STATUS),
        "vttablet": record({"services": count("That exist")}),
        "cellInfoRegistered": {"type": "boolean", "description": "Whether Vitess knows of the cell"},
    },
    column("Cell", "string", ".spec.name"),
    column("Keyspaces", "string", ".status.readyKeyspaces"),
)

VITESS_KEYSPACE_CRD = _kind(
    VITESS_KEYSPACES,
    "vtk",
    "The part of a keyspace that is in one cell of a VitessCluster, which is the place to change it.",
    record(
        {
            **FAMILY,
            **KEYSPACE["properties"],
            "cluster": _CLUSTER_NAME,
            "cell": CELL_NAME,
            "backupFlags": BACKUP_FLAGS,
        },
        "What it consists of",
        required=["selector", "template", "name", "cluster", "cell"],
    ),
    {"shards": names("The shards that exist"), "readyShards": names("Those that are ready")},
    column("Cell", "string", ".spec.cell"),
    column("Keyspace", "string", ".spec.name"),
    column("Shards", "string", ".status.readyShards"),
)

VITESS_SHARD_CRD = _kind(
    VITESS_SHARDS,
    "vts",
    "The tablets of a shard that are in one cell of a VitessCluster, which is the place to change them.",
    record(
        {
            **FAMILY,
            **SHARD_BOUNDS,
            "cluster": _CLUSTER_NAME,
            "cell": CELL_NAME,
            "cells": names("The cells in which the shard has tablets"),
            "keyspace": text("The keyspace"),
            "tablets": TABLETS,
            "backupFlags": BACKUP_FLAGS,
        },
        "What it consists of",
        required=["selector", "template", "name", "cluster", "cell", "keyspace"],
    ),
    {
        "tablets": names("The uids of the tablets that exist"),
        "readyTablets": names("Those of the ready ones"),
        "reparented": text("The Job that has moved the primary away from the tablet that is touched next"),
    },
    column("Cell", "string", ".spec.cell"),
    column("Keyspace", "string", ".spec.keyspace"),
    column("Shard", "string", ".spec.name"),
    column("Tablets", "string", ".status.readyTablets"),
)

_PERSISTENT = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "description": "The volume of each member; 1Gi where absent",
}

ETCD_CLUSTER_CRD = definition(
    ETCD_CLUSTERS,
    record(
        {
            "apiVersion": text(),
            "kind": text(),
            "metadata": {"type": "object"},
            "spec": record(
                {
                    "size": {
                        **count("How many members"),
                        "minimum": 1,
                        "maximum": 9,
                        **validations(("self == oldSelf", FIXED_SIZE)),
                    },
                    "version": text("The version of etcd", minLength=1, maxLength=63),
                    "repository": text("The image without its tag; quay.io/coreos/etcd where absent"),
                    "pod": record(
                        {
                            "labels": {"type": "object", "additionalProperties": text(), "description": "More labels"},
                            "resources": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                            "persistentVolumeClaimSpec": _PERSISTENT,
                        },
                        "What each member's pod has",
                    ),
                },
                "What it consists of",
                required=["size", "version"],
            ),
            "status": record(
                {
                    "size": count("How many members there are"),
                    "members": record({"ready": names("Members that are ready"), "unready": names("The others")}),
                    "serviceName": text("Where clients reach it"),
                    "clientPort": count("The port there"),
                    "observedGeneration": OBSERVED,
                    "conditions": CONDITIONS,
                },
                "What is the case; written by Hanse",
            ),
        },
        "An etcd with a fixed number of members.",
        required=["spec"],
    ),
    [
        column("Size", "integer", ".spec.size"),
        column("Version", "string", ".spec.version"),
        column("Available", "string", _condition("Available")),
        _AGE,
    ],
    short=("etcd",),
    status=True,
)

VITESS_CRDS: tuple[Obj, ...] = (
    VITESS_CLUSTER_CRD,
    VITESS_CELL_CRD,
    VITESS_KEYSPACE_CRD,
    VITESS_SHARD_CRD,
    ETCD_CLUSTER_CRD,
)
