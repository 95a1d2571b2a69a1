"""What becomes of a pod that somebody creates: a placeholder, a refusal, or nothing.

`admit` is a function of its arguments: every replica answers a request alike, and asking again changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import orjson

from hanse.api.admiralty.keys import (
    ELECT,
    GATE,
    HAS_FINALIZER,
    MANIFEST,
    PROVIDER,
    PROVIDER_NAME,
    PROXY_CONSTRAINTS,
    PROXY_SCHEDULER,
    SEAL,
)
from hanse.api.admiralty.names import TargetName
from hanse.api.namespaces import is_system
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.pods.admission.authors import author_annotations
from hanse.pods.admission.placeholders import (
    cluster_constraints,
    manifest_of,
    placeholder_of,
    restored_pod,
    submitted_pod,
)
from hanse.pods.admission.refusals import Refusal, annotation_path
from hanse.pods.admission.requests import CREATE, AdmissionRequest
from hanse.pods.admission.reserved import forgery
from hanse.pods.admission.seals import Sealer
from hanse.pods.admission.values import bad_value

__all__ = ["AdmissionRequest", "Refusal", "admit", "is_elected", "stays_home"]

# What an API server lets all annotations of one object hold together, and what of it is kept for what is written on a
# placeholder later: answers of targets, and annotations of the pod that runs.
ANNOTATIONS_BYTES = 256 * 1024
RESERVED_BYTES = 32 * 1024
# What a pod has when it is looked at again.
_WRITTEN = frozenset({MANIFEST, SEAL, HAS_FINALIZER, GATE, PROXY_SCHEDULER})
_MIRROR = "kubernetes.io/config.mirror"


def is_elected(pod: Obj) -> bool:
    """Tell whether a pod asks to run elsewhere: what counts is that the annotation is there."""
    return ELECT in annotations_of(pod)


def stays_home(pod: Obj, request: AdmissionRequest) -> str:
    """Return why an elected pod runs where it was created all the same, in a sentence; "" where it does not."""
    if is_system(request.namespace):
        return f"it stays in this cluster: pods of namespace {request.namespace} never run elsewhere"
    if _MIRROR in annotations_of(pod):
        return "it stays in this cluster: it is the mirror of a static pod, which a node already runs"
    if dig(pod, "spec", "nodeName"):
        return "it stays in this cluster: spec.nodeName has given it a node already"
    if any(owner.get("kind") == "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or ()):
        return "it stays in this cluster: a DaemonSet runs its pods on the nodes of its own cluster"
    return ""


def admit(
    pod: Obj,
    request: AdmissionRequest,
    targets: Sequence[TargetName],
    source: str,
    sealer: Sealer | None = None,
    *,
    controllers: Collection[str] = (),
) -> Obj | Refusal | None:
    """Return the placeholder for a pod, or why it is not let in; None leaves it as it is.

    `controllers` are users who make pods as Kubernetes' own controllers do, in nobody's name but that of the pod.
    Without a sealer no manifest is believed that a pod brings along, as it does when admission is asked again.
    """
    if request.operation != CREATE or not is_elected(pod):
        return None
    sealed = sealer is not None and sealer.holds(pod, request)
    refusal = forgery(pod, _WRITTEN if sealed else ())
    if refusal is not None:
        return refusal
    home = stays_home(pod, request)
    if home:
        return Refusal(annotation_path(MANIFEST), f"{home}; take this out") if sealed else None
    stamps = {name: annotations_of(pod)[name] for name in (MANIFEST, SEAL)} if sealed else {}
    first = orjson.loads(stamps[MANIFEST]) if sealed else None
    submitted = submitted_pod(pod) if first is None else restored_pod(pod, first)
    refusal = bad_value(annotations_of(submitted)) or _bad_selector(submitted)
    if refusal is not None:
        return refusal
    if submitted != first:
        manifest = manifest_of(submitted)
        stamps = {MANIFEST: manifest} if sealer is None else {MANIFEST: manifest, SEAL: sealer.seal(manifest, request)}
    stamps |= author_annotations(request, source, submitted["spec"], controllers)
    placeholder = placeholder_of(pod, submitted, request.namespace, targets, stamps)
    return _too_large(placeholder) or (None if placeholder == pod else placeholder)


def _bad_selector(submitted: Obj) -> Refusal | None:
    said = (cluster_constraints(submitted).get("nodeSelector") or {}).get(PROVIDER, PROVIDER_NAME)
    if said == PROVIDER_NAME:
        return None
    field = annotation_path(PROXY_CONSTRAINTS) if PROXY_CONSTRAINTS in annotations_of(submitted) else "spec"
    return Refusal(f"{field}.nodeSelector[{PROVIDER}]", f"it must be {PROVIDER_NAME}, as on all virtual nodes")


def _too_large(placeholder: Obj) -> Refusal | None:
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations_of(placeholder).items())
    if size <= ANNOTATIONS_BYTES - RESERVED_BYTES:
        return None
    return Refusal(
        annotation_path(MANIFEST),
        f"the pod is kept in an annotation of its placeholder, and all annotations would take {size} bytes where an "
        f"object may have {ANNOTATIONS_BYTES}, of which Hanse needs {RESERVED_BYTES}; move long values into "
        f"ConfigMaps, or take {ELECT} off to run it here",
    )
