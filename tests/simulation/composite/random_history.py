"""What happens in a random world of lambda controllers: everything follows from the seed.

A history ends quietly: then every child must be as its hook wants it, at the newest revision, nothing may be written
any more, and when the parents are deleted nothing may be left of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hanse.api.metacontroller.kinds import CONTROLLER_REVISIONS
from hanse.kube.conditions import is_true
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, controller_of, dig, is_deleting, labels_of, name_of, uid_of
from hanse.kube.resources import CONFIGMAPS, PODS, SECRETS
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.composite import random_acts
from tests.simulation.composite.random_judge import CHILDREN
from tests.simulation.composite.random_world import DECORATE, INPUT, RandomWorld, copies, notes, random_world, sets
from tests.simulation.composite.stage import THINGS, WIDE_THINGS

STEPS = 16
_STEP_SECONDS = (0.1, 8.0)
# A hook that seemed not to settle, since people kept changing its children, rests for up to ten minutes.
_SETTLE_SECONDS = 1500.0
_CALM_SECONDS = 90.0
_QUIET_SECONDS = 90.0
_LEAVING_SECONDS = 700.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a history: the sentences about broken promises, what was done, and a digest of every change."""

    seed: int
    found: tuple[str, ...]
    story: tuple[str, ...]
    digest: str


def play(seed: int, steps: int = STEPS) -> Outcome:
    """Live through a seed on virtual time."""
    return run_virtually(lambda: _play(seed, steps))


async def _play(seed: int, steps: int) -> Outcome:
    async with random_world(seed) as world:
        history = History(world)
        await history.live(steps)
        await history.end()
        return Outcome(seed, tuple(world.judge.found), tuple(history.story), f"{world.digest:08x}")


class History:
    """One life of a world."""

    def __init__(self, world: RandomWorld) -> None:
        self.world = world
        self.story: list[str] = []

    def say(self, sentence: str) -> None:
        """Keep what happened."""
        if sentence:
            self.story.append(f"{self.world.runtime.monotonic():8.1f} {sentence}")

    async def live(self, steps: int) -> None:
        """Let things happen, as long as nothing is wrong."""
        world = self.world
        for first in (random_acts.make_parent, random_acts.make_parent, random_acts.change_inputs):
            self.say(await first(world))
        await world.runtime.sleep(world.chance.between(0.0, 12.0))
        for _step in range(steps):
            if world.judge.found:
                return
            self.say(await random_acts.act(world))
            await world.runtime.sleep(world.chance.between(*_STEP_SECONDS))
            await world.revive()

    async def end(self) -> None:
        """Let all be well, and judge what comes of it; then delete the parents, and judge what is left."""
        world, judge = self.world, self.world.judge
        await self._mend()
        for sentence in await self._until(lambda: [*problems(world)], _SETTLE_SECONDS):
            judge.blame(f"the hook's word: {sentence}")
        if judge.found:
            return
        await world.runtime.sleep(_CALM_SECONDS)
        judge.writes.clear()
        await world.runtime.sleep(_QUIET_SECONDS)
        for sentence in [*problems(world)]:
            judge.blame(f"the hook's word: {sentence} after all")
        for write in judge.writes[:3]:
            judge.blame(f"steady is silent: {write}")
        if judge.found:
            return
        self.say("the parents are deleted")
        for kind in (THINGS, WIDE_THINGS):
            for obj in judge.of(kind):
                await world.client.delete(kind, name_of(obj), "default" if kind.namespaced else "")
        for sentence in await self._until(lambda: [*leftovers(world)], _LEAVING_SECONDS):
            judge.blame(f"nothing is left behind: {sentence}")

    async def _mend(self) -> None:
        world = self.world
        weather = world.weather
        weather.failing = weather.latency = weather.lag = world.bad_hooks = world.slow_hooks = 0.0
        weather.ambush = None
        for wire in world.servers:
            wire.doom = None
        await world.revive()
        # What took the name of a child is in its way until it is gone.
        for kind in (PODS, CONFIGMAPS, SECRETS):
            for obj in world.judge.of(kind):
                if _is_in_the_way(world, obj):
                    try:
                        await world.client.delete(kind, name_of(obj), "default", grace_seconds=0)
                    except NotFound:
                        continue
        self.say("everything is well")

    async def _until(self, wrong: Callable[[], list[str]], seconds: float) -> list[str]:
        world = self.world
        begin = world.runtime.monotonic()
        while (found := wrong()) and not world.judge.found and world.runtime.monotonic() - begin < seconds:
            await world.runtime.sleep(2.0)
            await world.revive()
        return [] if world.judge.found else found


