"""Which clusters may be used at all: what was asked for, whether they can take work, and what they put up with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from hanse.placement.ask import ClusterTerm, Company, Demand
from hanse.placement.candidate import Candidate, Taint, Toleration
from hanse.placement.cluster_selector import in_words
from hanse.placement.work import Refused, Tell, Work

# A cordon is tolerated like any taint, as Kubernetes has it for nodes.
CORDON = Taint("cluster.hanse.dev/unschedulable")
ALONE = "nothing that it follows is there"


@dataclass(frozen=True, slots=True)
class Sifted:
    """The clusters that are left, and why the others are not.

    `waiting` are lost clusters whose share is not given to others yet, `frozen` those that keep what they have and take
    nothing more, `avoided` those that are used only where the others do not suffice. `until` is the moment at which
    the passing of time changes this.
    """

    usable: int
    refused: tuple[Refused, ...] = ()
    waiting: int = 0
    frozen: int = 0
    avoided: int = 0
    until: float | None = None


def sift(work: Work, returning: int = 0) -> Sifted:
    """Leave out the clusters that may not be used, and those that are only just `returning`."""
    fleet, term = work.fleet, work.placement.clusters
    asked = fleet.within(term)
    refused: list[Refused] = []
    if asked != fleet.everyone:
        refused.append(Refused(fleet.everyone & ~asked, lambda slot: outside(fleet[slot], term), unwanted=True))
    unmet = _demanded(work, asked)
    refused += unmet
    asked &= ~sum(each.clusters for each in unmet)
    forbidden = dict(work.placement.forbidden)
    denied = asked & fleet.named(forbidden)
    if denied:
        # What was placed by somebody who may is neither changed nor taken away by somebody who may not.
        refused.append(Refused(denied, lambda slot: forbidden[fleet.names[slot]], keep=True))
        asked &= ~denied
    if work.placement.company is not None:
        apart = _apart(work, asked, work.placement.company)
        refused += apart
        asked &= ~sum(each.clusters for each in apart)
    lost = asked & (fleet.refused | fleet.named(work.state.refusals))
    waiting, until = _waiting(work, lost)
    if lost:
        refused.append(Refused(lost, lambda slot: _lost(work, waiting, slot), keep=True))
    returning &= asked & ~lost
    if returning:
        refused.append(Refused(returning, lambda slot: _returning(work, slot), keep=True))
    usable = asked & ~lost & ~returning
    closed = 0 if any(each.covers(CORDON) for each in work.placement.tolerations) else usable & fleet.cordoned
    cordoned = closed & ~work.holders
    if cordoned:
        refused.append(Refused(cordoned, lambda _slot: "it is cordoned and takes no new work"))
    frozen = closed & work.holders
    usable &= ~cordoned
    judged = _taints(work, usable)
    moments = [moment for moment in (until, judged.until) if moment is not None]
    moments += map(work.steady_from, fleet.slots(returning))
    return Sifted(
        judged.usable,
        (*refused, *judged.refused),
        waiting,
        frozen | judged.frozen,
        judged.avoided,
        min(moments, default=None),
    )


def _apart(work: Work, asked: int, company: Company) -> list[Refused]:
    """Leave out, each once, the clusters in which nothing is that the object follows, or of which that is not known."""
    fleet, unsure = work.fleet, dict(company.uncertain)
    there = fleet.named(name for name, _ in company.there)
    uncertain = asked & fleet.named(unsure) & ~there
    alone = asked & ~there & ~uncertain
    # Where work moves by itself, what follows it does too; only what a person began counts as taken away by a change.
    moving = alone if work.disturbed else alone & (fleet.tainted | fleet.cordoned)
    found = [
        Refused(uncertain, lambda slot: unsure[fleet.names[slot]], keep=True),
        Refused(moving, lambda _slot: ALONE),
        Refused(alone & ~moving, lambda _slot: ALONE, unwanted=True),
    ]
    return [each for each in found if each.clusters]


def _demanded(work: Work, asked: int) -> list[Refused]:
    """Leave out, each once, the clusters that do not meet a demand; what has the work keeps it where it may."""
    found = []
    for demand in work.placement.demands:
        met = reduce(or_, map(work.fleet.within, demand.terms), 0)
        met &= ~work.fleet.named(name for name, _ in demand.against)
        unmet = asked & ~(met if demand.lasting else met | work.holders)
        if unmet:
            found.append(Refused(unmet, _unmet(work, demand), unwanted=True))
            asked &= ~unmet
    return found


def _unmet(work: Work, demand: Demand) -> Tell:
    against = dict(demand.against)

    def tell(slot: int) -> str:
        candidate = work.fleet[slot]
        if candidate.name in against:
            return f"{demand.asks}: {against[candidate.name]}" if demand.asks else against[candidate.name]
        if not demand.terms:
            return f"{demand.asks} selects no cluster"
        others = len(demand.terms) - 1
        more = f", nor is one of {others} other terms met" if others else ""
        return f"{demand.asks} {_missed(candidate, demand.terms[0])}{more}"

    return tell


def _missed(candidate: Candidate, term: ClusterTerm) -> str:
    if candidate.name in term.excluded:
        return "excludes it by name"
    if term.names is not None and candidate.name not in term.names:
        return f"asks for {', '.join(sorted(term.names)) or 'no cluster that there is'}"
    return _mismatch(candidate, term)


def _mismatch(candidate: Candidate, term: ClusterTerm) -> str:
    unmet = term.selector.unmet(candidate.labels)
    if unmet is None:
        return "does not want it"
    have = candidate.labels.get(unmet.key)
    found = f"its {unmet.key} is {have}" if have is not None else f"it has no label {unmet.key}"
    return f"asks for {in_words(unmet)}, and {found}"


def outside(candidate: Candidate, term: ClusterTerm) -> str:
    """Say why a cluster does not belong to a term."""
    if candidate.name in term.excluded:
        return "it is excluded by name"
    if term.names is not None and candidate.name not in term.names:
        return f"only {', '.join(sorted(term.names)) or 'no cluster'} may be used"
    return f"the cluster selector {_mismatch(candidate, term)}"


def _waiting(work: Work, lost: int) -> tuple[int, float | None]:
    """Return the lost clusters that are still waited for, and when the first of them no longer is."""
    after = work.placement.failover.after_seconds
    if after is None:
        return lost, None
    waiting, moments = 0, []
    for slot in work.fleet.slots(lost) if after > 0 else ():
        candidate = work.fleet[slot]
        # A cluster that is ready, and cannot be used for this work, says since when it is ready.
        since = candidate.refused_since if candidate.refusal else work.state.refused_since.get(candidate.name)
        if since is not None and work.state.now < since + after:
            waiting |= 1 << slot
            moments.append(since + after)
    return waiting, min(moments, default=None)


def _lost(work: Work, waiting: int, slot: int) -> str:
    candidate, after = work.fleet[slot], work.placement.failover.after_seconds
    why = candidate.refusal or work.state.refusals[candidate.name]
    if not waiting >> slot & 1:
        return why
    if after is None:
        return f"{why}; its share is never given to others, since it may still run there"
    return f"{why}; its share is given to others after {after:g} s"


def _returning(work: Work, slot: int) -> str:
    wait = work.steady_from(slot) - work.state.now
    return f"it came back only just now and gets its share again in {wait:.0f} s, if it stays"


def _taints(work: Work, usable: int) -> Sifted:
    kept_out, frozen, avoided, moments = 0, 0, 0, []
    why: dict[int, Taint] = {}
    tolerations = work.placement.tolerations
    for slot in work.fleet.slots(usable & work.fleet.tainted):
        bit, holds = 1 << slot, bool(work.holders >> slot & 1)
        for taint in work.fleet[slot].taints:
            limit = _tolerated_until(taint, tolerations)
            if limit is None:
                continue
            if taint.effect == "PreferNoSchedule":
                avoided |= bit
            elif taint.effect == "NoSchedule" and holds:
                frozen |= bit
            elif taint.effect == "NoExecute" and holds and work.state.now < limit:
                frozen |= bit
                moments.append(limit)
            else:
                kept_out |= bit
                why.setdefault(slot, taint)
    refused = Refused(kept_out, lambda slot: f"its taint {why[slot]} is not tolerated")
    return Sifted(
        usable & ~kept_out,
        (refused,) if kept_out else (),
        frozen=frozen & ~kept_out,
        avoided=avoided & ~work.holders & ~kept_out,
        until=min(moments, default=None),
    )


def _tolerated_until(taint: Taint, tolerations: tuple[Toleration, ...]) -> float | None:
    """Return until when a taint is put up with: None for ever, minus infinity not at all."""
    covering = [toleration.seconds for toleration in tolerations if toleration.covers(taint)]
    if not covering:
        return float("-inf")
    limits = [seconds for seconds in covering if seconds is not None]
    if taint.effect != "NoExecute" or not limits:
        return None
    # Without a time on the taint nobody can tell when its time is over.
    return None if taint.since is None else taint.since + min(limits)
