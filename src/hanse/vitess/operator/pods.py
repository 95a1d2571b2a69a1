"""How a pod fares, and whether it is as it shall be."""

from __future__ import annotations

from datetime import datetime

from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting, labels_of
from hanse.kube.patches.differences import digest

# So long a pod must have been ready before another one may be disturbed.
AVAILABLE_SECONDS = 30.0


def is_running(pod: Obj) -> bool:
    """Tell whether a pod's containers have started."""
    return dig(pod, "status", "phase") == "Running" and not is_deleting(pod)


def is_ready(pod: Obj) -> bool:
    """Tell whether a pod serves."""
    return is_true(dig(pod, "status", "conditions"), "Ready") and not is_deleting(pod)


def is_available(pod: Obj, now: float) -> bool:
    """Tell whether a pod has served for a while."""
    return is_ready(pod) and until_available(pod, now) <= 0


def until_available(pod: Obj, now: float) -> float:
    """Return in how many seconds a pod that is ready will count as available."""
    since = (find_condition(dig(pod, "status", "conditions"), "Ready") or {}).get("lastTransitionTime")
    if not since:
        return 0.0
    return datetime.fromisoformat(since).timestamp() + AVAILABLE_SECONDS - now


def has_failed(pod: Obj) -> bool:
    """Tell whether a pod that should always run has ended, as by eviction; it is made anew."""
    restarts = dig(pod, "spec", "restartPolicy", default="Always") in ("Always", "OnFailure")
    return restarts and dig(pod, "status", "phase") == "Failed"


def state_hash(pod: Obj, **more: str) -> str:
    """Return a digest of what cannot change while a pod runs.

    Of labels and annotations the names count and not the values, which can be set right at any time.
    """
    spec = pod["spec"]
    return digest(
        {
            "labels": sorted(labels_of(pod)),
            "annotations": sorted(annotations_of(pod)),
            "containers": [*spec.get("initContainers", ()), *spec.get("containers", ())],
            "tolerations": spec.get("tolerations") or [],
            "spread": spec.get("topologySpreadConstraints") or [],
            **more,
        }
    )
