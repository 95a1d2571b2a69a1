"""Doors of pods each of which lacks one guard: random worlds must catch them all.

If a random world no longer notices that a guard is gone, either the world has become too tame or the guard is needless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hanse.pods.chaperons import life as chaperon_life
from hanse.pods.chaperons import pods as chaperon_pods
from hanse.pods.chaperons.life import Release, Stop
from hanse.pods.door import PodDoor
from hanse.pods.placeholder import life
from hanse.pods.sweeping import Sweeper
from hanse.propagation.intent import Intent
from hanse.propagation.offers import Offers
from hanse.propagation.unanswered import Unanswered

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Variant:
    """A guard that is taken away, the promise that breaks then, and in which seeds that must be seen."""

    name: str
    promise: str
    remove_guard: Callable[[Patch], None]
    # The door as it is keeps every promise in these, so that what is caught is the missing guard.
    seeds: range = range(9)


def _translated(patch: Patch, change: Callable[[Intent], Intent]) -> None:
    inner = PodDoor.translate

    def changed(self: Any, source: Any) -> Any:
        intent = inner(self, source)
        return change(intent) if isinstance(intent, Intent) else intent

    patch.setattr(PodDoor, "translate", changed)


def _no_fence(patch: Patch) -> None:
    _translated(patch, lambda intent: replace(intent, placement=replace(intent.placement, at_most_once=False)))


def _bound_pods_are_made_again(patch: Patch) -> None:
    _translated(patch, lambda intent: replace(intent, settled=False))


def _hasty_release(patch: Patch) -> None:
    def parting(_chaperon: Any, pod: Any) -> Iterator[Any]:
        if pod is not None:
            yield Stop(pod["metadata"]["uid"])
        yield Release()

    patch.setattr(chaperon_life, "_parting", parting)


def _nobody_was_asked(patch: Patch) -> None:
    patch.setattr(Offers, "never", lambda *_asked: True)


def _lists_are_believed(patch: Patch) -> None:
    async def nobody(*_asked: Any) -> set[str]:
        return set()

    async def orphan(*_asked: Any) -> bool:
        return True

    patch.setattr(Sweeper, "_living", nobody)
    patch.setattr(Sweeper, "_is_orphan", orphan)


def _what_ended_is_made_again(patch: Patch) -> None:
    patch.setattr(chaperon_life, "had_pod", lambda _chaperon: False)
    patch.setattr(chaperon_pods, "had_pod", lambda _chaperon: False)


def _what_was_not_answered_was_not_asked(patch: Patch) -> None:
    patch.setattr(Unanswered, "get", lambda *_asked: None)


def _partition_is_death(patch: Patch) -> None:
    patch.setattr(life, "controller_of", lambda _placeholder: {})


VARIANTS = (
    Variant("a pod may be in two targets", "never twice", _no_fence),
    Variant("a chaperon goes before its pod", "never before its pod", _hasty_release),
    Variant("a lost target is taken for one that was never asked", "never twice", _nobody_was_asked, range(100, 109)),
    Variant("a creation that was not answered counts for nothing", "never twice", _what_was_not_answered_was_not_asked),
    Variant("what is gone from where it was bound is made again", "never again once bound", _bound_pods_are_made_again),
    Variant("the sweeper believes every list", "no pod is lost", _lists_are_believed),
    Variant("a pod that vanished is made again at once", "never twice a permission", _what_ended_is_made_again),
    Variant("pods of a lost target are replaced though nobody makes them anew", "no pod is lost", _partition_is_death),
)
