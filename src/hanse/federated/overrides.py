"""What differs from cluster to cluster: overrides of any form into JSON patches on the template.

All overrides of an object are judged before any counts: a cluster or a field that is named twice, or a field that must
be the same everywhere, spoils them for every cluster. What merely does not fit the template spoils them for its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hanse.api.kubefed.objects import Change, ClusterOverrides, FieldProblem, Operation, Setting
from hanse.kube.manifest import Obj, dig
from hanse.kube.patches.json_patch import JsonPatchError, apply_json_patch, json_patch_between
from hanse.kube.patches.merge_patch import apply_merge_patch
from hanse.placement.ask import ClusterTerm, Override
from hanse.propagation.stored_form import as_stored

_POINTERS = frozenset({"/metadata/namespace", "/metadata/name", "/metadata/generateName", "/kind"})
_DOTTED = frozenset({("metadata", "namespace"), ("metadata", "name"), ("metadata", "generateName")})
# What says which object it is; no override may lead to another one by a way round.
_IDENTITY = (("kind",), ("metadata", "name"), ("metadata", "namespace"))


def overrides_of(
    written: Iterable[ClusterOverrides] | FieldProblem, template: Obj, label: str = ""
) -> tuple[Override, ...]:
    """Return the patch of each cluster, or the sentence that says why it has none.

    They change the template as it is written, and the patches what a server makes of it. Whatever overrides make of
    labels, every copy carries the `label`.
    """
    if isinstance(written, FieldProblem):
        return (Override(ClusterTerm(), (), str(written)),)
    entries = tuple(written)
    problem = next(_spoiling(entries), None)
    if problem is not None:
        return (Override(ClusterTerm(), (), str(problem)),)
    return tuple(_override(entry, template, label) for entry in entries)


def _spoiling(entries: tuple[ClusterOverrides, ...]) -> Iterator[FieldProblem]:
    """Yield what spoils the overrides of every cluster."""
    clusters: set[str] = set()
    for entry in entries:
        if entry.cluster in clusters:
            yield FieldProblem(f"{entry.path}.clusterName", f"names {entry.cluster} a second time; write both into one")
        clusters.add(entry.cluster)
        fields: set[str | tuple[str, ...]] = set()
        for index, change in enumerate(entry.changes):
            where = f"{entry.path}.clusterOverrides[{index}].path"
            if change.path in _POINTERS or change.path in _DOTTED:
                yield FieldProblem(where, f"must not be {_spelt(change)}, which is the same in every cluster")
            if change.path in fields:
                yield FieldProblem(where, f"names {_spelt(change)} a second time; keep one of them")
            fields.add(change.path)


def _override(entry: ClusterOverrides, template: Obj, label: str) -> Override:
    term = ClusterTerm(names=(entry.cluster,))
    try:
        changed = template
        for index, change in enumerate(entry.changes):
            changed = _changed(changed, change, f"{entry.path}.clusterOverrides[{index}]")
    except _Unfit as error:
        return Override(term, (), str(error))
    if any(_has_nulls(change.value) for change in entry.changes if not _removes(change)):
        # Null says nothing, and an apply would claim it.
        changed = apply_merge_patch({}, changed)
    for path in _IDENTITY:
        if dig(changed, *path) != dig(template, *path):
            sentence = f"{entry.path} changes {'.'.join(path)}, which is the same in every cluster"
            return Override(term, (), sentence)
    return Override(term, tuple(json_patch_between(as_stored(template), as_stored(_labelled(changed, label)))))


class _Unfit(Exception):
    """A change that does not fit the template, said in one sentence."""


def _changed(obj: Obj, change: Change, where: str) -> Obj:
    match change:
        case Setting(path, value):
            return _set(obj, path, value, where)
        case Operation(op, path, value):
            if not path.startswith("/"):
                raise _Unfit(f"{where}.path {path} must be a JSON pointer such as /{path.replace('.', '/')}")
            step: Obj = {"op": op, "path": path} if op == "remove" else {"op": op, "path": path, "value": value}
            try:
                found: Obj = apply_json_patch(obj, [step])
            except JsonPatchError as error:
                raise _Unfit(f"{where} does not fit the template: {error}{_advice(path)}") from None
            return found


def _advice(path: str) -> str:
    """Say what to write instead where the template never has what is to be changed."""
    # A template's own annotations stay behind, so that there is no map to add one to.
    parent = "/metadata/annotations"
    return f"; add {parent} with a map of them" if path.startswith(f"{parent}/") else ""


def _set(obj: Any, path: tuple[str, ...], value: Any, where: str) -> Obj:
    if obj is None:
        obj = {}
    if not isinstance(obj, dict):
        raise _Unfit(f"{where}.path leads to {path[0]} within something that is no map")
    first, rest = path[0], path[1:]
    return {**obj, first: _set(obj.get(first), rest, value, where) if rest else value}


def _labelled(obj: Obj, label: str) -> Obj:
    metadata = obj["metadata"]
    if not label or dig(metadata, "labels", label) == "true":
        return obj
    return {**obj, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), label: "true"}}}


def _has_nulls(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_nulls, value.values()))
    return any(map(_has_nulls, value)) if isinstance(value, list) else value is None


def _removes(change: Change) -> bool:
    return isinstance(change, Operation) and change.op == "remove"


def _spelt(change: Change) -> str:
    return change.path if isinstance(change, Operation) else ".".join(change.path)
