"""The parts of which the schemas of the first Vitess operator's kinds are made."""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import CONDITION, record, text

AN_IMAGE = "tablets need an image: set it in tablets.defaults or in each pool"
NAME_OR_RANGE = "a shard has either a keyRange or a name"

# What becomes part of the names of pods and Services; a keyspace's name of letters alone is Vitess's own rule, too.
_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_BOUND = r"^([0-9a-f]{2})*$"
# As many tablets of a type as uids have room for.
_MOST_TABLETS = 100
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def validations(*rules: tuple[str, str]) -> dict[str, Any]:
    """Return the part of a schema that refuses what an expression does not hold for, each with a sentence."""
    return {"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in rules]}


def count(description: str, **rules: object) -> dict[str, Any]:
    """Return the schema of a number of things."""
    return {"type": "integer", "format": "int32", "description": description, **rules}


def names(description: str) -> dict[str, Any]:
    """Return the schema of a list of names."""
    return {"type": "array", "items": text(), "description": description, "x-kubernetes-list-type": "atomic"}


def mapped(description: str, items: dict[str, Any], most: int, **rules: object) -> dict[str, Any]:
    """Return the schema of a list whose items have names."""
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    return {"type": "array", "description": description, "items": items, "maxItems": most, **keys, **rules}


OBSERVED = {"type": "integer", "format": "int64", "description": "The generation of the spec that this is about"}
CONDITIONS = {"type": "array", "items": CONDITION, "description": "Ready, Updated and Synced, and why not"}
COMPONENT_STATUS = {
    "services": count("That exist"),
    "deployments": count("That exist"),
    "availableDeployments": count("That are available"),
}

_LABELS = {"type": "object", "additionalProperties": text(), "description": "Labels of everything below"}
FAMILY: dict[str, Any] = {
    "selector": {**_ANYTHING, "description": "The labels by which everything below is known"},
    "template": record(
        {"metadata": record({"labels": _LABELS}, required=["labels"])}, "What is below", required=["metadata"]
    ),
}

_FLAGS = {**_ANYTHING, "description": "Flags of the command line, which win"}
BACKUP_FLAGS = {**_ANYTHING, "description": "Flags of vtctld and vttablet for backups"}
_RESOURCES = {**_ANYTHING, "description": "Requests and limits"}
CELL_NAME = text("The cell", pattern=_NAME, maxLength=20)


def _component(description: str, **more: dict[str, Any]) -> dict[str, Any]:
    fields = {"image": text("The image", minLength=1), "replicas": count("How many pods; 1 where absent", minimum=0)}
    return record({**fields, "resources": _RESOURCES, **more}, description, required=["image"])


CELL = record(
    {
        "name": CELL_NAME,
        "etcd": record(
            {"version": text("Of etcd, such as 3.2.11"), "size": count("How many members", minimum=1, maximum=9)},
            "An etcd of its own",
            required=["version", "size"],
        ),
        "vtctld": _component("Admin servers and the dashboard", flags=_FLAGS),
        "vtgate": _component("Query routers", flags=_FLAGS),
        "orchestrator": _component("Automated failover"),
    },
    required=["name"],
)

_PROCESS = {"resources": _RESOURCES, "flags": _FLAGS}
_TABLET_POOL = record(
    {
        "image": text("The image of both containers"),
        "replicas": count("How many tablets in each cell; 1 where absent", minimum=0, maximum=_MOST_TABLETS),
        "volumeClaim": {**_ANYTHING, "description": "The volume of each; its pod's own where absent"},
        "vttablet": record(_PROCESS, "The container vttablet"),
        "mysql": record(_PROCESS, "The container mysql"),
    }
)
TABLETS = record(
    {
        "defaults": {**_TABLET_POOL, "description": "What the other two have where they say nothing else"},
        "masterEligible": {**_TABLET_POOL, "description": "Tablets of type replica, of which one is the primary"},
        "batch": {**_TABLET_POOL, "description": "Tablets of type rdonly"},
    },
    "The tablets of each shard in each cell",
    **validations(
        *(
            (
                f"!has(self.{pool}) || has(self.{pool}.image) || (has(self.defaults) && has(self.defaults.image))",
                AN_IMAGE,
            )
            for pool in ("masterEligible", "batch")
        )
    ),
)

SHARD_BOUNDS: dict[str, Any] = {
    "name": text("The name of the shard", maxLength=63),
    "keyRange": record(
        {
            "start": text('The first key, in hexadecimal digits; "" is the beginning', pattern=_BOUND, maxLength=16),
            "end": text('The key after the last one; "" is the end', pattern=_BOUND, maxLength=16),
        },
        "Which keys it holds",
    ),
}
_SHARD = record(
    {**SHARD_BOUNDS, "name": text("A name that is no key range", pattern=_NAME, maxLength=20)},
    "One shard",
    **validations(("has(self.keyRange) != has(self.name)", NAME_OR_RANGE)),
)

KEYSPACE = record(
    {
        "name": text("The keyspace", pattern=_NAME, maxLength=40),
        "cells": {**names("The cells in which it has tablets"), "items": CELL_NAME, "minItems": 1, "maxItems": 50},
        "shards": {
            "type": "array",
            "items": _SHARD,
            "minItems": 1,
            "maxItems": 256,
            "description": "Its shards; one named 0 where absent",
        },
        "tablets": TABLETS,
    },
    required=["name", "cells"],
)
