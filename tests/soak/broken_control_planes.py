"""Control planes that lack one guard each, to see that the judge would notice.

What is taken away is always a piece of the product, replaced where the product looks it up; the product has no switch
for any of this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest

from hanse.api.names import PREFIX
from hanse.kube.manifest import annotations_of
from hanse.native import NativeDoor
from hanse.propagation import actions, comparison, engine, member_side, planning

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Variant:
    """A guard that is taken away, the promise that breaks then, and within how many seeds that must be seen."""

    name: str
    promise: str
    remove_guard: Callable[[Patch], None]
    seeds: int = 12


def _replicas_move_at_once(patch: Patch) -> None:
    def at_once(_wanted: int, planned: Any, held: Any) -> dict[str, int]:
        return {name: planned.get(name, 0) for name in planned.keys() | held.keys()}

    patch.setattr(planning, "next_replicas", at_once)


def _everything_is_ours(patch: Patch) -> None:
    for module in (comparison, member_side, planning, engine):
        patch.setattr(module, "owned_by", lambda _obj, _uid: True)


def _others_fields_are_dropped(patch: Patch) -> None:
    def whole(live: Any, _last: Any, wanted: Any, _schema: Any) -> Any:
        return {**wanted, "metadata": {**wanted["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}}

    patch.setattr(comparison, "revised", whole)


def _nobody_is_waited_for(patch: Patch) -> None:
    inner = planning.tear_down

    def hasty(*args: Any, **options: Any) -> Any:
        return replace(inner(*args, **options), waiting_for=())

    patch.setattr(engine, "tear_down", hasty)


def _orphans_are_deleted(patch: Patch) -> None:
    inner = planning.tear_down
    patch.setattr(engine, "tear_down", lambda *args, **options: inner(*args, **{**options, "orphan": False}))


def _no_finalizer(patch: Patch) -> None:
    patch.setattr(engine, "with_finalizer", lambda source, _name: source)


def _removed_fields_stay(patch: Patch) -> None:
    patch.setattr(comparison, "rendered_digest", lambda _obj: "")


def _status_is_always_news(patch: Patch) -> None:
    inner, times = NativeDoor.reported, count()

    def counted(self: Any, source: Any, report: Any, now: str) -> Any:
        told = inner(self, source, report, now)
        annotations = {**annotations_of(told), f"{PREFIX}told": str(next(times))}
        return {**told, "metadata": {**told["metadata"], "annotations": annotations}}

    patch.setattr(NativeDoor, "reported", counted)


def _one_request_at_a_time(patch: Patch) -> None:
    inner, turn = actions.carry_out, asyncio.Lock()

    async def queued(*args: Any) -> Any:
        async with turn:
            return await inner(*args)

    patch.setattr(member_side, "carry_out", queued)


def _unreadable_is_guessed(patch: Patch) -> None:
    from hanse.native import asking
    from hanse.native.preferences import parse_selector
    from hanse.placement.cluster_selector import SelectorError

    def lax(text: str | None) -> Any:
        try:
            return parse_selector(text)
        except SelectorError:
            return parse_selector('[{"key": "tier", "operator": "In", "values": ["gold"]}]')

    patch.setattr(asking, "parse_selector", lax)


def _credentials_travel(patch: Patch) -> None:
    patch.setattr("hanse.native.door.is_federated", lambda _obj, _kinds=(): True)


VARIANTS = (
    Variant("replicas move before they are ready elsewhere", "never the last healthy copy", _replicas_move_at_once),
    Variant("every object is taken for Hanse's", "nothing of others", _everything_is_ours),
    Variant("copies are written whole without others' fields", "others' fields", _others_fields_are_dropped, seeds=20),
    Variant("a source goes before its copies", "crash and converge", _nobody_is_waited_for),
    Variant("orphans are deleted", "never on ignorance", _orphans_are_deleted),
    Variant("copies are made before the finalizer", "crash and converge", _no_finalizer),
    Variant("fields taken out of a source stay in its copies", "crash and converge", _removed_fields_stay),
    Variant("status is always news", "steady is silent", _status_is_always_news),
    Variant("members share one queue", "isolation", _one_request_at_a_time, seeds=20),
    Variant("an unreadable selector is guessed", "never on ignorance", _unreadable_is_guessed, seeds=20),
    Variant("credentials travel", "least power", _credentials_travel),
)
