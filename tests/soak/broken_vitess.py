"""Federated Vitesses each of which lacks one guard: random worlds must catch them all.

If a random world no longer notices that a guard is gone, either the world has become too tame or the guard is needless.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hanse.vitess.federated import controller, planning
from hanse.vitess.federated.draining import Drains
from hanse.vitess.federated.initializers import choose_initializers
from hanse.vitess.federated.pruning import Evidence, Verdict, judge
from hanse.vitess.federated.token_store import TokenStore
from hanse.vitess.topology import applying
from tests.simulation.vitess.federated import operator
from tests.simulation.vitess.federated import world as world_module

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Variant:
    """A guard that is taken away, a word of the promise that breaks then, and within how many seeds that is seen."""

    name: str
    word: str
    remove_guard: Callable[[Patch], None]
    seeds: int = 40


def _nobody_waits_for_the_token(patch: Patch) -> None:
    async def take(*_asked: Any) -> bool:
        return True

    patch.setattr(TokenStore, "take", take)


def _the_token_ends_with_the_pod(patch: Patch) -> None:
    inner = Drains._hand_on

    async def hand_on(self: Any, shard: Any, sight: Any, heard: Any, now: float) -> Any:
        stored = await self._tokens.read(shard.id)
        gone = stored is not None and all(each.alias != stored.alias or not each.drain for each in sight.tablets)
        if stored is not None and gone:
            await self._tokens.give_back(shard.id, stored)
        return await inner(self, shard, sight, heard, now)

    patch.setattr(Drains, "_hand_on", hand_on)


def _who_is_silent_has_nothing(patch: Patch) -> None:
    def evidence(scene: Any) -> dict[str, Evidence]:
        return {name: Evidence(reachable=True, current=True) for name in scene.members}

    patch.setattr(controller, "evidence", evidence)

    def lenient(spec: Any, picture: Any, *rest: Any, **options: Any) -> Verdict:
        return judge(spec, replace(picture, unread=frozenset(), tablets={}, serving={}), *rest, **options)

    patch.setattr(controller, "judge", lenient)

    def unchanged(*_asked: Any) -> None:
        return None

    patch.setattr(applying, "_demand_unchanged", unchanged)


def _who_begins_is_chosen_anew(patch: Patch) -> None:
    def choose(shards: Any, homes: Any, _before: Any, **options: Any) -> Any:
        return choose_initializers(shards, homes, {}, **options)

    patch.setattr(planning, "choose_initializers", choose)


def _the_old_primary_is_not_demoted(patch: Patch) -> None:
    async def change(world: Any, node: str, topology: Any, shard: Any, _expected: str, new: str) -> str:
        heir = world.speaks(node, new)
        if heir is None:
            return f"{new} does not answer"
        heir.leads, heir.source = True, ""
        for each in world.of(shard):
            if not each.leads and world.speaks(node, each.alias) is not None and each.cell != heir.cell:
                each.source = new
                break
        return ""

    patch.setattr(operator, "change_primary", change)
    patch.setattr(world_module, "change_primary", change)


VARIANTS = (
    Variant("nobody waits for the token", "are drained at once", _nobody_waits_for_the_token),
    Variant("the token ends with the pod", "are drained at once", _the_token_ends_with_the_pod),
    Variant("who is silent has nothing", "was pruned while", _who_is_silent_has_nothing),
    Variant("who begins is chosen anew", "although it has a primary", _who_begins_is_chosen_anew),
    Variant("the old primary is not demoted", "two primaries were acknowledged", _the_old_primary_is_not_demoted),
)
