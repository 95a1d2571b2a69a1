"""One life of a random federated Vitess.

It ends quietly: then every shard has one primary, every member is ready, no token is left, and nothing is written.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.simulator.virtual_time import run_virtually
from hanse.vitess.federated.reading import all_shards
from hanse.vitess.federated.token_store import TokenStore
from tests.simulation.vitess.federated import random_acts
from tests.simulation.vitess.federated.random_world import RandomVitess, random_vitess
from tests.simulation.vitess.federated.world import shop

STEPS = 14
_STEP_SECONDS = (0.5, 40.0)
_SETTLE_SECONDS = 1800.0
_CALM_SECONDS = 60.0
_QUIET_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a history: the sentences about broken promises, what was done, and a digest of it."""

    seed: int
    found: tuple[str, ...]
    story: tuple[str, ...]
    digest: str


def play(seed: int, steps: int = STEPS, kind: type[RandomVitess] = RandomVitess) -> Outcome:
    """Live through a seed on virtual time."""
    return run_virtually(lambda: _play(seed, steps, kind))


async def _play(seed: int, steps: int, kind: type[RandomVitess]) -> Outcome:
    async with random_vitess(seed, kind) as world:
        history = History(world)
        await history.live(steps)
        await history.end()
        digest = zlib.crc32("\n".join([*history.story, str(world.net.acknowledged)]).encode())
        return Outcome(seed, tuple(world.wrong), tuple(history.story), f"{digest:08x}")


class History:
    """What happens in a world, and what is said of it."""

    def __init__(self, world: RandomVitess) -> None:
        self.world = world
        self.story: list[str] = []

    def say(self, sentence: str) -> None:
        """Keep what happened."""
        if sentence:
            self.story.append(f"{self.world.runtime.monotonic():8.1f} {sentence}")

    async def live(self, steps: int) -> None:
        """Let things happen, as long as nothing is wrong."""
        world = self.world
        await world.host.create(VITESS_CLUSTERS, shop(east=world.chance.count(1, 2)))
        await world.runtime.sleep(world.chance.between(5.0, 150.0))
        for _step in range(steps):
            if world.wrong:
                return
            self.say(await random_acts.act(world))
            await world.runtime.sleep(world.chance.between(*_STEP_SECONDS))

    async def end(self) -> None:
        """Let all be well, and judge what comes of it."""
        world = self.world
        for name in sorted(world.net.lost):
            world.bring_back(name)
        world.mend()
        self.say("everything is well")
        begin = world.runtime.monotonic()
        while (lacking := await self._lacking()) and world.runtime.monotonic() - begin < _SETTLE_SECONDS:
            if world.wrong:
                return
            await world.sweep()
            await world.runtime.sleep(5.0)
        if lacking:
            world.wrong.append(f"it does not come to rest: {lacking}")
            return
        await world.runtime.sleep(_CALM_SECONDS)
        world.forget_writes()
        before = {address: server.writes for address, server in world.net.servers.items()}
        await world.runtime.sleep(_QUIET_SECONDS)
        if world.writes():
            world.wrong.append(f"steady is silent: {world.writes()}")
        if before != {address: server.writes for address, server in world.net.servers.items()}:
            world.wrong.append("steady is silent: topology is written")

    async def _lacking(self) -> str:
        world = self.world
        if not await world.is_ready():
            return f"{await world.condition('Ready')} {await world.condition('Accepted')}"
        shards = all_shards((await world.source())["spec"])
        for shard in shards:
            leaders = [each.alias for each in world.net.of(shard.id) if each.alive and each.leads]
            if len(leaders) != 1:
                return f"{shard.id} is led by {leaders}"
            if token := await TokenStore(world.topology).read(shard.id):
                return f"the token of {shard.id} is with {token.alias}"
        wanted = {identity.alias for shard in shards for identity in shard.identities()}
        running = {each.alias for each in world.net.databases.values() if each.alive}
        if wanted != running:
            return f"tablets differ: {sorted(wanted ^ running)}"
        picture = await world.picture()
        if picture is None or picture.keyspace_names() != {shard.id.keyspace for shard in shards}:
            return "topology has other keyspaces"
        return ""
