"""From federated objects back to plain ones: pure, what `hanse unfederate` writes so that clusters keep what they have.

The template becomes the object. Where it goes, how often it runs and what differs from cluster to cluster becomes a
placement policy that speaks for it alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import astuple, dataclass

from hanse.api.kubefed.objects import FederatedObject, FieldProblem, WrittenPlacement
from hanse.api.kubefed.scheduling import SchedulingPreference
from hanse.api.names import ADOPT_ANNOTATION, FEDERATE_ANNOTATION
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.federated.overrides import overrides_of
from hanse.federated.template import template_for
from hanse.kube.manifest import Key, Obj, annotations_of, dig, key_of
from hanse.kube.resources import Resource
from hanse.placement.ask import Override

# Kinds whose numbers a plain object divides over clusters, where a federated one gives every cluster all of them.
_COUNTED = frozenset(
    {"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job", "HorizontalPodAutoscaler"}
)
_REPLICAS = "/spec/replicas"
# Numbers other than replicas, which no policy can give to single clusters.
_DIVIDED = {
    "Job": frozenset({"/spec/parallelism", "/spec/completions"}),
    "HorizontalPodAutoscaler": frozenset({"/spec/minReplicas", "/spec/maxReplicas"}),
}


@dataclass(frozen=True, slots=True)
class Plain:
    """What takes the place of a federated object."""

    obj: Obj
    policy: Obj | None = None
    notes: tuple[str, ...] = ()
    """What is different from now on, in sentences."""


def plain_of(
    key: Key,
    target: Resource,
    said: FederatedObject,
    preference: SchedulingPreference | None = None,
    chosen: Collection[str] = (),
) -> Plain | str:
    """Return the plain object and the policy that mean what a federated object said, or why there is none.

    `chosen` are the clusters that its selector chooses now, where it has one.
    """
    template, placement = said.template, said.placement
    if isinstance(template, FieldProblem):
        return str(template)
    if isinstance(placement, FieldProblem):
        return str(placement)
    manifest = template_for(template, target, key).manifest
    overrides = overrides_of(said.overrides, manifest)
    if problem := next((one.problem for one in overrides if one.problem), "") or _uneven(target, overrides):
        return problem
    notes = list(_notes(said, template, preference))
    if preference is None and not _chooses(placement):
        notes.append("its placement chose no cluster: the plain object stays on the federation")
        return Plain(_annotated(manifest, FEDERATE_ANNOTATION, "false"), notes=tuple(notes))
    shared = _shared(target, manifest, overrides, placement.clusters or chosen, preference)
    if shared.replicas is not None:
        manifest = {**manifest, "spec": {**(manifest.get("spec") or {}), "replicas": shared.replicas}}
    policy = _policy(manifest, target, _clusters(placement, preference), overrides, shared.division)
    return Plain(_annotated(manifest, ADOPT_ANNOTATION, "true"), policy, tuple(notes))


def _notes(said: FederatedObject, template: Obj, preference: SchedulingPreference | None) -> Iterator[str]:
    if said.retain_replicas:
        yield "clusters no longer keep the replicas that they set themselves"
    if preference is not None:
        yield "its ReplicaSchedulingPreference means nothing any more and may be deleted"
    if annotations := sorted(annotations_of({"metadata": template.get("metadata") or {}})):
        yield f"the template's annotations never reached clusters and are left out: {', '.join(annotations)}"


def _uneven(target: Resource, overrides: Sequence[Override]) -> str:
    """Say which override sets a number that a plain object of the kind divides by itself."""
    paths = {change["path"] for one in overrides for change in one.patch} & _DIVIDED.get(target.kind, frozenset())
    if not paths:
        return ""
    return (
        f"clusters differ in {min(paths)}, which a plain {target.kind} divides among them; remove those overrides first"
    )


def _annotated(manifest: Obj, name: str, value: str) -> Obj:
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": {name: value}}}


def _chooses(placement: WrittenPlacement) -> bool:
    return bool(placement.clusters) if placement.clusters is not None else placement.selector is not None


def _clusters(placement: WrittenPlacement, preference: SchedulingPreference | None) -> Obj:
    """Return the clusters that a policy names; {} is all of them.

    A preference chose among all clusters, unless it was to heed the selector.
    """
    if preference is not None:
        return _selected(placement) if preference.intersect else {}
    return {"names": list(placement.clusters)} if placement.clusters else _selected(placement)


def _selected(placement: WrittenPlacement) -> Obj:
    selector = {name: value for name, value in (placement.selector or {}).items() if value}
    return {"selector": selector} if selector else {}


def _policy(manifest: Obj, target: Resource, clusters: Obj, overrides: Sequence[Override], division: Obj) -> Obj | None:
    spec: Obj = {"clusters": clusters} if clusters else {}
    if division:
        spec["division"] = division
    changes = [
        (list(one.clusters.names or ()), [change for change in one.patch if change["path"] != _REPLICAS])
        for one in overrides
    ]
    if patches := [{"clusters": {"names": names}, "patches": each} for names, each in changes if each]:
        spec["overrides"] = patches
    if not spec:
        return None
    key = key_of(manifest)
    kind = PLACEMENT_POLICIES if target.namespaced else CLUSTER_PLACEMENT_POLICIES
    selects = {"apiVersion": manifest["apiVersion"], "kind": target.kind, "name": key.name}
    metadata = {"name": f"{target.kind.lower()}-{key.name}"} | ({"namespace": key.namespace} if key.namespace else {})
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        "spec": {"selects": [selects], **spec},
    }


@dataclass(frozen=True, slots=True)
class _Shared:
    """How a policy divides replicas, and how many there are in all where that is not what the template says."""

    division: Obj
    replicas: int | None = None


def _shared(
    target: Resource,
    manifest: Obj,
    overrides: Sequence[Override],
    clusters: Collection[str],
    preference: SchedulingPreference | None,
) -> _Shared:
    if preference is not None:
        shares = {name: _share(*astuple(share)) for name, share in preference.clusters.items()}
        division = {"type": "Preferences", "clusters": shares, "rebalance": preference.rebalance}
        return _Shared(division, preference.total_replicas)
    own = {
        name: change["value"]
        for one in overrides
        for name in one.clusters.names or ()
        for change in one.patch
        if change["path"] == _REPLICAS
    }
    if not own:
        return _Shared({"type": "Duplicated"} if target.kind in _COUNTED else {})
    each = dig(manifest, "spec", "replicas", default=1)
    amounts = {name: own.get(name, each) for name in sorted(clusters)}
    # Nothing is said of clusters that join later: what they got would be taken from the others.
    shares = {name: _share(0, amount, amount) for name, amount in amounts.items()}
    return _Shared({"type": "Preferences", "clusters": shares}, sum(amounts.values()))


def _share(weight: int, least: int, most: int | None) -> Obj:
    share = {"weight": weight, "minReplicas": least}
    return share if most is None else share | {"maxReplicas": most}
