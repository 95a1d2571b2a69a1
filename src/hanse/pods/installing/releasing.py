"""What is taken off objects of a source when its door closes, so that nothing waits for somebody who is gone."""

from __future__ import annotations

from hanse.api.admiralty.keys import (
    CILIUM_GLOBAL,
    GATE,
    GLOBAL,
    HAS_FINALIZER,
    ORIGINAL_SELECTOR,
    PARENT_UID,
    POD_FINALIZER,
    PREFIX,
    TARGET_FINALIZER,
)
from hanse.api.plain_kinds import CLAIMS, INGRESSES, JOBS
from hanse.kube.manifest import Obj, annotations_of, dig, finalizers_of, labels_of, version_of
from hanse.kube.resources import CONFIGMAPS, SECRETS, SERVICE_ACCOUNTS, Resource

# What may be held by a finalizer of ours, beside pods and Services.
BAGGAGE_KINDS: tuple[Resource, ...] = (JOBS, INGRESSES, CONFIGMAPS, SECRETS, SERVICE_ACCOUNTS, CLAIMS)
_LEADING = (GLOBAL, CILIUM_GLOBAL, ORIGINAL_SELECTOR)


def release_patch(obj: Obj) -> Obj | None:
    """Return the merge patch that frees an object of everything of ours; None where there is nothing to free.

    Finalizers of others stay. A Service selects again what it selected before it was led elsewhere. What another source
    has here is that one's to look after.
    """
    if PARENT_UID in labels_of(obj):
        return None
    metadata: Obj = {}
    finalizers = finalizers_of(obj)
    kept = [each for each in finalizers if not is_ours(each)]
    if kept != finalizers:
        metadata["finalizers"] = kept or None
    if HAS_FINALIZER in labels_of(obj):
        metadata["labels"] = {HAS_FINALIZER: None}
    annotations = annotations_of(obj)
    if ORIGINAL_SELECTOR in annotations or annotations.get(GLOBAL) is not None:
        metadata["annotations"] = {key: None for key in _LEADING if key in annotations}
    spec = _released_spec(obj)
    if not metadata and not spec:
        return None
    # What was read is what is changed: a list is replaced as a whole.
    patch: Obj = {"metadata": {**metadata, "resourceVersion": version_of(obj)}}
    return {**patch, "spec": spec} if spec else patch


def is_ours(finalizer: str) -> bool:
    """Tell whether a finalizer is taken off when a door closes."""
    return finalizer.startswith(PREFIX) or finalizer in (POD_FINALIZER, TARGET_FINALIZER)


def _released_spec(obj: Obj) -> Obj:
    gates = dig(obj, "spec", "schedulingGates", default=None) or []
    if any(gate.get("name") == GATE for gate in gates):
        return {"schedulingGates": [gate for gate in gates if gate.get("name") != GATE] or None}
    original = annotations_of(obj).get(ORIGINAL_SELECTOR)
    if original is None:
        return {}
    wanted = dict(pair.split("=", 1) for pair in original.split(",") if "=" in pair)
    present = dig(obj, "spec", "selector", default=None) or {}
    return {"selector": {**dict.fromkeys(present), **wanted}}
