"""The arithmetic of rollouts, by table and by playing whole rollouts."""

import random

import pytest

from hanse.simulator.workloads.rollout import (
    Bounds,
    Generation,
    bounds_of,
    first_size,
    is_scaling,
    recreate_step,
    rolling_step,
    scaling_step,
    share_of,
)


def deployment(replicas, surge, unavailable):
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}


@pytest.mark.parametrize(
    ("value", "total", "up", "wanted"),
    [(3, 10, True, 3), ("25%", 10, True, 3), ("25%", 10, False, 2), ("100%", 7, False, 7), ("0%", 7, True, 0)],
)
def test_shares_are_rounded_as_asked(value, total, up, wanted):
    assert share_of(value, total, up=up) == wanted


def test_a_share_that_is_no_percentage_is_refused():
    with pytest.raises(ValueError, match="not a percentage"):
        share_of("many", 10, up=True)


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "wanted"),
    [
        (10, "25%", "25%", Bounds(10, 3, 2)),
        (1, "25%", "25%", Bounds(1, 1, 0)),
        (4, "25%", "25%", Bounds(4, 1, 1)),
        (10, 0, 2, Bounds(10, 0, 2)),
        (3, 0, "10%", Bounds(3, 0, 1)),
        (2, 1, 5, Bounds(2, 1, 2)),
        (0, "25%", "25%", Bounds(0, 0, 0)),
    ],
)
def test_surge_is_rounded_up_and_unavailability_down_and_never_both_zero(replicas, surge, unavailable, wanted):
    assert bounds_of(deployment(replicas, surge, unavailable)) == wanted


def test_a_deployment_that_recreates_has_no_leeway():
    recreating = {"spec": {"replicas": 4, "strategy": {"type": "Recreate"}}}
    assert bounds_of(recreating) == Bounds(4, 0, 0)


@pytest.mark.parametrize(
    ("bounds", "others", "recreate", "wanted"),
    [
        (Bounds(10, 3, 2), [], False, 10),
        (Bounds(10, 3, 2), [10], False, 3),
        (Bounds(10, 3, 2), [13], False, 0),
        (Bounds(10, 3, 2), [10], True, 10),
    ],
)
def test_a_new_replica_set_is_born_as_large_as_the_surge_allows(bounds, others, recreate, wanted):
    old = [Generation(f"old-{size}", size) for size in others]
    assert first_size(bounds, old, recreate=recreate) == wanted


@pytest.mark.parametrize(
    ("bounds", "new", "old", "wanted"),
    [
        # Availability pays for nothing that is not there yet.
        (Bounds(10, 3, 2), (3, 0), [(10, 10)], {"old-0": 8}),
        (Bounds(10, 3, 2), (3, 0), [(8, 8)], {"new": 5}),
        (Bounds(10, 3, 2), (5, 0), [(8, 8)], {}),
        (Bounds(10, 3, 2), (5, 5), [(8, 8)], {"old-0": 3}),
        (Bounds(10, 3, 2), (10, 10), [(0, 0)], {}),
        (Bounds(10, 3, 2), (12, 12), [(0, 0)], {"new": 10}),
        (Bounds(4, 1, 0), (1, 0), [(4, 4)], {}),
        (Bounds(4, 1, 0), (1, 1), [(4, 4)], {"old-0": 3}),
        # Unhealthy old pods go first, and at once.
        (Bounds(4, 1, 1), (1, 0), [(2, 0), (2, 2)], {"old-0": 1}),
        (Bounds(10, 3, 2), (0, 0), [(5, 0), (8, 8)], {"old-0": 0}),
        # A status that lags behind a lowered size is not believed.
        (Bounds(10, 3, 2), (5, 2), [(8, 10)], {"old-0": 6}),
    ],
)
def test_a_rolling_step_grows_the_new_or_shrinks_the_old_within_bounds(bounds, new, old, wanted):
    present = Generation("new", new[0], available=new[1])
    past = [
        Generation(f"old-{place}", size, available=available, created=f"{place}")
        for place, (size, available) in enumerate(old)
    ]
    assert rolling_step(bounds, present, past) == wanted


@pytest.mark.parametrize(
    ("new", "old", "running", "wanted"),
    [
        (None, [5], True, {"old-0": 0}),
        (None, [0], True, {}),
        (3, [0], True, {}),
        (3, [0], False, {"new": 5}),
        (5, [0], False, {}),
    ],
)
def test_recreating_takes_everything_old_away_before_it_starts_the_new(new, old, running, wanted):
    present = None if new is None else Generation("new", new)
    past = [Generation(f"old-{place}", size) for place, size in enumerate(old)]
    assert recreate_step(Bounds(5, 0, 0), present, past, old_running=running) == wanted


@pytest.mark.parametrize(
    ("bounds", "new", "old", "wanted"),
    [
        # Alone, a ReplicaSet gets everything.
        (Bounds(7, 2, 1), (5, 5), [], {"new": 7}),
        (Bounds(0, 0, 0), (5, 5), [], {"new": 0}),
        # 10 → 20 in the middle of a rollout, 13 allowed then and 25 now.
        (Bounds(20, 5, 5), (5, 13), [(8, 13)], {"old-0": 15, "new": 10}),
        # 10 → 4, 13 then and 5 now.
        (Bounds(4, 1, 1), (5, 13), [(8, 13)], {"old-0": 3, "new": 2}),
        (Bounds(0, 0, 0), (5, 13), [(8, 13)], {"old-0": 0, "new": 0}),
    ],
)
def test_a_changed_number_of_replicas_is_shared_in_proportion(bounds, new, old, wanted):
    present = Generation("new", new[0], most_then=new[1], desired_then=10, created="9")
    past = [
        Generation(f"old-{place}", size, most_then=most, desired_then=10, created=f"{place}")
        for place, (size, most) in enumerate(old)
    ]
    assert scaling_step(bounds, present, past, rolling=True) == wanted
    assert is_scaling(bounds, [present, *past])


def test_a_saturated_new_replica_set_ends_the_old_ones():
    new = Generation("new", 5, available=5, desired_then=5)
    old = [Generation("old", 2, desired_then=3)]
    assert scaling_step(Bounds(5, 1, 1), new, old, rolling=True) == {"old": 0}


@pytest.mark.parametrize("seed", range(40))
def test_a_rollout_played_to_its_end_never_leaves_its_bounds(seed):
    chance = random.Random(seed)
    replicas = chance.randint(1, 20)
    bounds = bounds_of(deployment(replicas, chance.choice([0, 1, 3, "25%"]), chance.choice([0, 1, 2, "30%"])))
    sizes = {"old": replicas, "new": 0}
    available = {"old": replicas, "new": 0}
    for _ in range(400):
        new = Generation("new", sizes["new"], available=available["new"], created="1")
        old = Generation("old", sizes["old"], available=available["old"], created="0")
        sizes |= rolling_step(bounds, new, [old])
        assert sum(sizes.values()) <= bounds.most
        for name, size in sizes.items():
            # Removed pods are gone at once, new ones become available whenever they like.
            available[name] = (
                min(available[name], size)
                if chance.random() < 0.5
                else chance.randint(min(available[name], size), size)
            )
        lasting = sum(min(available[name], sizes[name]) for name in sizes)
        assert lasting >= min(bounds.least_available, replicas)
        if sizes == {"old": 0, "new": replicas}:
            return
    pytest.fail("the rollout did not end")
