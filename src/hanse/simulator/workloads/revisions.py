"""The revisions of a Deployment: which ReplicaSet is the present one, how a new one is made, what old ones note."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting, labels_of, name_of, namespace_of, owner_reference
from hanse.kube.resources import REPLICASETS
from hanse.kube.selectors import LabelSelector
from hanse.simulator.workloads.rollout import Bounds, Generation

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
TEMPLATE_HASH = "pod-template-hash"

_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        HISTORY,
        DESIRED,
        MOST,
    }
)
_LONGEST_HISTORY = 2000
_LONGEST_NAME = 253
# The alphabet of generated names: digits of the hash become letters that spell nothing.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def template_hash(template: Obj, collisions: int) -> str:
    """Return the text that tells a template's pods from another's; collisions lead to another one."""
    data = orjson.dumps(template, option=orjson.OPT_SORT_KEYS) + (str(collisions).encode() if collisions else b"")
    number = 2166136261
    for byte in data:
        number = (number ^ byte) * 16777619 % 2**32
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def same_template(deployment: Obj, replica_set: Obj) -> bool:
    """Tell whether a ReplicaSet's pods are what the Deployment asks for."""
    theirs = replica_set["spec"]["template"]
    metadata = dict(theirs.get("metadata") or {})
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != TEMPLATE_HASH}
    wanted = deployment["spec"]["template"]
    wanted_metadata = dict(wanted.get("metadata") or {})
    if (wanted_metadata.pop("labels", None) or {}) != labels:
        return False
    metadata.pop("labels", None)
    for written in (metadata, wanted_metadata):
        # Servers write an empty creationTimestamp into templates, or leave it out.
        written.pop("creationTimestamp", None)
    return metadata == wanted_metadata and bool(theirs.get("spec") == wanted.get("spec"))


def present_revision(deployment: Obj, replica_sets: Iterable[Obj]) -> Obj | None:
    """Return the oldest ReplicaSet with the Deployment's template; None before there is one."""
    same = [replica_set for replica_set in replica_sets if same_template(deployment, replica_set)]
    return min(same, key=_age, default=None)


def _age(replica_set: Obj) -> tuple[str, str]:
    return replica_set["metadata"].get("creationTimestamp") or "", name_of(replica_set)


def revision_of(obj: Obj) -> int:
    """Return the revision that an object notes; 0 where it notes none."""
    text = annotations_of(obj).get(REVISION, "")
    return int(text) if text.isdigit() else 0


def next_revision(old: Iterable[Obj]) -> int:
    """Return the revision that follows those of the old ReplicaSets."""
    return max((revision_of(replica_set) for replica_set in old), default=0) + 1


def generation_of(replica_set: Obj) -> Generation:
    """Return what a rollout needs to know of a ReplicaSet."""
    annotations = annotations_of(replica_set)
    return Generation(
        name=name_of(replica_set),
        replicas=int(dig(replica_set, "spec", "replicas", default=0)),
        actual=int(dig(replica_set, "status", "replicas", default=0)),
        available=int(dig(replica_set, "status", "availableReplicas", default=0)),
        created=_age(replica_set)[0],
        desired_then=_number(annotations.get(DESIRED)),
        most_then=_number(annotations.get(MOST)),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def size_annotations(bounds: Bounds) -> dict[str, str]:
    """Return what a ReplicaSet notes of the Deployment when it is sized."""
    return {DESIRED: str(bounds.replicas), MOST: str(bounds.most)}


def new_replica_set(deployment: Obj, *, revision: int, replicas: int, bounds: Bounds) -> Obj:
    """Return the ReplicaSet for a Deployment's present template; its name follows from it alone."""
    spec = deployment["spec"]
    template = spec["template"]
    suffix = template_hash(template, int(dig(deployment, "status", "collisionCount", default=0)))
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), TEMPLATE_HASH: suffix}
    selector = dict(spec["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), TEMPLATE_HASH: suffix}
    name = name_of(deployment)[: _LONGEST_NAME - 1 - len(suffix)] + f"-{suffix}"
    made: Obj = {
        "apiVersion": REPLICASETS.api_version,
        "kind": REPLICASETS.kind,
        "metadata": {
            "name": name,
            "namespace": namespace_of(deployment),
            "labels": labels,
            "annotations": {**_copied(deployment), REVISION: str(revision), **size_annotations(bounds)},
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {
            "replicas": replicas,
            "selector": selector,
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        },
    }
    if spec.get("minReadySeconds"):
        made["spec"]["minReadySeconds"] = spec["minReadySeconds"]
    return made


def _copied(deployment: Obj) -> dict[str, str]:
    return {key: value for key, value in annotations_of(deployment).items() if key not in _NOT_COPIED}


def annotations_to_write(deployment: Obj, replica_set: Obj, revision: int) -> dict[str, str]:
    """Return the annotations that the present ReplicaSet lacks; a return to it is noted in its history."""
    have = annotations_of(replica_set)
    changed = {key: value for key, value in _copied(deployment).items() if have.get(key) != value}
    before = revision_of(replica_set)
    if before < revision:
        changed[REVISION] = str(revision)
        if before:
            changed[HISTORY] = _longer_history(have.get(HISTORY, ""), before)
    return changed


def _longer_history(history: str, revision: int) -> str:
    entries = [*filter(None, history.split(",")), str(revision)]
    while len(",".join(entries)) > _LONGEST_HISTORY:
        entries.pop(0)
    return ",".join(entries)


def forgotten_revisions(deployment: Obj, old: Sequence[Obj]) -> list[Obj]:
    """Return the old ReplicaSets beyond the history limit that are empty and may go, oldest revision first."""
    limit = dig(deployment, "spec", "revisionHistoryLimit")
    if limit is None:
        return []
    alive = sorted(
        (entry for entry in old if not is_deleting(entry)), key=lambda entry: (revision_of(entry), _age(entry))
    )
    return [replica_set for replica_set in alive[: max(0, len(alive) - int(limit))] if _is_empty(replica_set)]


def _is_empty(replica_set: Obj) -> bool:
    status = replica_set.get("status") or {}
    seen = int(replica_set["metadata"].get("generation", 0)) <= int(status.get("observedGeneration") or 0)
    return seen and not status.get("replicas") and not dig(replica_set, "spec", "replicas", default=0)


def selects(deployment: Obj, replica_set: Obj) -> bool:
    """Tell whether a Deployment's selector covers a ReplicaSet that nobody controls."""
    return LabelSelector.from_object(deployment["spec"].get("selector")).matches(labels_of(replica_set))
