"""Users who may use some clusters only, in random worlds; `make soak` plays hundreds."""

import pytest

from tests.simulation.random_access import play


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_goes_where_its_author_may_not_place_it_whatever_happens(seed):
    found, story = play(seed)

    assert not found, "\n".join((*found, *story))
