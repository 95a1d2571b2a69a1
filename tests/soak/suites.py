"""The suites of random worlds, each as a function of a seed: what one history broke, and what was done to it."""

from __future__ import annotations

import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from hanse.rollouts.execution import execute
from hanse.simulator.virtual_time import run_virtually
from tests.simulation import health_seeds, random_access, random_handover, random_history
from tests.simulation.composite import random_history as composite_history
from tests.simulation.playing import Outcome, quietly
from tests.simulation.pods import random_history as pod_history
from tests.simulation.rollouts import crashing, resolvers
from tests.simulation.tally import counting_faults
from tests.simulation.vitess import first_history
from tests.simulation.vitess.federated import first_random
from tests.simulation.vitess.federated import random_history as vitess_history
from tests.unit.rollouts.execution.model import Broken, World

# A world that takes longer stands still in real time as well; the slowest takes some seconds.
_PATIENCE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Told:
    """What a history tells: the promises that it broke, and what happened in it."""

    found: tuple[str, ...]
    story: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suite:
    """One sort of random worlds; of a suite with a share of four there are four seeds for each one of the others."""

    name: str
    about: str
    play: Callable[[int], Told]
    share: int = 1


@dataclass(frozen=True, slots=True)
class Played:
    """One seed that was played."""

    suite: str
    seed: int
    told: Told
    faults: Counter[str]
    seconds: float

    @property
    def command(self) -> str:
        """What plays it again."""
        return f"python -m tests.soak --suites {self.suite} --from {self.seed} --seeds 1"


def played(suite: Suite, seed: int) -> Played:
    """Play a seed; a world that itself breaks, or that never ends, has broken a promise too."""
    begin = time.process_time()
    with counting_faults() as faults, quietly():
        try:
            with _patience():
                told = suite.play(seed)
        except Exception:  # noqa: BLE001 - whatever it is, it is told with its seed
            told = Told((f"the world itself broke: {traceback.format_exc()}",))
    return Played(suite.name, seed, told, faults, time.process_time() - begin)


@contextmanager
def _patience() -> Iterator[None]:
    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it has not ended within {_PATIENCE_SECONDS} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_PATIENCE_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _told(outcome: Outcome) -> Told:
    return Told(tuple(outcome.found), tuple(outcome.story))


def _found(found: Sequence[str]) -> Told:
    return Told(tuple(found))


def _services(seed: int) -> Told:
    outcome = health_seeds.play(seed)
    return Told(outcome.found, outcome.story)


def _federated(seed: int) -> Told:
    found, story = random_handover.play(seed)
    return Told(tuple(found), tuple(story))


def _access(seed: int) -> Told:
    found, story = random_access.play(seed)
    return Told(tuple(found), tuple(story))


def _executor(seed: int) -> Told:
    try:
        World(seed, execute, orderly=seed % 2 == 0, restless=seed % 4 > 1).live()
    except Broken as error:
        return Told((str(error),))
    return Told(())


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "engine", "plain objects, control planes, hosts, policies", lambda seed: _told(random_history.play(seed)), 4
        ),
        Suite("services", "health by quorum", _services),
        Suite("federated", "federated objects beside plain ones", _federated),
        Suite("access", "users who may use some clusters only", _access),
        Suite("rollouts", "applications by labels", lambda seed: _found(crashing.live_through(seed).found)),
        Suite("weights", "applications by weights", lambda seed: _found(resolvers.live_through_by_weights(seed).found)),
        Suite("executor", "the executor of rollouts by itself", _executor),
        Suite("pods", "pods that run elsewhere", lambda seed: _told(pod_history.play(seed))),
        Suite("composites", "lambda controllers", lambda seed: _told(composite_history.play(seed))),
        Suite("vitess", "a VitessCluster over many clusters", lambda seed: _told(vitess_history.play(seed))),
        Suite(
            "vitess-first",
            "the first Vitess operator",
            lambda seed: _found(run_virtually(lambda: first_history.play(seed))),
        ),
        Suite(
            "vitess-first-federated",
            "the first Vitess operator over two clusters",
            lambda seed: _found(run_virtually(lambda: first_random.play(seed))),
        ),
    )
}
