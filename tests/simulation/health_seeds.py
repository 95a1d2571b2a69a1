"""Plays random worlds of checkers: `python -m tests.simulation.health_seeds --seed 17` tells what happened in one.

Three to seven clusters, each with a checker, and one at the host. Addresses die and come back, for long or for less
than hysteresis takes, one by one or all at once; clusters die with all they have; checkers lie, cannot reach some
addresses, are cut off from the host, few or most of them, and crash; leaders change. In the end all is well again, and
the answers have to be too, and to stay.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from hanse.api.federation import HealthSettings
from hanse.api.health_reports import cluster_checker
from hanse.kube.runtime import SeededRuntime
from hanse.services.health.view import HealthView
from hanse.services.judging import judge
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.health_rules import Decide, Rules
from tests.simulation.health_world import HealthWorld, Temper
from tests.simulation.playing import quietly
from tests.simulation.tally import note_fault

STEPS = 10
_QUIET_SECONDS = 12
_LIES = (Temper.ALL_DEAD, Temper.ALL_ALIVE, Temper.CONTRARY)


@dataclass(frozen=True, slots=True)
class System:
    """What is tried: the system as it is, or one that was broken on purpose."""

    view: type[HealthView] = HealthView
    decide: Decide = judge
    terms: HealthSettings | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened with one seed, and what was wrong with it."""

    seed: int
    found: tuple[str, ...]
    story: tuple[str, ...]


