"""One rollout in which people change their minds at any moment, a cluster goes away for a while, and the control plane
dies at any request.

Clients are led to as many pods as before all the while, and what comes of it depends on the last wish alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from hanse.api.shipper.kinds import RELEASES
from hanse.kube.errors import NotFound
from hanse.kube.manifest import dig, name_of
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.rollouts.applications import FULL_ON, STAGING, Step
from tests.simulation.rollouts.world import RolloutWorld, rollouts

_CLUSTERS = ("a", "b")
_SETTLE_SECONDS = 120.0
_QUIET_SECONDS = 20.0

# Together they give as many pods as before, whatever is rounded: the promise is the same in every step.
_SHARES = (1, 10, 25, 34, 50, 67, 90)


@dataclass(slots=True)
class Outcome:
    """What came of a rollout: promises that were broken, and how often the control plane died."""

    found: list[str] = field(default_factory=list)
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """What is to come of it: which release has everything, which nothing, at which step, and how many pods that is."""

    serving: str
    gone: tuple[str, ...]
    step: int
    replicas: int


@dataclass(slots=True)
class Fate:
    """How often the control plane dies yet, and after how many requests."""

    chance: random.Random
    left: int
    deaths: int = 0

    def doom(self, world: RolloutWorld) -> None:
        """Let the life that has just begun end some requests from now on, if any more of them end so."""
        if self.left and not world.life.dead:
            self.left -= 1
            world.life.ends_at = world.life.requests + self.chance.randint(1, 60)
            world.life.after = self.chance.random() < 0.5


def strategy_of(chance: random.Random) -> list[Step]:
    """Return steps in which the contender gets ever more and the incumbent the rest, in capacity and in traffic."""
    shares = sorted(chance.sample(_SHARES, chance.randint(0, 3)))
    parts: list[Step] = [(f"{share} %", 100 - share, share, 100 - share, share) for share in shares]
    return [STAGING, *parts, FULL_ON]


def live_through(seed: int) -> Outcome:
    """Play one rollout."""
    return run_virtually(lambda: _live_through(seed))


async def _live_through(seed: int) -> Outcome:
    chance = random.Random(seed)
    fate = Fate(chance, left=chance.randint(1, 4))
    steps, replicas = strategy_of(chance), chance.choice((1, 3, 7, 10))
    last = len(steps) - 1
    async with rollouts(*_CLUSTERS, seed=seed) as world:
        names = [await world.full_on("v1", steps=steps, clusters=2, replicas=replicas)]
        world.traffic.promise("web", replicas, *_CLUSTERS)
        fate.doom(world)
        for version in ("v2", "v3")[: chance.choice((1, 1, 2))]:
            await world.upgrade(version, replicas=replicas)
            names.append(await _contender(world, fate, names))
            for _ in range(chance.randint(0, 3)):
                await world.go_to(names[-1], chance.randint(0, last))
                await _weather(world, chance)
                await _pass(world, fate, chance.uniform(0.0, 6.0))
        world.heal("b")
        aborts = len(names) == 2 and chance.random() < 0.3
        while aborts and not await world.cluster_is("b", "Ready"):
            # Who aborts does not wait for clusters that are away: of those nothing is promised.
            await _pass(world, fate, 1.0)
        await (world.host.delete(RELEASES, names[-1], "default") if aborts else world.go_to(names[-1], last))
        serving = names[0] if aborts else names[-1]
        end = End(serving, tuple(name for name in names if name != serving), last, replicas)
        outcome = Outcome(await _settle(world, fate, end), fate.deaths)
        outcome.found += world.traffic.found
        return outcome


async def _weather(world: RolloutWorld, chance: random.Random) -> None:
    """Have a cluster be lost, or found again."""
    if chance.random() < 0.3:
        await world.fail("b")
    elif chance.random() < 0.5:
        world.heal("b")


async def _contender(world: RolloutWorld, fate: Fate, known: list[str]) -> str:
    while not (found := [name_of(each) for each in await world.releases() if name_of(each) not in known]):
        await _pass(world, fate, 0.5)
    return found[-1]


async def _pass(world: RolloutWorld, fate: Fate, seconds: float) -> None:
    """Let time pass; whoever supervises the control plane starts it anew soon after it died."""
    end = world.runtime.monotonic() + seconds
    while (left := end - world.runtime.monotonic()) > 0:
        await world.runtime.sleep(min(left, 0.5))
        if world.life.dead:
            fate.deaths += 1
            await world.revive()
            fate.doom(world)


async def _settle(world: RolloutWorld, fate: Fate, end: End) -> list[str]:
    """Wait until one release has everything and the other nothing, and see that nothing happens any more."""
    begin = world.runtime.monotonic()
    while missing := await _missing(world, end):
        if world.runtime.monotonic() - begin > _SETTLE_SECONDS:
            break
        await _pass(world, fate, 1.0)
    fate.left, world.life.ends_at = 0, None
    await _pass(world, fate, _QUIET_SECONDS)
    world.forget_writes()
    await _pass(world, fate, _QUIET_SECONDS)
    noisy = [f"steady is silent: {writes[0]} on {name}" for name, writes in world.writes().items()]
    return [*(f"crash and converge: {sentence}" for sentence in missing), *noisy]


async def _missing(world: RolloutWorld, end: End) -> list[str]:
    found = []
    for name in _CLUSTERS:
        cluster = world.traffic.cluster(name)
        if (served := cluster.served("web")) != {end.serving: end.replicas}:
            found.append(f"{name} leads clients to {served}")
        found += [f"{name} still has pods of {gone}" for gone in end.gone if cluster.pods_of(gone)]
    try:
        release = await world.host.get(RELEASES, end.serving, "default")
    except NotFound:
        return [*found, f"there is no {end.serving}"]
    if dig(release, "status", "achievedStep") != {"step": end.step, "name": "full on"}:
        found.append(f"{end.serving} has achieved {dig(release, 'status', 'achievedStep')}")
    others = {name_of(each) for each in await world.releases()} - {end.serving, *end.gone}
    return [*found, *(f"there is a release {name}" for name in others)]
