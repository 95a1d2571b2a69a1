"""Control planes that lack one guard each, to see that the judge would notice.

What is taken away is always a piece of the product, replaced where the product looks it up; the product has no switch
for any of this.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest

from hanse.api.names import FINALIZER, PREFIX
from hanse.cli import control_plane
from hanse.kube.client import FIELD_MANAGER, Client
from hanse.kube.manifest import annotations_of, finalizers_of, with_finalizer
from hanse.native import NativeDoor, asking
from hanse.native.kinds import is_federated
from hanse.native.preferences import parse_selector
from hanse.placement.candidate import Candidate
from hanse.placement.cluster_selector import SelectorError
from hanse.placement.transition import next_replicas, next_replicas_at_most
from hanse.propagation import candidates, comparison, member_side
from hanse.propagation.actions import carry_out
from hanse.propagation.blast import is_approved, too_far
from hanse.propagation.comparison import covers
from hanse.propagation.intent import Intent
from hanse.propagation.planning import tear_down
from hanse.propagation.rendering import owned_by
from hanse.propagation.report import Report
from hanse.propagation.revision import revised
from hanse.propagation.waves import Wave, advance

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Variant:
    """A guard that is taken away, the promise that breaks then, and within how many seeds that must be seen."""

    name: str
    promise: str
    remove_guard: Callable[[Patch], None]
    seeds: int = 12
    # What the worlds are about in which it must be seen.
    themes: tuple[str, ...] = ()


def _everywhere(patch: Patch, function: Callable[..., Any], instead: Callable[..., Any]) -> None:
    """Replace a function in every module of the product that looks it up."""
    for name, module in tuple(sys.modules.items()):
        if name.startswith("hanse.") and getattr(module, function.__name__, None) is function:
            patch.setattr(module, function.__name__, instead)


def _replicas_move_at_once(patch: Patch) -> None:
    def at_once(_wanted: int, planned: Any, held: Any) -> dict[str, int]:
        return {name: planned.get(name, 0) for name in planned.keys() | held.keys()}

    _everywhere(patch, next_replicas, at_once)


def _everything_is_ours(patch: Patch) -> None:
    _everywhere(patch, owned_by, lambda *_judged: True)


def _others_fields_are_dropped(patch: Patch) -> None:
    def whole(live: Any, _last: Any, wanted: Any, _schema: Any) -> Any:
        return {**wanted, "metadata": {**wanted["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}}

    _everywhere(patch, revised, whole)


def _nobody_is_waited_for(patch: Patch) -> None:
    def hasty(*args: Any, **options: Any) -> Any:
        return replace(tear_down(*args, **options), waiting_for=())

    _everywhere(patch, tear_down, hasty)


def _orphans_are_deleted(patch: Patch) -> None:
    _everywhere(patch, tear_down, lambda *args, **options: tear_down(*args, **{**options, "orphan": False}))


def _no_finalizer(patch: Patch) -> None:
    _everywhere(patch, with_finalizer, lambda source, _name: source)


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
    # Each world has a loop of its own, and a lock belongs to one.
    turns: dict[Any, asyncio.Lock] = {}

    async def queued(*args: Any) -> Any:
        async with turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            return await carry_out(*args)

    _everywhere(patch, carry_out, queued)


def _unreadable_is_guessed(patch: Patch) -> None:
    def lax(text: str | None) -> Any:
        try:
            return parse_selector(text)
        except SelectorError:
            return parse_selector('[{"key": "tier", "operator": "In", "values": ["gold"]}]')

    _everywhere(patch, parse_selector, lax)


def _credentials_travel(patch: Patch) -> None:
    _everywhere(patch, is_federated, lambda _obj, _kinds=(): True)


def _everybody_at_once(patch: Patch) -> None:
    _everywhere(patch, advance, lambda *_args, **_options: Wave())


def _everything_is_approved(patch: Patch) -> None:
    _everywhere(patch, advance, lambda *args, **options: advance(*args, **{**options, "approved": 99}))


def _unwell_clusters_hold_nobody_up(patch: Patch) -> None:
    def careless(rollout: Any, groups: Any, standings: Any, **options: Any) -> Any:
        well = {name: replace(standing, ailment=None) for name, standing in standings.items()}
        return advance(rollout, groups, well, **options)

    _everywhere(patch, advance, careless)


def _nothing_is_too_far(patch: Patch) -> None:
    _everywhere(patch, too_far, lambda *_args: None)


def _nobody_has_to_approve(patch: Patch) -> None:
    _everywhere(patch, is_approved, lambda *_args: True)


def _growth_before_the_end(patch: Patch) -> None:
    def at_once(_wanted: int, planned: Any, held: Any, _running: Any) -> dict[str, int]:
        return {name: planned.get(name, 0) for name in planned.keys() | held.keys()}

    _everywhere(patch, next_replicas_at_most, at_once)


def _partition_is_death(patch: Patch) -> None:
    patch.setattr(asking, "_AT_MOST_ONCE", frozenset())


def _silence_is_absence(patch: Patch) -> None:
    inner = member_side.MemberSide.observe

    def trusting(self: Any, ref: Any) -> Any:
        seen = inner(self, ref)
        return seen if seen.seen or seen.refusal else replace(seen, seen=True, copy=None)

    patch.setattr(member_side.MemberSide, "observe", trusting)


def _drift_is_always_mended(patch: Patch) -> None:
    inner = NativeDoor.translate

    def mending(self: Any, source: Any) -> Any:
        intent = inner(self, source)
        return replace(intent, mend=True) if isinstance(intent, Intent) else intent

    patch.setattr(NativeDoor, "translate", mending)


def _a_deposed_leader_goes_on(patch: Patch) -> None:
    patch.setattr(control_plane, "Fenced", lambda inner, _leadership: inner)


def _the_last_word_wins(patch: Patch) -> None:
    inner = Client.update

    async def regardless(self: Any, resource: Any, obj: Any, **options: Any) -> Any:
        if self._manager == FIELD_MANAGER and FINALIZER in finalizers_of(obj):
            metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
            obj = {**obj, "metadata": metadata}
        return await inner(self, resource, obj, **options)

    patch.setattr(Client, "update", regardless)


def _cordons_are_overlooked(patch: Patch) -> None:
    patch.setattr(candidates, "Candidate", lambda *args, **told: Candidate(*args, **{**told, "cordoned": False}))


def _what_is_right_is_written_again(patch: Patch) -> None:
    _everywhere(patch, covers, lambda *_args: False)


def _the_last_copy_may_go(patch: Patch) -> None:
    inner = NativeDoor.translate

    def careless(self: Any, source: Any) -> Any:
        intent = inner(self, source)
        return replace(intent, nowhere=True) if isinstance(intent, Intent) else intent

    patch.setattr(NativeDoor, "translate", careless)


def _problems_are_kept_quiet(patch: Patch) -> None:
    patch.setattr(NativeDoor, "refused", lambda _self, source, _problem, _now: source)


def _what_is_in_the_way_is_kept_quiet(patch: Patch) -> None:
    patch.setattr(Report, "trouble", property(lambda _self: ""))


VARIANTS = (
    Variant("replicas move before they are ready elsewhere", "never the last healthy copy", _replicas_move_at_once),
    # Caches that hold nothing unlabelled keep others' objects safe even then; sources wait for them in vain.
    Variant("every object is taken for Hanse's", "crash and converge", _everything_is_ours),
    Variant("copies are written whole without others' fields", "others' fields", _others_fields_are_dropped, seeds=20),
    Variant("a source goes before its copies", "crash and converge", _nobody_is_waited_for),
    Variant("orphans are deleted", "never on ignorance", _orphans_are_deleted),
    Variant("copies are made before the finalizer", "crash and converge", _no_finalizer),
    Variant("fields taken out of a source stay in its copies", "crash and converge", _removed_fields_stay),
    Variant("status is always news", "steady is silent", _status_is_always_news),
    Variant("members share one queue", "isolation", _one_request_at_a_time, seeds=20),
    Variant("an unreadable selector is guessed", "never on ignorance", _unreadable_is_guessed, seeds=20),
    Variant("credentials travel", "least power", _credentials_travel),
    Variant("a new version goes everywhere at once", "in turn", _everybody_at_once, themes=("turns",)),
    Variant("a new version needs no approval", "in turn", _everything_is_approved, themes=("turns",), seeds=30),
    Variant("a version spreads though it ails", "in turn", _unwell_clusters_hold_nobody_up, themes=("turns",)),
    Variant("no change reaches too far", "blast radius", _nothing_is_too_far, themes=("blast",)),
    Variant("every change is approved", "blast radius", _nobody_has_to_approve, themes=("blast",)),
    Variant("a singleton grows before it ends", "at most once", _growth_before_the_end, themes=("workloads",)),
    Variant("a partition is taken for death", "at most once", _partition_is_death, themes=("workloads",)),
    Variant("a silent cluster is taken for empty", "", _silence_is_absence, themes=("workloads",), seeds=30),
    Variant("drift is mended though it is to be told", "others' fields", _drift_is_always_mended, seeds=30),
    Variant("a deposed leader goes on", "crash and converge", _a_deposed_leader_goes_on, themes=("leaders",)),
    Variant("the last word wins", "others' fields", _the_last_word_wins, themes=("host",), seeds=30),
    Variant("cordons are overlooked", "say why", _cordons_are_overlooked, themes=("rules",), seeds=30),
    Variant("what is right is written again", "steady is silent", _what_is_right_is_written_again),
    Variant("the last copy goes where nothing is chosen", "never on ignorance", _the_last_copy_may_go, seeds=30),
    Variant("problems are kept quiet", "say why", _problems_are_kept_quiet, seeds=40),
    Variant("what is in the way is kept quiet", "say why", _what_is_in_the_way_is_kept_quiet, seeds=40),
)
