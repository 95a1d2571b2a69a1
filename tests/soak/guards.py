"""Every guard of the promises of design.md §4, with a way to do without it and the suite whose worlds must miss it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from hanse.clusters.access import Access
from hanse.placement.ask import Rollout
from hanse.simulator.virtual_time import run_virtually
from hanse.vitess.federated import first_door
from hanse.vitess.first import reparent
from tests.simulation import health_seeds, random_access, random_history
from tests.simulation.composite import random_history as composite_history
from tests.simulation.health_faults import BROKEN as BROKEN_HEALTH
from tests.simulation.pods import random_history as pod_history
from tests.simulation.vitess import first_history
from tests.simulation.vitess.federated import first_random
from tests.simulation.vitess.federated import random_history as vitess_history
from tests.soak import broken_composites, broken_control_planes, broken_pod_doors, broken_vitess
from tests.unit.rollouts.execution import broken_executors
from tests.unit.rollouts.execution.model import Broken, World

Patch = pytest.MonkeyPatch

SILENT = "1 steady is silent"
ISOLATED = "2 isolation"
KNOWING = "3 never on ignorance"
SERVING = "4 never the last healthy copy"
CONVERGING = "5 crash anywhere, converge"
BOUNDED = "6 blast radius"
THEIRS = "7 others' fields are theirs"
WEAK = "8 least power"
TELLING = "9 say why"
PROMISES = (SILENT, ISOLATED, KNOWING, SERVING, CONVERGING, BOUNDED, THEIRS, WEAK, TELLING)


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard, the promise that it keeps, and the worlds that must miss it: in words of what their judge says."""

    name: str
    promise: str
    suite: str
    word: str
    remove: Callable[[Patch], None]
    found: Callable[[int], Sequence[str]]
    first: int = 0

    def seeds(self, most: int) -> range:
        """The seeds to be played."""
        return range(self.first, self.first + most)

    def is_caught_by(self, sentence: str) -> bool:
        """Tell whether a sentence is about the missing guard; others may be broken as well, and before."""
        return self.word in sentence


# The promise that each variant breaks, where its own words do not say it.
_ENGINE = {
    "steady is silent": SILENT,
    "isolation": ISOLATED,
    "never on ignorance": KNOWING,
    "": KNOWING,
    "never the last healthy copy": SERVING,
    "in turn": SERVING,
    "at most once": CONVERGING,
    "crash and converge": CONVERGING,
    "blast radius": BOUNDED,
    "others' fields": THEIRS,
    "least power": WEAK,
    "say why": TELLING,
}
_PODS = {
    "never twice": CONVERGING,
    "never before its pod": CONVERGING,
    "never again once bound": CONVERGING,
    "never twice a permission": CONVERGING,
    "no pod is lost": KNOWING,
}
_COMPOSITES = {
    "stored before it is touched": CONVERGING,
    "others' objects are theirs": KNOWING,
    "nothing that is wanted": KNOWING,
    "no orphan for the dead": CONVERGING,
    "not too many at once": SERVING,
    "in order": SERVING,
    "the hook's word": TELLING,
}
_VITESS = {
    "are drained at once": SERVING,
    "was pruned while": KNOWING,
    "although it has a primary": CONVERGING,
    "two primaries were acknowledged": CONVERGING,
}


def _engine() -> list[Guard]:
    def found(themes: tuple[str, ...]) -> Callable[[int], Sequence[str]]:
        return lambda seed: random_history.play(seed, themes=themes).found

    return [
        Guard(each.name, _ENGINE[each.promise], "engine", each.promise, each.remove_guard, found(each.themes))
        for each in broken_control_planes.VARIANTS
    ]


def _pods() -> list[Guard]:
    return [
        Guard(
            each.name,
            _PODS[each.promise],
            "pods",
            each.promise,
            each.remove_guard,
            lambda seed: pod_history.play(seed).found,
            each.seeds.start,
        )
        for each in broken_pod_doors.VARIANTS
    ]


