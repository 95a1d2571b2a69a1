"""What people, machines and misfortune do to a random world of lambda controllers; each act follows from chance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, controller_of, is_deleting, name_of, uid_of
from hanse.kube.resources import CONFIGMAPS, PODS, SECRETS, Resource
from hanse.kube.transport import Request
from tests.simulation.composite.random_judge import CHILDREN
from tests.simulation.composite.random_world import DECORATE, INPUT, RandomWorld
from tests.simulation.composite.stage import THINGS, WIDE_THINGS, config, thing
from tests.simulation.tally import note_fault

NAMES = ("ant", "bee")
_STRANGER = {"stranger": "yes"}

Act = Callable[[RandomWorld], Awaitable[str]]


async def make_parent(world: RandomWorld) -> str:
    """Make a parent that is not there."""
    free = [name for name in NAMES if (THINGS, name) not in world.judge.objects]
    if not free:
        return ""
    name, chance = world.chance.one_of(free), world.chance
    made = thing(name, replicas=chance.count(2, 4), configs=chance.count(0, 2), text="1", template={"image": "main:1"})
    made["metadata"]["labels"] = DECORATE if chance.happens(0.6) else {}
    await world.create(made)
    return f"parent {name} is made: {made['spec']}"


async def edit_parent(world: RandomWorld) -> str:
    """Change what a parent asks for, perhaps in the middle of a rollout."""
    parent = _some(world, THINGS)
    if parent is None or is_deleting(parent):
        return ""
    chance = world.chance
    change = chance.one_of(
        [
            {"template": {"image": f"main:{chance.count(1, 4)}"}},
            {"template": {"image": f"main:{chance.count(1, 4)}"}},
            {"replicas": chance.count(0, 4)},
            {"configs": chance.count(0, 2)},
            {"text": str(chance.count(1, 9))},
        ]
    )
    await world.client.patch(THINGS, name_of(parent), {"spec": change}, "default")
    return f"parent {name_of(parent)} asks for {change}"


async def delete_parent(world: RandomWorld) -> str:
    """Delete a parent, and perhaps leave its children behind."""
    parent = _some(world, THINGS)
    if parent is None:
        return ""
    policy = world.chance.one_of(["Background", "Orphan", "Foreground"])
    await world.client.delete(THINGS, name_of(parent), "default", propagation=policy)
    return f"parent {name_of(parent)} is deleted ({policy})"


async def decorate(world: RandomWorld) -> str:
    """Have a parent decorated, or no longer."""
    parent = _some(world, THINGS)
    if parent is None:
        return ""
    wanted = world.chance.one_of(["yes", None])
    await world.client.patch(THINGS, name_of(parent), {"metadata": {"labels": {"decorate": wanted}}}, "default")
    return f"parent {name_of(parent)} is to be decorated: {wanted}"


async def change_inputs(world: RandomWorld) -> str:
    """Make or delete the map's parent or one of its inputs."""
    if not list(world.judge.of(WIDE_THINGS)):
        await world.create(thing("wide", kind=WIDE_THINGS, selector={"matchLabels": INPUT}))
        return "the map's parent is made"
    name = world.chance.one_of(["in-1", "in-2"])
    if (CONFIGMAPS, name) in world.judge.objects:
        await world.client.delete(CONFIGMAPS, name, "default")
        return f"input {name} is deleted"
    made = config(name, namespace="default")
    made["metadata"]["labels"] = INPUT
    await world.create(made)
    return f"input {name} is made"


async def delete_child(world: RandomWorld) -> str:
    """Delete a child by hand."""
    kind, obj = _child(world, *CHILDREN)
    if obj is None:
        return ""
    await world.client.delete(kind, name_of(obj), "default")
    return f"{kind.kind} {name_of(obj)} is deleted by hand"


async def edit_child(world: RandomWorld) -> str:
    """Change a child by hand."""
    kind, obj = _child(world, PODS, CONFIGMAPS)
    if obj is None or is_deleting(obj):
        return ""
    change: Obj = {"data": {"text": "theirs"}}
    if kind is PODS:
        change = {"spec": {"containers": [{**obj["spec"]["containers"][0], "image": "theirs:1"}]}}
    await world.client.patch(kind, name_of(obj), change, "default")
    return f"{kind.kind} {name_of(obj)} is changed by hand"


async def relabel_child(world: RandomWorld) -> str:
    """Take a child away from its parent by its labels."""
    kind, obj = _child(world, PODS, CONFIGMAPS)
    if obj is None:
        return ""
    await world.client.patch(kind, name_of(obj), {"metadata": {"labels": {"thing": "nobody"}}}, "default")
    return f"{kind.kind} {name_of(obj)} is relabelled by hand"


async def make_orphan(world: RandomWorld) -> str:
    """Make an object that a parent's selector matches."""
    name = world.chance.one_of(NAMES)
    for obj in (config(f"{name}-orphan", of=name, namespace="default"), config(f"{name}-conf-0", of=name)):
        if (CONFIGMAPS, name_of(obj)) not in world.judge.objects:
            obj["metadata"]["namespace"] = "default"
            await world.create(obj)
            return f"orphan {name_of(obj)} is made"
    return ""


