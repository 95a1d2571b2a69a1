"""What KubeFed writes down of what it propagated: hashes of template and overrides, and each cluster's version.

Hanse decides nothing by them; tools that read PropagatedVersion objects find what they found before, hash for hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import orjson

from hanse.api.kubefed.forms import Form
from hanse.api.kubefed.records import service_status_resource, version_resource
from hanse.kube.manifest import Obj, dig, name_of, namespace_of, owner_reference, version_of
from hanse.kube.resources import Resource

# Go's encoder writes these so that JSON may stand in HTML and in JavaScript.
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_WHOLE_BELOW = 1e21


def template_version(source: Obj) -> str:
    """Return the hash of a federated object's template, "" without one."""
    template = dig(source, "spec", "template")
    return "" if template is None else _hash(_sorted(template))


def overrides_version(source: Obj) -> str:
    """Return the hash of a federated object's overrides, "" where it has no spec."""
    spec = source.get("spec")
    if not isinstance(spec, dict):
        return ""
    overrides = spec.get("overrides")
    return _hash({"overrides": [_override(entry) for entry in overrides] if overrides is not None else None})


def cluster_version(copy: Obj) -> str:
    """Return the version of a member's object: its generation, or its resourceVersion where it has none."""
    generation = dig(copy, "metadata", "generation", default=0)
    return f"gen:{generation}" if generation else f"rv:{version_of(copy)}"


def propagated_version(
    source: Obj, form: Form, target: Resource, copies: Iterable[tuple[str, Obj]]
) -> tuple[Resource, Obj]:
    """Write down what the clusters have of a federated object, `copies` being theirs by name."""
    resource = version_resource(form, namespaced=bool(namespace_of(source)))
    versions = sorted((cluster, cluster_version(copy)) for cluster, copy in copies)
    status = {
        "templateVersion": template_version(source),
        "overridesVersion": overrides_version(source),
        "clusterVersions": [{"clusterName": cluster, "version": version} for cluster, version in versions],
    }
    return resource, {**_owned(source, resource, f"{target.kind.lower()}-{name_of(source)}"), "status": status}


def federated_service_status(source: Obj, form: Form, copies: Iterable[tuple[str, Obj | None]]) -> tuple[Resource, Obj]:
    """Write down the status of a federated Service in every ready cluster, empty where the cluster has none."""
    entries = [
        {"clusterName": cluster, "status": dig(copy, "status", default={})}
        for cluster, copy in sorted(copies, key=lambda pair: pair[0])
    ]
    resource = service_status_resource(form)
    return resource, {**_owned(source, resource, name_of(source)), "clusterStatus": entries}


def _owned(source: Obj, resource: Resource, name: str) -> Obj:
    metadata: Obj = {"name": name, "ownerReferences": [owner_reference(source)]}
    if namespace := namespace_of(source):
        metadata["namespace"] = namespace
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


def _override(entry: Obj) -> Obj:
    changes = entry.get("clusterOverrides")
    return {
        "clusterName": entry.get("clusterName") or "",
        "clusterOverrides": [_change(change) for change in changes] if changes is not None else None,
    }


def _change(change: Obj) -> Obj:
    written = {"op": change["op"]} if change.get("op") else {}
    written["path"] = change.get("path") or ""
    if change.get("value") is not None:
        written["value"] = _sorted(change["value"])
    return written


def _sorted(value: Any) -> Any:
    """Order the keys of maps and write numbers as Go does: one without a fraction is whole."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE_BELOW:
        return int(value)
    return value


def _hash(value: Any) -> str:
    text = orjson.dumps(value).decode()
    for letter, escaped in _ESCAPED.items():
        text = text.replace(letter, escaped)
    return hashlib.md5(f"{text}\n".encode(), usedforsecurity=False).hexdigest()
