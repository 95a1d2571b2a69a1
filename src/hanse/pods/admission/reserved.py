"""Which labels, annotations, gates and finalizers nobody but Hanse writes, and who has tried to."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hanse.api.admiralty.keys import (
    EXPIRES_AFTER,
    FOLLOW,
    GANG,
    GATE,
    LOST_AFTER,
    PREFIX,
    PROXY_SCHEDULER,
    USER_ANNOTATIONS,
)
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of
from hanse.pods.admission.refusals import Refusal, annotation_path

HANSE_PREFIX = "pods.hanse.dev/"
PREFIXES = (PREFIX, HANSE_PREFIX)
# What users say on pods.
USER_KEYS = frozenset({*USER_ANNOTATIONS, GANG, FOLLOW, LOST_AFTER, EXPIRES_AFTER})
_FOR_USERS = ", ".join(sorted(USER_KEYS))


def is_reserved(key: str) -> bool:
    """Tell whether a label or annotation is for Hanse alone to write."""
    return key.startswith(PREFIXES) and key not in USER_KEYS


def forgery(obj: Obj, written: Collection[str] = ()) -> Refusal | None:
    """Return the refusal of an object that says what only Hanse may say; `written` are keys that are known to be right.

    Finalizers are none of it: those that a pod must not have are taken off, as Admiralty does.
    """
    return next(_forgeries(obj, written), None)


def _forgeries(obj: Obj, written: Collection[str]) -> Iterator[Refusal]:
    for field, keys in (("annotations", annotations_of(obj)), ("labels", labels_of(obj))):
        for key in keys:
            if is_reserved(key) and key not in written:
                path = annotation_path(key) if field == "annotations" else f"metadata.labels[{key}]"
                yield Refusal(path, f"nobody but Hanse writes this; take it out, or write one of {_FOR_USERS}")
    if GATE not in written and any(gate.get("name") == GATE for gate in dig(obj, "spec", "schedulingGates") or ()):
        yield Refusal("spec.schedulingGates", f"nobody but Hanse sets the gate {GATE}; take it out")
    if PROXY_SCHEDULER not in written and dig(obj, "spec", "schedulerName") == PROXY_SCHEDULER:
        yield Refusal(
            "spec.schedulerName",
            f"{PROXY_SCHEDULER} schedules nothing; name the scheduler of the targets or leave it out",
        )
