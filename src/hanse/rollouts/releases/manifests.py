"""What the host stores of a release: its Pieces, one for each manifest, and its three targets. Pure.

The targets are named like the release and owned by it. The InstallationTarget is written last of all: it names every
Piece and the rendering that they are of, and from then on nothing is rendered again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hanse.api.names import FINALIZER
from hanse.api.pieces import PIECES, PIECES_ANNOTATION, RENDERING_ANNOTATION, piece_spec
from hanse.api.shipper.kinds import (
    CAPACITY_TARGETS,
    GENERATION_ANNOTATION,
    INSTALLATION_TARGETS,
    OWNED_LABEL,
    TRAFFIC_TARGETS,
)
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of, name_of, namespace_of, uid_of
from hanse.kube.resources import Resource
from hanse.rollouts.assembly import Assembled
from hanse.rollouts.shelf import whole_number

# On an InstallationTarget: what a hundred percent of the Deployment's replicas are in one cluster.
REPLICAS_ANNOTATION = "hanse.dev/replicas"
_LONGEST_NAME = 253
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def pieces(release: Obj, assembled: Assembled, resources: Sequence[Resource]) -> list[Obj]:
    """Return the Pieces of a release; `resources` are the kinds of its manifests, in the same order."""
    made: dict[str, Obj] = {}
    for manifest, resource in zip(assembled.pieces, resources, strict=True):
        name = name_of(release) if manifest == assembled.deployment else _piece_name(release, manifest, resource)
        if name in made:
            name = _shortened(name, resource.group_kind)
        metadata = _metadata(release, name) | {"finalizers": [FINALIZER]}
        metadata["labels"] |= {OWNED_LABEL: name_of(release)}
        metadata["annotations"] = {
            RENDERING_ANNOTATION: assembled.digest,
            GENERATION_ANNOTATION: annotations_of(release).get(GENERATION_ANNOTATION, ""),
        }
        spec = piece_spec(resource, _settled(manifest, resource, namespace_of(release)))
        made[name] = {"apiVersion": PIECES.api_version, "kind": PIECES.kind, "metadata": metadata, "spec": spec}
    return list(made.values())


def installation(release: Obj, clusters: Sequence[str], assembled: Assembled, made: Sequence[Obj]) -> Obj:
    """Return the InstallationTarget that commits these Pieces."""
    environment = release["spec"]["environment"]
    spec: Obj = {"clusters": list(clusters), "canOverride": True, "values": environment.get("values") or {}}
    if chart := environment.get("chart"):
        spec["chart"] = chart
    target = _target(INSTALLATION_TARGETS, release, spec)
    target["metadata"]["annotations"] = {
        RENDERING_ANNOTATION: assembled.digest,
        PIECES_ANNOTATION: ",".join(sorted(map(name_of, made))),
        REPLICAS_ANNOTATION: str(assembled.replicas),
    }
    return target


def capacity(release: Obj, clusters: Sequence[str], replicas: int, percents: Mapping[str, int] | None = None) -> Obj:
    """Return the CapacityTarget of a release in these clusters; what is known of percents stays, new ones have none."""
    return _target(CAPACITY_TARGETS, release, {"clusters": capacities(clusters, replicas, percents or {})})


def traffic(release: Obj, clusters: Sequence[str], weights: Mapping[str, int] | None = None) -> Obj:
    """Return the TrafficTarget of a release in these clusters; what is known of weights stays, new ones have none."""
    return _target(TRAFFIC_TARGETS, release, {"clusters": weighted(clusters, weights or {})})


def capacities(clusters: Sequence[str], replicas: int, percents: Mapping[str, int]) -> list[Obj]:
    """Return `spec.clusters` of a CapacityTarget."""
    return [{"name": name, "percent": percents.get(name, 0), "totalReplicaCount": replicas} for name in clusters]


def weighted(clusters: Sequence[str], weights: Mapping[str, int]) -> list[Obj]:
    """Return `spec.clusters` of a TrafficTarget."""
    return [{"name": name, "weight": weights.get(name, 0)} for name in clusters]


def numbers(target: Obj | None, field: str) -> dict[str, int]:
    """Return what a target asks for by cluster: `percent`, `weight` or `totalReplicaCount`."""
    return {each["name"]: int(each.get(field) or 0) for each in entries(target)}


def entries(target: Obj | None) -> list[Any]:
    """Return `spec.clusters` of a target, an empty list where there is none."""
    return list(dig(target, "spec", "clusters", default=()))


def replicas_of(installed: Obj, held: Obj | None) -> int | None:
    """Return what a hundred percent are: as noted on the InstallationTarget, else as the CapacityTarget has it."""
    noted = whole_number(annotations_of(installed).get(REPLICAS_ANNOTATION, ""))
    if noted is not None:
        return noted
    return max(numbers(held, "totalReplicaCount").values(), default=None)


def belongs(obj: Obj, release: Obj) -> bool:
    """Tell whether an object is this release's, and not that of an earlier one of the same name."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == uid_of(release) for owner in owners)


def _target(resource: Resource, release: Obj, spec: Obj) -> Obj:
    metadata = _metadata(release, name_of(release))
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


def _metadata(release: Obj, name: str) -> Obj:
    owner = {
        "apiVersion": release["apiVersion"],
        "kind": release["kind"],
        "name": name_of(release),
        "uid": uid_of(release),
    }
    return {
        "name": name,
        "namespace": namespace_of(release),
        "labels": dict(labels_of(release)),
        "ownerReferences": [owner],
    }


def _settled(manifest: Obj, resource: Resource, namespace: str) -> Obj:
    """Return a manifest with a namespace exactly where its kind has one, which assembly cannot know of custom kinds."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "namespace"}
    if resource.namespaced:
        metadata["namespace"] = namespace_of(manifest) or namespace
    return {**manifest, "metadata": metadata}


def _piece_name(release: Obj, manifest: Obj, resource: Resource) -> str:
    name = f"{name_of(release)}-{resource.kind.lower()}-{name_of(manifest)}"
    if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name):
        return name
    return _shortened(name, "")


def _shortened(name: str, salt: str) -> str:
    """Return a legal name that is still told apart from others: what can be kept of it, and a digest."""
    digest = hashlib.sha256(f"{salt}/{name}".encode()).hexdigest()[:10]
    kept = re.sub(r"[^-a-z0-9.]", "-", name.lower())[: _LONGEST_NAME - len(digest) - 1]
    return f"{kept.rstrip('-.')}-{digest}"
