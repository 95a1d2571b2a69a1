"""Worlds with StatefulSets, DaemonSets and Jobs."""

from __future__ import annotations

from hanse.api.plain_kinds import DAEMON_SETS, JOBS, STATEFUL_SETS
from tests.simulation.random_objects import KINDS
from tests.simulation.random_people import choose_for, edit_source, write_kind
from tests.simulation.random_stage import Stage, Theme

_KINDS = tuple(
    kind
    for kind in KINDS
    for resource in (STATEFUL_SETS, STATEFUL_SETS, DAEMON_SETS, JOBS)
    if kind.resource == resource
)


async def write(stage: Stage) -> str:
    """Create one of these."""
    return await write_kind(stage, stage.chance.one_of(_KINDS))


async def edit(stage: Stage) -> str:
    """Change a StatefulSet or a DaemonSet."""
    return await edit_source(stage, *stage.some_source(STATEFUL_SETS, DAEMON_SETS))


async def move(stage: Stage) -> str:
    """Choose other clusters for one of these."""
    return await choose_for(stage, *stage.some_source(STATEFUL_SETS, DAEMON_SETS, JOBS))


async def _begin(stage: Stage) -> None:
    for _ in range(2):
        await stage.tell(write)


WORKLOADS = Theme("workloads", acts=(write, write, edit, move, move), begin=_begin)
