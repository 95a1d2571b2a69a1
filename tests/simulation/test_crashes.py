"""The control plane dies at some of its requests; `make soak-guards` has it die at each (`tests/soak`)."""

import pytest

from tests.simulation.crash_script import live_through
from tests.simulation.playing import quietly


@pytest.mark.parametrize(("request_number", "after"), [(48, True), (97, False)])
def test_a_control_plane_that_dies_at_a_request_converges(request_number, after):
    with quietly():
        crash = live_through(request_number, after=after)

    assert crash.struck
    assert crash.found == ()
