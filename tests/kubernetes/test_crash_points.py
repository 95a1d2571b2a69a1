"""The control plane is killed with SIGKILL at some writes to real API servers; `python -m tests.crash_points --all` at
each of them."""

import pytest

from tests.crash_points.points import sample
from tests.crash_points.stage import crash_stage

pytestmark = pytest.mark.timeout(900)

POINTS = 6


async def test_wherever_the_control_plane_is_killed_every_door_comes_to_the_same_end(tmp_path):
    async with crash_stage(tmp_path) as stage:
        writes = await stage.measure("undisturbed")
        points = [
            await stage.live_through(f"point-{number}", at, after=after)
            for number, (at, after) in enumerate(sample(writes, POINTS))
        ]

    assert [str(point) for point in points if point.found] == []
    # Writes may be fewer where two changes meet in one, so that the last of them need not come.
    assert sum(point.died for point in points) >= POINTS - 1
