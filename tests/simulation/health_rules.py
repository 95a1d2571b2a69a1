"""What must hold of every answer, whatever checkers say: judged once a second from what the world knows to be true.

A checker is *steady* about an address while its probes have found the same for longer than hysteresis takes, and it was
asked and heard all that time; what is too short for hysteresis to notice does not disturb it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from hanse.api.health_reports import HOST_CHECKER
from hanse.kube.manifest import Key
from hanse.services.health.attendance import SILENCE_SECONDS
from hanse.services.judging import Evidence, Judgement
from tests.simulation.health_world import HealthWorld, Vantage

Decide = Callable[[list[Evidence]], Judgement]


class _Circumstances(NamedTuple):
    """What a checker finds of an address, whether it is heard, and which run of it that is."""

    finds: bool
    heard: bool
    run: object


@dataclass(slots=True)
class Rules:
    """Watches one world."""

    world: HealthWorld
    decide: Decide
    # Addresses that are away or back for less than hysteresis takes: what they were before counts.
    blips: set[str] = field(default_factory=set)
    found: list[str] = field(default_factory=list)
    # Since when a checker has found the same of an address, under the same circumstances.
    _since: dict[tuple[str, str], tuple[_Circumstances, float]] = field(default_factory=dict)
    answers: dict[Key, frozenset[str]] = field(default_factory=dict)
    changed_at: float = 0.0

    async def wait(self, seconds: float) -> None:
        """Let time pass, and judge every answer meanwhile."""
        for _ in range(round(seconds)):
            await self.world.runtime.sleep(1.0)
            self.look(self.world.runtime.monotonic())

    @property
    def settling_seconds(self) -> float:
        """After so long whoever was cut off was heard, asked and has written again."""
        return self.bound_seconds + SILENCE_SECONDS

    @property
    def bound_seconds(self) -> float:
        """The longest way from what happens to the last checker's word: its probes, the last answer, and telling."""
        terms = self.world.terms
        return max(terms.fall, terms.rise) * terms.interval_seconds * 1.1 + terms.timeout_seconds + 1.0

    def look(self, now: float) -> None:
        """Judge every answer of this moment."""
        for service, places in self.world.services.items():
            judgement = self.decide(self.world.evidence(service))
            answer = frozenset(address for each in judgement.presences for address in each.live)
            if answer != self.answers.get(service):
                self.answers[service], self.changed_at = answer, now
            if not answer:
                self._complain(now, f"{service} has no address at all")
            for cluster, address in places.items():
                self._judge(service, cluster, address, address in answer, judgement.failed_open, now)

    def _judge(self, service: Key, cluster: str, address: str, given: bool, failed_open: bool, now: float) -> None:
        electorate = self.world.electorate(service)
        # What is too short to be noticed has not happened.
        well = (address in self.world.dead) == (address in self.blips)
        for vantage in electorate:
            self._note(vantage, address, well, now)
        right = {each.checker for each in electorate if self._is_steady(each, address, well, now)}
        offline = cluster in self.world.offline
        # Of a cluster that is Offline the federation's own side has spoken already: the others have to outweigh it.
        silent = {each.checker for each in electorate if self._is_silent(each, address, now)}
        voters = {each.checker for each in electorate} - silent - ({HOST_CHECKER} if offline else set())
        for_it, against = len(right & voters), len(voters - right)
        if well and for_it > against and not given:
            self._complain(now, f"{address} of {service} is well, {for_it} of {len(voters)} see it, and it is out")
        if not well and for_it > against and given and not failed_open:
            self._complain(now, f"{address} of {service} is dead, {for_it} of {len(voters)} see it, and it is in")

    def _note(self, vantage: Vantage, address: str, well: bool, now: float) -> None:
        """Remember since when nothing has changed for a checker and an address."""
        circumstances = _Circumstances(self.world.finds(vantage, address, well), vantage.heard, vantage.task)
        known = self._since.get((vantage.checker, address))
        if known is None or known[0] != circumstances:
            self._since[vantage.checker, address] = (circumstances, now)

    def _is_steady(self, vantage: Vantage, address: str, finds: bool, now: float) -> bool:
        circumstances, since = self._since[vantage.checker, address]
        return circumstances.heard and circumstances.finds is finds and now - since > self.settling_seconds

    def _is_silent(self, vantage: Vantage, address: str, now: float) -> bool:
        """Tell whether a checker was not heard for so long that its last word cannot count any more."""
        circumstances, since = self._since[vantage.checker, address]
        return not circumstances.heard and now - since > SILENCE_SECONDS + 3

    def _complain(self, now: float, sentence: str) -> None:
        if len(self.found) < 5:
            self.found.append(f"at {now:.0f} s: {sentence}")
