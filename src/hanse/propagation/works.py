"""Wishes for a cluster that fetches its work, and its answers, as `Work` objects: pure, both ways.

What is read is what was written: a wish that comes back from a Work equals the one that went in.
"""

from __future__ import annotations

from dataclasses import dataclass

from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION
from hanse.api.works import (
    ABSENT,
    KEPT,
    NOTHING,
    PRESENT,
    RELEASED,
    WORKS,
    agent_namespace,
    kind_entry,
    kind_of,
)
from hanse.kube.manifest import Key, Obj, annotations_of, dig, labels_of
from hanse.kube.patches.differences import digest
from hanse.propagation.comparison import Absent, Kept, Present, Released, Wanted
from hanse.propagation.intent import Ref
from hanse.propagation.removal import DELETED, Removal

# A cluster's answer is about where and how a copy is; what is in it, a Secret's data say, is not sent back.
_UNTOLD = ("data", "stringData", "binaryData")
# These change with every write of anybody, and nothing depends on them.
_UNTOLD_METADATA = ("managedFields", "resourceVersion", "selfLink")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a cluster says of one Work: of which version of the wish, what stands in the way, and what it has.

    `reason` is the trouble in one word. `confirmed` says that it was asked and has no copy any more.
    """

    generation: int = 0
    trouble: str = ""
    reason: str = ""
    confirmed: bool = False
    copy: Obj | None = None


def work_key(cluster: str, ref: Ref) -> Key:
    """Return where the Work for one source object is; a name of any length and spelling has one."""
    mark = digest({"resource": kind_entry(ref.resource), "key": list(ref.key)})
    return Key(agent_namespace(cluster), f"{ref.resource.plural[:40]}-{mark[:20]}")


def ref_of(work: Obj) -> Ref:
    """Return the source object that a Work is about."""
    spec = work["spec"]
    return Ref(kind_of(spec["resource"]), Key(spec.get("namespace") or "", spec["name"]))


def work_manifest(cluster: str, ref: Ref, wanted: Wanted | None) -> Obj:
    """Write a Work; one without a wish only holds the cluster's answer."""
    key = work_key(cluster, ref)
    return {
        "apiVersion": WORKS.api_version,
        "kind": WORKS.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": work_spec(ref, wanted),
    }


def work_spec(ref: Ref, wanted: Wanted | None) -> Obj:
    """Write a wish for one source object."""
    spec: Obj = {"resource": kind_entry(ref.resource), "namespace": ref.key.namespace, "name": ref.key.name}
    if wanted is None:
        return {**spec, "want": NOTHING}
    spec["sourceUID"] = wanted.source_uid
    if not isinstance(wanted, Released) and wanted.inherits:
        spec["inherits"] = list(wanted.inherits)
    match wanted:
        case Present():
            return {
                **spec,
                "want": PRESENT,
                "manifest": wanted.manifest,
                "shared": wanted.shared,
                "mend": wanted.mend,
                "adopt": wanted.adopt,
                "retain": [list(path) for path in wanted.retain],
            }
        case Kept(numbers=numbers):
            return {**spec, "want": KEPT, "numbers": [{"path": list(path), "value": value} for path, value in numbers]}
        case Absent(removal=removal):
            grace = {} if removal.grace_seconds is None else {"gracePeriodSeconds": removal.grace_seconds}
            return {**spec, "want": ABSENT, "propagationPolicy": removal.propagation, **grace}
        case Released():
            return {**spec, "want": RELEASED}


def wish_of(work: Obj) -> Wanted | None:
    """Read a wish; None where the Work says nothing, or something that this version does not know."""
    spec = work["spec"]
    uid, inherits = spec.get("sourceUID") or "", tuple(spec.get("inherits") or ())
    want = spec.get("want") or NOTHING
    if want == NOTHING or not uid:
        return None
    if want == PRESENT and isinstance(spec.get("manifest"), dict):
        return Present(
            spec["manifest"],
            uid,
            shared=bool(spec.get("shared", False)),
            mend=bool(spec.get("mend", True)),
            retain=tuple(tuple(path) for path in spec.get("retain") or ()),
            adopt=bool(spec.get("adopt", False)),
            inherits=inherits,
        )
    if want == KEPT:
        numbers = tuple((tuple(entry["path"]), entry["value"]) for entry in spec.get("numbers") or ())
        return Kept(uid, numbers, inherits)
    if want == ABSENT:
        removal = Removal(spec.get("propagationPolicy") or DELETED.propagation, spec.get("gracePeriodSeconds"))
        return Absent(uid, inherits, removal)
    return Released(uid) if want == RELEASED else None


def work_status(answer: Answer) -> Obj:
    """Write a cluster's answer; what there is nothing to say of is left out."""
    status: Obj = {"observedGeneration": answer.generation}
    if answer.trouble:
        status["trouble"] = answer.trouble
    if answer.reason:
        status["reason"] = answer.reason
    if answer.confirmed:
        status["confirmed"] = True
    if answer.copy is not None:
        status["copy"] = answer.copy
    return status


def answer_of(work: Obj) -> Answer:
    """Read a cluster's answer."""
    status = work.get("status") or {}
    return Answer(
        generation=int(status.get("observedGeneration") or 0),
        trouble=str(status.get("trouble") or ""),
        reason=str(status.get("reason") or ""),
        confirmed=bool(status.get("confirmed")),
        copy=status.get("copy"),
    )


def is_current(work: Obj) -> bool:
    """Tell whether the cluster's answer is about the present wish."""
    return bool(answer_of(work).generation == dig(work, "metadata", "generation", default=0))


def told_copy(copy: Obj | None) -> Obj | None:
    """Return what is told of a copy: all but its data, and what changes for no reason."""
    if copy is None:
        return None
    metadata = {name: value for name, value in copy["metadata"].items() if name not in _UNTOLD_METADATA}
    return {name: value for name, value in copy.items() if name not in _UNTOLD} | {"metadata": metadata}


def is_managed(obj: Obj | None) -> bool:
    """Tell whether an object of a cluster is Hanse's, whoever's copy it may be."""
    return obj is not None and labels_of(obj).get(MANAGED_LABEL) == "true" and OWNER_ANNOTATION in annotations_of(obj)
