"""The first Vitess operator in a hundred random histories, and without what keeps it careful (`make soak`)."""

import pytest

from hanse.vitess.first import reparent
from tests.simulation.vitess.first_history import play

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(3600)]

SEEDS = 100


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_rollout_touches_no_primary_and_all_ends_as_it_was_asked_for(seed):
    assert await play(seed) == []


@pytest.mark.parametrize(
    ("guard", "instead"),
    [
        ("pre_update_child", lambda _request: {"ready": True}),
        ("may_be_relieved", lambda _spec, _tablet: False),
    ],
)
async def test_an_operator_that_moves_no_primary_first_is_caught(guard, instead, monkeypatch):
    monkeypatch.setattr(reparent, guard, instead)

    found = []
    for seed in range(10):
        found += await play(seed)
        if any("while it was the primary" in each for each in found):
            break
    assert any("while it was the primary" in each for each in found)
