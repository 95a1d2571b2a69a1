"""Why each cluster has what it has: the plan told in sentences, from the same functions that make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig
from hanse.placement.decision import Verdict
from hanse.propagation.comparison import Present
from hanse.propagation.intent import Intent
from hanse.propagation.planning import UNSEEN, Observation, Planned
from hanse.propagation.rendering import owned_by, rendered_digest


@dataclass(frozen=True, slots=True)
class ClusterExplanation:
    """One cluster's part: what it has in a few words, and why in sentences."""

    cluster: str
    chosen: bool
    planned_replicas: int | None
    summary: str
    sentences: tuple[str, ...]


def explain(intent: Intent, planned: Planned, observed: Mapping[str, Observation]) -> list[ClusterExplanation]:
    """Explain a plan, cluster by cluster."""
    return [
        _explain_one(intent, planned, verdict, observed.get(verdict.cluster, UNSEEN))
        for verdict in planned.decision.verdicts
    ]


def _explain_one(intent: Intent, planned: Planned, verdict: Verdict, observation: Observation) -> ClusterExplanation:
    copy = observation.copy
    sentences = [f"{_capital(reason)}." for reason in verdict.reasons]
    sentences += _transition(intent, planned, verdict, observation)
    return ClusterExplanation(
        cluster=verdict.cluster,
        chosen=verdict.chosen,
        planned_replicas=verdict.replicas,
        summary=_summary(intent, observation) if copy is None or owned_by(copy, intent.source_uid) else "not Hanse's",
        sentences=tuple(sentences),
    )


def _summary(intent: Intent, observation: Observation) -> str:
    if not observation.seen:
        return "cannot be asked"
    if observation.copy is None:
        return "nothing there"
    if intent.replicas is None:
        return "has it"
    replicas = dig(observation.copy, "spec", "replicas", default=0)
    available = dig(observation.copy, "status", "availableReplicas", default=0)
    return f"{replicas} replicas, {available} available"


def _transition(intent: Intent, planned: Planned, verdict: Verdict, observation: Observation) -> list[str]:
    if verdict.keep:
        return ["Whatever it holds is left alone until it answers again."]
    if not observation.seen:
        return ["It could not be read just now, so what it has is not known here."]
    copy, wanted = observation.copy, planned.wanted.get(verdict.cluster)
    if copy is not None and not owned_by(copy, intent.source_uid):
        return ["It has an object of this name that is not Hanse's, which is left alone; delete or rename it there."]
    if not isinstance(wanted, Present):
        return ["Its copy is being removed."] if wanted is not None else []
    if copy is None:
        return ["It does not have its copy yet."]
    held, asked = dig(copy, "spec", "replicas"), dig(wanted.manifest, "spec", "replicas")
    if intent.replicas is not None and asked != (verdict.replicas or 0):
        target = verdict.replicas or 0
        return [f"It keeps {asked} of its {held} replicas until others are available elsewhere, then it has {target}."]
    if rendered_digest(copy) != rendered_digest(wanted.manifest):
        return ["Its copy is being brought up to date."]
    return []


def source_summary(source: Obj, intent: Intent) -> str:
    """Say in a few words how a source object is doing over all clusters."""
    if intent.replicas is None:
        return "copied to every chosen cluster"
    available = dig(source, "status", "availableReplicas", default=0)
    return f"{intent.replicas} replicas wanted, {available} available"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
