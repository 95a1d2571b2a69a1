"""The part of a plain object that goes into members: what the user wrote, less what the host's server added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hanse.api.names import PREFIX, SERVICE_INGRESSES_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, labels_of, name_of, namespace_of
from hanse.native.rules import travelling
from hanse.propagation.one_address import FIRST_CLUSTER_ANNOTATION

_LOCAL_ANNOTATIONS = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deployment.kubernetes.io/revision",
        "deprecated.daemonset.template.generation",
        "federation.kubernetes.io/hpa-target-cluster-list",
        SERVICE_INGRESSES_ANNOTATION,
        FIRST_CLUSTER_ANNOTATION,
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "volume.beta.kubernetes.io/storage-provisioner",
        "volume.kubernetes.io/storage-provisioner",
        "volume.kubernetes.io/selected-node",
    }
)
_LOCAL_LABELS = frozenset({"kubernetes.io/metadata.name"})


def template_of(source: Obj, omit: Iterable[tuple[str, ...]] = ()) -> Obj:
    """Return the manifest that every chosen member gets; fields to `omit` stay where they are."""
    metadata: Obj = {"name": name_of(source)}
    if namespace := namespace_of(source):
        metadata["namespace"] = namespace
    labels = {name: value for name, value in labels_of(source).items() if name not in _LOCAL_LABELS}
    if labels:
        metadata["labels"] = labels
    annotations = {
        name: value
        for name, value in annotations_of(source).items()
        if name not in _LOCAL_ANNOTATIONS and not name.startswith(PREFIX)
    }
    if annotations:
        metadata["annotations"] = annotations
    body = without_nulls(travelling(source))
    for path in omit:
        body = _less(body, path)
    return {**body, "metadata": metadata}


def _less(fields: Obj, path: tuple[str, ...]) -> Obj:
    first, *rest = path
    if first not in fields:
        return fields
    if not rest:
        return {name: value for name, value in fields.items() if name != first}
    inner = fields[first]
    return {**fields, first: _less(inner, tuple(rest))} if isinstance(inner, dict) else fields


def without_nulls(value: Obj) -> Obj:
    """Drop fields that are null: they say nothing, and an apply would claim them."""
    return {
        name: _clean(inner) if isinstance(inner, dict | list) else inner
        for name, inner in value.items()
        if inner is not None
    }


def _clean(nested: Any) -> Any:
    if isinstance(nested, dict):
        return without_nulls(nested)
    return [_clean(item) if isinstance(item, dict | list) else item for item in nested]
