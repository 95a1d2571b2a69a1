"""Whether rollout blocks stand in an object's way: decided from the blocks there are and those it overrides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hanse.api.shipper.kinds import GLOBAL_BLOCKS_NAMESPACE, OVERRIDE_ANNOTATION
from hanse.kube.manifest import Key, Obj, annotations_of, namespace_of

# The reason of the condition Blocked, and those of the events.
BLOCKED_REASON = "RolloutsBlocked"
BLOCKED_EVENT = "RolloutBlocked"
OVERRIDDEN_EVENT = "RolloutBlockOverridden"


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why nothing may be rolled out: one sentence, with the names of the blocks."""

    message: str


def standing(obj: Obj, blocks: Iterable[Key]) -> Blocked | None:
    """Tell what blocks an Application or a Release, None where it may go on; `blocks` are the keys of all there are."""
    existing = {str(key) for key in blocks if concerns(key, namespace_of(obj))}
    overridden = set(overrides_of(obj))
    if unknown := sorted(overridden - existing):
        return Blocked(f'rollout block with name "{",".join(unknown)}" does not exist')
    if left := sorted(existing - overridden):
        return Blocked(f'rollout block(s) with name(s) "{",".join(left)}" exist')
    return None


def concerns(block: Key, namespace: str) -> bool:
    """Tell whether a block is about what is in a namespace."""
    return block.namespace in (namespace, GLOBAL_BLOCKS_NAMESPACE)


def overrides_of(obj: Obj) -> tuple[str, ...]:
    """Return the blocks that an object overrides, as `namespace/name`, each once and in order."""
    told = annotations_of(obj).get(OVERRIDE_ANNOTATION, "")
    return tuple(sorted({name for each in told.split(",") if (name := each.strip())}))
