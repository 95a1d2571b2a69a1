"""Taking over from Shipper, decided: each release's Pieces are made of what runs in its clusters; nothing is rendered.

Charts of that time may render no more, or otherwise. So a release is what its clusters have of it. The Pieces say that
objects of their names are to be adopted, and are as the objects are: the engine finds nothing to change. Shipper had
all objects owned by an anchor, and what an anchor owns goes with it: that hold is taken off first. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import orjson

from hanse.api.names import ADOPT_ANNOTATION
from hanse.api.pieces import PIECES_ANNOTATION, RENDERING_ANNOTATION
from hanse.api.shipper.kinds import (
    APP_LABEL,
    BALANCED,
    BALANCED_LABEL,
    CLUSTERS_ANNOTATION,
    OWNED_LABEL,
    RELEASE_LABEL,
    ROLLOUT_FINALIZER,
)
from hanse.kube.client import FIELD_MANAGER
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    dig,
    finalizers_of,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
    version_of,
)
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, SERVICES, Resource
from hanse.kube.schemas import schema_for
from hanse.propagation.drift import drifted_fields
from hanse.propagation.stored_form import as_stored
from hanse.rollouts.assembly import Assembled
from hanse.rollouts.cluster_reading import Targets
from hanse.rollouts.door import share_of
from hanse.rollouts.releases import manifests

_ANCHOR_SUFFIX = "-anchor"
# Annotations that servers and tools keep for themselves; they are not part of what was rendered.
_UNTOLD = ("kubectl.kubernetes.io/", "deployment.kubernetes.io/", "hanse.dev/")


class Step(Enum):
    """What becomes of an object."""

    TAKE = "to be taken over"
    HAVE = "Hanse's"
    LEAVE = "left alone"


@dataclass(frozen=True, slots=True)
class Held:
    """One object of an application as a cluster has it; `body` is what of it is the same in every cluster."""

    resource: Resource
    obj: Obj
    body: Obj

    @property
    def identity(self) -> tuple[Resource, Key]:
        """By what it is known in every cluster."""
        return self.resource, key_of(self.obj)


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """One cluster's object: the fields that are written once Hanse runs, and the `patch` of metadata that frees it.

    One that is `missing` is made once Hanse runs.
    """

    cluster: str
    resource: Resource
    key: Key
    differs: tuple[str, ...] = ()
    patch: Obj | None = None
    obj: Obj | None = None

    @property
    def missing(self) -> bool:
        """Whether the cluster does not have it."""
        return self.obj is None


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """One release: its Pieces, what to write on its InstallationTarget, and what its clusters have of it."""

    release: Obj
    step: Step
    why: str = ""
    pieces: tuple[Obj, ...] = ()
    annotations: Mapping[str, str] | None = None
    finalizers: tuple[str, ...] | None = None
    copies: tuple[CopyPlan, ...] = ()


def plan_release(release: Obj, targets: Targets, held: Mapping[str, Sequence[Held]]) -> ReleasePlan:
    """Decide about one release; `held` is what each cluster that answers has of its application."""
    if annotations_of(targets.installation or {"metadata": {}}).get(RENDERING_ANNOTATION):
        return ReleasePlan(release, Step.HAVE)
    clusters = [name for name in annotations_of(release).get(CLUSTERS_ANNOTATION, "").split(",") if name]
    if why := _why_left(release, targets, clusters, held):
        return ReleasePlan(release, Step.LEAVE, why)
    found = {name: [each for each in held[name] if is_part(each, release)] for name in clusters}
    parts = _parts(found)
    deployments = [each for each in parts if each.resource == DEPLOYMENTS]
    if len(deployments) != 1:
        return ReleasePlan(release, Step.LEAVE, _why_no_deployment(deployments))
    assembled = _assembled(parts, deployments[0], targets.capacity)
    pieces = manifests.pieces(release, assembled, [each.resource for each in parts])
    return ReleasePlan(
        release,
        Step.TAKE,
        pieces=tuple(_adopting(piece) for piece in pieces),
        annotations={
            RENDERING_ANNOTATION: assembled.digest,
            PIECES_ANNOTATION: ",".join(sorted(map(name_of, pieces))),
            manifests.REPLICAS_ANNOTATION: str(assembled.replicas),
        },
        finalizers=_finalizers(release),
        copies=tuple(_copies(parts, found, targets.capacity)),
    )


def _why_left(release: Obj, targets: Targets, clusters: Sequence[str], held: Mapping[str, Sequence[Held]]) -> str:
    if is_deleting(release):
        return "it is being deleted"
    if not clusters or targets.installation is None:
        return "no cluster was chosen for it yet, which Hanse does as for any other"
    if targets.capacity is None or targets.traffic is None:
        return "it has no CapacityTarget or no TrafficTarget; delete the release"
    if silent := [name for name in clusters if name not in held]:
        return f"{', '.join(silent)} could not be looked at; run the command again when that is mended"
    return ""


def _why_no_deployment(deployments: Sequence[Held]) -> str:
    if not deployments:
        return "no cluster has a Deployment of it; delete the release"
    names = ", ".join(name_of(each.obj) for each in deployments)
    return f"it has more than one Deployment in its clusters, {names}; remove those that are not the release's"


def is_part(held: Held, release: Obj) -> bool:
    """Tell whether an object is a release's: labelled so, its anchor, or one that an application's releases share.

    An object is shared whose name does not tell of the release that wrote it last, as a Service that all have.
    """
    name, labels = name_of(release), labels_of(held.obj)
    if held.resource == CONFIGMAPS and name_of(held.obj) == f"{name}{_ANCHOR_SUFFIX}":
        return namespace_of(held.obj) == namespace_of(release)
    if labels.get(APP_LABEL) != labels_of(release).get(APP_LABEL):
        return False
    if held.resource.namespaced and namespace_of(held.obj) != namespace_of(release):
        return False
    writer = labels.get(RELEASE_LABEL, "")
    return writer == name or (bool(writer) and writer not in name_of(held.obj))


def _parts(found: Mapping[str, Sequence[Held]]) -> list[Held]:
    """Return every object once, as the first cluster that has it has it; anchors first, then in order of kind."""
    parts: dict[tuple[Resource, Key], Held] = {}
    for name in sorted(found):
        for each in found[name]:
            parts.setdefault(each.identity, each)
    return sorted(parts.values(), key=lambda each: (not _is_anchor(each), each.resource.kind, name_of(each.obj)))


def _is_anchor(held: Held) -> bool:
    return held.resource == CONFIGMAPS and name_of(held.obj).endswith(_ANCHOR_SUFFIX)


def template_of(held: Held) -> Obj:
    """Return what every cluster has of an object: its name, labels, annotations and content; a Deployment at rest."""
    metadata: Obj = {"name": name_of(held.obj)}
    if held.resource.namespaced:
        metadata["namespace"] = namespace_of(held.obj)
    annotations = {name: value for name, value in annotations_of(held.obj).items() if not name.startswith(_UNTOLD)}
    metadata |= {"labels": labels_of(held.obj)} | ({"annotations": annotations} if annotations else {})
    manifest = {**held.body, "apiVersion": held.resource.api_version, "kind": held.resource.kind, "metadata": metadata}
    if held.resource == DEPLOYMENTS:
        manifest["spec"] = {**manifest["spec"], "replicas": 0}
    return manifest


def _assembled(parts: Sequence[Held], deployment: Held, capacity: Obj | None) -> Assembled:
    templates = tuple(template_of(each) for each in parts)
    balanced = (
        each for each in parts if each.resource == SERVICES and labels_of(each.obj).get(BALANCED_LABEL) == BALANCED
    )
    service = next(balanced, None)
    replicas = max(manifests.numbers(capacity, "totalReplicaCount").values(), default=1)
    return Assembled(
        pieces=templates,
        deployment=template_of(deployment),
        replicas=replicas,
        service={} if service is None else template_of(service),
        digest=hashlib.sha256(orjson.dumps([replicas, *templates], option=orjson.OPT_SORT_KEYS)).hexdigest(),
    )


def _adopting(piece: Obj) -> Obj:
    annotations = {**annotations_of(piece), ADOPT_ANNOTATION: "true"}
    return {**piece, "metadata": {**piece["metadata"], "annotations": annotations}}


def _finalizers(release: Obj) -> tuple[str, ...] | None:
    present = finalizers_of(release)
    return None if ROLLOUT_FINALIZER in present else (*present, ROLLOUT_FINALIZER)


def _copies(parts: Iterable[Held], found: Mapping[str, Sequence[Held]], capacity: Obj | None) -> Iterator[CopyPlan]:
    for part in parts:
        for cluster in sorted(found):
            copy = next((each for each in found[cluster] if each.identity == part.identity), None)
            if copy is None:
                yield CopyPlan(cluster, *part.identity)
            else:
                differs = tuple(_differing(part, copy, _replicas(cluster, capacity)))
                yield CopyPlan(cluster, *part.identity, differs, _freeing(copy.obj), copy.obj)


def _replicas(cluster: str, capacity: Obj | None) -> int:
    total = manifests.numbers(capacity, "totalReplicaCount").get(cluster, 0)
    return share_of(total, manifests.numbers(capacity, "percent").get(cluster, 0))


def _differing(part: Held, copy: Held, replicas: int) -> Iterator[str]:
    """Yield the fields of a cluster's object that will be written, since they are not as the release wants them."""
    wanted, kind = template_of(part), part.resource
    if kind == DEPLOYMENTS:
        wanted["spec"] = {**wanted["spec"], "replicas": replicas}
    yield from drifted_fields(copy.obj, as_stored(wanted), schema_for(kind.group, kind.version, kind.kind))


