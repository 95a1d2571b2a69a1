"""Children in other clusters, as values: where a hook wants them, what is asked for there, and what is seen of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.api.metacontroller.kinds import LAST_APPLIED_ANNOTATION
from hanse.api.names import (
    AUTHOR_ANNOTATION,
    AUTHOR_GROUPS_ANNOTATION,
    MANAGED_LABEL,
    OWNER_ANNOTATION,
    RENDERED_ANNOTATION,
    SYSTEM_NAMESPACE,
    TEMPLATE_ANNOTATION,
)
from hanse.api.placed_children import (
    CLUSTER_ANNOTATION,
    CLUSTERS_ANNOTATION,
    LOST_ANNOTATION,
    PLACED_CHILDREN,
    Author,
    PlacedChild,
    placed_child_spec,
)
from hanse.composite.applying import as_applied
from hanse.composite.children import ChildId
from hanse.kube.manifest import Key, Obj, annotations_of, dig, labels_of, owner_reference, uid_of
from hanse.kube.names import name_problems
from hanse.kube.patches.differences import digest
from hanse.kube.resources import Resource
from hanse.kube.selectors import LabelSelector

# The labels of every registered cluster, in order of name.
Fleet = Mapping[str, Mapping[str, str]]

# What a hook gets to see of a child in another cluster, and does not say of it.
_SEEN_ANNOTATIONS = frozenset(
    {
        CLUSTER_ANNOTATION,
        CLUSTERS_ANNOTATION,
        LOST_ANNOTATION,
        OWNER_ANNOTATION,
        RENDERED_ANNOTATION,
        TEMPLATE_ANNOTATION,
        LAST_APPLIED_ANNOTATION,
    }
)
_LONGEST_PREFIX = 52
_UNREADABLE = re.compile(r"[^a-z0-9]+")


class Nowhere(Exception):
    """Why it cannot be told where a child shall be; a sentence that names the field."""


def is_elsewhere(manifest: Obj) -> bool:
    """Tell whether a hook wants a child in other clusters."""
    annotations = dig(manifest, "metadata", "annotations")
    return isinstance(annotations, dict) and any(
        name in annotations for name in (CLUSTER_ANNOTATION, CLUSTERS_ANNOTATION)
    )


def clusters_of(manifest: Obj, fleet: Fleet | None) -> tuple[str, ...]:
    """Return the clusters in which a hook wants a child, () beside its parent; raises Nowhere.

    Without a `fleet` there are no other clusters. One that has none at all says nothing about which match: what is in
    clusters must not go because the registry is lost.
    """
    if not is_elsewhere(manifest):
        return ()
    named, wanted = (annotations_of(manifest).get(name) for name in (CLUSTER_ANNOTATION, CLUSTERS_ANNOTATION))
    field = CLUSTER_ANNOTATION if named is not None else CLUSTERS_ANNOTATION
    if fleet is None:
        raise Nowhere(
            f"metadata.annotations.{field}: only a CompositeController on the federation has children in other "
            "clusters: take the annotation away"
        )
    if named is not None and wanted is not None:
        raise Nowhere(f"metadata.annotations: give {CLUSTER_ANNOTATION} or {CLUSTERS_ANNOTATION}, and not both")
    if named is not None:
        if problems := name_problems(named, "subdomain"):
            raise Nowhere(f"metadata.annotations.{CLUSTER_ANNOTATION}: must be the name of a cluster: {problems[0]}")
        return (named,)
    try:
        selector = LabelSelector.parse(wanted or "")
    except ValueError as problem:
        raise Nowhere(f"metadata.annotations.{CLUSTERS_ANNOTATION}: {problem}") from None
    if not fleet:
        raise Nowhere(f"metadata.annotations.{CLUSTERS_ANNOTATION}: no cluster is registered at all: join one")
    return tuple(name for name, labels in fleet.items() if selector.matches(labels))


def as_placed(manifest: Obj) -> Obj:
    """Return what is asked for of a child in another cluster: nothing that means something only beside its parent."""
    said = as_applied(manifest)
    annotations = {name: text for name, text in annotations_of(said).items() if name not in _SEEN_ANNOTATIONS}
    labels = {name: text for name, text in labels_of(said).items() if name != MANAGED_LABEL}
    # Owners are known only in their own cluster: elsewhere the garbage collector would delete the child.
    dropped = ("annotations", "labels", "ownerReferences")
    metadata = {name: value for name, value in said["metadata"].items() if name not in dropped}
    kept = {name: values for name, values in (("annotations", annotations), ("labels", labels)) if values}
    return {**said, "metadata": metadata | kept}


def has_arrived(manifest: Obj, seen: Obj) -> bool:
    """Tell whether what was asked for of a child, or what its cluster has of it, is what its hook wants."""
    return annotations_of(seen).get(TEMPLATE_ANNOTATION) == digest(as_placed(manifest))


def placed_key(parent: Obj, resource: Resource, child: Key) -> Key:
    """Return where the PlacedChild of a parent's child is: the same for the same parent and child."""
    which = "/".join((uid_of(parent), resource.group, resource.kind, child.namespace, child.name))
    readable = _UNREADABLE.sub("-", f"{resource.kind}-{child.name}".lower())[:_LONGEST_PREFIX].strip("-")
    name = f"{readable}-{hashlib.sha256(which.encode()).hexdigest()[:10]}"
    return Key(child.namespace or SYSTEM_NAMESPACE, name)


