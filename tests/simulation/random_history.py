"""What happens in a random world: people and clusters do things by chance, step by step, while everything breaks.

Everything follows from the seed. A history ends quietly: faults are over, the control plane lives, and then all must
come right and nothing may be written any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from hanse.kube.resources import NAMESPACES
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.faults.chance import random_schedule
from hanse.simulator.faults.schedule import Step, steps_of
from hanse.simulator.virtual_time import run_virtually
from tests.simulation import random_neighbours, random_people
from tests.simulation.random_ending import problems
from tests.simulation.random_federation import random_federation
from tests.simulation.random_objects import TIERS, Chance, namespace
from tests.simulation.random_stage import MEMBERS, Act, Stage, Theme
from tests.simulation.random_truth import HOST
from tests.simulation.themes import THEMES

STEPS = 14
_STEP_SECONDS = (0.3, 9.0)
_SETTLE_SECONDS = 300.0
# What members have free is told now and then, so the last of it comes a while after the last pod.
_CALM_SECONDS = 120.0
_QUIET_SECONDS = 60.0
# Faults through which requests are never answered: the hardest for everybody else.
_SILENCING = ("hang", "partition")
_THEMES_A_WORLD = 2
# Every so many things that happen one belongs to the world's themes.
_THEME_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a history: the sentences about broken promises, what was done, and a digest of every change."""

    seed: int
    found: tuple[str, ...]
    story: tuple[str, ...]
    digest: str


def play(seed: int, steps: int = STEPS, themes: Sequence[str] | None = None) -> Outcome:
    """Live through a seed on virtual time; its themes follow from it where they are not named."""
    return run_virtually(lambda: _play(seed, steps, themes))


async def _play(seed: int, steps: int, named: Sequence[str] | None) -> Outcome:
    chance = Chance(SeededRuntime(seed + 1_000_000).uniform)
    drawn = {chance.one_of(tuple(THEMES)): None for _ in range(_THEMES_A_WORLD)}
    themes = tuple(THEMES[name] for name in (drawn if named is None else named))
    planes = max((theme.planes for theme in themes), default=1)
    async with random_federation(seed, MEMBERS, lambda: {"tier": chance.one_of(TIERS)}, planes) as federation:
        history = History(Stage(federation, chance, seed), themes)
        await history.begin()
        for _ in range(steps):
            await history.step()
            if federation.judge.found:
                break
        else:
            await history.end()
        return Outcome(seed, tuple(federation.judge.found), tuple(history.stage.story), f"{federation.digest:08x}")


def _promise(sentence: str) -> str:
    """Return which promise is broken where something is not as it should be in the end."""
    return "say why" if "does not tell" in sentence else "crash and converge"


class History:
    """The acts of a random world, and how it ends."""

    def __init__(self, stage: Stage, themes: Sequence[Theme]) -> None:
        self.stage = stage
        self._themes = themes
        self._acts: tuple[Act, ...] = (*random_people.ACTS, *random_neighbours.ACTS)
        self._themed = tuple(act for theme in themes for act in theme.acts)
        self._weather: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Have something there that is not Hanse's, and a first workload; then let the weather begin."""
        stage = self.stage
        stage.say(f"a world of {' and '.join(theme.name for theme in self._themes) or 'nothing special'}")
        await stage.host.create(NAMESPACES, namespace("shop"))
        await random_neighbours.settle_in(stage)
        for theme in self._themes:
            if theme.begin is not None:
                await theme.begin(stage)
        for _ in range(3):
            await stage.tell(random_people.write)
        settings = [member.settings for member in stage.federation.members.values()]
        schedule = random_schedule(stage.seed, settings, STEPS * _STEP_SECONDS[1] * 0.6, count=5)
        self._weather = asyncio.create_task(self._play_weather(steps_of(schedule)))
        await stage.sleep(stage.chance.between(0.0, 8.0))

    async def step(self) -> None:
        """Do one thing, perhaps with a control plane that dies over it, and let some time pass."""
        stage, chance = self.stage, self.stage.chance
        if chance.happens(0.3):
            requests = chance.count(1, 12)
            after = chance.happens(0.5)
            stage.federation.doom(requests, after=after)
            stage.say(f"the control plane dies {'after' if after else 'before'} its request {requests} from now")
        themed = self._themed and chance.happens(_THEME_SHARE)
        await stage.tell(chance.one_of(self._themed if themed else self._acts))
        await stage.sleep(chance.between(*_STEP_SECONDS))
        if not stage.federation.alive:
            stage.say("the control plane starts anew")
            await stage.federation.revive()

    async def end(self) -> None:
        """Let everything be well, and judge what becomes of it."""
        stage, judge = self.stage, self.stage.federation.judge
        if self._weather is not None:
            await self._weather
        for plane in stage.federation.planes:
            plane.standstill.end()
            plane.doom(1 << 60, after=False)
        await stage.federation.revive()
        stage.say("from now on everything is well")
        left = await self._settle()
        for sentence in left:
            judge.blame(f"{_promise(sentence)}: {sentence}")
        if left:
            return
        await stage.sleep(_CALM_SECONDS)
        judge.writes.clear()
        await stage.sleep(_QUIET_SECONDS)
        for sentence in problems(stage.truth):
            judge.blame(f"{_promise(sentence)}: {sentence} after all")
        for write in judge.writes[:3]:
            judge.blame(f"steady is silent: {write}")
        await self._begin_again()
        random_neighbours.check_bystanders(stage)

    async def _begin_again(self) -> None:
        """Start the control planes anew where everything is right: they have nothing to write."""
        federation, judge = self.stage.federation, self.stage.federation.judge
        for plane in federation.planes:
            await plane.kill()
        judge.writes.clear()
        judge.made.clear()
        await federation.revive()
        await self.stage.sleep(_QUIET_SECONDS)
        # Who begins does not know that somebody else has a name in a member, asks for it once more and is refused.
        asked = [write for write in judge.writes if write.startswith(HOST) or ": POST " not in write]
        for write in [*asked, *judge.made][:3]:
            judge.blame(f"steady is silent: after a restart: {write}")

    async def _settle(self) -> list[str]:
        stage, begin = self.stage, self.stage.now
        while True:
            for theme in self._themes:
                if theme.attend is not None:
                    await theme.attend(stage)
            left = problems(stage.truth)
            if not left or stage.now - begin > _SETTLE_SECONDS:
                return left
            await stage.sleep(2.0)
            # A request that hung may have been the one at which a control plane was to die.
            await stage.federation.revive()

    async def _play_weather(self, steps: Sequence[Step]) -> None:
        stage, begin = self.stage, self.stage.now
        for step in steps:
            await stage.sleep(max(0.0, begin + step.at - stage.now))
            stage.federation.set_faults(step.cluster, step.faults)
            stage.say(f"{step.cluster}: faults: {'; '.join(map(str, step.faults)) or 'none'}")
            if any(fault.kind in _SILENCING for fault in step.faults):
                await stage.tell(random_people.probe)
