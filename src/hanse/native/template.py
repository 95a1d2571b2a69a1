"""The part of a plain object that goes into members: what the user wrote, less what the host's server added."""

from __future__ import annotations

from hanse.api.names import PREFIX
from hanse.kube.manifest import Obj, annotations_of, labels_of, name_of, namespace_of

_LOCAL_ANNOTATIONS = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"}
)
_LOCAL_LABELS = frozenset({"kubernetes.io/metadata.name"})


def template_of(source: Obj) -> Obj:
    """Return the manifest that every chosen member gets."""
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
    body = {name: value for name, value in source.items() if name not in ("metadata", "status")}
    if source["kind"] == "Namespace":
        body.pop("spec", None)
    elif source["kind"] == "Service":
        body["spec"] = _service_spec(source.get("spec") or {})
    return {**without_nulls(body), "metadata": metadata}


def _service_spec(spec: Obj) -> Obj:
    """Leave out what every API server allocates for itself."""
    allocated = {"clusterIPs", "ipFamilies", "healthCheckNodePort"}
    if spec.get("clusterIP") != "None":
        allocated.add("clusterIP")
    if spec.get("ipFamilyPolicy") == "SingleStack":
        allocated.add("ipFamilyPolicy")
    kept = {name: value for name, value in spec.items() if name not in allocated}
    if "ports" in kept:
        kept["ports"] = [{name: value for name, value in port.items() if name != "nodePort"} for port in kept["ports"]]
    return kept


def without_nulls(value: Obj) -> Obj:
    """Drop fields that are null: they say nothing, and an apply would claim them."""
    return {name: _clean(inner) for name, inner in value.items() if inner is not None}


def _clean(value: object) -> object:
    if isinstance(value, dict):
        return without_nulls(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
