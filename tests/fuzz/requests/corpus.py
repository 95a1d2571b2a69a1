"""Requests that are meant well: the contract's script, and an object of every kind that Hanse serves."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from hanse.apiserver.kinds import BUILTIN
from hanse.kube.schemas import Schema, schema_for
from tests.contract.script import STEPS
from tests.fuzz.from_schema import made_from
from tests.fuzz.own_kinds import own_kinds

Obj = dict[str, Any]
NAMESPACE = "fuzz"
_VARIABLE = re.compile(r"<<[\w-]+>>")
_NAMESPACE = re.compile(r"/namespaces/([a-z0-9-]+)")


@dataclass(frozen=True, slots=True)
class Meant:
    """A request as its author meant it; a body is a tree, or text where it is none."""

    method: str
    path: str
    body: Any
    content: str
    accept: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that can be asked for, with the path of its collection."""

    api_version: str
    kind: str
    path: str
    schema: Schema


@cache
def meant() -> tuple[Meant, ...]:
    """Return the contract's requests."""
    return tuple(_meant(step.method, step.path, step.body, step.content, step.accept) for step in STEPS if step.path)


def _meant(method: str, path: str, body: Any, content: str, accept: str) -> Meant:
    if isinstance(body, str):
        body = _VARIABLE.sub("1", body).encode()
    elif body is not None and not isinstance(body, bytes):
        body = orjson.loads(_VARIABLE.sub("1", orjson.dumps(body).decode()))
    return Meant(method, _VARIABLE.sub("1", path), body, content, accept)


@cache
def namespaces() -> tuple[str, ...]:
    """Return the namespaces that the contract's requests name."""
    found = dict.fromkeys(name for one in meant() for name in _NAMESPACE.findall(one.path))
    return (NAMESPACE, *(name for name in found if not name.startswith(("kube-", "default", "none", "missing"))))


@cache
def bodies() -> tuple[Obj, ...]:
    """Return the objects in the contract's requests."""
    return tuple(one.body for one in meant() if isinstance(one.body, dict))


@cache
def kinds() -> tuple[Kind, ...]:
    """Return every kind with a schema, Kubernetes' own and Hanse's."""
    found = []
    for (group, version), entries in BUILTIN.items():
        for entry in entries:
            schema = schema_for(group, version, entry.kind)
            if schema is not None:
                start = f"/apis/{group}/{version}" if group else f"/api/{version}"
                inner = f"/namespaces/{NAMESPACE}" if entry.namespaced else ""
                api_version = f"{group}/{version}" if group else version
                found.append(Kind(api_version, entry.kind, f"{start}{inner}/{entry.plural}", schema))
    found += [Kind(own.api_version, own.kind, own.path(NAMESPACE), own.schema) for own in own_kinds()]
    return tuple(found)


def made_object(chance: random.Random, kind: Kind, oddness: float) -> Any:
    """Return an object of a kind, made up from its schema."""
    made = made_from(chance, kind.schema, oddness)
    if not isinstance(made, dict) or chance.random() < 0.03:
        return made
    metadata = made.get("metadata")
    kept = (
        {name: value for name, value in metadata.items() if chance.random() < 0.2} if isinstance(metadata, dict) else {}
    )
    return {
        **made,
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {**kept, "name": object_name(chance)},
    }


def object_name(chance: random.Random) -> str:
    """Return one of few names, so that requests meet each other's objects."""
    return chance.choice(("a", "b", "web", "x.example.com", "shop"))
