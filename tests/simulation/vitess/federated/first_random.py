"""A random history of a first-generation Vitess over two clusters: people edit and break things while it rolls out."""

from __future__ import annotations

from hanse.kube.errors import NotFound
from hanse.kube.resources import PODS
from tests.simulation.vitess.federated.first_world import NAME, FirstWorld, federated, first_world

STEPS = 6
_IMAGES = tuple(f"vitess/lite:{letter}" for letter in "abcd")


class People:
    """Somebody who does one thing or another."""

    def __init__(self, world: FirstWorld) -> None:
        self.world = world
        self.image = ""
        self.told: list[str] = []

    async def act(self) -> None:
        """Do something."""
        acts = (self._edit, self._edit, self._kill_control_plane, self._delete_pod, self._lose, self._cut)
        act = acts[self._chosen(len(acts))]
        self.told.append(act.__name__.removeprefix("_"))
        await act()

    def _chosen(self, count: int) -> int:
        return int(self.world.runtime.uniform(0, count))

    async def _edit(self) -> None:
        self.image = _IMAGES[self._chosen(len(_IMAGES))]
        await self.world.edit(federated(self.image))

    async def _kill_control_plane(self) -> None:
        await self.world.kill_control_plane()
        await self.world.runtime.sleep(self.world.runtime.uniform(0, 5))
        self.world.start_control_plane()

    async def _delete_pod(self) -> None:
        names = sorted(self.world.witness.pods)
        name = names[self._chosen(len(names))]
        member = "east" if "-zone1-" in name else "west"
        self.world.witness.by_hand.add(name)
        try:
            await self.world.clients[member].delete(PODS, name, "default")
        except NotFound:
            return

    async def _lose(self) -> None:
        """Take a member's API away for so long that it is given up; nothing is rolled out meanwhile."""
        await self.world.until(self.world.is_ready, 900)
        member = ("east", "west")[self._chosen(2)]
        await self.world.fail(member)
        await self.world.runtime.sleep(60)
        self.world.heal(member)
        await self.world.until(self.world.is_ready, 900)

    async def _cut(self) -> None:
        """Have the control plane wait for a member for a moment, too short to give it up."""
        member = ("east", "west")[self._chosen(2)]
        self.world.wires[member].hanging = True
        await self.world.runtime.sleep(2)
        self.world.wires[member].hanging = False


async def play(seed: int, steps: int = STEPS) -> list[str]:
    """Play a history and return what was wrong with it, each a sentence."""
    async with first_world(seed) as world:
        people = People(world)
        await world.host.create(await world.host.resource_of(federated()), federated())
        await world.until(world.is_ready, 300)
        world.witness.primaries["db/0"] = world.witness.replicas("db/0")[-1]
        there = set(world.witness.pods)
        for _ in range(steps):
            await people.act()
            await world.runtime.sleep(world.runtime.uniform(0, 10))
        await world.edit(federated(people.image or _IMAGES[0]))
        image = people.image or _IMAGES[0]
        await world.until(lambda: set(world.witness.images.values()) == {image}, 1800)
        await world.until(world.is_ready, 900)
        wrongs = list(world.witness.wrongs)
        if set(world.witness.pods) != there:
            wrongs.append(f"{NAME} has other tablets than before: {sorted(world.witness.pods)}")
        return [f"seed {seed}, {', '.join(people.told)}: {each}" for each in wrongs]
