"""A random federated Vitess: everything that happens follows from a seed, and every second it is judged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.api.vitess_records.topology import Shard
from hanse.api.vitess_records.wire import decode
from hanse.kube.errors import NotFound
from hanse.kube.manifest import is_deleting
from hanse.kube.runtime import SeededRuntime
from hanse.vitess.federated.plan import stored_plan
from hanse.vitess.federated.reading import ShardId, cell_names
from tests.simulation.random_objects import Chance
from tests.simulation.vitess.federated.net import GLOBAL_ADDRESS
from tests.simulation.vitess.federated.operator import NAME, NAMESPACE
from tests.simulation.vitess.federated.world import HOMES, VitessWorld

_ROOT = f"vitess/{NAME}/global"


class RandomVitess(VitessWorld):
    """A Vitess with chance, and a judge who remembers."""

    def __init__(self, runtime: SeededRuntime, seed: int) -> None:
        super().__init__(runtime, HOMES)
        self.chance = Chance(SeededRuntime(seed + 1).uniform)
        self._registered: set[str] = set()
        self._begun: dict[ShardId, str] = {}
        self._parts: set[str] = set()

    async def watch(self) -> None:
        """Judge every second, until cancelled; one sentence is enough for a life."""
        while not self.wrong:
            self.wrong += [f"two primaries were acknowledged: {each}" for each in self.net.write()]
            await self.judge_drains()
            self._judge_records()
            await self._judge_plan()
            await self._judge_parts()
            await self.runtime.sleep(1.0)

    def _judge_records(self) -> None:
        """What a running tablet is registered in does not go away under it."""
        files = self.net.servers[GLOBAL_ADDRESS].files()
        for each in self.net.databases.values():
            if not each.alive:
                self._registered.discard(each.alias)
                continue
            directory = f"{_ROOT}/keyspaces/{each.shard.keyspace}"
            needed = (
                f"{directory}/Keyspace",
                f"{directory}/shards/{each.shard.shard}/Shard",
                f"{_ROOT}/cells/{each.cell}/CellInfo",
            )
            if all(path in files for path in needed):
                self._registered.add(each.alias)
            elif each.alias in self._registered:
                missing = next(path for path in needed if path not in files)
                self.wrong.append(f"{missing} was pruned while {each.alias} runs")

    async def _judge_plan(self) -> None:
        """Who begins a shard does not change while the shard has a primary."""
        try:
            source = await self.source()
        except NotFound:
            return
        plan = stored_plan(source)
        if plan is None:
            return
        for shard, member in plan.initializers.items():
            before = self._begun.get(shard, member)
            if before != member and self._primary(shard) and self._still_able(source, before, shard):
                self.wrong.append(f"{member} begins {shard} in place of {before}, although it has a primary")
        self._begun = dict(plan.initializers)

    def _still_able(self, source: dict[str, object], member: str, shard: ShardId) -> bool:
        cells = [cell for cell, home in self.net.homes.items() if home == member]
        return shard.keyspace == "orders" and bool(set(cells) & set(cell_names(source["spec"])))  # type: ignore[arg-type]

    def _primary(self, shard: ShardId) -> bool:
        files = self.net.servers[GLOBAL_ADDRESS].files()
        found = files.get(f"{_ROOT}/keyspaces/{shard.keyspace}/shards/{shard.shard}/Shard")
        return found is not None and decode(Shard, found.data).primary is not None

    async def _judge_parts(self) -> None:
        """A member whose cell is asked for has its part, once it had it."""
        for member in self.net.members:
            if member in self.net.lost:
                continue
            part = await self.find(member, VITESS_CLUSTERS, NAME, NAMESPACE)
            if part is not None and not is_deleting(part):
                self._parts.add(member)
            elif member in self._parts:
                self.wrong.append(f"the part of {member} is deleted")


@asynccontextmanager
async def random_vitess(seed: int, kind: type[RandomVitess] = RandomVitess) -> AsyncIterator[RandomVitess]:
    """Run a random world for the length of a block."""
    world = kind(SeededRuntime(seed), seed)
    watching: asyncio.Task[None] | None = None
    try:
        await world.start(tuple(world.net.members))
        watching = asyncio.create_task(world.watch())
        yield world
        if watching.done():
            watching.result()
    finally:
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        await world.close()
