"""What hooks are told, and what they answer: Metacontroller's JSON, in either of its two versions.

An answer is read as a whole or not at all: where anything is wrong with it the reader returns the sentence that says
so, and nothing may follow from that answer. In particular it never counts as a wish for no children.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hanse.api.placed_children import CLUSTER_ANNOTATION
from hanse.composite.answers import AnswerProblem, Answers
from hanse.composite.children import Observed
from hanse.composite.spec import HookSpec, Version, WebhookSpec
from hanse.kube.manifest import Obj, annotations_of, name_of, namespace_of


def sync_request(
    controller: Obj, parent: Obj, children: Observed, related: Observed, finalizing: bool, version: Version
) -> Obj:
    """Return what the sync or finalize hook of a CompositeController is told."""
    return {
        "controller": controller,
        "parent": parent,
        "children": _told(children, parent, version),
        "related": _told(related, parent, version),
        "finalizing": finalizing,
    }


def decorator_request(
    controller: Obj, target: Obj, attachments: Observed, related: Observed, finalizing: bool, version: Version
) -> Obj:
    """Return what the sync or finalize hook of a DecoratorController is told."""
    return {
        "controller": controller,
        "object": target,
        "attachments": _told(attachments, target, version),
        "related": _told(related, target, version),
        "finalizing": finalizing,
    }


def customize_request(controller: Obj, parent: Obj) -> Obj:
    """Return what a customize hook is told."""
    return {"controller": controller, "parent": parent}


def map_request(controller: Obj, parent: Obj, map_key: str, given: Obj, outputs: Observed, version: Version) -> Obj:
    """Return what the map hook is told of one input."""
    return {
        "controller": controller,
        "parent": parent,
        "mapKey": map_key,
        "input": given,
        "outputs": _told(outputs, parent, version),
    }


def tombstone_request(controller: Obj, parent: Obj, map_key: str, outputs: Observed, version: Version) -> Obj:
    """Return what the tombstone hook is told of an input that is gone."""
    return {
        "controller": controller,
        "parent": parent,
        "mapKey": map_key,
        "outputs": _told(outputs, parent, version),
    }


def update_child_request(controller: Obj, parent: Obj, child: Obj | None, desired: Obj, revision: str) -> Obj:
    """Return what is asked before and after a child moves to a revision; `child` is None where it does not exist."""
    return {"controller": controller, "parent": parent, "child": child, "desired": desired, "revision": revision}


def _told(observed: Observed, parent: Obj, version: Version) -> Obj:
    """Return every kind, empty or not, with its objects by their keys; sorted, so that equal input is equal text."""
    told = {
        f"{resource.kind}.{resource.api_version}": _in_order(
            {_key(obj, parent, version): obj for obj in objects if _is_told(obj, parent, version)}
        )
        for resource, objects in observed.items()
    }
    return _in_order(told)


def _in_order(objects: Obj) -> Obj:
    return dict(sorted(objects.items()))


def _is_told(obj: Obj, parent: Obj, version: Version) -> bool:
    """Under v1 a parent in a namespace is told of nothing outside it."""
    place = namespace_of(parent)
    return version is Version.V2 or not place or namespace_of(obj) == place


def _key(obj: Obj, parent: Obj, version: Version) -> str:
    place = namespace_of(obj)
    qualified = place and (version is Version.V2 or not namespace_of(parent))
    key = f"{place}/{name_of(obj)}" if qualified else name_of(obj)
    cluster = annotations_of(obj).get(CLUSTER_ANNOTATION)
    return f"{cluster}/{key}" if cluster else key


def is_strict(hook: HookSpec) -> bool:
    """Tell whether fields that nobody knows make a hook's answer wrong."""
    return hook.call.strict if isinstance(hook.call, WebhookSpec) else hook.version is Version.V2


@dataclass(frozen=True, slots=True)
class SyncAnswer:
    """What a CompositeController's hook wants; `resync_after` is in seconds, None where it asks for nothing."""

    children: tuple[Obj, ...] = ()
    status: Obj = field(default_factory=dict)
    resync_after: float | None = None
    finalized: bool = False


@dataclass(frozen=True, slots=True)
class DecoratorAnswer:
    """What a DecoratorController's hook wants.

    A label or annotation that is None is taken away, one that is not named stays; a status of None is left alone.
    """

    attachments: tuple[Obj, ...] = ()
    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    status: Obj | None = None
    resync_after: float | None = None
    finalized: bool = False


@dataclass(frozen=True, slots=True)
class UpdateAnswer:
    """Whether a child may move, or a rollout go on; if not, why."""

    ready: bool
    message: str = ""


def read_sync(body: Any, strict: bool) -> SyncAnswer | str:
    """Read what a CompositeController's sync or finalize hook answered."""
    try:
        answer = Answers(body, ("status", "children", "resyncAfterSeconds", "finalized"), strict=strict)
        return SyncAnswer(
            children=answer.objects("children"),
            status=answer.mapping("status") or {},
            resync_after=answer.seconds("resyncAfterSeconds"),
            finalized=answer.flag("finalized"),
        )
    except AnswerProblem as problem:
        return str(problem)


def read_decorator(body: Any, strict: bool) -> DecoratorAnswer | str:
    """Read what a DecoratorController's sync or finalize hook answered."""
    known = ("labels", "annotations", "status", "attachments", "resyncAfterSeconds", "finalized")
    try:
        answer = Answers(body, known, strict=strict)
        return DecoratorAnswer(
            attachments=answer.objects("attachments"),
            labels=answer.changes("labels"),
            annotations=answer.changes("annotations"),
            status=answer.mapping("status"),
            resync_after=answer.seconds("resyncAfterSeconds"),
            finalized=answer.flag("finalized"),
        )
    except AnswerProblem as problem:
        return str(problem)


def read_customize(body: Any, strict: bool) -> tuple[Obj, ...] | str:
    """Read which rules a customize hook answered; `related.read_rules` says what they mean."""
    try:
        return Answers(body, ("relatedResources",), strict=strict).rules("relatedResources")
    except AnswerProblem as problem:
        return str(problem)


def read_map(body: Any, strict: bool) -> tuple[Obj, ...] | str:
    """Read which outputs a map hook answered."""
    try:
        return Answers(body, ("outputs",), strict=strict).objects("outputs")
    except AnswerProblem as problem:
        return str(problem)


def read_tombstone(body: Any, strict: bool) -> tuple[Obj, ...] | str:
    """Read which outputs a tombstone hook wants to keep."""
    try:
        return Answers(body, ("outputs",), strict=strict).references("outputs")
    except AnswerProblem as problem:
        return str(problem)


def read_update_child(body: Any, strict: bool) -> UpdateAnswer | str:
    """Read what a hook said that was asked before or after a child moved."""
    try:
        answer = Answers(body, ("ready", "message"), strict=strict)
        return UpdateAnswer(ready=answer.flag("ready", needed=True), message=answer.text("message"))
    except AnswerProblem as problem:
        return str(problem)
