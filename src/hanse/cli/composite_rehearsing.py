"""What would follow from a hook's answer: every child that would be made, changed or deleted, and the status. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import yaml

from hanse.cli.changes import hidden
from hanse.composite.applying import as_applied, is_as_desired, updated, without_memory
from hanse.composite.children import ChildId
from hanse.composite.merging import MergeProblem
from hanse.composite.planning import Action, Create, Delete, plan
from hanse.composite.preparing import Child
from hanse.composite.spec import ChildRule, Method
from hanse.kube.manifest import Obj, is_deleting, owner_reference
from hanse.kube.resources import Resource


class Effect(StrEnum):
    """What would become of an object."""

    CREATED = "created"
    UPDATED = "updated"
    REMADE = "deleted and made again"
    DELETED = "deleted"
    KEPT = "kept as it is until it is deleted (OnDelete)"
    WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class Step:
    """One object before and after; None where it is not there."""

    title: str
    effect: Effect
    now: Obj | None
    then: Obj | None

    @property
    def diff(self) -> str:
        """What differs, as a unified diff with the values of Secrets hidden."""
        now, then = _lines(hidden(self.now, self.then, "before")), _lines(hidden(self.then, self.now, "after"))
        return "\n".join(difflib.unified_diff(now, then, "now", "then", n=3, lineterm=""))


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What one call of a hook would lead to: its answer, the steps, and what people should know beside."""

    title: str
    answer: Any
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether nothing would change."""
        return all(step.effect is Effect.KEPT for step in self.steps)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The children that a hook wants beside those that there are."""

    observed: Mapping[ChildId, Obj]
    children: Sequence[Child]
    rules: Mapping[Resource, ChildRule]
    notes: list[str] = field(default_factory=list)


def child_steps(parent: Obj, wanted: Wanted) -> list[Step]:
    """Return what would become of the children of a parent; what cannot be done is noted."""
    planned = plan(wanted.observed, wanted.children, wanted.rules, owner=owner_reference(parent))
    wanted.notes.extend(problem.sentence for problem in planned.problems)
    acted = [_step(action, wanted) for action in planned.actions]
    return [step for step in (*acted, *_kept(wanted)) if step.now != step.then]


def status_step(parent: Obj, status: Obj | None) -> list[Step]:
    """Return the change of a parent's status, if any."""
    before = parent.get("status") or {}
    return [] if status is None or status == before else [Step("status", Effect.WRITTEN, before or None, status)]


def _step(action: Action, wanted: Wanted) -> Step:
    match action:
        case Create(child):
            return Step(_title(child.id), Effect.CREATED, None, as_applied(child.manifest))
        case Delete(child_id):
            return Step(_title(child_id), Effect.DELETED, without_memory(wanted.observed[child_id]), None)
        case _:
            child, live = action.child, wanted.observed[action.child.id]
            effect = Effect.REMADE if wanted.rules[child.resource].method.recreates else Effect.UPDATED
            return Step(_title(child.id), effect, without_memory(live), _after(child, live))


def _kept(wanted: Wanted) -> Iterator[Step]:
    """Yield the children that differ from what is wanted and stay so."""
    for child in wanted.children:
        live = wanted.observed.get(child.id)
        if live is None or is_deleting(live) or wanted.rules[child.resource].method is not Method.ON_DELETE:
            continue
        if not is_as_desired(live, child.manifest):
            yield Step(_title(child.id), Effect.KEPT, without_memory(live), _after(child, live))


def _after(child: Child, live: Obj) -> Obj:
    try:
        return without_memory(updated(live, child.manifest) or live)
    except MergeProblem:
        return as_applied(child.manifest)


def _title(child: ChildId) -> str:
    place = f"{child.namespace}/" if child.namespace else ""
    elsewhere = f" in {child.cluster}" if child.cluster else ""
    return f"{child.kind} {place}{child.name}{elsewhere}"


def _lines(obj: Obj | None) -> list[str]:
    return yaml.safe_dump(obj, sort_keys=True).splitlines() if obj is not None else []
