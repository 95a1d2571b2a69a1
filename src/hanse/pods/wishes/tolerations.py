"""What taints of virtual nodes a pod puts up with."""

from __future__ import annotations

from typing import Literal, cast

from hanse.kube.manifest import Obj
from hanse.placement.candidate import Toleration
from hanse.pods.wishes.constraints import Constraints, WishError, known_fields, text

# What is bound to a virtual node stays there; whether it is evicted is for its own cluster to say.
EVERYTHING = Toleration(operator="Exists")
_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")


def tolerations_of(constraints: Constraints) -> tuple[Toleration, ...]:
    """Read a pod's tolerations; raises WishError."""
    where = constraints.path("tolerations")
    return tuple(_toleration(entry, f"{where}[{index}]") for index, entry in enumerate(constraints.tolerations))


def _toleration(entry: Obj, path: str) -> Toleration:
    known_fields(entry, path, "key", "operator", "value", "effect", "tolerationSeconds")
    key, effect = text(entry, "key", path), text(entry, "effect", path)
    operator = text(entry, "operator", path) or "Equal"
    if operator not in ("Equal", "Exists"):
        raise WishError(f"{path}.operator must be Equal or Exists, not {operator}")
    if not key and operator != "Exists":
        raise WishError(f"{path}.operator must be Exists where no key is named")
    if effect not in _EFFECTS:
        raise WishError(f"{path}.effect must be one of {', '.join(_EFFECTS[1:])}, not {effect}")
    seconds = entry.get("tolerationSeconds")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int)):
        raise WishError(f"{path}.tolerationSeconds must be a whole number")
    return Toleration(
        key,
        cast(Literal["Equal", "Exists"], operator),
        text(entry, "value", path),
        effect,
        None if seconds is None else float(max(0, seconds)),
    )
