"""Taking over from KubeFed, decided: which member objects become copies of Hanse, and what is written after that.

KubeFed knows its objects in members by a label. Hanse knows a copy by a label, its owner's uid and a digest of what was
rendered: with these in place, written into nothing but metadata, a copy that is as its federated object says is left as
it is, and so are its pods. What is not certain to be wanted where it is stays the cluster's own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from hanse.api.clusters import Cluster
from hanse.api.kubefed.forms import FORM_D
from hanse.api.names import FINALIZER, MANAGED_LABEL, OWNER_ANNOTATION, RENDERED_ANNOTATION
from hanse.federated.door import FederatedDoor
from hanse.kube.client import FIELD_MANAGER
from hanse.kube.manifest import (
    Obj,
    annotations_of,
    dig,
    finalizers_of,
    is_deleting,
    key_of,
    labels_of,
    uid_of,
    version_of,
)
from hanse.kube.resources import NAMESPACES, Resource
from hanse.kube.schemas import schema_for
from hanse.propagation.comparison import Present, Wanted
from hanse.propagation.drift import drifted_fields
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.ownership import is_creation
from hanse.propagation.planning import UNSEEN, Observation, plan
from hanse.propagation.rendering import rendered_digest
from hanse.propagation.scale import with_field

KUBEFED_LABEL = FORM_D.managed_label
SYNC_FINALIZER = f"{FORM_D.prefix}/sync-controller"


class Step(Enum):
    """What becomes of one member's object."""

    TAKE = "to be taken over"
    HAVE = "Hanse's"
    LEAVE = "left alone"


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """One member's object: the `patch` of its metadata that takes it over, or `why` it is left alone.

    `differs` are the fields that the federated object wants otherwise, and that are written once Hanse runs.
    """

    cluster: str
    target: Ref
    step: Step
    why: str = ""
    differs: tuple[str, ...] = ()
    patch: Obj | None = None


@dataclass(frozen=True, slots=True)
class ObjectPlan:
    """One federated object: its copies, what there is to say of it, and its finalizers where they are to change."""

    ref: Ref
    source: Obj
    copies: tuple[CopyPlan, ...] = ()
    notes: tuple[str, ...] = ()
    finalizers: tuple[str, ...] | None = None

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to be written for it."""
        return self.finalizers is None and all(copy.step is not Step.TAKE for copy in self.copies)


def plan_object(
    resource: Resource,
    source: Obj,
    door: FederatedDoor,
    clusters: Sequence[Cluster],
    held: Mapping[str, Mapping[Ref, Obj]],
    own: Collection[str] = (),
) -> ObjectPlan:
    """Decide about one federated object; `held` is what each cluster that answers has of KubeFed's, `own` is the host.

    A cluster that does not answer is missing from `held`, and what it has is adopted when it is back.
    """
    ref = Ref(resource, key_of(source))
    target = door.target(ref)
    found = {name: objects[target] for name, objects in held.items() if target in objects}
    if why := _why_not(source, door):
        left = (CopyPlan(name, target, Step.LEAVE, why) for name in sorted(found))
        return ObjectPlan(ref, source, tuple(left), (why,))
    intent = door.translate(source)
    answering = [replace(each, ready=each.name in held, offline=each.name not in held) for each in clusters]
    wanted = _wanted(intent, answering, found, held)
    copies = tuple(_copy(name, target, found[name], source, wanted, own) for name in sorted(found))
    return ObjectPlan(ref, source, copies, _notes(intent), _finalizers(source))


def _why_not(source: Obj, door: FederatedDoor) -> str:
    if is_deleting(source) and SYNC_FINALIZER in finalizers_of(source):
        return (
            "it is being deleted and waits for KubeFed: let KubeFed finish, "
            f"or take the finalizer {SYNC_FINALIZER} away to leave what clusters have there"
        )
    return "" if door.admits(source) else "its type does not propagate, or it is not to be federated"


@dataclass(frozen=True, slots=True)
class _Wishes:
    """What clusters shall have of an object: None of all of them where the object cannot be understood."""

    by_cluster: Mapping[str, Wanted] | None
    unwanted: Collection[str] = ()


def _wanted(
    intent: Intent | Problem,
    clusters: Sequence[Cluster],
    found: Mapping[str, Obj],
    held: Mapping[str, Mapping[Ref, Obj]],
) -> _Wishes:
    if isinstance(intent, Problem):
        return _Wishes(None)
    observed = {name: Observation(True, _marked(found.get(name), intent.source_uid)) for name in held}
    planned = plan(intent, clusters, {cluster.name: observed.get(cluster.name, UNSEEN) for cluster in clusters})
    chosen = {*planned.decision.chosen(), *planned.spoiled}
    return _Wishes(planned.wanted, [name for name in found if name not in chosen])


def _copy(name: str, target: Ref, obj: Obj, source: Obj, wishes: _Wishes, own: Collection[str]) -> CopyPlan:
    owner = annotations_of(obj).get(OWNER_ANNOTATION, "")
    if owner == uid_of(source):
        # It may have been adopted while this cluster could not be asked, and KubeFed's hold on its fields is left.
        step = Step.TAKE if _handing(obj) else Step.HAVE
        return CopyPlan(name, target, step, patch=_of_exactly(obj, _handing(obj)) if step is Step.TAKE else None)
    if why := _why_left(name, target, obj, owner, wishes, own):
        return CopyPlan(name, target, Step.LEAVE, why)
    wish = wishes.by_cluster.get(name) if wishes.by_cluster is not None else None
    manifest = _retaining(wish, obj) if isinstance(wish, Present) else None
    digest = rendered_digest(wish.manifest) if isinstance(wish, Present) else ""
    differs: tuple[str, ...] = ()
    if manifest is not None:
        kind = target.resource
        marked = _marked(obj, uid_of(source), digest)
        differs = tuple(drifted_fields(marked, manifest, schema_for(kind.group, kind.version, kind.kind)))
    return CopyPlan(name, target, Step.TAKE, differs=differs, patch=_patch(obj, uid_of(source), digest))


def _why_left(name: str, target: Ref, obj: Obj, owner: str, wishes: _Wishes, own: Collection[str]) -> str:
    if owner:
        return f"it is the copy of another object, {owner}"
    if labels_of(obj).get(KUBEFED_LABEL) != "true":
        return f'it is labelled {KUBEFED_LABEL}: "{labels_of(obj).get(KUBEFED_LABEL)}"'
    if is_deleting(obj):
        return "it is being deleted"
    if name in own and target.resource == NAMESPACES:
        return "it is the namespace of the host itself, which goes on being used as it is"
    if name in wishes.unwanted:
        return "the federated object no longer asks for it there; remove it by hand, or keep it as the cluster's own"
    return ""


def _marked(obj: Obj | None, uid: str, digest: str = "") -> Obj | None:
    """Return a member's object as it is once it is taken over."""
    if obj is None or labels_of(obj).get(KUBEFED_LABEL) != "true":
        return obj
    marks = _marks(uid, digest)
    labels, annotations = {**labels_of(obj), **marks["labels"]}, {**annotations_of(obj), **marks["annotations"]}
    return {**obj, "metadata": {**obj["metadata"], "labels": labels, "annotations": annotations}}


