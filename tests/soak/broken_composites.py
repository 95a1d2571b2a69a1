"""Lambda controllers each of which lacks one guard: random worlds must catch them all.

If a random world no longer notices that a guard is gone, either the world has become too tame or the guard is needless.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hanse.composite.bodies import SyncAnswer
from hanse.composite.hooks.calling import HookFailed
from hanse.composite.hosting import acting, composite
from hanse.composite.hosting.acting import Hands
from hanse.composite.hosting.composite import HostedComposite
from hanse.composite.hosting.rolling import Roller
from hanse.composite.rolling import progress
from hanse.composite.rolling.survey import survey as survey_of

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Variant:
    """A guard that is taken away, the promise that breaks then, and within how many seeds that must be seen."""

    name: str
    promise: str
    remove_guard: Callable[[Patch], None]
    # The controllers as they are keep every promise in these, so that what is caught is the missing guard.
    seeds: int = 40


def _nothing_is_stored(patch: Patch) -> None:
    async def store(*_asked: Any) -> None:
        return

    patch.setattr(Roller, "_store", store)


def _whatever_has_the_name_is_deleted(patch: Patch) -> None:
    inner = Hands._delete

    async def delete(self: Any, child: Any, resource: Any, _uid: str) -> None:
        await inner(self, child, resource, "")

    patch.setattr(Hands, "_delete", delete)


def _a_failed_hook_wants_nothing(patch: Patch) -> None:
    inner = HostedComposite._call

    async def call(self: Any, *asked: Any) -> SyncAnswer:
        try:
            return await inner(self, *asked)
        except HookFailed:
            return SyncAnswer()

    patch.setattr(HostedComposite, "_call", call)


def _the_cache_is_believed(patch: Patch) -> None:
    patch.setattr(composite, "may_adopt", lambda *_asked: True)


def _all_move_at_once(patch: Patch) -> None:
    patch.setattr(progress, "_obstacle", lambda *_asked: "")


def _the_last_moves_first(patch: Patch) -> None:
    inner = survey_of

    def survey(*asked: Any) -> Any:
        found = inner(*asked)
        return replace(found, queue=found.queue[::-1])

    patch.setattr(progress, "survey", survey)


def _taken_names_are_let_be(patch: Patch) -> None:
    patch.setattr(acting, "_require_child", lambda *_asked: None)


VARIANTS = (
    Variant("children are touched before that is stored", "stored before it is touched", _nothing_is_stored),
    Variant("whatever has the name is deleted", "others' objects are theirs", _whatever_has_the_name_is_deleted),
    Variant("a hook that fails wants nothing", "nothing that is wanted", _a_failed_hook_wants_nothing),
    Variant("orphans are taken over unseen", "no orphan for the dead", _the_cache_is_believed, seeds=100),
    Variant("all children move at once", "not too many at once", _all_move_at_once),
    Variant("the last child moves first", "in order", _the_last_moves_first),
    Variant("a name that is taken is not looked at again", "the hook's word", _taken_names_are_let_be),
)
