"""What is written of a child: the manifest that a hook returned, without what is not the hook's to say.

Two ways of writing are known. With the *dynamic* one a child carries what was last asked for in an annotation, and is
merged with it. With *server-side apply* the server keeps who set which field; that something was applied is then
remembered as a `Mark`, so that nothing is sent twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from hanse.api.metacontroller.kinds import LAST_APPLIED_ANNOTATION
from hanse.composite.merging import MergeProblem, merged
from hanse.kube.manifest import Obj, annotations_of, dig, finalizers_of, uid_of, version_of
from hanse.kube.patches.differences import digest
from hanse.kube.patches.merge_patch import same

_SYSTEM_FIELDS = (
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
)


def as_applied(desired: Obj) -> Obj:
    """Return what a hook may say of a child: no system fields, no status, no controlling owner, no memory of ours."""
    metadata = {name: value for name, value in desired["metadata"].items() if name not in _SYSTEM_FIELDS}
    if LAST_APPLIED_ANNOTATION in annotations_of(desired):
        _replace(metadata, "annotations", _without_memory(desired))
    owners = metadata.get("ownerReferences")
    # A hook that returns what it was shown would otherwise give the child away once it no longer does.
    if isinstance(owners, list) and any(_controls(owner) for owner in owners):
        _replace(metadata, "ownerReferences", [owner for owner in owners if not _controls(owner)])
    return {name: value for name, value in desired.items() if name != "status"} | {"metadata": metadata}


def _replace(metadata: Obj, name: str, value: Any) -> None:
    metadata.pop(name)
    if value:
        metadata[name] = value


def _controls(owner: Any) -> bool:
    return isinstance(owner, dict) and bool(owner.get("controller"))


def last_applied(observed: Obj) -> Obj:
    """Return what was last asked for of a child; nothing where that is unknown or unreadable."""
    text = annotations_of(observed).get(LAST_APPLIED_ANNOTATION)
    try:
        last = orjson.loads(text) if text else None
    except ValueError:
        last = None
    return as_applied(last) if isinstance(last, dict) and isinstance(last.get("metadata"), dict) else {}


def with_last_applied(desired: Obj) -> Obj:
    """Return a child that remembers what was asked for, as it is created."""
    return _remembering(as_applied(desired), as_applied(desired))


def updated(observed: Obj, desired: Obj) -> Obj | None:
    """Return a child as it shall be, with the memory of it; None where nothing differs. Raises MergeProblem."""
    wanted, last = as_applied(desired), last_applied(observed)
    after = merged(observed, last, _beside_others(observed, last, wanted))
    if same(last, wanted) and same(without_memory(after), without_memory(observed)):
        return None
    return _remembering(after, wanted)


def _beside_others(observed: Obj, last: Obj, wanted: Obj) -> Obj:
    """Return a wish that leaves others their labels, annotations and finalizers, even if the hook has no more own."""
    metadata, before = dict(wanted["metadata"]), dig(last, "metadata", default={})
    for name in ("labels", "annotations"):
        if name in before and metadata.get(name) is None:
            metadata |= {name: {} if observed["metadata"].get(name) else None}
    if "finalizers" in before or "finalizers" in metadata:
        had, now, there = _names(before), _names(metadata), finalizers_of(observed)
        kept = [name for name in there if name in now or name not in had]
        metadata["finalizers"] = [*kept, *(name for name in now if name not in there)]
    return {**wanted, "metadata": metadata}


def _names(metadata: Obj) -> list[Any]:
    names = metadata.get("finalizers")
    return names if isinstance(names, list) else []


def without_memory(child: Obj) -> Obj:
    """Return a child without what was last asked for, so that two of them can be compared."""
    metadata = {name: value for name, value in child["metadata"].items() if name != "annotations"}
    if annotations := _without_memory(child):
        metadata["annotations"] = annotations
    return {**child, "metadata": metadata}


def is_as_desired(observed: Obj, desired: Obj) -> bool:
    """Tell whether a child differs in nothing but perhaps the memory of what was asked for."""
    try:
        after = updated(observed, desired)
    except MergeProblem:
        return False
    return after is None or same(without_memory(after), without_memory(observed))


def _without_memory(child: Obj) -> Obj:
    return {name: value for name, value in annotations_of(child).items() if name != LAST_APPLIED_ANNOTATION}


def _remembering(child: Obj, wanted: Obj) -> Obj:
    memory = orjson.dumps(wanted, option=orjson.OPT_SORT_KEYS).decode()
    annotations = {**annotations_of(child), LAST_APPLIED_ANNOTATION: memory}
    return {**child, "metadata": {**child["metadata"], "annotations": annotations}}


@dataclass(frozen=True, slots=True)
class Mark:
    """That something was applied to a child by the server, and the version of the child that this gave."""

    asked: str
    uid: str
    version: Any


def mark(desired: Obj, live: Obj) -> Mark:
    """Return what to remember after a server-side apply that answered with the live child."""
    return Mark(digest(as_applied(desired)), uid_of(live), _content_version(live))


def is_applied(remembered: Mark | None, desired: Obj, live: Obj) -> bool:
    """Tell whether a child still is as it was applied: what is asked for is the same, and so is the child.

    A child may have another version and yet have all that is asked for; what was taken out of the wish went with the
    apply that is remembered.
    """
    now = mark(desired, live)
    if remembered is None or (remembered.asked, remembered.uid) != (now.asked, now.uid):
        return False
    return remembered.version == now.version or _covers(live, as_applied(desired))


def _content_version(live: Obj) -> Any:
    # ConfigMaps, Services and others have no generation.
    return dig(live, "metadata", "generation") or version_of(live)


def _covers(live: Obj, wanted: Obj) -> bool:
    try:
        return same(merged(live, wanted, wanted), live)
    except MergeProblem:
        return False


def dry_run_difference(live: Obj, answer: Obj) -> bool | str:
    """Tell from the answer to a dry-run apply whether a child would change; a sentence where that cannot be told."""
    # A dry run answers with the version that it was tried on.
    if (uid_of(live), version_of(live)) != (uid_of(answer), version_of(answer)):
        return "the child has changed since it was looked at"
    return not same(_comparable(live), _comparable(answer))


def _comparable(child: Obj) -> Obj:
    metadata = {name: value for name, value in child["metadata"].items() if name not in _SYSTEM_FIELDS}
    return {name: value for name, value in without_memory({**child, "metadata": metadata}).items() if name != "status"}