def _marks(uid: str, digest: str) -> Obj:
    rendered = {RENDERED_ANNOTATION: digest} if digest else {}
    return {"labels": {MANAGED_LABEL: "true"}, "annotations": {OWNER_ANNOTATION: uid, **rendered}}


def _patch(obj: Obj, uid: str, digest: str) -> Obj:
    return _of_exactly(obj, {**_marks(uid, digest), **_handing(obj)})


def _of_exactly(obj: Obj, metadata: Obj) -> Obj:
    """Return the merge patch that writes metadata into an object as it was seen, and into nothing newer."""
    return {"metadata": {"uid": uid_of(obj), "resourceVersion": version_of(obj), **metadata}}


def _handing(obj: Obj) -> Obj:
    entries: list[Obj] = dig(obj, "metadata", "managedFields", default=[])
    handed = handed_over(entries)
    return {} if handed == entries else {"managedFields": handed}


def handed_over(entries: list[Obj]) -> list[Obj]:
    """Return managedFields with KubeFed's fields as Hanse's own, as if it had created the object.

    As long as they were somebody else's, a field that is taken out of a template would stay in the members.
    """
    if any(is_creation(entry) for entry in entries):
        return entries
    return [{**entry, "manager": FIELD_MANAGER} if _is_kubefeds(entry) else entry for entry in entries]


def _is_kubefeds(entry: Obj) -> bool:
    label: Any = dig(entry, "fieldsV1", "f:metadata", "f:labels", f"f:{KUBEFED_LABEL}")
    return label is not None and entry.get("operation") == "Update" and not entry.get("subresource")


def _retaining(wish: Present, obj: Obj) -> Obj:
    manifest = wish.manifest
    for path in wish.retain:
        if (value := dig(obj, *path)) is not None:
            manifest = with_field(manifest, path, value)
    return manifest


def _notes(intent: Intent | Problem) -> tuple[str, ...]:
    if isinstance(intent, Problem):
        return (f"{intent.reason}: {intent.message}",)
    return tuple(warning.message for warning in intent.warnings)


def _finalizers(source: Obj) -> tuple[str, ...] | None:
    present = finalizers_of(source)
    if SYNC_FINALIZER not in present:
        return None
    return tuple(dict.fromkeys(FINALIZER if name == SYNC_FINALIZER else name for name in present))
