"""Lambda controllers in hundreds of random worlds, and some that lack a guard (`make soak`)."""

import pytest

from tests.simulation.composite.seeds import complaint, play_quietly
from tests.soak.broken_composites import VARIANTS

pytestmark = pytest.mark.timeout(3600)

SEEDS = 300
PARTS = 20


@pytest.mark.parametrize("part", range(PARTS))
def test_children_become_what_the_hook_says_and_nothing_else_is_touched(part):
    outcomes = map(play_quietly, range(part, SEEDS, PARTS))
    broken = [complaint(outcome) for outcome in outcomes if outcome.found]

    assert not broken, "\n\n".join(broken)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_controller_without_a_guard_is_caught(variant, monkeypatch):
    variant.remove_guard(monkeypatch)

    # It may break other promises as well, and before.
    outcomes = (play_quietly(seed) for seed in range(variant.seeds))
    caught = (sentence for outcome in outcomes for sentence in outcome.found if sentence.startswith(variant.promise))

    assert next(caught, "")
