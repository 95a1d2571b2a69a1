"""Random worlds in which every promise must hold.

`make test` plays one of each theme; `make soak` thousands, `make soak-guards` control planes that lack a guard.
"""

import pytest

from tests.simulation.seeds import complaint, play_quietly
from tests.simulation.themes import THEMES

STEPS = 10
WORLDS = {0: ("host", "leaders"), 4: ("turns",), 5: ("workloads", "rules"), 9: ("blast",)}


@pytest.mark.parametrize("seed", WORLDS)
def test_a_random_world_keeps_every_promise(seed):
    outcome = play_quietly(seed, STEPS, WORLDS[seed])

    assert not outcome.found, complaint(outcome)
    assert len(outcome.story) > STEPS


def test_every_theme_is_played():
    assert {theme for themes in WORLDS.values() for theme in themes} == THEMES.keys()


def test_the_same_seed_is_the_same_world():
    assert play_quietly(3, steps=2) == play_quietly(3, steps=2)
