"""Manifests that are meant well: the examples, the contract's objects, Vitess of both generations; and their texts."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from hanse.api import names
from hanse.api.admiralty import keys
from tests.fuzz.from_schema import made_from
from tests.fuzz.odd import TEXTS, mutated, odd_value
from tests.fuzz.own_kinds import own_kinds
from tests.fuzz.requests import corpus as requests_corpus
from tests.fuzz.requests.wording import as_json
from tests.vitess_specs import keyspace

Obj = dict[str, Any]
_EXAMPLES = Path(__file__).parents[3] / "examples"
_ANNOTATIONS = tuple(
    sorted(
        {
            value
            for module in (names, keys)
            for name, value in vars(module).items()
            if name.isupper() and isinstance(value, str) and "/" in value and not value.endswith("/")
        }
    )
)
_MORE_ANNOTATIONS = (
    "shipper-chart-version-raw",
    "shipper-rolloutblock-override",
    "shipper.booking.com/release.clusters",
    "shipper.booking.com/release.generation",
    "dns.hanse.dev/ttl",
    "hanse.dev/front",
    "services.hanse.dev/ttl",
    "kubectl.kubernetes.io/last-applied-configuration",
    "metacontroller.k8s.io/decorator-controller",
)


@cache
def meant() -> tuple[Obj, ...]:
    """Return manifests that a careful user writes."""
    found: list[Obj] = list(requests_corpus.bodies())
    for path in sorted(_EXAMPLES.rglob("*.yaml")):
        if "templates" not in path.parts:
            found += [each for each in yaml.safe_load_all(path.read_text()) if isinstance(each, dict)] * 4
    spec = {
        "cells": [{"name": "zone1", "cluster": "a"}, {"name": "zone2", "cluster": "b"}],
        "keyspaces": [keyspace("commerce", 2)],
        "globalLockserver": {"external": {"implementation": "etcd2", "address": "x:2379", "rootPath": "/v"}},
    }
    vitess = {"apiVersion": "planetscale.com/v2", "kind": "VitessCluster", "metadata": {"name": "shop"}, "spec": spec}
    return (*(each for each in found if each.get("kind")), *([vitess] * 20))


def manifest_of(chance: random.Random) -> Any:
    """Return a manifest: one that was meant well, or made up from a schema, or one of them with places changed."""
    if chance.random() < 0.5:
        kind = chance.choice(own_kinds())
        made = made_from(chance, kind.schema, chance.choice((0.0, 0.0, 0.01, 0.05)))
        if not isinstance(made, dict):
            return made
        metadata = {"name": "a", **({"namespace": "default"} if kind.namespaced else {})}
        obj: Any = {**made, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    else:
        obj = chance.choice(meant())
        if chance.random() < 0.9:
            obj = mutated(chance, obj, meant())
    return annotated(chance, obj) if chance.random() < 0.4 else obj


def annotated(chance: random.Random, obj: Any) -> Any:
    """Return a manifest with annotations and labels that hold odd texts."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(metadata, dict):
        return obj
    notes = {
        chance.choice((*_ANNOTATIONS, *_MORE_ANNOTATIONS)): odd_text(chance) for _ in range(chance.choice((1, 2, 5)))
    }
    return {**obj, "metadata": {**metadata, chance.choice(("annotations", "annotations", "labels")): notes}}


def odd_text(chance: random.Random) -> str:
    """Return a text that may be JSON, YAML or nothing of the sort."""
    luck = chance.random()
    if luck < 0.4:
        return chance.choice(TEXTS)
    if luck < 0.7:
        return as_json(odd_value(chance)).decode()[:20_000]
    return as_json(mutated(chance, chance.choice(_JSON))).decode()[:20_000]


_JSON: tuple[Any, ...] = (
    {"rebalance": True, "clusters": {"a": {"weight": 1, "minReplicas": 1, "maxReplicas": 3}, "*": {"weight": 2}}},
    [{"key": "region", "operator": "in", "values": ["eu", "us"]}, {"key": "x", "operator": "exists"}],
    {"names": ["a", "b"]},
    {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "x", "operator": "Exists"}], "affinity": {}},
    {"items": [{"cluster": "a", "items": [{"ip": "1.2.3.4"}]}]},
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "a", "image": "b"}]},
    },
    {"a": {"state": "running", "since": "2026-01-01T00:00:00Z"}},
)
