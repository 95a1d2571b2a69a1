"""Worlds with two control planes, of which the one that leads stands still now and then, as under SIGSTOP."""

from __future__ import annotations

from tests.simulation.random_stage import Stage, Theme


async def stop_or_go_on(stage: Stage) -> str:
    """Stop the leader, or let those go on that were stopped."""
    planes = stage.federation.planes
    stopped = [plane for plane in planes if plane.standstill.stopped]
    for plane in stopped:
        plane.standstill.end()
    if stopped:
        return f"{', '.join(plane.identity for plane in stopped)} goes on"
    leader = stage.federation.leader
    leader.standstill.begin()
    return f"{leader.identity} stands still"


async def kill_leader(stage: Stage) -> str:
    """End the leader at its next request."""
    stage.federation.doom(1, after=stage.chance.happens(0.5))
    return f"{stage.federation.leader.identity} dies at its next request"


LEADERS = Theme("leaders", acts=(stop_or_go_on, stop_or_go_on, stop_or_go_on, kill_leader), planes=2)