def _composites() -> list[Guard]:
    return [
        Guard(
            each.name,
            _COMPOSITES[each.promise],
            "composites",
            each.promise,
            each.remove_guard,
            lambda seed: composite_history.play(seed).found,
        )
        for each in broken_composites.VARIANTS
    ]


def _vitess() -> list[Guard]:
    return [
        Guard(
            each.name,
            _VITESS[each.word],
            "vitess",
            each.word,
            each.remove_guard,
            lambda seed: vitess_history.play(seed).found,
        )
        for each in broken_vitess.VARIANTS
    ]


def _first_vitess() -> list[Guard]:
    def without(guard: str, instead: Callable[..., Any]) -> Callable[[Patch], None]:
        return lambda patch: patch.setattr(reparent, guard, instead)

    removals = {
        "a primary is updated before it is relieved": without("pre_update_child", lambda _request: {"ready": True}),
        "nobody relieves a primary": without("may_be_relieved", lambda _spec, _tablet: False),
    }
    return [
        Guard(
            name,
            SERVING,
            "vitess-first",
            "while it was the primary",
            remove,
            lambda seed: run_virtually(lambda: first_history.play(seed)),
        )
        for name, remove in removals.items()
    ]


def _first_vitess_over_clusters() -> list[Guard]:
    def with_rollout(instead: Rollout | None) -> Callable[[Patch], None]:
        return lambda patch: patch.setattr(first_door, "Rollout", lambda **_fields: instead)

    removals = {
        "all clusters of a Vitess change at once": with_rollout(None),
        "a cluster changes while another still does": with_rollout(Rollout(max_clusters=1)),
    }
    return [
        Guard(
            name,
            SERVING,
            "vitess-first-federated",
            "while these were down",
            remove,
            lambda seed: run_virtually(lambda: first_random.play(seed)),
        )
        for name, remove in removals.items()
    ]


def _services() -> list[Guard]:
    def found(system: health_seeds.System) -> Callable[[int], Sequence[str]]:
        return lambda seed: health_seeds.play(seed, system).found

    promises = {"quorum-of-one": KNOWING, "stale-reports-count": KNOWING, "fail-closed": SERVING}
    return [
        Guard(name, promises.get(name, SILENT), "services", "", lambda _patch: None, found(system))
        for name, system in BROKEN_HEALTH.items()
    ]


def _access() -> list[Guard]:
    async def everybody(*_asked: Any) -> dict[str, str]:
        return {}

    async def every_cluster(*_asked: Any) -> bool:
        return True

    removals: dict[str, tuple[str, Callable[..., Any]]] = {
        "nobody asks who may use a cluster": ("refusals", everybody),
        "who may use one cluster may use all": ("_may_use", every_cluster),
        "rights are remembered for ever": ("_forget", lambda _self: None),
    }

    def without(name: str, instead: Callable[..., Any]) -> Callable[[Patch], None]:
        return lambda patch: patch.setattr(Access, name, instead)

    return [
        Guard(name, WEAK, "access", "least power", without(*removal), lambda seed: random_access.play(seed)[0])
        for name, removal in removals.items()
    ]


def _executors() -> list[Guard]:
    def found(broken: Callable[..., Any]) -> Callable[[int], Sequence[str]]:
        def goes_wrong(seed: int) -> Sequence[str]:
            try:
                World(seed, broken, restless=seed % 2 == 1).live()
            except Broken as error:
                return [str(error)]
            return []

        return goes_wrong

    return [
        Guard(each.__name__.replace("_", " "), SERVING, "executor", "", lambda _patch: None, found(each), 1000)
        for each in (*broken_executors.BROKEN, *broken_executors.SUBTLE)
    ]


GUARDS = (
    *_engine(),
    *_services(),
    *_access(),
    *_executors(),
    *_pods(),
    *_composites(),
    *_vitess(),
    *_first_vitess(),
    *_first_vitess_over_clusters(),
)
