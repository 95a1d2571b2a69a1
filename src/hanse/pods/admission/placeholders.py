"""The placeholder of a pod, and the pod again from its placeholder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from hanse.api.admiralty.keys import (
    GATE,
    HAS_FINALIZER,
    MANIFEST,
    POD_FINALIZER,
    PROVIDER,
    PROVIDER_NAME,
    PROXY_CONSTRAINTS,
    PROXY_SCHEDULER,
    SEAL,
    SPEC_CONSTRAINTS,
)
from hanse.api.admiralty.names import TargetName
from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, finalizers_of, labels_of
from hanse.pods.admission.constraints import CONSTRAINT_FIELDS, read_constraints
from hanse.pods.admission.reserved import PREFIXES

# What of a pod's spec its placeholder does not show.
_HIDDEN = (*CONSTRAINT_FIELDS, "schedulerName", "terminationGracePeriodSeconds")
_STAMPS = frozenset({MANIFEST, SEAL, AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION})
_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATIONS: tuple[Obj, ...] = (
    {"key": PROVIDER, "value": PROVIDER_NAME},
    # Where routes are made by the cloud, virtual nodes have none and are tainted for it.
    {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists"},
    # A virtual node is not ready while its target is lost, and Hanse itself replaces the pods of lost targets.
    *({"key": key, "operator": "Exists", "effect": "NoExecute"} for key in _NOT_READY),
)


def submitted_pod(pod: Obj) -> Obj:
    """Return a pod as it is kept: without who set which field, and without an author, who is not for it to name."""
    return _with_metadata(pod, pod, annotations=_without(annotations_of(pod), _STAMPS))


def manifest_of(submitted: Obj) -> str:
    """Write a pod as it is kept: JSON, which is YAML too."""
    return orjson.dumps(submitted).decode()


def restored_pod(placeholder: Obj, first: Obj) -> Obj:
    """Return the pod that a placeholder now stands for, which was made of the pod `first`.

    What others changed since in what will run is part of it: what the source's policies are asked about is what runs.
    What a placeholder does not show is that of the first.
    """
    spec = {name: value for name, value in placeholder["spec"].items() if name not in (*_HIDDEN, "schedulingGates")}
    spec |= {name: first["spec"][name] for name in _HIDDEN if name in first["spec"]}
    gates = _other_gates(placeholder["spec"])
    if gates or "schedulingGates" in first["spec"]:
        spec["schedulingGates"] = gates
    pod = _with_metadata(
        placeholder,
        first,
        annotations=_without(annotations_of(placeholder), _STAMPS),
        labels=_without(labels_of(placeholder), {HAS_FINALIZER}),
        finalizers=finalizers_of(first),
    )
    return {**pod, "spec": spec}


def placeholder_of(
    pod: Obj, submitted: Obj, namespace: str, targets: Sequence[TargetName], stamps: Mapping[str, str]
) -> Obj:
    """Return what is stored in place of a pod that was submitted; on a second look `pod` is what was made of it."""
    metadata = {
        **pod["metadata"],
        "annotations": {**annotations_of(pod), **stamps},
        "labels": {**labels_of(pod), HAS_FINALIZER: "true"},
        "finalizers": _finalizers(pod, namespace, targets),
    }
    return {**pod, "metadata": metadata, "spec": _spec(pod["spec"], cluster_constraints(submitted))}


def cluster_constraints(submitted: Obj) -> Obj:
    """Return what a pod asks of virtual nodes: its annotation, else its spec where another annotation says so."""
    annotations = annotations_of(submitted)
    if PROXY_CONSTRAINTS in annotations:
        return read_constraints(annotations[PROXY_CONSTRAINTS])
    if SPEC_CONSTRAINTS in annotations:
        return {name: submitted["spec"][name] for name in CONSTRAINT_FIELDS if submitted["spec"].get(name) is not None}
    return {}


def _finalizers(pod: Obj, namespace: str, targets: Sequence[TargetName]) -> list[str]:
    others = [name for name in finalizers_of(pod) if not name.startswith(PREFIXES)]
    held = sorted({target.finalizer for target in targets if target.serves(namespace)})
    return [*others, *held, POD_FINALIZER]


def _spec(spec: Obj, constraints: Obj) -> Obj:
    changed: Obj = {name: value for name, value in spec.items() if name not in CONSTRAINT_FIELDS}
    changed["nodeSelector"] = {**(constraints.get("nodeSelector") or {}), PROVIDER: PROVIDER_NAME}
    changed["tolerations"] = [*_TOLERATIONS, *filter(_is_kept, constraints.get("tolerations") or ())]
    for name in ("affinity", "topologySpreadConstraints"):
        if constraints.get(name):
            changed[name] = constraints[name]
    changed["schedulingGates"] = [*_other_gates(spec), {"name": GATE}]
    changed["schedulerName"] = PROXY_SCHEDULER
    # No kubelet will say that its containers have ended: the finalizers wait for the pod that runs.
    changed["terminationGracePeriodSeconds"] = 0
    return changed


def _other_gates(spec: Obj) -> list[Obj]:
    return [gate for gate in spec.get("schedulingGates") or () if gate.get("name") != GATE]


def _is_kept(toleration: Obj) -> bool:
    """Leave out what would have the cluster evict the placeholder of a lost target after some seconds."""
    # Without a key it is about every taint, those two among them.
    about_loss = not toleration.get("key") or toleration["key"] in _NOT_READY
    return toleration.get("tolerationSeconds") is None or not about_loss


def _with_metadata(pod: Obj, like: Obj, **fields: Any) -> Obj:
    """Return a pod with other metadata; fields that are empty and that `like` does not have are left out."""
    metadata = {name: value for name, value in pod["metadata"].items() if name != "managedFields"}
    for name, value in fields.items():
        if value or name in like["metadata"]:
            metadata[name] = value
        else:
            metadata.pop(name, None)
    return {**pod, "metadata": metadata}


def _without(said: Mapping[str, str], keys: frozenset[str] | set[str]) -> dict[str, str]:
    return {key: value for key, value in said.items() if key not in keys}
