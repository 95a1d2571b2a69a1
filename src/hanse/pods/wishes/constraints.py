"""Which constraints speak of clusters: those of an annotation, those of the pod itself, or none.

A pod's own constraints choose among the nodes of a target, unless an annotation says that they choose the target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from hanse.api.admiralty.keys import PROXY_CONSTRAINTS, SPEC_CONSTRAINTS
from hanse.kube.manifest import Obj, annotations_of
from hanse.pods.admission.constraints import CONSTRAINT_FIELDS, BadConstraints, read_constraints

# The same annotation is on every pod of a workload.
_REMEMBERED = 1024


class WishError(ValueError):
    """A constraint that cannot be understood or kept, said in one sentence that names its field."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints on clusters, and how sentences name the place where they are written."""

    where: str = ""
    node_selector: Obj = field(default_factory=dict)
    tolerations: tuple[Obj, ...] = ()
    affinity: Obj = field(default_factory=dict)
    spread: tuple[Obj, ...] = ()

    def path(self, *names: str) -> str:
        """Return how sentences name one of the fields."""
        return self.where + ".".join(names)


NO_CONSTRAINTS = Constraints()


def constraints_of(pod: Obj) -> Constraints:
    """Return what a pod, as it was submitted, asks of its cluster; raises WishError."""
    annotations = annotations_of(pod)
    if (text := annotations.get(PROXY_CONSTRAINTS)) is not None:
        return _annotated(text)
    if SPEC_CONSTRAINTS in annotations:
        return constraints_in(pod.get("spec") or {}, "spec.")
    return NO_CONSTRAINTS


def constraints_in(spec: Obj, where: str) -> Constraints:
    """Read the constraints of a pod's spec; raises WishError."""
    return Constraints(
        where,
        mapping(spec, "nodeSelector", where),
        tuple(entry for _, entry in entries(spec, "tolerations", where)),
        mapping(spec, "affinity", where),
        tuple(entry for _, entry in entries(spec, "topologySpreadConstraints", where)),
    )


def unconstrained(spec: Obj) -> Obj:
    """Return a pod's spec without the constraints that were meant for its cluster."""
    return {name: value for name, value in spec.items() if name not in CONSTRAINT_FIELDS}


def mapping(obj: Obj, name: str, where: str) -> Obj:
    """Return a field that holds fields, {} where it is not set."""
    found = obj.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise WishError(f"{where}{name} must be a mapping")
    return found


def entries(obj: Obj, name: str, where: str) -> Iterator[tuple[str, Obj]]:
    """Yield the entries of a field that holds a list, each with its path."""
    found = obj.get(name)
    if found is None:
        return
    if not isinstance(found, list):
        raise WishError(f"{where}{name} must be a list")
    for index, entry in enumerate(found):
        path = f"{where}{name}[{index}]"
        if not isinstance(entry, dict):
            raise WishError(f"{path} must be a mapping")
        yield path, entry


def text(obj: Obj, name: str, path: str, *, default: str = "") -> str:
    """Return a field that holds a text."""
    found: Any = obj.get(name)
    if found is None:
        return default
    if not isinstance(found, str):
        raise WishError(f"{path}.{name} must be a text")
    return found


def number(obj: Obj, name: str, path: str, *, default: int, least: int, most: int | None = None) -> int:
    """Return a field that holds a whole number within limits."""
    found: Any = obj.get(name)
    if found is None:
        return default
    if isinstance(found, bool) or not isinstance(found, int) or found < least or (most is not None and found > most):
        limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
        raise WishError(f"{path}.{name} must be a whole number {limits}")
    return found


def known_fields(obj: Obj, path: str, *names: str) -> None:
    """Refuse a field that nobody here keeps: what is ignored would be broken."""
    for name in obj:
        if name not in names and obj[name] is not None:
            raise WishError(f"{path}.{name} cannot be kept among clusters; leave it out")


@lru_cache(maxsize=_REMEMBERED)
def _annotated(document: str) -> Constraints:
    where = f"annotation {PROXY_CONSTRAINTS}: "
    try:
        return constraints_in(read_constraints(document), where)
    except BadConstraints as error:
        raise WishError(f"{where}{error}") from error