@dataclass(slots=True)
class _Play:
    """One world, and what is done to it."""

    world: HealthWorld
    rules: Rules
    chance: random.Random
    system: System
    steps: int
    story: list[str] = field(default_factory=list)
    # Who is wrong about something: never so many that the majority of any five could be.
    troubled: set[str] = field(default_factory=set)

    async def run(self) -> None:
        await self.world.start(self.system.view, self.system.terms)
        await self.rules.wait(self.rules.bound_seconds)
        for _ in range(self.steps):
            await self.chance.choice(self._happenings())()
            await self.rules.wait(self.chance.choice((1.0, 4.0, 10.0, 22.0)))
        await self._end()

    def _happenings(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        world = (self._die, self._die, self._live, self._blip, self._lose, self._fail)
        checkers = (self._lie, self._hide, self._cut, self._isolate, self._crash, self._heal, self._heal)
        return (*world, *checkers, self._succeed)

    def _tell(self, sentence: str) -> None:
        self.story.append(f"{self.world.runtime.monotonic():6.1f} s  {sentence}")

    def _strike(self, kind: str, sentence: str) -> None:
        note_fault(kind)
        self._tell(sentence)

    def _address(self) -> str:
        return self.chance.choice([each for places in self.world.services.values() for each in places.values()])

    def _checker(self) -> str | None:
        """Return somebody to be wrong; None where the majority would not be right any more."""
        most = 2 if len(self.world.vantages) >= 5 else 1
        checker = self.chance.choice(sorted(self.world.vantages))
        if checker not in self.troubled and len(self.troubled) >= most:
            return None
        self.troubled.add(checker)
        return checker

    async def _die(self) -> None:
        address = self._address()
        self._strike("dead address", f"{address} dies")
        self.world.dead.add(address)

    async def _fail(self) -> None:
        """Have every address of a Service be dead for a while."""
        service = self.chance.choice(sorted(self.world.services))
        dying = set(self.world.services[service].values()) - self.world.dead
        self._strike("dead addresses", f"everything of {service} dies")
        self.world.dead |= dying
        await self.rules.wait(self.rules.bound_seconds + self.chance.choice((0.0, 10.0)))
        self.world.dead -= dying

    async def _live(self) -> None:
        if self.world.dead:
            address = self.chance.choice(sorted(self.world.dead))
            if self._cluster_of(address) not in self.world.offline:
                self._tell(f"{address} lives again")
                self.world.dead.discard(address)

    def _cluster_of(self, address: str) -> str:
        places = [place for places in self.world.services.values() for place in places.items()]
        return next(cluster for cluster, each in places if each == address)

    async def _blip(self) -> None:
        """Have an address be away, or back, for less than anybody may notice."""
        address, terms = self._address(), self.world.terms
        was_dead = address in self.world.dead
        enough = terms.rise if was_dead else terms.fall
        self._strike("blip", f"{address} is {'back' if was_dead else 'away'} for a moment")
        self.world.dead ^= {address}
        self.rules.blips.add(address)
        await self.rules.wait(int((enough - 1) * terms.interval_seconds * 0.9 - 0.2))
        self.world.dead ^= {address}
        self.rules.blips.discard(address)

    async def _lose(self) -> None:
        """Lose a cluster with its addresses and its checker, as the registry finds a little later."""
        cluster = self.chance.choice(self.world.clusters)
        checker = cluster_checker(cluster)
        if self.world.offline or (checker not in self.troubled and self._checker_named(checker) is None):
            return
        self._strike("down", f"cluster {cluster} is lost")
        self.world.dead.update(places[cluster] for places in self.world.services.values())
        await self.world.kill_checker(checker)
        await self.rules.wait(8)
        self.world.offline.add(cluster)

    def _checker_named(self, checker: str) -> str | None:
        most = 2 if len(self.world.vantages) >= 5 else 1
        if len(self.troubled) >= most:
            return None
        self.troubled.add(checker)
        return checker

    async def _lie(self) -> None:
        if (checker := self._checker()) is not None:
            temper = self.world.vantages[checker].temper = self.chance.choice(_LIES)
            self._strike("liar", f"{checker} {temper}")

    async def _hide(self) -> None:
        """Have a checker not reach some addresses that others reach."""
        if (checker := self._checker()) is not None:
            hidden = {self._address() for _ in range(self.chance.randint(1, 6))}
            self._strike("unreachable addresses", f"{checker} cannot reach {', '.join(sorted(hidden))}")
            self.world.vantages[checker].unreachable |= hidden

    async def _cut(self) -> None:
        if (checker := self._checker()) is not None:
            self._strike("partition", f"{checker} is cut off from the host")
            self.world.vantages[checker].wire.hanging = True

    async def _isolate(self) -> None:
        """Have most checkers be cut off while they rightly call an address dead, which then is well again."""
        address = self._address()
        if self._cluster_of(address) in self.world.offline:
            return
        self.world.dead.add(address)
        await self.rules.wait(self.rules.bound_seconds)
        well = [name for name, each in self.world.vantages.items() if each.heard and name not in self.troubled]
        cut = self.chance.sample(well, max(0, len(well) - 2))
        self._strike(
            "partition of many",
            f"{address} dies and, once {', '.join(cut) or 'nobody'} is cut off from the host, lives again",
        )
        for checker in cut:
            self.world.vantages[checker].wire.hanging = True
        self.troubled.update(cut)
        self.world.dead.discard(address)
        await self.rules.wait(self.rules.settling_seconds + 2)

    async def _crash(self) -> None:
        """Have a checker crash and start again: it has to go on where it was."""
        running = [each for each in self.world.vantages.values() if each.task is not None and each.heard]
        checker = self.chance.choice(running).checker
        self._strike("death", f"{checker} crashes and starts again")
        await self.world.kill_checker(checker)
        self.world.start_checker(checker)

    async def _succeed(self) -> None:
        self._strike("another leader", "another leader takes over")
        await self.world.depose()
        self.world.lead(self.system.view)
        await self.world.view.wait_settled()

    async def _heal(self) -> None:
        if self.troubled:
            self._mend(self.chance.choice(sorted(self.troubled)))

    def _mend(self, checker: str) -> None:
        self._tell(f"{checker} is well again")
        vantage = self.world.vantages[checker]
        vantage.temper, vantage.wire.hanging = Temper.HONEST, False
        vantage.unreachable.clear()
        self.troubled.discard(checker)
        if vantage.task is None:
            cluster = checker.removeprefix("cluster-")
            self.world.offline.discard(cluster)
            self.world.dead -= {places[cluster] for places in self.world.services.values()}
            self.world.start_checker(checker)

    async def _end(self) -> None:
        """Have everything well again: so must the answers be, and stay."""
        for checker in sorted(self.troubled):
            self._mend(checker)
        self.world.dead.clear()
        self._tell("everything is well")
        await self.rules.wait(self.rules.bound_seconds + 12)
        for service, places in self.world.services.items():
            if self.rules.answers[service] != set(places.values()):
                self.rules.found.append(f"in the end {service} is still without some of its addresses")
        settled = self.rules.changed_at
        await self.rules.wait(_QUIET_SECONDS)
        if self.rules.changed_at != settled:
            self.rules.found.append("an answer changed although nothing happened")


AS_IT_IS = System()


def play(seed: int, system: System = AS_IT_IS, steps: int = STEPS) -> Outcome:
    """Play one seed."""
    chance = random.Random(seed)

    async def run() -> Outcome:
        world = HealthWorld(SeededRuntime(seed), chance.randint(3, 7), chance.randint(1, 2))
        playing = _Play(world, Rules(world, system.decide), chance, system, steps)
        try:
            await playing.run()
        finally:
            await world.close()
        return Outcome(seed, tuple(playing.rules.found), tuple(playing.story))

    with quietly():
        return run_virtually(run)


def complaint(outcome: Outcome) -> str:
    """Say what a seed broke, what had happened, and how to see it again."""
    again = f"python -m tests.simulation.health_seeds --seed {outcome.seed}"
    return "\n".join([f"seed {outcome.seed}:", *outcome.found, "after", *outcome.story, f"again: {again}"])


def _system(broken: str) -> System:
    if not broken:
        return AS_IT_IS
    from tests.simulation.health_faults import BROKEN

    return BROKEN[broken]


def _played(seed: int, broken: str) -> Outcome:
    return play(seed, _system(broken))


def _outcomes(seeds: range, jobs: int, broken: str) -> Iterator[Outcome]:
    if jobs == 1:
        yield from (_played(seed, broken) for seed in seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(partial(_played, broken=broken), seeds)


def main() -> int:
    """Play the seeds and fail if an answer was wrong in one of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.health_seeds", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from the first on (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default: 1)")
    parser.add_argument("--broken", default="", help="a system that is wrong, of those in health_faults")
    args = parser.parse_args()
    begin, failed = time.monotonic(), []
    for outcome in _outcomes(range(args.seed, args.seed + args.seeds), args.jobs, args.broken):
        if outcome.found:
            failed.append(outcome.seed)
            print(complaint(outcome), file=sys.stderr)
        elif args.seeds == 1:
            print("\n".join(outcome.story))
    print(f"{args.seeds - len(failed)} of {args.seeds} seeds kept every rule; {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
