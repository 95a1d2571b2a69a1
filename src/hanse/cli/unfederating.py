"""From federated objects back to plain ones: pure, what `hanse unfederate` writes so that clusters keep what they have.

The template becomes the object. Where it goes, how often it runs and what differs from cluster to cluster becomes a
placement policy that speaks for it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanse.api.kubefed.objects import FederatedObject, FieldProblem, WrittenPlacement
from hanse.api.kubefed.scheduling import SchedulingPreference
from hanse.api.names import ADOPT_ANNOTATION, FEDERATE_ANNOTATION
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.federated.overrides import overrides_of
from hanse.federated.template import template_for
from hanse.kube.manifest import Key, Obj, annotations_of, key_of
from hanse.kube.resources import Resource
from hanse.placement.ask import Override

# Kinds whose numbers a plain object divides over clusters, where a federated one gives every cluster all of them.
_COUNTED = frozenset(
    {"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job", "HorizontalPodAutoscaler"}
)


@dataclass(frozen=True, slots=True)
class Plain:
    """What takes the place of a federated object."""

    obj: Obj
    policy: Obj | None = None
    notes: tuple[str, ...] = ()
    """What is different from now on, in sentences."""


def plain_of(
    key: Key, target: Resource, said: FederatedObject, preference: SchedulingPreference | None = None
) -> Plain | str:
    """Return the plain object and the policy that mean what a federated object said, or why there is none."""
    template, placement = said.template, said.placement
    if isinstance(template, FieldProblem):
        return str(template)
    if isinstance(placement, FieldProblem):
        return str(placement)
    manifest = template_for(template, target, key).manifest
    overrides = overrides_of(said.overrides, manifest)
    if problem := next((one.problem for one in overrides if one.problem), ""):
        return problem
    if preference is not None:
        manifest = {**manifest, "spec": {**(manifest.get("spec") or {}), "replicas": preference.total_replicas}}
    notes = []
    if said.retain_replicas:
        notes.append("clusters no longer keep the replicas that they set themselves")
    if preference is not None:
        notes.append("its ReplicaSchedulingPreference means nothing any more and may be deleted")
    if annotations := sorted(annotations_of({"metadata": template.get("metadata") or {}})):
        notes.append(f"the template's annotations never reached clusters and are left out: {', '.join(annotations)}")
    if preference is None and not _chooses(placement):
        notes.append("its placement chose no cluster: the plain object stays on the federation")
        return Plain(_annotated(manifest, FEDERATE_ANNOTATION, "false"), notes=tuple(notes))
    policy = _policy(manifest, target, _clusters(placement, preference), overrides, preference)
    return Plain(_annotated(manifest, ADOPT_ANNOTATION, "true"), policy, tuple(notes))


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


def _policy(
    manifest: Obj,
    target: Resource,
    clusters: Obj,
    overrides: Sequence[Override],
    preference: SchedulingPreference | None,
) -> Obj | None:
    spec: Obj = {"clusters": clusters} if clusters else {}
    if division := _division(target, preference):
        spec["division"] = division
    patches = [
        {"clusters": {"names": list(one.clusters.names or ())}, "patches": list(one.patch)}
        for one in overrides
        if one.patch
    ]
    if patches:
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


def _division(target: Resource, preference: SchedulingPreference | None) -> Obj:
    if preference is None:
        return {"type": "Duplicated"} if target.kind in _COUNTED else {}
    shares = {
        name: {
            field: value
            for field, value in (
                ("weight", share.weight),
                ("minReplicas", share.min_replicas),
                ("maxReplicas", share.max_replicas),
            )
            if value is not None
        }
        for name, share in preference.clusters.items()
    }
    return {"type": "Preferences", "clusters": shares, "rebalance": preference.rebalance}
