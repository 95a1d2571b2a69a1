"""The VitessCluster of a federation's host: upstream's, with the fields that say in which clusters its cells are."""

from __future__ import annotations

from copy import deepcopy

from hanse.kube.manifest import Obj
from hanse.vitess.federated.reading import CLUSTER_FIELD, FEDERATION_FIELD, REGION_FIELD

_TEXT: Obj = {"type": "string"}
_TEXTS: Obj = {"type": "array", "items": _TEXT}
_ANYTHING: Obj = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _record(properties: Obj, description: str = "") -> Obj:
    return {"type": "object", "properties": properties, **({"description": description} if description else {})}


_FEDERATION = _record(
    {
        "lockserver": _record(
            {
                "clientAddress": {**_TEXT, "description": "Where pods of every cluster find the lockserver: host:port"},
                "members": {
                    "type": "array",
                    "items": {**_record({"cluster": _TEXT, "peerURL": _TEXT}), "required": ["cluster", "peerURL"]},
                },
            },
            "An etcd with one member in each of three clusters",
        ),
        "initializer": _record({"clusters": _TEXTS}, "Which clusters begin new shards, best first"),
        "aliases": {
            "type": "array",
            "description": "Groups of cells between which vtgates route; cells in none are in the default one",
            "items": {**_record({"name": _TEXT, "cells": _TEXTS}), "required": ["name", "cells"]},
        },
        "upgrade": _record(
            {
                "type": {**_TEXT, "enum": ["AllAtOnce", "MemberByMember"]},
                "order": _TEXTS,
                "primariesLast": {"type": "boolean"},
            },
            "How images and flags reach the clusters",
        ),
        "reparent": _record({"preferredCells": _TEXTS}, "Where primaries go when they have to leave their cluster"),
        "vtctldAddress": {**_TEXT, "description": "Where the control plane finds a vtctld: host:port"},
    },
    "How the cells of several clusters are one Vitess",
)


def federated_definition(upstream: Obj) -> Obj:
    """Return the definition for a host, made of the one that members have."""
    made = deepcopy(upstream)
    for version in made["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]["properties"]
        spec, status = schema["spec"]["properties"], schema["status"]["properties"]
        cell = spec["cells"]["items"]["properties"]
        cell[CLUSTER_FIELD] = {**_TEXT, "description": "The cluster that the cell is in"}
        cell[REGION_FIELD] = {**_TEXT, "description": "In place of a cluster: the region of the only one that fits"}
        spec[FEDERATION_FIELD] = deepcopy(_FEDERATION)
        status["federation"] = {**_ANYTHING, "description": "How it is divided, and how each part stands"}
        for name in ("cells", "keyspaces", "orphanedCells", "orphanedKeyspaces"):
            status[name] = _ANYTHING
    return made


def first_definition(upstream: Obj) -> Obj:
    """Return the first generation's definition for a host, made of the one that members have."""
    made = deepcopy(upstream)
    for version in made["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]["properties"]
        cell = schema["spec"]["properties"]["cells"]["items"]["properties"]
        cell[CLUSTER_FIELD] = {**_TEXT, "description": "The cluster that the cell is in"}
        address = {**_TEXT, "description": "Where pods of every cluster find the etcd of cell global"}
        schema["spec"]["properties"][FEDERATION_FIELD] = _record({"topoGlobalServerAddress": address})
        schema["status"]["properties"]["federation"] = _ANYTHING
    return made
