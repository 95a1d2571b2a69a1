"""From a chaperon to its pod, and back: which pod it has, and what of it is told."""

from __future__ import annotations

from typing import Any

from hanse.api.admiralty.keys import (
    ATTEMPT,
    PARENT_CLUSTER,
    PARENT_NAME,
    PARENT_NAMESPACE,
    PARENT_UID,
    PREFIX,
    UNRECORDED_FINALIZER,
)
from hanse.api.names import PREFIX as HANSE_PREFIX
from hanse.kube.manifest import (
    Obj,
    annotations_of,
    controller_of,
    dig,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from hanse.kube.resources import PODS
from hanse.kube.runtime import parse_timestamp
from hanse.pods.chaperons.reading import ENDED_PHASES, attempt_of, fence_of

ALWAYS = "Always"
_PARENT_ANNOTATIONS = (PARENT_NAMESPACE, PARENT_NAME)
# What is between Hanse, Admiralty and the source, and says nothing to whoever looks at the pod.
_INTERNAL = (PREFIX, "pods.hanse.dev/", HANSE_PREFIX)


def pod_of(chaperon: Obj) -> Obj:
    """Return the pod that a chaperon asks for: its own name, labels, annotations and spec, owned by it.

    One without a parent elsewhere is its pod's parent itself, so that every such pod is found by the same label.
    """
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            "name": name_of(chaperon),
            "namespace": namespace_of(chaperon),
            "labels": {PARENT_UID: uid_of(chaperon), **_labels(chaperon)},
            "annotations": _annotations(chaperon),
            "ownerReferences": [owner_reference(chaperon)],
            **({} if restart_policy(chaperon) == ALWAYS else {"finalizers": [UNRECORDED_FINALIZER]}),
        },
        "spec": {name: value for name, value in _spec(chaperon).items() if name != "nodeName"},
    }


def parent_of(chaperon: Obj) -> tuple[str, str]:
    """Return the source from which a chaperon comes and the uid of its pod there, "" where it does not say."""
    labels = labels_of(chaperon)
    return labels.get(PARENT_CLUSTER, ""), labels.get(PARENT_UID, "")


def restart_policy(chaperon: Obj) -> str:
    """Return when the containers of a chaperon's pod are started again."""
    return str(_spec(chaperon).get("restartPolicy") or ALWAYS)


def is_own(pod: Obj, chaperon: Obj) -> bool:
    """Tell whether a pod is the chaperon's: made by it, or the one it has recorded although somebody cut it loose."""
    controller = controller_of(pod) or {}
    if uid_of(chaperon) and controller.get("uid") == uid_of(chaperon):
        return True
    return bool(uid_of(pod)) and fence_of(chaperon.get("status")).get("podUid") == uid_of(pod)


def had_pod(chaperon: Obj) -> bool:
    """Tell whether a chaperon has recorded a pod, by Hanse's hand or by Admiralty's."""
    return bool(fence_of(chaperon.get("status")).get("podUid") or dig(chaperon, "status", "phase"))


def attempt_of_pod(pod: Obj, chaperon: Obj) -> int:
    """Return the attempt for which a pod was made."""
    said = annotations_of(pod).get(ATTEMPT, "")
    return int(said) if said.isdecimal() else attempt_of(chaperon)


def has_ended(pod: Obj, chaperon: Obj) -> bool:
    """Tell whether a pod's containers have ended for good, and not because somebody deletes it.

    One that ends because it is deleted is on its way to be missing: its owner replaces it, as it would at home.
    """
    if dig(pod, "status", "phase") not in ENDED_PHASES:
        return False
    if not is_deleting(pod):
        return True
    return restart_policy(chaperon) != ALWAYS and _ended_before(pod, _deletion_asked(pod))


def added_annotations(pod: Obj, chaperon: Obj) -> dict[str, str]:
    """Return the annotations that a pod got in its cluster: those that its chaperon has not, or with another text."""
    own = annotations_of(chaperon)
    found = annotations_of(pod)
    return {key: text for key, text in found.items() if not key.startswith(_INTERNAL) and own.get(key) != text}


def _labels(chaperon: Obj) -> dict[str, str]:
    return {key: value for key, value in labels_of(chaperon).items() if not key.startswith(HANSE_PREFIX)}


def _annotations(chaperon: Obj) -> dict[str, str]:
    kept = {
        key: text
        for key, text in annotations_of(chaperon).items()
        if key in _PARENT_ANNOTATIONS or not key.startswith(_INTERNAL)
    }
    return {**kept, ATTEMPT: str(attempt_of(chaperon))} if attempt_of(chaperon) else kept


def _spec(chaperon: Obj) -> Obj:
    spec = chaperon.get("spec")
    return spec if isinstance(spec, dict) else {}


def _deletion_asked(pod: Obj) -> float:
    grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    return _time(pod["metadata"].get("deletionTimestamp")) - float(grace)


def _ended_before(pod: Obj, moment: float) -> bool:
    statuses = dig(pod, "status", "containerStatuses", default=[])
    ends = [dig(each, "state", "terminated", "finishedAt") for each in statuses]
    # Times are whole seconds: what ended in the second in which it was deleted, ended by that.
    return bool(ends) and all(end is not None and _time(end) < moment for end in ends)


def _time(text: Any) -> float:
    try:
        return parse_timestamp(str(text))
    except ValueError:
        return 0.0
