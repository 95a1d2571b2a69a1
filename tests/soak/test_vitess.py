"""Federated Vitesses in hundreds of random worlds, and some that lack a guard (`make soak`)."""

import pytest

from tests.simulation.vitess.seeds import complaint, play_quietly
from tests.soak.broken_vitess import VARIANTS

pytestmark = pytest.mark.timeout(3600)

SEEDS = 200
PARTS = 20


@pytest.mark.parametrize("part", range(PARTS))
def test_no_two_primaries_no_lost_records_and_nothing_on_ignorance(part):
    outcomes = map(play_quietly, range(part, SEEDS, PARTS))
    broken = [complaint(outcome) for outcome in outcomes if outcome.found]

    assert not broken, "\n\n".join(broken)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_vitess_without_a_guard_is_caught(variant, monkeypatch):
    variant.remove_guard(monkeypatch)

    outcomes = (play_quietly(seed) for seed in range(variant.seeds))
    caught = (sentence for outcome in outcomes for sentence in outcome.found if variant.word in sentence)

    assert next(caught, "")
