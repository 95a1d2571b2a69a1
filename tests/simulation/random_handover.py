"""Random worlds in which plain and federated objects of the same names come and go, and clusters as well.

At every rest each object has exactly one owner, the one that the rules name, wherever it belongs; and a copy that
somebody has wanted all the time is the same one as at the rest before.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.names import ADOPT_ANNOTATION, FEDERATE_ANNOTATION
from hanse.kube.errors import AlreadyExists, Conflict, Forbidden, NotFound
from hanse.kube.manifest import Obj, annotations_of, uid_of
from hanse.kube.resources import CONFIGMAPS, NAMESPACES, Resource
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.handover import Copies, wrapped
from tests.simulation.playing import quietly
from tests.simulation.tally import note_fault
from tests.simulation.world import World, config, federation

_MEMBERS = ("a", "b")
_NAMES = ("one", "two")
_SHOP = "shop"
_REST_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class _Target:
    """An object that two sources may want."""

    resource: Resource
    name: str

    @property
    def namespace(self) -> str:
        return "" if self.resource == NAMESPACES else "default"

    @property
    def wrapper(self) -> tuple[Resource, str, str]:
        return template_resource(FORM_D, self.resource), self.name, self.namespace or self.name

    def plain(self) -> Obj:
        if self.resource == NAMESPACES:
            return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}}
        made = config(self.name)
        # What was let go by one source may be taken up by the next.
        made["metadata"]["annotations"] = {ADOPT_ANNOTATION: "true"}
        return made

    def federated(self) -> Obj:
        template = {} if self.resource == NAMESPACES else {"data": {"color": "red"}}
        return wrapped(self.resource, template, self.name, self.namespace or self.name)


_TARGETS = (*(_Target(CONFIGMAPS, name) for name in _NAMES), _Target(NAMESPACES, _SHOP))


@dataclass(slots=True)
class _History:
    """What happened, and which objects somebody has wanted since the last rest."""

    world: World
    chance: random.Random
    story: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    uids: dict[_Target, dict[str, str]] = field(default_factory=dict)
    unwanted: set[_Target] = field(default_factory=set)
    broken: str = ""

    async def claimants(self, target: _Target) -> list[Obj]:
        """Return the living sources of a target, the one that speaks for it first."""
        wrapper, name, namespace = target.wrapper
        plain = await self.world.host.find(target.resource, target.name, target.namespace)
        federated = await self.world.host.find(wrapper, name, namespace)
        living = [
            obj
            for obj in (plain, federated)
            if obj is not None
            and "deletionTimestamp" not in obj["metadata"]
            and annotations_of(obj).get(FEDERATE_ANNOTATION) != "false"
        ]
        if target.resource == NAMESPACES:
            return living[::-1]
        return sorted(living, key=lambda obj: (obj["metadata"]["creationTimestamp"], obj["kind"] != "ConfigMap"))


_Act = Callable[[_History, _Target], Awaitable[str]]


async def _write_plain(history: _History, target: _Target) -> str:
    await history.world.host.create(target.resource, target.plain())
    return f"wrote {target.resource.kind} {target.name}"


async def _write_federated(history: _History, target: _Target) -> str:
    wrapper, _, _ = target.wrapper
    await history.world.host.create(wrapper, target.federated())
    return f"wrote {wrapper.kind} {target.name}"


async def _delete_plain(history: _History, target: _Target) -> str:
    if target.resource == NAMESPACES:
        # All that is in it would go with it, and nothing could be written into it for a while.
        return "left the namespace alone"
    await history.world.host.delete(target.resource, target.name, target.namespace)
    return f"deleted {target.resource.kind} {target.name}"


async def _delete_federated(history: _History, target: _Target) -> str:
    wrapper, name, namespace = target.wrapper
    await history.world.host.delete(wrapper, name, namespace)
    return f"deleted {wrapper.kind} {name}"


async def _take_out(history: _History, target: _Target) -> str:
    """Have one of the sources federated no longer, or again."""
    if target.resource == NAMESPACES:
        return "left the namespace alone"
    resource, name, namespace = history.chance.choice(
        [(target.resource, target.name, target.namespace), target.wrapper]
    )
    found = await history.world.host.get(resource, name, namespace)
    text = None if annotations_of(found).get(FEDERATE_ANNOTATION) == "false" else "false"
    await history.world.host.patch(
        resource, name, {"metadata": {"annotations": {FEDERATE_ANNOTATION: text}}}, namespace
    )
    return f"{resource.kind} {name} is {'taken out' if text else 'back in'}"


async def _restart(history: _History, _target: _Target) -> str:
    note_fault("death")
    await history.world.kill_control_plane()
    history.world.start_control_plane()
    return "the control plane was killed and started"


async def _break(history: _History, _target: _Target) -> str:
    if history.broken:
        history.world.heal(history.broken)
        healed, history.broken = history.broken, ""
        return f"{healed} is well again"
    history.broken = history.chance.choice(_MEMBERS)
    await history.world.fail(history.broken)
    return f"{history.broken} is gone"


_ACTS: tuple[_Act, ...] = (
    _write_plain,
    _write_plain,
    _write_federated,
    _write_federated,
    _delete_plain,
    _delete_federated,
    _take_out,
    _restart,
    _break,
)


def play(seed: int, steps: int = 40) -> tuple[list[str], list[str]]:
    """Play a world; returns what went wrong in it, and what had happened."""
    with quietly():
        return run_virtually(lambda: _play(seed, steps))


async def _play(seed: int, steps: int) -> tuple[list[str], list[str]]:
    async with federation(*_MEMBERS, seed=seed, forms=(FORM_D,)) as world:
        history = _History(world, random.Random(seed))
        for wire in world.wires.values():
            # Much may happen between two requests.
            wire.latency = history.chance.choice((0.0, 0.02, 0.3))
        await world.host.create(NAMESPACES, _TARGETS[-1].plain())
        for step in range(1, steps + 1):
            await _act(history)
            await world.runtime.sleep(history.chance.choice((0.0, 0.05, 0.4, 1.2, 4.0)))
            if step % 8 == 0:
                await _rest(history)
            if history.found:
                break
        return history.found, history.story


async def _act(history: _History) -> None:
    act, target = history.chance.choice(_ACTS), history.chance.choice(_TARGETS)
    try:
        told = await act(history, target)
    except (NotFound, AlreadyExists, Conflict, Forbidden) as error:
        told = f"came too late: {error}"
    history.story.append(f"{history.world.runtime.monotonic():8.2f} {told}")
    for each in _TARGETS:
        if not await history.claimants(each):
            history.unwanted.add(each)


async def _rest(history: _History) -> None:
    """Wait until all is as it shall be, and see that nothing was made anew that did not have to be."""
    if history.broken:
        await _break(history, _TARGETS[0])
    history.story.append(f"{history.world.runtime.monotonic():8.2f} a rest")
    try:
        await history.world.until(lambda: _is_right(history), _REST_SECONDS)
    except AssertionError:
        history.found += await _wrongs(history)
        return
    for target in _TARGETS:
        uids = await Copies(history.world, target.resource, target.name, target.namespace).uids()
        before = history.uids.get(target)
        if before is not None and target not in history.unwanted and uids != before:
            history.found.append(f"{target.resource.kind} {target.name} was made anew: {before} became {uids}")
        history.uids[target] = uids
    # What is left of something that nobody claims any more was let go, perhaps in some clusters only.
    history.unwanted = {target for target in _TARGETS if not await history.claimants(target)}


async def _is_right(history: _History) -> bool:
    return not await _wrongs(history)


async def _wrongs(history: _History) -> list[str]:
    found = []
    for target in _TARGETS:
        named = f"{target.resource.kind} {target.name}"
        claimants = await history.claimants(target)
        owners = await Copies(history.world, target.resource, target.name, target.namespace).owners()
        wanted = dict.fromkeys(_MEMBERS, uid_of(claimants[0])) if claimants else {}
        if claimants and owners != wanted:
            found.append(f"{named} should be {wanted} and is {owners}")
        for place, owner in owners.items() if not claimants else ():
            if owner is not None:
                found.append(f"{place}: {named} is left over, a copy of {owner}")
        for resource, name, namespace in ((target.resource, target.name, target.namespace), target.wrapper):
            source = await history.world.host.find(resource, name, namespace)
            if source is not None and "deletionTimestamp" in source["metadata"]:
                found.append(f"{resource.kind} {name} is still being deleted")
    return found
