"""The control plane dies at each of its requests in turn, before it is sent and once it is done (`soak-guards`)."""

import pytest

from tests.simulation.crash_script import live_through
from tests.simulation.playing import quietly

pytestmark = pytest.mark.timeout(1800)

PARTS = 8


@pytest.mark.parametrize("after", [False, True], ids=("before it is sent", "after it is done"))
@pytest.mark.parametrize("part", range(PARTS))
def test_a_control_plane_that_dies_at_any_request_converges(part, after):
    request, struck = part + 1, True
    while struck:
        with quietly():
            crash = live_through(request, after=after)
        assert not crash.found, f"at request {request}: {crash.found}"
        struck, request = crash.struck, request + PARTS

    assert request > 10 * PARTS, "the script is too short to try anything"
