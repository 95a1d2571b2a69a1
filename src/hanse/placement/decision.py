"""The decision: for every registered cluster yes or no, how many replicas, and the reasons in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

from hanse.placement.ask import Placement, State
from hanse.placement.candidate import Candidate
from hanse.placement.choosing import Choice, choose
from hanse.placement.fleet import Fleet
from hanse.placement.planner import ANY_CLUSTER, Preferences
from hanse.placement.work import Work


@dataclass(frozen=True, slots=True)
class Verdict:
    """One cluster's part of a decision; `replicas` is None for kinds that have none.

    `keep` marks a cluster that is not chosen although it may still hold a copy: it cannot be asked, so what it has
    is left alone. `unwanted` marks one that could have the object, or replicas of it, had
    it been asked for.
    """

    cluster: str
    chosen: bool
    replicas: int | None
    reasons: tuple[str, ...]
    keep: bool = False
    unwanted: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Where an object goes, and why.

    `unplaced` replicas find no place; `remedy` says what would give them one. `until` is the moment at which time
    alone changes the decision, None where it does not. `withheld` replicas are given to nobody, since a lost cluster
    may still run them. `overflow` replicas wait for room in a cluster, beside as many elsewhere.
    """

    verdicts: Sequence[Verdict]
    unplaced: int = 0
    notes: tuple[str, ...] = ()
    remedy: str = "raise a cluster's maxReplicas or weight"
    until: float | None = None
    withheld: Mapping[str, int] = field(default_factory=dict)
    overflow: Mapping[str, int] = field(default_factory=dict)

    def chosen(self) -> list[str]:
        """Return the names of the clusters that shall have the object."""
        return [verdict.cluster for verdict in self.verdicts if verdict.chosen]

    @property
    def replicas(self) -> dict[str, int]:
        """How many replicas each chosen cluster gets; empty for kinds without replicas."""
        return {each.cluster: each.replicas for each in self.verdicts if each.chosen and each.replicas is not None}

    def of(self, cluster: str) -> Verdict | None:
        """Return one cluster's part, None where the cluster is not registered."""
        return next((verdict for verdict in self.verdicts if verdict.cluster == cluster), None)


class Verdicts(Sequence[Verdict]):
    """The verdicts of a choice, put into words when somebody reads them."""

    __slots__ = ("_choice", "_told", "_work")

    def __init__(self, work: Work, choice: Choice) -> None:
        self._work = work
        self._choice = choice
        self._told: tuple[Verdict, ...] | None = None

    def __len__(self) -> int:
        return len(self._work.fleet)

    @overload
    def __getitem__(self, place: int) -> Verdict: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Verdict, ...]: ...
    def __getitem__(self, place: int | slice) -> Verdict | tuple[Verdict, ...]:
        return self._tell()[place]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self._tell())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self._tell())

    def __repr__(self) -> str:
        return repr(self._tell())

    def _tell(self) -> tuple[Verdict, ...]:
        if self._told is None:
            why = _asked(self._work)
            self._told = tuple(_verdict(self._work, self._choice, slot, why(slot)) for slot in range(len(self)))
        return self._told


def decide(
    clusters: Fleet | Iterable[Candidate],
    placement: Placement | None = None,
    *,
    replicas: int | None = None,
    state: State | None = None,
    key: str = "",
) -> Decision:
    """Choose clusters and divide replicas among them; the same input always gives the same decision."""
    fleet = clusters if isinstance(clusters, Fleet) else Fleet(clusters)
    work = Work(fleet, placement or Placement(), replicas, state or State(), key)
    choice = choose(work)
    withheld = {fleet.names[slot]: choice.shares.counts.get(slot, 0) for slot in fleet.slots(choice.waiting)}
    return Decision(
        Verdicts(work, choice),
        choice.shares.unplaced,
        _notes(work, choice, withheld),
        choice.shares.remedy,
        choice.until,
        withheld,
        {fleet.names[slot]: extra for slot, extra in choice.shares.overflow.items() if choice.chosen >> slot & 1},
    )


def _notes(work: Work, choice: Choice, withheld: Mapping[str, int]) -> tuple[str, ...]:
    impossible = (choice.impossible,) if choice.impossible else ()
    return (*impossible, *_withheld(work, withheld), *_unknown_names(work))


def _withheld(work: Work, withheld: Mapping[str, int]) -> Iterator[str]:
    """Say which replicas are started nowhere since a lost cluster may still run them."""
    if not any(withheld.values()):
        return
    names = ", ".join(name for name, count in withheld.items() if count)
    after = work.placement.failover.after_seconds
    when = "are started nowhere else" if after is None else f"are started elsewhere {after:g} s after its loss"
    yield f"{sum(withheld.values())} replicas may still run in {names}, which cannot be asked, and {when}"


def _unknown_names(work: Work) -> Iterator[str]:
    placement, known = work.placement, work.fleet
    for name in sorted(set(placement.clusters.names or ()) | set(placement.clusters.excluded)):
        if known.slot(name) is None:
            yield f"the placement names {name}, which is no cluster of the federation"
    if isinstance(placement.division, Preferences):
        for name in sorted(placement.division.clusters):
            if name != ANY_CLUSTER and known.slot(name) is None:
                yield f"the preferences name {name}, which is no cluster of the federation"


def _verdict(work: Work, choice: Choice, slot: int, asked: tuple[str, ...]) -> Verdict:
    name, bit = work.fleet.names[slot], 1 << slot
    for refused in choice.refused:
        if refused.clusters & bit:
            return Verdict(name, False, None, (*asked, refused.tell(slot)), refused.keep, refused.unwanted)
    reasons = (*asked, "it is ready")
    if work.fleet.cordoned & work.holders & bit:
        reasons = (*reasons, "it is cordoned and keeps what it has")
    if choice.group:
        reasons = (*reasons, f"it is in group {choice.group}, the first that can take the work")
    if not choice.chosen & bit:
        return Verdict(name, False, None, (*reasons, "there is nothing for it to do"))
    if work.replicas is None:
        return Verdict(name, True, None, reasons)
    unwanted = bool(choice.shares.unwanted & bit)
    count = choice.shares.counts.get(slot, 0)
    return Verdict(name, True, count, (*reasons, choice.shares.tell(slot)), unwanted=unwanted)


def _asked(work: Work) -> Callable[[int], tuple[str, ...]]:
    """Return what says of a cluster why it is among those that were asked for; nothing of the others."""
    if work.placement.company is not None:
        there = dict(work.placement.company.there)
        return lambda slot: (there[work.fleet.names[slot]],) if work.fleet.names[slot] in there else ()
    term = work.placement.clusters
    if term.selector.requirements:
        why = "the cluster selector matches its labels"
    else:
        why = "it is named" if term.names is not None else "every cluster is selected"
    asked = work.fleet.within(term)
    return lambda slot: (why,) if asked >> slot & 1 else ()
