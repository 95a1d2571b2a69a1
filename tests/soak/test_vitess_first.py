"""The first Vitess operator in random histories, in one cluster and over two, and without its guards (`make soak`)."""

import pytest

from hanse.placement.ask import Rollout
from hanse.vitess.federated import first_door
from hanse.vitess.first import reparent
from tests.simulation.vitess.federated.first_random import play as play_federated
from tests.simulation.vitess.first_history import play

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(3600)]

SEEDS = 100
FEDERATED_SEEDS = 40


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


@pytest.mark.parametrize("seed", range(FEDERATED_SEEDS))
async def test_over_two_clusters_no_two_tablets_of_a_shard_are_touched_at_once(seed):
    assert await play_federated(seed) == []


@pytest.mark.parametrize("instead", [None, Rollout(max_clusters=1)])
async def test_members_that_change_at_once_are_caught(instead, monkeypatch):
    monkeypatch.setattr(first_door, "Rollout", lambda **_fields: instead)

    found = []
    for seed in range(20):
        found += await play_federated(seed)
        if any("while these were down" in each for each in found):
            break
    assert any("while these were down" in each for each in found)
