"""Pods that run elsewhere in hundreds of random worlds, and doors that lack a guard (`make soak`)."""

import pytest

from tests.simulation.pods.seeds import complaint, play_quietly
from tests.soak.broken_pod_doors import VARIANTS

pytestmark = pytest.mark.timeout(3600)

SEEDS = 300
PARTS = 20


@pytest.mark.parametrize("part", range(PARTS))
def test_no_pod_runs_twice_none_is_lost_and_nothing_is_left_behind(part):
    outcomes = map(play_quietly, range(100 + part, 100 + SEEDS, PARTS))
    broken = [complaint(outcome) for outcome in outcomes if outcome.found]

    assert not broken, "\n\n".join(broken)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_door_without_a_guard_is_caught(variant, monkeypatch):
    variant.remove_guard(monkeypatch)

    # It may break other promises as well, and before.
    outcomes = (play_quietly(seed) for seed in variant.seeds)
    caught = (sentence for outcome in outcomes for sentence in outcome.found if sentence.startswith(variant.promise))

    assert next(caught, "")
