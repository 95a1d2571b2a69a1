"""Random worlds in which every promise must hold.

`make test` plays one of each theme; `make soak` thousands, `make soak-guards` control planes that lack a guard.
"""

import pytest

from tests.simulation.seeds import complaint, play_quietly
from tests.simulation.themes import THEMES

STEPS = 10
# Worlds in which a promise was broken once: by what is known of an unread cluster, by zeros in a status, by Jobs that a
# lost cluster may have begun, by a read that was older than the view, by what was written again after a restart, and
# by a clock that was set back.
BROKEN_ONCE = (844595469, 15, 2000, 10050, 11, 61016)
WORLDS = {0: ("host", "leaders"), 4: ("turns",), 5: ("workloads", "rules"), 9: ("blast",)}


@pytest.mark.parametrize("seed", WORLDS)
def test_a_random_world_keeps_every_promise(seed):
    outcome = play_quietly(seed, STEPS, WORLDS[seed])

    assert not outcome.found, complaint(outcome)
    assert len(outcome.story) > STEPS


@pytest.mark.parametrize("seed", BROKEN_ONCE)
def test_what_a_world_found_once_does_not_come_back(seed):
    outcome = play_quietly(seed)

    assert not outcome.found, complaint(outcome)


def test_every_theme_is_played():
    assert {theme for themes in WORLDS.values() for theme in themes} == THEMES.keys()


def test_the_same_seed_is_the_same_world():
    assert play_quietly(3, steps=2) == play_quietly(3, steps=2)
