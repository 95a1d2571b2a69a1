"""Stored bytes into answers: plain objects, lists, Tables, metadata only, and watch events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import orjson

from hanse.apiserver import objects
from hanse.apiserver.negotiation import Form
from hanse.apiserver.registry import Served
from hanse.apiserver.tables import table_for
from hanse.kube.manifest import Obj

_META = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}


@lru_cache(maxsize=4096)
def _typed_head(api_version: str, kind: str) -> bytes:
    return orjson.dumps({"kind": kind, "apiVersion": api_version})[:-1] + b","


def plain(served: Served, value: bytes) -> bytes:
    """Return a stored object as it is served, as JSON."""
    if served.conversion is not None:
        return orjson.dumps(converted(served, value))
    resource = served.resource
    return _typed_head(resource.api_version, resource.kind) + value[1:]


def converted(served: Served, value: bytes) -> Obj:
    """Return a stored object as a manifest of the served version."""
    resource = served.resource
    obj = objects.decode(value, resource.api_version, resource.kind)
    if served.conversion is not None:
        obj = {**served.conversion.from_stored(obj), "kind": resource.kind, "apiVersion": resource.api_version}
    return obj


def one(served: Served, value: bytes, form: Form, now: float) -> bytes:
    """Return one object in the form that was asked for."""
    if form.view == "Table":
        return orjson.dumps(table_for(served, [converted(served, value)], form.include, now))
    if form.view == "PartialObjectMetadata":
        return orjson.dumps(_metadata_only(value))
    return plain(served, value)


def many(served: Served, values: Sequence[bytes], form: Form, list_metadata: Obj, now: float) -> bytes:
    """Return a list in the form that was asked for."""
    if form.view == "Table":
        table = table_for(served, [converted(served, value) for value in values], form.include, now)
        return orjson.dumps({**table, "metadata": list_metadata})
    resource = served.resource
    if form.view == "PartialObjectMetadata":
        items = [_metadata_only(value) for value in values]
        kind = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
        return orjson.dumps({**kind, "metadata": list_metadata, "items": items})
    head = orjson.dumps({"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": list_metadata})
    # Items of built-in kinds carry no kind of their own in a list, as upstream; custom ones do.
    parts = [plain(served, value) for value in values] if served.custom or served.conversion else values
    return head[:-1] + b',"items":[' + b",".join(parts) + b"]}"


def event(served: Served, kind: str, value: bytes, form: Form, now: float, *, header: bool = True) -> bytes:
    """Return one watch event as a line; a Table's columns are told in a stream's first event only."""
    if form.view == "Table":
        table = table_for(served, [converted(served, value)], form.include, now)
        if not header:
            table["columnDefinitions"] = None
        body = orjson.dumps(table)
    elif form.view == "PartialObjectMetadata":
        body = orjson.dumps(_metadata_only(value))
    else:
        body = plain(served, value)
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)


def bookmark(served: Served, revision: int, form: Form, *, initial_end: bool) -> bytes:
    """Return the event that tells how far a stream has come."""
    metadata: Obj = {"resourceVersion": str(revision)}
    if initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    obj: Obj
    if form.view == "Table":
        obj = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": str(revision)}}
        partial = {**_META, "metadata": {**metadata, "creationTimestamp": None}}
        obj |= {"columnDefinitions": None, "rows": [{"cells": [], "object": partial}] if initial_end else []}
    elif form.view == "PartialObjectMetadata":
        obj = {**_META, "metadata": metadata}
    else:
        resource = served.resource
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return orjson.dumps({"type": "BOOKMARK", "object": obj}) + b"\n"


def error_event(status: Obj) -> bytes:
    """Return the event that ends a stream with a refusal."""
    return orjson.dumps({"type": "ERROR", "object": status}) + b"\n"


def _metadata_only(value: bytes) -> Obj:
    return {**_META, "metadata": orjson.loads(value)["metadata"]}
