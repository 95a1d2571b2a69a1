"""Health by quorum: random worlds keep the rules, and the rules notice systems that are wrong.

All of `python -m tests.simulation.health_seeds --seeds 200` is played by whoever changes this; here are a few.
"""

import pytest

from hanse.api.federation import HealthSettings
from hanse.kube.runtime import SeededRuntime
from hanse.services.health.attendance import SILENCE_SECONDS
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.health_faults import BROKEN
from tests.simulation.health_rules import Rules
from tests.simulation.health_seeds import AS_IT_IS, complaint, play
from tests.simulation.health_world import HealthWorld
from tests.simulation.playing import quietly


def test_answers_are_right_whatever_checkers_say():
    outcome = play(19, steps=4)

    assert not outcome.found, complaint(outcome)


@pytest.mark.kubernetes
@pytest.mark.parametrize("seed", range(6))
def test_answers_are_right_in_longer_histories(seed):
    outcome = play(seed)

    assert not outcome.found, complaint(outcome)


ADDRESS = "10.1.0.1"
TERMS = HealthSettings(interval_seconds=1.0, timeout_seconds=0.5)


async def one_cannot_reach_it(world, rules):
    world.vantages["cluster-c0"].unreachable.add(ADDRESS)
    await rules.wait(rules.bound_seconds)


async def two_of_three_could_not_reach_it_and_are_gone(world, rules):
    for checker in ("cluster-c0", "cluster-c1"):
        world.vantages[checker].unreachable.add(ADDRESS)
    await world.runtime.sleep(rules.bound_seconds)
    for checker in ("cluster-c0", "cluster-c1"):
        world.vantages[checker].wire.hanging = True
    await rules.wait(SILENCE_SECONDS + 6)


async def everything_dies(world, rules):
    world.dead.update(*(places.values() for places in world.services.values()))
    await rules.wait(rules.bound_seconds)


async def an_address_is_away_for_a_moment(world, rules):
    rules.blips, world.dead = {ADDRESS}, {ADDRESS}
    for _ in range(8):
        await world.runtime.sleep(0.2)
        rules.look(world.runtime.monotonic())
    rules.blips, world.dead = set(), set()


SCENES = {
    "quorum-of-one": one_cannot_reach_it,
    "stale-reports-count": two_of_three_could_not_reach_it_and_are_gone,
    "fail-closed": everything_dies,
    "no-hysteresis": an_address_is_away_for_a_moment,
}


def found_in(scene, system):
    async def run():
        world = HealthWorld(SeededRuntime(), clusters=2, terms=TERMS)
        rules = Rules(world, system.decide)
        try:
            await world.start(system.view, system.terms)
            await rules.wait(rules.settling_seconds + 2)
            await scene(world, rules)
            return rules.found
        finally:
            await world.close()

    with quietly():
        return run_virtually(run)


@pytest.mark.parametrize("fault", BROKEN)
def test_a_system_that_is_wrong_is_noticed(fault):
    assert found_in(SCENES[fault], BROKEN[fault])


@pytest.mark.kubernetes
@pytest.mark.parametrize("fault", BROKEN)
def test_the_system_as_it_is_passes_where_a_wrong_one_does_not(fault):
    assert found_in(SCENES[fault], AS_IT_IS) == []
