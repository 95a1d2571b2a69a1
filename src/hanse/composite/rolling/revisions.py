"""The versions of a parent: what of it each one fixes, which children are at it, and how that is stored.

A ControllerRevision holds the part of the parent whose change rolls over the children one after the other, and the
names of the children that are at it. Names are bare for children beside the parent, `namespace/name` for those
elsewhere, and `cluster/namespace/name` for those in another cluster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from hanse.api.metacontroller.kinds import (
    CONTROLLER_REVISIONS,
    REVISION_GROUP_LABEL,
    REVISION_RESOURCE_LABEL,
    ROLLOUT_ANNOTATION,
)
from hanse.composite.children import ChildId
from hanse.composite.claiming import is_controlled_by
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of, name_of, namespace_of, owner_reference, uid_of
from hanse.kube.patches.merge_patch import same
from hanse.kube.resources import Resource
from hanse.kube.runtime import micro_timestamp, parse_timestamp
from hanse.kube.selectors import LabelSelector

Paths = Sequence[tuple[str, ...]]

_LONGEST_PREFIX = 212
_LONGEST_LABEL = 63
_ABSENT = object()


def patch_of(parent: Obj, paths: Paths) -> Obj:
    """Return the part of a parent whose change rolls over its children."""
    patch: Obj = {}
    for path in paths:
        value = _at(parent, path)
        if value is not _ABSENT:
            patch = _with(patch, path, value)
    return patch


def with_patch(parent: Obj, patch: Obj, paths: Paths) -> Obj:
    """Return the parent as it would be at another version: all of today's but the part that rolls."""
    for path in paths:
        parent = _with(parent, path, _at(patch, path))
    return parent


def _at(obj: Any, path: Sequence[str]) -> Any:
    for step in path:
        obj = obj.get(step, _ABSENT) if isinstance(obj, dict) else _ABSENT
    return obj


def _with(obj: Any, path: Sequence[str], value: Any) -> Obj:
    """Return an object with another value under a path, or without any."""
    name, rest = path[0], path[1:]
    result = dict(obj) if isinstance(obj, dict) else {}
    if not rest:
        result = {each: inner for each, inner in result.items() if each != name}
        return result if value is _ABSENT else {**result, name: value}
    if value is not _ABSENT or isinstance(result.get(name), dict):
        result[name] = _with(result.get(name), rest, value)
    return result


@dataclass(frozen=True, slots=True)
class Failure:
    """That a rollout stopped by itself, at which generation of the parent, and why."""

    generation: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Revision:
    """One version of a parent: its patch, the children that are at it, and how its rollout fares.

    `waiting` says since when a moved child has not been well. `stored` is the object as it was read, None before the
    first write.
    """

    patch: Obj
    children: frozenset[ChildId] = frozenset()
    waiting: Mapping[ChildId, float] = field(default_factory=dict)
    failure: Failure | None = None
    stored: Obj | None = None


def revision_name(parent: Obj, resource: Resource, patch: Obj) -> str:
    """Return the name of the ControllerRevision: the same for the same parent and patch."""
    content = uid_of(parent).encode() + orjson.dumps(patch, option=orjson.OPT_SORT_KEYS)
    prefix = f"{resource.plural}.{resource.group or 'core'}"[:_LONGEST_PREFIX]
    return f"{prefix}-{hashlib.sha1(content, usedforsecurity=False).hexdigest()}"


def revision_labels(parent: Obj, resource: Resource, selector: LabelSelector) -> dict[str, str]:
    """Return the labels of a parent's revisions: whose they are, and what its selector asks for.

    Where the selector leaves a choice, the labels of the parent's template are taken.
    """
    template = dig(parent, "spec", "template", "metadata", "labels", default={})
    labels = {}
    for wanted in selector.requirements:
        have = template.get(wanted.key) if isinstance(template, dict) else None
        if wanted.operator in ("=", "==", "in"):
            labels[wanted.key] = have if have in wanted.values else wanted.values[0]
        elif wanted.operator == "exists":
            labels[wanted.key] = have if isinstance(have, str) else ""
    labels[REVISION_GROUP_LABEL] = _label_value(resource.group)
    labels[REVISION_RESOURCE_LABEL] = _label_value(resource.plural)
    return labels


def _label_value(text: str) -> str:
    return text[:_LONGEST_LABEL].rstrip(".-")


def revisions_of(parent: Obj, stored: Iterable[Obj], rolling: Iterable[Resource]) -> tuple[Revision, ...]:
    """Read the revisions of a parent, the newest first; claims of kinds that do not roll are passed over.

    They are known by their owner alone, so that labels which somebody removed, or a changed selector, lose no rollout.
    """
    kinds = {(kind.group, kind.kind): kind for kind in rolling}
    own = [obj for obj in stored if is_controlled_by(obj, parent)]
    own.sort(key=lambda obj: (obj["metadata"].get("creationTimestamp") or "", name_of(obj)), reverse=True)
    return tuple(_read(obj, namespace_of(parent), kinds) for obj in own)


def with_latest(revisions: Sequence[Revision], patch: Obj) -> tuple[Revision, tuple[Revision, ...]]:
    """Return the revision at which the parent is, a new one where none is stored, and all the others."""
    latest = next((revision for revision in revisions if same(revision.patch, patch)), None)
    others = tuple(revision for revision in revisions if revision is not latest)
    return latest or Revision(patch), others


