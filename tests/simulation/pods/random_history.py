"""What happens in a random world of pods that run elsewhere: everything follows from the seed.

A history ends quietly: faults are over and the control plane lives. Then every pod must run or have ended as it would
have at home, nothing may be written any more, and when all is deleted nothing may be left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hanse.api.admiralty.names import TargetName
from hanse.api.plain_kinds import CRON_JOBS, JOBS
from hanse.kube.manifest import name_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NODES, PODS, SERVICES
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.faults.chance import random_schedule
from hanse.simulator.faults.schedule import Step, steps_of
from hanse.simulator.faults.values import Fault, Party
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.pods import random_acts
from tests.simulation.pods.random_acts import CHANGING, DISTURBING, MAKING, SETTINGS, Stage
from tests.simulation.pods.random_ending import leftovers, problems
from tests.simulation.pods.random_world import HOME, Aim, pod_federation
from tests.simulation.random_host import TROUBLES
from tests.simulation.random_objects import Chance
from tests.simulation.tally import note_fault

STEPS = 14
_STEP_SECONDS = (0.2, 9.0)
_SETTLE_SECONDS = 400.0
# What members have free is told now and then, so the last of it comes a while after the last pod.
_CALM_SECONDS = 120.0
_QUIET_SECONDS = 60.0
# What follows pods is looked over every ten minutes.
_LEAVING_SECONDS = 800.0
_FAULTS = 5
_LOST = Fault("partition", parties=(Party.CONTROL_PLANE,))
# A server answers reads without a version with what is newest; nobody's promises hold with one that does not.
_UNHEARD_OF = ("stale-reads",)


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
    chance = Chance(SeededRuntime(seed + 1_000_000).uniform)
    aims = _aims(chance)
    async with pod_federation(seed, aims) as federation:
        history = History(Stage(federation, chance, aims), seed)
        await history.begin(steps)
        for _ in range(steps):
            await history.step()
            if federation.judge.found:
                break
        else:
            await history.end()
        return Outcome(seed, tuple(federation.judge.found), tuple(history.stage.story), f"{federation.digest:08x}")


def _aims(chance: Chance) -> tuple[Aim, ...]:
    """Return two to four targets, each for the whole source or for a namespace of it; it may be one of them itself."""
    clusters = [f"c{number}" for number in range(1, chance.count(2, 4) + 1)]
    if chance.happens(0.3):
        clusters[-1] = HOME
    return tuple(Aim(TargetName("default" if chance.happens(0.3) else "", name), name) for name in clusters)


class History:
    """What happens in a random world, and how it ends."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage = stage
        self._seed = seed
        self._weather: list[asyncio.Task[None]] = []

    async def begin(self, steps: int) -> None:
        """Have something there; then let the weather begin."""
        stage, chance = self.stage, self.stage.chance
        stage.say(f"the targets are {', '.join(f'{aim.name} ({aim.cluster})' for aim in stage.aims)}")
        metadata = {"name": SETTINGS, "namespace": "default"}
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"color": "blue"}}
        await stage.home.create(CONFIGMAPS, settings)
        await stage.sleep(chance.between(0.0, 12.0))
        for _ in range(2):
            await stage.tell(chance.one_of(MAKING))
        lasts = max(30.0, steps * _STEP_SECONDS[1] * 0.6)
        members = [member.settings for member in stage.federation.members.values()]
        planned = [
            each
            for each in random_schedule(self._seed, members, lasts, count=_FAULTS)
            if each.fault.kind not in _UNHEARD_OF
        ]
        if chance.happens(0.6):
            lost = chance.one_of(members).name
            planned.append(replace(planned[0], at=chance.between(0.0, lasts), cluster=lost, fault=_LOST, lasts=75.0))
        self._weather.append(asyncio.create_task(self._play_weather(steps_of(planned))))
        if chance.happens(0.3):
            self._weather.append(asyncio.create_task(self._trouble_host(chance.one_of(TROUBLES), lasts)))

    async def step(self) -> None:
        """Do one thing, perhaps with a control plane that dies over it, and let some time pass."""
        stage, chance, plane = self.stage, self.stage.chance, self.stage.federation.plane
        if chance.happens(0.3):
            requests, after = chance.count(1, 25), chance.happens(0.5)
            plane.doom(requests, after=after)
            stage.say(f"the control plane dies {'after' if after else 'before'} its request {requests} from now")
        if chance.happens(0.4):
            self._lie_in_wait()
        if chance.happens(0.15):
            seconds = chance.between(2.0, 60.0)
            stage.say(f"another keeper of chaperons works everywhere for {seconds:.0f} s")
            self._weather.append(asyncio.create_task(stage.federation.keep_twice(seconds)))
        await stage.tell(chance.one_of(chance.one_of((MAKING, CHANGING, DISTURBING))))
        await stage.sleep(chance.between(*_STEP_SECONDS))
        if plane.alive and chance.happens(0.1):
            await plane.kill()
            note_fault("death")
            stage.say("the control plane is killed")
            await stage.sleep(chance.between(0.0, 40.0))
        if not plane.alive:
            stage.say("the control plane starts anew")
            await stage.federation.revive()

    def _lie_in_wait(self) -> None:
        """Have a target be cut off at the very moment at which it is given a chaperon, or at which one is to go."""
        stage, chance = self.stage, self.stage.chance
        seconds, dies, waits_for = chance.between(3.0, 80.0), chance.happens(0.5), chance.happens(0.3)

        def spring(place: str, going: bool) -> None:
            if going == waits_for:
                stage.judge.ambush = lambda _place, _going: None
                self._weather.append(asyncio.create_task(self._cut_off(place, seconds)))
                if dies:
                    stage.federation.plane.doom(1, after=True)

        stage.judge.ambush = spring

    async def _cut_off(self, place: str, seconds: float) -> None:
        stage = self.stage
        stage.say(f"{place} is cut off for {seconds:.0f} s")
        stage.federation.set_faults(place, (_LOST,))
        await stage.sleep(seconds)
        stage.federation.set_faults(place, ())

    async def end(self) -> None:
        """Let everything be well, and judge what becomes of it; then delete everything, and judge what is left."""
        stage, judge = self.stage, self.stage.judge
        await self._mend()
        for sentence in await self._until(lambda: problems(stage), _SETTLE_SECONDS):
            judge.blame(f"no pod is lost: {sentence}")
        if judge.found:
            return
        await stage.sleep(_CALM_SECONDS)
        judge.writes.clear()
        await stage.sleep(_QUIET_SECONDS)
        for sentence in problems(stage):
            judge.blame(f"no pod is lost: {sentence} after all")
        for write in judge.writes[:3]:
            judge.blame(f"steady is silent: {write}")
        if judge.found:
            return
        await self._delete_everything()
        for sentence in await self._until(lambda: leftovers(stage), _LEAVING_SECONDS):
            judge.blame(f"nothing is left behind: {sentence}")

    async def _mend(self) -> None:
        stage, plane = self.stage, self.stage.federation.plane
        stage.judge.ambush = lambda _place, _going: None
        await asyncio.gather(*self._weather)
        for name in stage.federation.members:
            stage.federation.set_faults(name, ())
        plane.doom(1 << 60, after=False)
        await stage.federation.revive()
        await stage.tell(random_acts.empty)
        await self._until(lambda: [str(aim.name) for aim in stage.aims if random_acts.is_leaving(stage, aim)], 120.0)
        for _aim in stage.aims:
            await stage.tell(random_acts.add_target)
        for _kind, obj in stage.present(CRON_JOBS):
            await stage.home.patch(CRON_JOBS, name_of(obj), {"spec": {"suspend": True}}, "default")
        await stage.sleep(20.0)
        for aim in stage.aims:
            await stage.home.patch(NODES, aim.name.node, {"spec": {"unschedulable": None}})
        stage.say("everything is well")

    async def _delete_everything(self) -> None:
        stage = self.stage
        stage.say("everything is deleted")
        for kind, obj in stage.present(CRON_JOBS, DEPLOYMENTS, JOBS, PODS, SERVICES):
            await stage.home.delete(kind, name_of(obj), "default")
        await stage.home.delete(CONFIGMAPS, SETTINGS, "default")

    async def _until(self, wrong: Callable[[], list[str]], seconds: float) -> list[str]:
        begin = self.stage.now
        while (found := wrong()) and not self.stage.judge.found and self.stage.now - begin < seconds:
            await self.stage.sleep(2.0)
            await self.stage.federation.revive()
        # What is not finished because something else was found is no finding of its own.
        return [] if self.stage.judge.found else found

    async def _play_weather(self, steps: Sequence[Step]) -> None:
        stage, begin = self.stage, self.stage.now
        for step in steps:
            await stage.sleep(max(0.0, begin + step.at - stage.now))
            stage.federation.set_faults(step.cluster, step.faults)
            stage.say(f"{step.cluster}: faults: {'; '.join(map(str, step.faults)) or 'none'}")

    async def _trouble_host(self, trouble: str, seconds: float) -> None:
        stage = self.stage
        await stage.sleep(seconds * 0.3)
        stage.say(f"the host: {trouble}")
        await stage.federation.host_gate.set(trouble)
        await stage.sleep(seconds * 0.3)
        await stage.federation.host_gate.set("")
        stage.say("the host is well")
