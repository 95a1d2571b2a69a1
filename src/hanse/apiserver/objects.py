"""Objects between their two forms: manifests that verbs work on, and the bytes that storage keeps."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from hanse.kube.manifest import Obj


class _HeadMetadata(msgspec.Struct, gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None


class _Head(msgspec.Struct, gc=False):
    metadata: _HeadMetadata


_heads = msgspec.json.Decoder(_Head)


_NOT_STORED = ("metadata", "kind", "apiVersion")


def head_of(value: bytes) -> _HeadMetadata:
    """Read name, namespace, uid and labels without parsing the rest."""
    return _heads.decode(value).metadata


def encode(obj: Obj) -> bytes:
    """Encode an object for storage: metadata first, without revision, kind and apiVersion."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    rest: dict[str, Any] = {name: value for name, value in obj.items() if name not in _NOT_STORED}
    return orjson.dumps({"metadata": metadata, **rest})


def decode(value: bytes, api_version: str, kind: str) -> Obj:
    """Decode a stored object, with the kind and apiVersion that it is served as."""
    return {"kind": kind, "apiVersion": api_version, **orjson.loads(value)}


def copy(obj: Obj) -> Obj:
    """Return a deep copy."""
    copied: Obj = orjson.loads(orjson.dumps(obj))
    return copied


def path_of(namespace: str, name: str) -> str:
    """Return an object's path within its bucket."""
    return f"{namespace}/{name}" if namespace else name