def _freeing(obj: Obj) -> Obj | None:
    """Return the patch by which an object is neither its anchor's nor Shipper's any more, None where it is neither.

    What Shipper wrote becomes what Hanse wrote: as long as a field was somebody else's, it would stay when a later
    release does without it.
    """
    owners: list[Obj] = dig(obj, "metadata", "ownerReferences", default=[])
    kept = [owner for owner in owners if owner.get("kind") != "ConfigMap" or not owner["name"].endswith(_ANCHOR_SUFFIX)]
    entries: list[Obj] = dig(obj, "metadata", "managedFields", default=[])
    handed = [{**entry, "manager": FIELD_MANAGER} if _is_shippers(entry) else entry for entry in entries]
    changes = ({"ownerReferences": kept} if kept != owners else {}) | (
        {"managedFields": handed} if handed != entries else {}
    )
    if not changes:
        return None
    return {"metadata": {"uid": uid_of(obj), "resourceVersion": version_of(obj), **changes}}


def _is_shippers(entry: Obj) -> bool:
    label = dig(entry, "fieldsV1", "f:metadata", "f:labels", f"f:{OWNED_LABEL}")
    written = entry.get("operation") == "Update" and not entry.get("subresource")
    return label is not None and written and entry.get("manager") != FIELD_MANAGER