_Kinds = Mapping[tuple[str, str], Resource]


def _read(stored: Obj, home: str, kinds: _Kinds) -> Revision:
    children = [
        _read_child(name, kinds[kind], home)
        for entry in stored.get("children") or ()
        if (kind := (entry.get("apiGroup") or "", entry.get("kind") or "")) in kinds
        for name in entry.get("names") or ()
    ]
    waiting, failure = _read_fortune(stored, home, kinds)
    return Revision(stored.get("parentPatch") or {}, frozenset(children), waiting, failure, stored)


def _read_child(written: str, kind: Resource, home: str) -> ChildId:
    match written.split("/"):
        case [cluster, namespace, name]:
            return ChildId(kind.api_version, kind.kind, namespace, name, cluster)
        case [namespace, name]:
            return ChildId(kind.api_version, kind.kind, namespace, name)
        case _:
            return ChildId(kind.api_version, kind.kind, home if kind.namespaced else "", written)


def _written_child(child: ChildId, home: str) -> str:
    if child.cluster:
        return f"{child.cluster}/{child.namespace}/{child.name}"
    return child.name if child.namespace in ("", home) else f"{child.namespace}/{child.name}"


def _group(child: ChildId) -> str:
    return child.api_version.rpartition("/")[0]


def _read_fortune(stored: Obj, home: str, kinds: _Kinds) -> tuple[dict[ChildId, float], Failure | None]:
    """Read how a rollout fares; what cannot be read has not happened."""
    waiting: dict[ChildId, float] = {}
    try:
        told = orjson.loads(annotations_of(stored).get(ROLLOUT_ANNOTATION, "{}"))
        for entry in told.get("waiting") or ():
            kind = kinds.get((entry["apiGroup"], entry["kind"]))
            if kind is not None:
                waiting[_read_child(entry["name"], kind, home)] = parse_timestamp(entry["since"])
        failed = told.get("failed")
        failure = Failure(int(failed["generation"]), str(failed["message"])) if failed else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}, None
    return waiting, failure


def _written_fortune(revision: Revision, home: str) -> str:
    told: Obj = {}
    if revision.waiting:
        told["waiting"] = [
            {
                "apiGroup": _group(child),
                "kind": child.kind,
                "name": _written_child(child, home),
                "since": micro_timestamp(since),
            }
            for child, since in sorted(revision.waiting.items())
        ]
    if revision.failure is not None:
        told["failed"] = {"generation": revision.failure.generation, "message": revision.failure.sentence}
    return orjson.dumps(told).decode() if told else ""


def _written_children(children: Iterable[ChildId], home: str) -> list[Obj]:
    names: dict[tuple[str, str], list[str]] = {}
    for child in sorted(children):
        names.setdefault((_group(child), child.kind), []).append(_written_child(child, home))
    return [{"apiGroup": group, "kind": kind, "names": listed} for (group, kind), listed in sorted(names.items())]


@dataclass(frozen=True, slots=True)
class RevisionStore:
    """How the revisions of one parent are written: whose they are, and where they are."""

    parent: Obj
    resource: Resource
    labels: Mapping[str, str]
    namespace: str

    def written(self, revision: Revision) -> Obj:
        """Return the ControllerRevision as it shall be stored."""
        home = namespace_of(self.parent)
        stored = revision.stored or self._new(revision)
        annotations = {name: text for name, text in annotations_of(stored).items() if name != ROLLOUT_ANNOTATION}
        if fortune := _written_fortune(revision, home):
            annotations[ROLLOUT_ANNOTATION] = fortune
        metadata = {**stored["metadata"], "labels": {**labels_of(stored), **self.labels}, "annotations": annotations}
        if not annotations:
            del metadata["annotations"]
        children = _written_children(revision.children, home)
        return {**stored, "metadata": metadata, "parentPatch": revision.patch, "children": children}

    def _new(self, revision: Revision) -> Obj:
        return {
            "apiVersion": CONTROLLER_REVISIONS.api_version,
            "kind": CONTROLLER_REVISIONS.kind,
            "metadata": {
                "name": revision_name(self.parent, self.resource, revision.patch),
                "namespace": self.namespace,
                "ownerReferences": [owner_reference(self.parent)],
            },
        }

    def changes(self, kept: Sequence[Revision], dropped: Iterable[Revision]) -> RevisionChanges:
        """Return what must be written, in this order, so that these revisions are stored and those are not.

        The latest comes first: a crash in between leaves a moved child claimed twice, and then the latest has it.
        """
        create, update = [], []
        for revision in kept:
            body = self.written(revision)
            if revision.stored is None:
                create.append(body)
            elif not _is_stored(body, revision.stored):
                update.append(body)
        return RevisionChanges(
            tuple(create), tuple(update), tuple(each.stored for each in dropped if each.stored is not None)
        )


def _is_stored(body: Obj, stored: Obj) -> bool:
    return (
        labels_of(body) == labels_of(stored)
        and annotations_of(body) == annotations_of(stored)
        and same(body["parentPatch"], stored.get("parentPatch"))
        and same(body["children"], stored.get("children") or [])
    )


@dataclass(frozen=True, slots=True)
class RevisionChanges:
    """ControllerRevisions to write before any child is touched: made, then changed, then deleted."""

    create: tuple[Obj, ...] = ()
    update: tuple[Obj, ...] = ()
    delete: tuple[Obj, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.create or self.update or self.delete)
