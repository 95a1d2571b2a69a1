"""Changes that restart something wait until they are released: what is pending is said on the object itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import yaml

from hanse.api.planetscale.kinds import RELEASED_ANNOTATION, SCHEDULED_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, name_of
from hanse.kube.patches.merge_patch import merge_patch_between, same
from hanse.kube.resources import Resource
from hanse.vitess.operator.keeping import kept
from hanse.vitess.operator.shaping import with_annotations
from hanse.vitess.operator.verdicts import Mark

# From the spec that an object has and the one that it shall have to the one that it may have now.
InPlace = Callable[[Obj, Obj], Obj]


@dataclass(frozen=True, slots=True)
class Rolled:
    """A child as it may be now, what it waits for ("" for nothing), and what is to be marked on it."""

    child: Obj
    pending: str = ""
    marks: tuple[Mark, ...] = ()


def pending_text(before: Obj, after: Obj) -> str:
    """Return what would change, as people read it; "" for nothing."""
    patch = merge_patch_between(before, after)
    return yaml.safe_dump(patch, default_flow_style=False, sort_keys=True) if patch else ""


def rolled(resource: Resource, wish: Obj, live: Obj | None, *, at_once: bool, in_place: InPlace) -> Rolled:
    """Return a child as it may be now: whole if it is new, released, or may change at once; else as it was.

    Labels, annotations and what `in_place` takes over of the new spec change in any case.
    """
    if live is None:
        return Rolled(wish)
    released = RELEASED_ANNOTATION in annotations_of(live)
    before = kept(live).get("spec") or {}
    if same(before, wish["spec"]):
        # Only now: a release that was taken away before what it is for was written would be lost.
        used_up = (Mark(resource, name_of(live), {RELEASED_ANNOTATION: None}),) if released else ()
        return Rolled(wish, marks=used_up)
    if released or at_once:
        return Rolled(wish)
    after = in_place(before, wish["spec"])
    pending = "" if same(after, wish["spec"]) else pending_text(after, wish["spec"])
    child = {**wish, "spec": after}
    return Rolled(with_annotations(child, {SCHEDULED_ANNOTATION: pending}) if pending else child, pending)


def taking(*fields: str) -> InPlace:
    """Return what takes over exactly these fields of the new spec."""

    def taken(before: Obj, wish: Obj) -> Obj:
        after = {name: value for name, value in before.items() if name not in fields}
        return after | {name: wish[name] for name in fields if name in wish}

    return taken


# What takes over nothing before it is released.
nothing_in_place = taking()


def deployment_in_place(before: Obj, wish: Obj) -> Obj:
    """Take over how many pods a Deployment has, which restarts none."""
    return taking("replicas")(before, wish)