def _is_in_the_way(world: RandomWorld, obj: Obj) -> bool:
    """Tell whether an object has a child's name that nobody will take over; decorators and maps never do."""
    if uid_of(obj) in world.judge.strangers or labels_of(obj).get("thing") == "nobody":
        return True
    return obj["kind"] == SECRETS.kind and controller_of(obj) is None


def problems(world: RandomWorld) -> Iterator[str]:
    """Yield what is not as the hooks want it."""
    judge = world.judge
    for parent in judge.of(THINGS):
        if is_deleting(parent):
            yield f"parent {name_of(parent)} is still being deleted"
            continue
        wanted = [*sets(parent), *(notes(parent) if labels_of(parent).items() >= DECORATE.items() else ())]
        yield from _differences(world, parent, wanted)
        yield from _unrolled(world, parent)
    for parent in judge.of(WIDE_THINGS):
        inputs = [obj for obj in judge.of(CONFIGMAPS) if labels_of(obj).items() >= INPUT.items()]
        yield from _differences(world, parent, [each for given in inputs for each in copies(given)])


def _differences(world: RandomWorld, parent: Obj, wanted: list[Obj]) -> Iterator[str]:
    there = {(obj["kind"], name_of(obj)): obj for obj in world.judge.children_of(uid_of(parent))}
    named = {(obj["kind"], name_of(obj)): obj for obj in wanted}
    # A decorator that no longer matches leaves what it attached.
    if extra := sorted(key for key in there if key not in named and key[1] != f"{name_of(parent)}-note"):
        yield f"{name_of(parent)} has {extra} which its hook does not want"
    for key, obj in named.items():
        live = there.get(key)
        if live is None or is_deleting(live):
            yield f"{name_of(parent)} has no {key}"
        elif dig(live, "data", "text") != dig(obj, "data", "text"):
            yield f"{key} has {dig(live, 'data')}"
        elif key[0] == "Pod" and not _is_at(live, obj):
            yield f"{key} is at {dig(live, 'spec', 'containers')[0]['image']}: {dig(live, 'status', 'phase')}"


def _is_at(pod: Obj, wanted: Obj) -> bool:
    ready = is_true(dig(pod, "status", "conditions"), "Ready")
    return ready and bool(pod["spec"]["containers"][0]["image"] == wanted["spec"]["containers"][0]["image"])


def _unrolled(world: RandomWorld, parent: Obj) -> Iterator[str]:
    revisions = [obj for obj in world.judge.of(CONTROLLER_REVISIONS) if _belongs(obj, parent)]
    if len(revisions) != 1:
        yield f"{name_of(parent)} has {len(revisions)} revisions"
    status = parent.get("status") or {}
    if not is_true(status.get("conditions"), "Updated"):
        yield f"{name_of(parent)} tells {status}"
    elif status.get("replicas") != parent["spec"]["replicas"]:
        yield f"{name_of(parent)} tells of {status.get('replicas')} replicas"


def _belongs(obj: Obj, parent: Obj) -> bool:
    return (controller_of(obj) or {}).get("uid") == uid_of(parent)


def leftovers(world: RandomWorld) -> Iterator[str]:
    """Yield what is left once every parent was deleted."""
    for kind in (THINGS, WIDE_THINGS, CONTROLLER_REVISIONS, *CHILDREN):
        for obj in world.judge.of(kind):
            if kind in (THINGS, WIDE_THINGS) or controller_of(obj) is not None:
                yield f"{kind.kind} {name_of(obj)}"
