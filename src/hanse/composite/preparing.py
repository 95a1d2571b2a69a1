"""What a hook answered, made ready or refused: every desired child is checked before the first one is written.

One wrong child refuses the whole answer. Half an answer would otherwise delete what the other half stood for.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from hanse.api.metacontroller.kinds import DECORATOR_ANNOTATION, MAP_ANNOTATION, MAP_KEY_ANNOTATION
from hanse.composite.applying import as_applied
from hanse.composite.children import ChildId, child_id
from hanse.composite.claiming import generated_labels, selector_of
from hanse.composite.placing import Fleet, Nowhere, clusters_of, is_elsewhere
from hanse.composite.spec import ControllerSpec, Sort
from hanse.kube.manifest import Obj, annotations_of, labels_of, name_of, namespace_of
from hanse.kube.names import name_problems
from hanse.kube.resources import Resource
from hanse.kube.selectors import LabelSelector

# What API servers allow all annotations of an object together, and what etcd takes in one request.
MOST_ANNOTATION_BYTES = 256 * 1024
MOST_OBJECT_BYTES = 1536 * 1024
# All of them are looked at whenever one changes, and meanwhile nobody else is served.
MOST_CHILDREN = 10_000
# No kind comes near it, and it leaves merging room on the stack.
MOST_LEVELS = 100

_DECLARED = {Sort.COMPOSITE: "childResources", Sort.DECORATOR: "attachments", Sort.MAP: "outputResources"}


@dataclass(frozen=True, slots=True)
class Child:
    """A child that shall exist: which one, of which kind, and what the hook says of it."""

    id: ChildId
    resource: Resource
    manifest: Obj


class _Refused(Exception):
    """Why an answer cannot be carried out; the text is a sentence that names the child."""


def prepared(
    desired: Sequence[Any],
    parent: Obj,
    spec: ControllerSpec,
    kinds: Iterable[Resource],
    *,
    map_key: str = "",
    fleet: Fleet | None = None,
) -> list[Child] | str:
    """Make an answer's children ready in the answer's order; a sentence that names the child where one is refused.

    Children get the parent's namespace, the label of a generated selector, and the mark of the controller that
    attached or mapped them. Nulls in the list are passed over. A child that asks for clusters of the `fleet` is one
    child in each of them.
    """
    selector = _selector(parent, spec)
    if isinstance(selector, str):
        return selector
    by_kind = {(kind.api_version, kind.kind): kind for kind in kinds}
    given = _Given(parent, spec, selector, generated_labels(parent, spec), _marks(spec, map_key), fleet)
    children: list[Child] = []
    try:
        _refuse_many(len(desired))
        for place, item in enumerate(desired):
            if item is not None:
                children += _in_clusters(_prepared(item, place, given, by_kind), given)
                _refuse_many(len(children))
        _refuse_duplicates(children)
    except _Refused as refusal:
        return str(refusal)
    return children


@dataclass(frozen=True, slots=True)
class _Given:
    """What holds for every child of one answer."""

    parent: Obj
    spec: ControllerSpec
    selector: LabelSelector
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    fleet: Fleet | None


def _selector(parent: Obj, spec: ControllerSpec) -> LabelSelector | str:
    # Attachments and outputs are known by a mark; what the object selects is its own affair.
    return selector_of(parent, spec) if spec.sort is Sort.COMPOSITE else LabelSelector()


def _marks(spec: ControllerSpec, map_key: str) -> dict[str, str]:
    match spec.sort:
        case Sort.DECORATOR:
            return {DECORATOR_ANNOTATION: spec.name}
        case Sort.MAP:
            return {MAP_ANNOTATION: spec.name, MAP_KEY_ANNOTATION: map_key}
        case Sort.COMPOSITE:
            return {}


def _prepared(item: Any, place: int, given: _Given, kinds: Mapping[tuple[str, str], Resource]) -> Child:
    _check_form(item, place)
    kind = kinds.get((item["apiVersion"], item["kind"]))
    if kind is None:
        raise _Refused(
            f"{item['kind']} {name_of(item)}: {item['kind']} of {item['apiVersion']} is not in "
            f"spec.{_DECLARED[given.spec.sort]} of {given.spec.sort} {given.spec.name}: add it there"
        )
    manifest = _placed(item, kind, given.parent)
    manifest = _labelled(_as_stored(manifest), given.labels, given.annotations)
    child = Child(child_id(manifest), kind, manifest)
    if not given.selector.matches(labels_of(manifest)):
        raise _Refused(
            f"{child.id}: its labels do not match the selector {given.selector} of its parent, "
            "which would lose it at once: add the labels to metadata.labels"
        )
    _check_size(child, server_side=given.spec.server_side)
    return child


def _in_clusters(child: Child, given: _Given) -> list[Child]:
    """Return a child in each of the clusters that it asks for, or as it is where it asks for none."""
    try:
        clusters = clusters_of(child.manifest, given.fleet)
    except Nowhere as problem:
        raise _Refused(f"{child.id}: {problem}") from None
    if not is_elsewhere(child.manifest):
        return [child]
    return [replace(child, id=child.id._replace(cluster=name)) for name in clusters]


def _check_form(item: Any, place: int) -> None:
    """Refuse what is no manifest, before anything reads it as one."""
    where = f"child {place} of the answer"
    if not isinstance(item, dict):
        raise _Refused(f"{where}: must be an object")
    for field in ("apiVersion", "kind"):
        if not isinstance(item.get(field), str) or not item[field]:
            raise _Refused(f"{where}: {field} must be given")
    metadata = item.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise _Refused(f"{where}, a {item['kind']}: metadata.name must be given; a generated name would never be found")
    who = f"{item['kind']} {metadata['name']}"
    if problems := name_problems(metadata["name"], "path"):
        raise _Refused(f"{who}: metadata.name {problems[0]}")
    if not isinstance(metadata.get("namespace") or "", str):
        raise _Refused(f"{who}: metadata.namespace must be a string")
    for field in ("labels", "annotations"):
        _check_strings(who, f"metadata.{field}", metadata.get(field))
    for field, sort, sorts in (("ownerReferences", dict, "objects"), ("finalizers", str, "strings")):
        items = metadata.get(field) or []
        if not isinstance(items, list) or not all(isinstance(item, sort) for item in items):
            raise _Refused(f"{who}: metadata.{field} must be a list of {sorts}")


def _check_strings(who: str, field: str, values: Any) -> None:
    if values is None:
        return
    if not isinstance(values, dict):
        raise _Refused(f"{who}: {field} must be an object of strings")
    for name, value in values.items():
        if not isinstance(value, str):
            raise _Refused(f"{who}: {field}.{name} must be a string: write it in quotes")


def _placed(item: Obj, kind: Resource, parent: Obj) -> Obj:
    """Give a child its namespace, or refuse the one that it has."""
    who, wanted, home = f"{kind.kind} {name_of(item)}", namespace_of(item), namespace_of(parent)
    if not kind.namespaced:
        if home:
            raise _Refused(f"{who}: is cluster-scoped, and a parent in a namespace has children only there")
        # A namespace here would never be stored, and so be missing for ever.
        return _with_metadata(item, {"namespace": None}) if "namespace" in item["metadata"] else item
    if home and wanted not in ("", home):
        raise _Refused(f"{who}: metadata.namespace is {wanted}, and must be {home}, its parent's, or left out")
    if not wanted and not home:
        raise _Refused(f"{who}: metadata.namespace must be given, since its parent has none")
    return item if wanted else _with_metadata(item, {"namespace": home})


def _labelled(item: Obj, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Obj:
    changes: Obj = {}
    if labels:
        changes["labels"] = {**labels, **labels_of(item)}
    if annotations:
        changes["annotations"] = {**annotations_of(item), **annotations}
    return _with_metadata(item, changes) if changes else item


def _as_stored(item: Obj) -> Obj:
    """Return a Secret with its texts where servers put them, since they would otherwise be missing for ever."""
    texts, data = item.get("stringData"), item.get("data") or {}
    if (item["apiVersion"], item["kind"]) != ("v1", "Secret") or not isinstance(data, dict):
        return item
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        return item
    encoded = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
    return {name: value for name, value in item.items() if name != "stringData"} | {"data": {**data, **encoded}}


def _with_metadata(item: Obj, changes: Obj) -> Obj:
    metadata = {**item["metadata"], **changes}
    return {**item, "metadata": {name: value for name, value in metadata.items() if name != "namespace" or value}}


def _check_size(child: Child, *, server_side: bool) -> None:
    if _is_deeper(child.manifest, MOST_LEVELS):
        raise _Refused(f"{child.id}: has more than {MOST_LEVELS} levels of objects and lists: make it flatter")
    try:
        size = len(orjson.dumps(as_applied(child.manifest)))
    except (TypeError, ValueError) as problem:
        raise _Refused(f"{child.id}: is not JSON: {problem}") from None
    if size > MOST_OBJECT_BYTES:
        raise _Refused(f"{child.id}: has {size} bytes, and clusters store at most {MOST_OBJECT_BYTES}: split it")
    said = sum(len(name) + len(value) for name, value in annotations_of(child.manifest).items())
    if not server_side and size + said > MOST_ANNOTATION_BYTES:
        raise _Refused(
            f"{child.id}: has {size} bytes, too many to be remembered in its annotations "
            f"({MOST_ANNOTATION_BYTES} in all): set spec.applyStrategy to ServerSideApply"
        )


def _is_deeper(manifest: Obj, levels: int) -> bool:
    level: list[Any] = [manifest]
    while level and levels >= 0:
        level = [inner for value in level for inner in _inside(value) if isinstance(inner, dict | list)]
        levels -= 1
    return bool(level)


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _refuse_many(count: int) -> None:
    if count > MOST_CHILDREN:
        raise _Refused(f"the answer has more than {MOST_CHILDREN} children: divide them among several parents")


def _refuse_duplicates(children: Sequence[Child]) -> None:
    seen: set[tuple[str, ...]] = set()
    for child in children:
        # One object may be declared in two versions of its group.
        key = (child.resource.group, child.id.kind, child.id.namespace, child.id.name, child.id.cluster)
        if key in seen:
            raise _Refused(f"{child.id}: is in the answer twice: return each child once")
        seen.add(key)
