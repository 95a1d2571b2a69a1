"""What makes one kind different from another when it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hanse.apiserver.status import FieldProblem
from hanse.kube.manifest import Obj
from hanse.kube.names import NameRule

Defaults = Callable[[Obj], None]
Validate = Callable[[Obj, Obj | None], list[FieldProblem]]
Getter = Callable[[Obj], str]


def _nothing(obj: Obj) -> None:
    """Leave the object as it is."""


def _nothing_on_update(new: Obj, old: Obj) -> None:
    """Leave the object as it is."""


def _no_problems(new: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    return []


@dataclass(frozen=True, slots=True)
class Strategy:
    """A kind's defaults, rules and habits; every part has the value that most kinds share.

    `validate` gets the object as it was, or None on creation. `prepare_*` put server-owned fields right before that.
    """

    defaults: Defaults = _nothing
    validate: Validate = _no_problems
    prepare_create: Defaults = _nothing
    prepare_update: Callable[[Obj, Obj], None] = _nothing_on_update
    name_rule: NameRule = "subdomain"
    # Whether metadata.generation counts changes outside metadata and status.
    counts_generation: bool = False
    # The status of a new object; None where the kind has no status, or keeps what its creator wrote.
    new_status: Obj | None = None
    selectable: Mapping[str, Getter] = field(default_factory=dict)
    # PUT on an absent name creates it.
    create_on_update: bool = False
    # An update without resourceVersion is refused.
    needs_version: bool = False
    # What deletes dependents when the caller says nothing ("Background" or "Orphan").
    default_propagation: str = "Background"
    # Rules of subresources that may change what the object's own path may not.
    part_rules: Mapping[str, Validate] = field(default_factory=dict)
    # Takes back, in the new object, what a subresource does not change.
    narrow: Mapping[str, Callable[[Obj, Obj], None]] = field(default_factory=dict)
