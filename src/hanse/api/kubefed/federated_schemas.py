"""What placements, overrides and the status of a federated object look like in each form, and what is refused there."""

from __future__ import annotations

from hanse.api.cluster_kind import record, text
from hanse.api.kubefed.forms import Form, OverrideStyle
from hanse.api.kubefed.template_schemas import ANYTHING
from hanse.kube.manifest import Obj

# Real API servers take a rule only if its cost is bounded: by how many clusters differ, and in how many fields each.
MOST_CLUSTERS = 1000
MOST_FIELDS = 200
_PATH_LENGTH = 1024

_POINTERS = ("/metadata", "/metadata/name", "/metadata/namespace", "/metadata/generateName", "/kind")
_DOTTED = ("metadata", "metadata.name", "metadata.namespace", "metadata.generateName")

_WANTED = {
    OverrideStyle.POINTER: ("self.startsWith('/')", "must be a JSON pointer that begins with '/', e.g. /spec/replicas"),
    OverrideStyle.DOTTED: (
        "self != '' && !self.startsWith('/')",
        "must be field names with dots between them, e.g. spec.replicas",
    ),
    OverrideStyle.EITHER: (
        "self != ''",
        "must be a JSON pointer, e.g. /spec/replicas, or field names with dots between them, e.g. spec.replicas",
    ),
}
_FORBIDDEN = {
    OverrideStyle.POINTER: _POINTERS,
    OverrideStyle.DOTTED: _DOTTED,
    OverrideStyle.EITHER: (*_POINTERS, *_DOTTED),
}

_SELECTOR = record(
    {
        "matchLabels": {"type": "object", "additionalProperties": text()},
        "matchExpressions": {
            "type": "array",
            "items": record(
                {"key": text(), "operator": text(), "values": {"type": "array", "items": text()}},
                required=["key", "operator"],
            ),
        },
    },
    "Chooses clusters by their labels where none are listed; {} chooses all",
)

_CONDITION = record(
    {
        "type": text(),
        "status": text(),
        "reason": text(),
        "message": text(),
        "lastUpdateTime": text(),
        "lastTransitionTime": text(),
    },
    required=["type", "status"],
)

STATUS = record(
    {
        "observedGeneration": {"type": "integer", "format": "int64"},
        "conditions": {"type": "array", "items": _CONDITION},
        "clusters": {
            "type": "array",
            "items": record(
                {
                    "name": text(),
                    "status": text("What keeps the cluster from being up to date; empty where nothing does"),
                    "message": text(),
                    "remoteStatus": {"type": "object", **ANYTHING},
                },
                required=["name"],
            ),
        },
    }
)
"""The status of a federated object, the same in every form."""


def placement_schema(form: Form) -> Obj:
    """Return the schema of a placement: clusters by name and, where the form has it, by label."""
    by_name = text(maxLength=253)
    if form.clusters_field == "clusters":
        by_name = record({"name": by_name}, required=["name"])
    fields = {form.clusters_field: {"type": "array", "items": by_name}}
    if form.selects:
        fields["clusterSelector"] = _SELECTOR
    else:
        # As the samples of the very first release spelt it.
        fields["clusternames"] = fields[form.clusters_field]
    return record(fields)


def overrides_schema(form: Form, typed_field: tuple[str, Obj] | None = None) -> Obj:
    """Return the schema of the list of overrides; in form A each sets one field, whose name and schema are given."""
    item = {"clusterName": text(minLength=1, maxLength=253)}
    if typed_field is not None:
        # The first that names a cluster counted there, and others were ignored: nothing to refuse. The very first
        # release spelt the name without a capital.
        item |= {"clustername": item["clusterName"], typed_field[0]: typed_field[1]}
        named = [{"required": ["clusterName"]}, {"required": ["clustername"]}]
        return {"type": "array", "items": record(item, anyOf=named)}
    item["clusterOverrides"] = _keyed_list("path", _change(form), MOST_FIELDS)
    return _keyed_list("clusterName", record(item, required=["clusterName"]), MOST_CLUSTERS)


def _change(form: Form) -> Obj:
    rule, message = _WANTED[form.overrides]
    forbidden = ", ".join(f"'{path}'" for path in _FORBIDDEN[form.overrides])
    path = text(maxLength=_PATH_LENGTH)
    path["x-kubernetes-validations"] = [
        {"rule": rule, "message": message},
        {
            "rule": f"!(self in [{forbidden}])",
            "message": "must not change the kind, name or namespace, which are those of the federated object; "
            "remove this entry, or name the label or annotation that differs",
        },
    ]
    fields = {"path": path, "value": {**ANYTHING, "nullable": True}}
    if form.overrides in (OverrideStyle.POINTER, OverrideStyle.EITHER):
        fields["op"] = text("What to do at the path (default: replace)", enum=["", "add", "remove", "replace"])
    return record(fields, required=["path", "value"] if form.three_objects else ["path"])


def _keyed_list(key: str, items: Obj, most: int) -> Obj:
    """Return a list whose entries are told apart by a field, so that a server refuses two of the same."""
    return {
        "type": "array",
        "maxItems": most,
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [key],
    }
