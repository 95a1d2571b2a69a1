"""How long a member may be silent about a kind until one goes on without it."""

import pytest

from hanse.propagation.blindness import LOOK_SECONDS, UNSEEN_SECONDS, Blindness

LOOKS = int(UNSEEN_SECONDS / LOOK_SECONDS)


# How many objects a list has brought by each look, whether it was tried before in vain -> whether it is given up.
@pytest.mark.parametrize(
    ("listed", "failing", "expected"),
    [
        ([0] * LOOKS, False, True),
        ([0] * (LOOKS - 1), False, False),
        ([500 * look for look in range(1, 5 * LOOKS)], False, False),
        ([500] * (LOOKS + 1), False, True),
        ([500 * look for look in range(1, LOOKS + 1)], True, True),
    ],
    ids=["silent", "silent for less", "slow", "stuck in the middle", "in vain again and again"],
)
def test_a_list_that_grows_is_slow_and_not_lost(listed, failing, expected):
    blindness = Blindness()
    for count in listed:
        blindness = blindness.after_another_look(count, failing=failing)

    assert blindness.is_final is expected
