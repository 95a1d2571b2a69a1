"""What people, machines and misfortune do to a random federated Vitess; each act follows from chance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hanse.kube.errors import ApiError
from hanse.kube.manifest import dig
from hanse.kube.transport import Unreachable
from tests.simulation.tally import note_fault
from tests.simulation.vitess.federated.net import HOST
from tests.simulation.vitess.federated.random_world import RandomVitess
from tests.simulation.vitess.federated.world import HOMES, keyspace, shop

Act = Callable[[RandomVitess], Awaitable[str]]


async def lose_a_member(world: RandomVitess) -> str:
    """Take a cluster away; never a second one, since data that is nowhere cannot be served."""
    if world.net.lost:
        return ""
    name = world.chance.one_of(world.net.members)
    note_fault("down")
    await world.lose(name)
    return f"{name} is lost"


async def bring_a_member_back(world: RandomVitess) -> str:
    """Have a lost cluster come back with what it had."""
    for name in sorted(world.net.lost):
        world.bring_back(name)
        return f"{name} is back"
    return ""


async def part_two(world: RandomVitess) -> str:
    """Cut the network between two clusters, or between one and the control plane."""
    one, other = world.chance.one_of([*world.net.members, HOST]), world.chance.one_of(world.net.members)
    if one == other:
        return ""
    note_fault("partition")
    world.cut(one, other)
    return f"{one} and {other} are parted"


async def mend(world: RandomVitess) -> str:
    """Mend every network, and start every etcd member."""
    if not world.net.cuts and not world.net.etcd_down:
        return ""
    world.mend()
    return "networks and lockservers are well"


async def crash_the_control_plane(world: RandomVitess) -> str:
    """Kill the control plane, and start it a little later."""
    note_fault("death")
    await world.kill_control_plane()
    await world.runtime.sleep(world.chance.between(0.0, 60.0))
    world.start_control_plane()
    return "the control plane was killed and started"


async def crash_an_operator(world: RandomVitess) -> str:
    """Kill an operator in the middle of whatever it does."""
    name = world.chance.one_of(world.net.members)
    note_fault("death of an operator")
    await world.kill_operator(name)
    await world.runtime.sleep(world.chance.between(0.0, 20.0))
    world.start_operator(name)
    return f"the operator of {name} was killed and started"


async def stop_an_etcd_member(world: RandomVitess) -> str:
    """Stop a member of the global lockserver, perhaps the one too many."""
    name = world.chance.one_of(world.net.members)
    note_fault("etcd member down")
    world.net.etcd_down.add(name)
    world.net.refresh()
    return f"the etcd member of {name} is down"


async def drain_some(world: RandomVitess) -> str:
    """Ask for the drain of tablets, often of one shard in two clusters at once."""
    running = sorted(each.alias for each in world.net.databases.values() if each.alive)
    if not running:
        return ""
    said = []
    shard = world.net.databases[world.chance.one_of(running)].shard
    for each in sorted(world.net.of(shard), key=lambda one: one.alias):
        if not each.alive or not world.chance.happens(0.5):
            continue
        try:
            await world.drain(each.alias)
        except (ApiError, Unreachable):
            continue
        said.append(each.alias)
    return f"drained shall be {', '.join(said)}" if said else ""


async def clear_up(world: RandomVitess) -> str:
    """Delete the pods whose drains are finished."""
    await world.sweep()
    return "whoever drains looks for pods that may go"


async def change_images(world: RandomVitess) -> str:
    """Ask for another version."""
    image = f"vitess/lite:v{world.chance.count(21, 29)}"
    await world.edit({"images": {"vttablet": image}})
    return f"the image is {image}"


async def scale(world: RandomVitess) -> str:
    """Ask for more or fewer tablets in the first cell."""
    count = world.chance.count(1, 3)
    source = shop(east=count)
    kept = [each for each in dig(await world.source(), "spec", "keyspaces") if each["name"] != "orders"]
    await world.edit({"keyspaces": [*source["spec"]["keyspaces"], *kept]})
    return f"east has {count} tablets of each shard"


async def toggle_a_keyspace(world: RandomVitess) -> str:
    """Add a keyspace, or remove it with all its data."""
    keyspaces = dig(await world.source(), "spec", "keyspaces")
    orders = [each for each in keyspaces if each["name"] == "orders"]
    if len(keyspaces) > 1:
        await world.edit({"keyspaces": orders})
        return "keyspace audit is removed"
    cells = [cell for cell in HOMES if world.chance.happens(0.7)] or ["useast1a"]
    pools = [{"cell": cell, "type": "replica", "replicas": 1, "mysqld": {}} for cell in cells]
    await world.edit({"keyspaces": [*orders, keyspace("audit", pools)]})
    return f"keyspace audit is added in {', '.join(cells)}"


async def spoil_the_specification(world: RandomVitess) -> str:
    """Write what is refused, and after a while what it was before."""
    cells = dig(await world.source(), "spec", "cells")
    moved = [{**cell, "cluster": "west"} for cell in cells]
    await world.edit({"cells": moved})
    await world.runtime.sleep(world.chance.between(1.0, 40.0))
    await world.edit({"cells": cells})
    return "all cells were in west for a moment"


async def rest(world: RandomVitess) -> str:
    """Let things come to rest, so that drains are served."""
    await world.runtime.sleep(world.chance.between(30.0, 120.0))
    return "time passes"


ACTS: tuple[tuple[Act, int], ...] = (
    (lose_a_member, 2),
    (bring_a_member_back, 3),
    (part_two, 3),
    (mend, 3),
    (crash_the_control_plane, 2),
    (crash_an_operator, 2),
    (stop_an_etcd_member, 2),
    (drain_some, 5),
    (clear_up, 5),
    (change_images, 1),
    (scale, 2),
    (toggle_a_keyspace, 2),
    (spoil_the_specification, 1),
    (rest, 5),
)


async def act(world: RandomVitess) -> str:
    """Do one thing."""
    return await world.chance.one_of([each for each, weight in ACTS for _ in range(weight)])(world)