async def squat(world: RandomWorld) -> str:
    """Have somebody put an object of their own where a child is, just when the child is to be deleted."""

    async def ambush(request: Request) -> None:
        kind = {"configmaps": CONFIGMAPS, "pods": PODS, "secrets": SECRETS}.get(request.path.split("/")[-2])
        name = request.path.rpartition("/")[2]
        if kind is not None and (kind, name) in world.judge.objects:
            world.weather.ambush = None
            note_fault("another object of the name")
            await _replace(world, kind, name)

    world.weather.ambush = ambush
    return "somebody lies in wait for the next deletion"


async def _replace(world: RandomWorld, kind: Resource, name: str) -> None:
    spec: Obj = {"spec": {"containers": [{"name": "main", "image": "theirs:1"}]}} if kind is PODS else {}
    metadata = {"name": name, "namespace": "default", "labels": _STRANGER}
    try:
        await world.client.delete(kind, name, "default", grace_seconds=0)
        made = await world.create({"apiVersion": "v1", "kind": kind.kind, "metadata": metadata, **spec})
    except ApiError:
        return
    world.judge.strangers.add(uid_of(made))


async def edit_controller(world: RandomWorld) -> str:
    """Change a controller object, which starts it anew."""
    seconds = world.chance.count(10, 60)
    await world.client.patch(COMPOSITE_CONTROLLERS, "sets", {"spec": {"resyncPeriodSeconds": seconds}})
    return f"the controller resyncs every {seconds} s"


async def storm(world: RandomWorld) -> str:
    """Change the weather between the servers of controllers and the cluster."""
    weather, chance = world.weather, world.chance
    weather.failing = chance.one_of([0.0, 0.1, 0.3])
    weather.latency = chance.one_of([0.0, 0.0, 0.5])
    weather.lag = chance.one_of([0.0, 0.0, 0.3, 2.0])
    for name, degree in (("failing writes", weather.failing), ("latency", weather.latency), ("lag", weather.lag)):
        if degree:
            note_fault(name)
    return f"of writes {weather.failing:.0%} fail, requests take {weather.latency} s, events {weather.lag} s"


async def break_hooks(world: RandomWorld) -> str:
    """Have hooks fail or take their time, or be well again."""
    world.bad_hooks, world.slow_hooks = world.chance.one_of([(0.0, 0.0), (0.5, 0.0), (0.2, 0.5), (1.0, 0.0)])
    if world.bad_hooks:
        note_fault("failing hooks")
    if world.slow_hooks:
        note_fault("slow hooks")
    return f"of hooks {world.bad_hooks:.0%} fail and {world.slow_hooks:.0%} are slow"


async def relist(world: RandomWorld) -> str:
    """Have every watch begin anew."""
    note_fault("expired watches")
    for wire in world.servers:
        wire.expire()
    return "every watch has expired"


async def kill(world: RandomWorld) -> str:
    """Kill the servers of controllers, and start another."""
    note_fault("death")
    await world.kill()
    world.serve()
    return "the server of controllers was killed"


async def doom(world: RandomWorld) -> str:
    """Have a server of controllers die before or after one of its next writes."""
    wire = world.chance.one_of(list(world.servers))
    wire.doom, wire.dies_after = world.chance.count(0, 6), world.chance.happens(0.5)
    return f"{wire.name} dies {'after' if wire.dies_after else 'before'} {wire.doom} more writes"


async def overlap(world: RandomWorld) -> str:
    """Have another server of controllers begin before the one at work ends."""
    note_fault("two servers")
    old = list(world.servers)
    world.serve()
    await world.runtime.sleep(world.chance.between(0.5, 8.0))
    for wire in old:
        wire.dies()
    await world.runtime.sleep(0.01)
    return "one server of controllers took over from another"


ACTS: tuple[Act, ...] = (
    make_parent,
    edit_parent,
    edit_parent,
    edit_parent,
    delete_parent,
    decorate,
    change_inputs,
    delete_child,
    edit_child,
    relabel_child,
    make_orphan,
    squat,
    edit_controller,
    storm,
    storm,
    break_hooks,
    relist,
    kill,
    doom,
    overlap,
)


async def act(world: RandomWorld) -> str:
    """Let one thing happen; what somebody else was faster with does not."""
    try:
        return await world.chance.one_of(ACTS)(world)
    except NotFound:
        return ""


def _some(world: RandomWorld, kind: Resource) -> Obj | None:
    there = list(world.judge.of(kind))
    return world.chance.one_of(there) if there else None


def _child(world: RandomWorld, *kinds: Resource) -> tuple[Resource, Obj | None]:
    there = [(kind, obj) for kind in kinds for obj in world.judge.of(kind) if controller_of(obj) is not None]
    return world.chance.one_of(there) if there else (CONFIGMAPS, None)
