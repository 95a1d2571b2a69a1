"""The count: what a majority of the checkers says of one address, pure.

Every checker that is there and has judged the address has one vote, whatever else it sees: one that thinks everything
dead has no more than another. More than half of the votes have to agree that an address is dead, so that one checker
in a bad place cannot take it from anybody, nor can two of four. The federation's own side has one vote like the others;
while its registry calls the cluster Offline, that vote is against all of the cluster's addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hanse.api.health_reports import HOST_CHECKER
from hanse.services.health.standing import Standing, State

_OFFLINE = Standing(State.DEAD, "the federation cannot reach its cluster")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checkers together say of an address, in one sentence and in votes."""

    state: State = State.UNKNOWN
    why: str = "no checker has looked at it yet"
    dead: int = 0
    alive: int = 0

    @property
    def votes(self) -> int:
        """How many checkers were counted."""
        return self.dead + self.alive


def count_votes(votes: Mapping[str, Standing], *, offline: bool = False) -> Verdict:
    """Return the verdict over one address from what each checker that counts says of it, by its name.

    Of an address in a cluster that is Offline, a majority of the others has to say that it is alive all the same.
    """
    if offline:
        votes = {**votes, HOST_CHECKER: _OFFLINE}
    cast = {name: vote for name, vote in votes.items() if vote.state is not State.UNKNOWN}
    against = sorted(name for name, vote in cast.items() if vote.state is State.DEAD)
    dead, alive = len(against), len(cast) - len(against)
    if not cast:
        return Verdict()
    if 2 * dead > len(cast):
        return Verdict(
            State.DEAD, f"{dead} of {len(cast)} checkers call it dead: {_example(cast, against)}", dead, alive
        )
    if 2 * alive > len(cast) - offline:
        told = f"{alive} of {len(cast)} checkers reach it"
        return Verdict(State.ALIVE, f"{told}; {_example(cast, against)}" if against else told, dead, alive)
    return Verdict(State.UNKNOWN, f"the checkers disagree: {alive} reach it and {dead} do not", dead, alive)


def _example(cast: Mapping[str, Standing], against: list[str]) -> str:
    """Tell what one of them found; the federation's own word on the whole cluster says the least."""
    name = next((name for name in against if cast[name] is not _OFFLINE), against[0])
    why = cast[name].why
    return f"{name} says {why}" if why else name