def placed_manifest(parent: Obj, placed: PlacedChild) -> Obj:
    """Return a new PlacedChild of a parent."""
    key = placed_key(parent, placed.resource, placed.key)
    return {
        "apiVersion": PLACED_CHILDREN.api_version,
        "kind": PLACED_CHILDREN.kind,
        "metadata": {"name": key.name, "namespace": key.namespace, "ownerReferences": [owner_reference(parent)]},
        "spec": placed_child_spec(placed),
    }


def author_of(parent: Obj) -> Author | None:
    """Return who wrote a parent; None where authors are not stamped."""
    annotations = annotations_of(parent)
    user = annotations.get(AUTHOR_ANNOTATION)
    groups = (annotations.get(AUTHOR_GROUPS_ANNOTATION) or "").split("\n")
    return Author(user, tuple(group for group in groups if group)) if user else None


@dataclass(frozen=True, slots=True)
class Sight:
    """What is known of a child in one cluster.

    `known` says that the cluster tells what it has. `lost` says why it cannot be asked, "" where it can be or will soon
    tell; `trouble` what keeps the child from being there as it shall.
    """

    copy: Obj | None = None
    known: bool = False
    lost: str = ""
    trouble: str = ""

    @property
    def gone(self) -> bool:
        """Whether the cluster surely has none."""
        return self.known and self.copy is None


@dataclass(frozen=True, slots=True)
class Abroad:
    """Children in other clusters: as hooks are shown them, as they were last asked for, and what is in their way."""

    shown: Mapping[ChildId, Obj] = field(default_factory=dict)
    asked: Mapping[ChildId, Obj] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()

    def of_kind(self, kind: Resource) -> list[Obj]:
        """Return the children of a kind, as hooks are shown them."""
        which = (kind.api_version, kind.kind)
        return [obj for child, obj in self.shown.items() if (child.api_version, child.kind) == which]


def children_abroad(source: Obj, placed: PlacedChild, sights: Mapping[str, Sight]) -> Abroad:
    """Return what a PlacedChild comes to.

    A child of a cluster that cannot be asked is shown as it was last seen, or else as it was asked for, and says so; it
    is never missing. One that shall go is being deleted until its cluster surely has none.
    """
    shown: dict[ChildId, Obj] = {}
    asked: dict[ChildId, Obj] = {}
    troubles: list[str] = []
    going = source["metadata"].get("deletionTimestamp")
    for cluster in placed.clusters:
        sight = sights.get(cluster, Sight())
        child = ChildId(placed.resource.api_version, placed.resource.kind, *placed.key, cluster)
        template, leaves = placed.templates.get(cluster), going or placed.leaving.get(cluster, "")
        if template is None and not going and sight.gone:
            continue
        manifest = template.manifest if template is not None else _bare(child)
        mark = template.digest if template is not None else ""
        asked[child] = _as_object(manifest, uid_of(source), mark, leaves)
        found = sight.copy if sight.copy is not None else asked[child] if sight.lost else None
        if found is not None:
            shown[child] = _as_shown(found, cluster, sight.lost, leaves)
        if sight.trouble and not leaves:
            troubles.append(f"{child}: {sight.trouble}")
    return Abroad(shown, asked, tuple(troubles))


def _bare(child: ChildId) -> Obj:
    place = {"namespace": child.namespace} if child.namespace else {}
    return {"apiVersion": child.api_version, "kind": child.kind, "metadata": {"name": child.name, **place}}


def _as_object(manifest: Obj, uid: str, mark: str, leaves: str) -> Obj:
    annotations = {**annotations_of(manifest), TEMPLATE_ANNOTATION: mark}
    metadata = {**manifest["metadata"], "uid": uid, "annotations": annotations}
    return {**manifest, "metadata": metadata | ({"deletionTimestamp": leaves} if leaves else {})}


def _as_shown(found: Obj, cluster: str, lost: str, leaves: str) -> Obj:
    annotations = {**annotations_of(found), CLUSTER_ANNOTATION: cluster} | ({LOST_ANNOTATION: lost} if lost else {})
    metadata = {**found["metadata"], "annotations": annotations}
    if leaves:
        metadata.setdefault("deletionTimestamp", leaves)
    return {**found, "metadata": metadata}
