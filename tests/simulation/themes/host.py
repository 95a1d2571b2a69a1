"""Worlds whose host is in trouble now and then."""

from __future__ import annotations

from hanse.kube.manifest import key_of
from tests.simulation.random_host import TROUBLES
from tests.simulation.random_objects import KINDS, make_up
from tests.simulation.random_people import edit_source
from tests.simulation.random_stage import Stage, Theme


async def trouble(stage: Stage) -> str:
    """Have the host in trouble, or well again."""
    gate = stage.federation.host_gate
    await gate.set("" if gate.trouble and stage.chance.happens(0.7) else stage.chance.one_of(TROUBLES))
    return f"the host: {gate.trouble or 'nothing is wrong'}"


async def think_twice(stage: Stage) -> str:
    """Write something and change it at once, while a control plane may be about to write into it."""
    kind = stage.chance.one_of(tuple(kind for kind in KINDS if kind.weight))
    source = make_up(stage.chance, kind, f"one-{stage.chance.count(0, 2)}", "default")
    await stage.host.create(kind.resource, source)
    stage.say(f"created {kind.resource.kind} {key_of(source)}")
    await stage.sleep(stage.chance.between(0.0, 2.0))
    return await edit_source(stage, kind, source)


async def _heal(stage: Stage) -> None:
    if stage.federation.host_gate.trouble:
        await stage.federation.host_gate.set("")


HOST_THEME = Theme("host", acts=(trouble, think_twice), attend=_heal)
