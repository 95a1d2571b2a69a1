"""What a federated object says, whatever its form: a template, a placement, and what differs from cluster to cluster.

Reading judges the shape only. Each part is read by itself, since a placement that cannot be read and overrides that
cannot be read mean different things; what is wrong is a value that names the field and what to write there instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from hanse.api.kubefed.forms import Form, OverrideStyle
from hanse.kube.manifest import Obj, dig

OPERATIONS = ("add", "remove", "replace")


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with a field, and what would be right."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path} {self.message}"


@dataclass(frozen=True, slots=True)
class WrittenPlacement:
    """The clusters that somebody wrote down; None for what is not there, which is not the same as empty."""

    clusters: tuple[str, ...] | None = None
    selector: Obj | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a JSON patch."""

    op: str
    path: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A value for one field; the maps on the way to it are made where they are missing."""

    path: tuple[str, ...]
    value: Any


Change: TypeAlias = Operation | Setting


@dataclass(frozen=True, slots=True)
class ClusterOverrides:
    """What one cluster gets differently; `path` is where that was written."""

    cluster: str
    changes: tuple[Change, ...]
    path: str


@dataclass(frozen=True, slots=True)
class FederatedObject:
    """A federated object of any form; parts that cannot be read say why."""

    template: Obj | FieldProblem
    placement: WrittenPlacement | FieldProblem
    overrides: tuple[ClusterOverrides, ...] | FieldProblem
    retain_replicas: bool = False


class _Unreadable(Exception):
    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path} {message}")
        self.problem = FieldProblem(path, message)


def read_whole(source: Obj, form: Form) -> FederatedObject:
    """Read a federated object that says everything itself."""
    spec = source.get("spec")
    fields = spec if isinstance(spec, dict) else {}
    return FederatedObject(
        template=read_template(source),
        placement=read_placement(fields.get("placement"), "spec.placement"),
        overrides=read_overrides(fields.get("overrides"), form),
        retain_replicas=fields.get("retainReplicas") is True,
    )


def read_split(
    source: Obj, placement: Obj | None, override: Obj | None, form: Form, field: tuple[str, ...] = ()
) -> FederatedObject:
    """Read the three objects of a form that has them; `field` is the one that its overrides set, where it is typed.

    Without a placement object there is no cluster.
    """
    return FederatedObject(
        template=read_template(source),
        placement=read_placement(dig(placement or {}, "spec"), "spec"),
        overrides=read_overrides(dig(override or {}, "spec", "overrides"), form, field),
    )


def read_template(source: Obj) -> Obj | FieldProblem:
    """Read the template; without one it is empty."""
    template = dig(source, "spec", "template", default={})
    if not isinstance(template, dict) or not isinstance(template.get("metadata") or {}, dict):
        return FieldProblem("spec.template", "must be the object that every cluster gets, with its fields")
    if not isinstance(dig(template, "metadata", "labels", default={}), dict):
        return FieldProblem("spec.template.metadata.labels", "must map names of labels to their values")
    return template


def read_placement(fields: Any, where: str) -> WrittenPlacement | FieldProblem:
    """Read a placement in any spelling: `clusters` of records, `clusterNames`, or v0.0.1's `clusternames`."""
    try:
        entries = _mapping(fields, where)
        return WrittenPlacement(_clusters(entries, where), _selector(entries.get("clusterSelector"), where))
    except _Unreadable as error:
        return error.problem


def read_overrides(
    entries: Any, form: Form, field: tuple[str, ...] = ()
) -> tuple[ClusterOverrides, ...] | FieldProblem:
    """Read overrides; `field` is the path of the one field that a typed override sets."""
    try:
        if form.overrides is OverrideStyle.FIELD:
            return tuple(_typed(entries, field))
        return tuple(
            ClusterOverrides(_cluster_name(entry, path), tuple(_changes(entry, path, form)), path)
            for path, entry in _entries(entries, "spec.overrides")
        )
    except _Unreadable as error:
        return error.problem


def _clusters(fields: Obj, where: str) -> tuple[str, ...] | None:
    if fields.get("clusters") is not None:
        entries = _entries(fields["clusters"], f"{where}.clusters")
        return tuple(_text(entry.get("name"), f"{path}.name", "the name of a cluster") for path, entry in entries)
    # The first release spelt it without a capital.
    spelt = next((name for name in ("clusterNames", "clusternames") if fields.get(name) is not None), "")
    if not spelt:
        return None
    names = fields[spelt]
    if not isinstance(names, list):
        raise _Unreadable(f"{where}.{spelt}", "must be a list of cluster names")
    return tuple(_text(name, f"{where}.{spelt}[{index}]", "the name of a cluster") for index, name in enumerate(names))


def _selector(selector: Any, where: str) -> Obj | None:
    if selector is None:
        return None
    where = f"{where}.clusterSelector"
    fields = _mapping(selector, where)
    labels = _mapping(fields.get("matchLabels"), f"{where}.matchLabels")
    for key, value in labels.items():
        _text(value, f"{where}.matchLabels[{key}]", "a label value in quotes")
    for path, entry in _entries(fields.get("matchExpressions"), f"{where}.matchExpressions"):
        _text(entry.get("key"), f"{path}.key", "the key of a label")
        _text(entry.get("operator"), f"{path}.operator", "an operator such as In")
        values = entry.get("values")
        if not isinstance(values or [], list) or not all(isinstance(value, str) for value in values or []):
            raise _Unreadable(f"{path}.values", "must be a list of label values")
    return fields


def _typed(entries: Any, field: tuple[str, ...]) -> Iterator[ClusterOverrides]:
    """Yield what typed overrides set: the first entry of a cluster counts, and one without the field says nothing."""
    seen: set[str] = set()
    for path, entry in _entries(entries, "spec.overrides"):
        if not field:
            raise _Unreadable("spec.overrides", "must be empty, since no field of this kind may differ in this form")
        cluster = _cluster_name(entry, path)
        value = entry.get(field[-1])
        if cluster not in seen and value is not None:
            yield ClusterOverrides(cluster, (Setting(field, value),), path)
        seen.add(cluster)


def _changes(entry: Obj, where: str, form: Form) -> Iterator[Change]:
    for path, change in _entries(entry.get("clusterOverrides"), f"{where}.clusterOverrides"):
        target = _text(change.get("path"), f"{path}.path", "the path of a field")
        op = change.get("op") or "replace"
        if op not in OPERATIONS:
            raise _Unreadable(f"{path}.op", f"must be one of {', '.join(OPERATIONS)}, not {op}")
        if target.startswith("/") or form.overrides is OverrideStyle.POINTER:
            yield Operation(op, target, change.get("value"))
        elif op == "remove":
            raise _Unreadable(f"{path}.op", "cannot be remove where the path has dots; write it as /a/b")
        else:
            yield Setting(tuple(target.split(".")), change.get("value"))


def _cluster_name(entry: Obj, where: str) -> str:
    # As in placements, the first release spelt it without a capital.
    return _text(entry.get("clusterName") or entry.get("clustername"), f"{where}.clusterName", "the name of a cluster")


def _entries(value: Any, where: str) -> Iterator[tuple[str, Obj]]:
    """Yield the records of a list, each with its path."""
    if value is None:
        return
    if not isinstance(value, list):
        raise _Unreadable(where, "must be a list")
    for index, entry in enumerate(value):
        yield f"{where}[{index}]", _mapping(entry, f"{where}[{index}]")


def _mapping(value: Any, where: str) -> Obj:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Unreadable(where, "must be an object with fields")
    return value


def _text(value: Any, where: str, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise _Unreadable(where, f"must be {what}, not {value!r}")
    return value
