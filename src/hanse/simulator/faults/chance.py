"""A schedule made up from a seed: any fault, anywhere, overlapping, and all of them over before the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hanse.kube.runtime import SeededRuntime
from hanse.simulator.faults.schedule import Planned
from hanse.simulator.faults.values import EVERYONE, KINDS, Fault, Party
from hanse.simulator.nodes.machines import ZONE, machines_of
from hanse.simulator.settings import ClusterSettings

T = TypeVar("T")
_LONGEST_SECONDS = 90.0
# The least and the most of each kind's span of time.
_SPANS: Mapping[str, tuple[float, float]] = {
    "latency": (0.05, 4.0),
    "throttle": (1.0, 5.0),
    "cut-watches": (0.5, 10.0),
    "clock-skew": (-300.0, 300.0),
    "slow-node": (1.0, 20.0),
}
_PARTIES: tuple[tuple[Party, ...], ...] = (
    (Party.CONTROL_PLANE,),
    (Party.USERS,),
    (Party.NODES,),
    (Party.CONTROL_PLANE, Party.NODES),
    EVERYONE,
)


def random_schedule(
    seed: int, clusters: Sequence[ClusterSettings], seconds: float, *, count: int = 8
) -> tuple[Planned, ...]:
    """Make a schedule up; everything in it is over after `seconds`."""
    chance = _Chance(SeededRuntime(seed).uniform)
    planned = []
    for _ in range(count):
        settings = chance.one_of(clusters)
        at = round(chance.between(0.0, seconds * 0.8), 3)
        lasts = round(chance.between(0.5, min(_LONGEST_SECONDS, seconds - at)), 3)
        planned.append(Planned(at, settings.name, _fault(chance, settings), lasts))
    return tuple(sorted(planned, key=lambda one: one.at))


class _Chance:
    def __init__(self, uniform: Callable[[float, float], float]) -> None:
        self.between = uniform

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[min(int(self.between(0, len(choices))), len(choices) - 1)]


def _fault(chance: _Chance, settings: ClusterSettings) -> Fault:
    name = chance.one_of(tuple(KINDS))
    kind = KINDS[name]
    seconds = round(chance.between(*_SPANS[name]), 3) if kind.span else 0.0
    rate = round(chance.between(0.05, 1.0 if name != "errors" else 0.6), 2) if kind.rate is not None else 1.0
    parties = chance.one_of(_PARTIES) if kind.parties is not None else EVERYONE
    return Fault(name, seconds, rate, parties, _place(chance, kind.place, settings))


def _place(chance: _Chance, place: str, settings: ClusterSettings) -> str:
    if not place:
        return ""
    machine = chance.one_of(tuple(machines_of(settings).values()))
    return machine.name if place == "node" else machine.labels.get(ZONE, "")
