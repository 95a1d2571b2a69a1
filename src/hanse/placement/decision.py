"""The decision: for every registered cluster yes or no, how many replicas, and the reasons in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hanse.placement.cluster_selector import ClusterSelector, in_words
from hanse.placement.planner import ANY_CLUSTER, Plan, Preferences, divide_equally, plan_replicas


@dataclass(frozen=True, slots=True)
class Candidate:
    """What placement knows of a cluster; `refusal` says why no work may go there, "" where it may."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One cluster's part of a decision; `replicas` is None for kinds that have none.

    `keep` marks a cluster that is not chosen although it may still hold a copy: it cannot be asked, so what it has
    is left alone.
    """

    cluster: str
    chosen: bool
    replicas: int | None
    reasons: tuple[str, ...]
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Where an object goes, and why."""

    verdicts: tuple[Verdict, ...]
    unplaced: int = 0
    notes: tuple[str, ...] = ()

    def chosen(self) -> list[str]:
        """Return the names of the clusters that shall have the object."""
        return [verdict.cluster for verdict in self.verdicts if verdict.chosen]

    def of(self, cluster: str) -> Verdict | None:
        """Return one cluster's part, None where the cluster is not registered."""
        return next((verdict for verdict in self.verdicts if verdict.cluster == cluster), None)


def decide(
    candidates: Sequence[Candidate],
    selector: ClusterSelector,
    *,
    replicas: int | None = None,
    preferences: Preferences | None = None,
    current: Mapping[str, int] | None = None,
    key: str = "",
) -> Decision:
    """Choose clusters and divide replicas among them; the same input always gives the same decision."""
    ordered = sorted(candidates, key=lambda candidate: candidate.name)
    usable = [each for each in ordered if not each.refusal and selector.unmet(each.labels) is None]
    plan = None
    if replicas is not None:
        names = [each.name for each in usable]
        if preferences is None:
            plan = divide_equally(replicas, names, key=key)
        else:
            plan = plan_replicas(replicas, names, preferences, key=key, current=current)
    verdicts = tuple(_verdict(each, selector, plan, preferences, replicas) for each in ordered)
    return Decision(verdicts, plan.unplaced if plan else 0, _unknown_names(preferences, ordered))


def _unknown_names(preferences: Preferences | None, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    known = {candidate.name for candidate in candidates} | {ANY_CLUSTER}
    named = sorted(preferences.clusters) if preferences is not None else []
    return tuple(
        f"the preferences name {name}, which is no cluster of the federation" for name in named if name not in known
    )


def _verdict(
    candidate: Candidate,
    selector: ClusterSelector,
    plan: Plan | None,
    preferences: Preferences | None,
    total: int | None,
) -> Verdict:
    unmet = selector.unmet(candidate.labels)
    if unmet is not None:
        have = candidate.labels.get(unmet.key)
        found = f"its {unmet.key} is {have}" if have is not None else f"it has no label {unmet.key}"
        return Verdict(candidate.name, False, None, (f"the cluster selector asks for {in_words(unmet)}, and {found}",))
    reasons = ["the cluster selector matches its labels"] if selector.requirements else ["every cluster is selected"]
    if candidate.refusal:
        return Verdict(candidate.name, False, None, (*reasons, candidate.refusal), keep=True)
    reasons.append("it is ready")
    if plan is None:
        return Verdict(candidate.name, True, None, tuple(reasons))
    reasons.append(_share_reason(candidate.name, plan, preferences, total or 0))
    return Verdict(candidate.name, True, plan.replicas[candidate.name], tuple(reasons))


def _share_reason(cluster: str, plan: Plan, preferences: Preferences | None, total: int) -> str:
    count = plan.replicas[cluster]
    if preferences is None:
        return f"{total} replicas divided equally over {len(plan.replicas)} ready clusters give it {count}"
    preference = preferences.of(cluster)
    if preference is None:
        return "the preferences do not name it and have no *, so it gets 0"
    parts = [f"weight {preference.weight}"]
    if preference.min_replicas:
        parts.append(f"at least {preference.min_replicas}")
    if preference.max_replicas is not None:
        parts.append(f"at most {preference.max_replicas}")
    if not preferences.rebalance:
        parts.append("what runs already stays")
    return f"of {total} replicas the preferences ({', '.join(parts)}) give it {count}"
