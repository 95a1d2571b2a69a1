"""Why each cluster has what it has: the plan told in sentences, from the same functions that make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig
from hanse.placement.decision import Verdict
from hanse.propagation.comparison import Kept, Present
from hanse.propagation.intent import Intent
from hanse.propagation.planning import UNSEEN, Observation, Planned
from hanse.propagation.remedies import Remedy
from hanse.propagation.rendering import owns, rendered_digest


@dataclass(frozen=True, slots=True)
class ClusterExplanation:
    """One cluster's part: what it has in a few words, and why in sentences."""

    cluster: str
    chosen: bool
    planned_replicas: int | None
    summary: str
    sentences: tuple[str, ...]


def explain(
    intent: Intent,
    planned: Planned,
    observed: Mapping[str, Observation],
    remedies: Mapping[str, Remedy | None] | None = None,
) -> list[ClusterExplanation]:
    """Explain a plan, cluster by cluster; `remedies` say what would have to change where nothing goes."""
    remedies = remedies or {}
    return [
        _explain_one(intent, planned, verdict, observed.get(verdict.cluster, UNSEEN), remedies.get(verdict.cluster))
        for verdict in planned.decision.verdicts
    ]


def _explain_one(
    intent: Intent, planned: Planned, verdict: Verdict, observation: Observation, remedy: Remedy | None
) -> ClusterExplanation:
    copy = observation.copy
    sentences = [*reasons_of(intent, verdict), *_transition(intent, planned, verdict, observation)]
    if remedy is not None:
        sentences.append(f"{_capital(str(remedy))}.")
    return ClusterExplanation(
        cluster=verdict.cluster,
        chosen=verdict.chosen,
        planned_replicas=verdict.replicas,
        summary=_summary(intent, observation) if copy is None or owns(intent, copy) else "not Hanse's",
        sentences=tuple(sentences),
    )


def _summary(intent: Intent, observation: Observation) -> str:
    if not observation.seen:
        return "cannot be asked"
    if observation.copy is None:
        return "nothing there"
    if not counts_replicas(intent):
        return "has it"
    replicas = intent.scale.asked(observation.copy)
    available = intent.scale.available_in(observation.copy)
    return f"{replicas} replicas, {available} available"


def reasons_of(intent: Intent, verdict: Verdict) -> list[str]:
    """Say why a cluster is to have what it is to have, whatever it has now."""
    # A user's name is written as the user is called.
    started = {text for _, text in intent.placement.forbidden}
    sentences = [f"{reason if reason in started else _capital(reason)}." for reason in verdict.reasons]
    return sentences + _overridden(intent, verdict)


def _overridden(intent: Intent, verdict: Verdict) -> list[str]:
    """Say what a cluster gets differently because an override names it."""
    named = (override for override in intent.overrides if verdict.cluster in (override.clusters.names or ()))
    paths = dict.fromkeys(operation["path"] for override in named for operation in override.patch)
    # What marks copies for tools of other systems is no difference that anybody asked for, and divided replicas count
    # before those of an override.
    divided = "/" + "/".join(intent.scale.replicas) if intent.replicas is not None else ""
    told = [path or "all of it" for path in paths if path != divided and not path.startswith("/metadata/labels")]
    return [f"Overrides change {', '.join(told)}."] if told and verdict.chosen else []


def _transition(intent: Intent, planned: Planned, verdict: Verdict, observation: Observation) -> list[str]:
    if intent.forbids(verdict.cluster):
        return ["Whatever it holds stays as it is."] if observation.copy is not None else []
    company = intent.placement.company
    if company is not None and any(name == verdict.cluster for name, _ in company.uncertain):
        return ["Whatever it holds stays as it is."] if observation.copy is not None else []
    if verdict.keep:
        return [f"Whatever it holds is left alone until {'then' if observation.seen else 'it answers again'}."]
    if not observation.seen:
        return ["It could not be read just now, so what it has is not known here."]
    copy, wanted = observation.copy, planned.wanted.get(verdict.cluster)
    if copy is not None and not owns(intent, copy):
        return ["It has an object of this name that is not Hanse's, which is left alone; delete or rename it there."]
    if isinstance(wanted, Kept):
        return ["Its copy stays as it is for now."]
    if not isinstance(wanted, Present):
        return ["Its copy is being removed."] if wanted is not None else []
    if copy is None:
        return ["It does not have its copy yet."]
    held, asked = intent.scale.asked(copy), intent.scale.asked(wanted.manifest)
    if intent.replicas is not None and intent.parts is None and asked != (verdict.replicas or 0):
        target = verdict.replicas or 0
        return [f"It keeps {asked} of its {held} replicas until others are available elsewhere, then it has {target}."]
    if rendered_digest(copy) != rendered_digest(wanted.manifest):
        return ["Its copy is being brought up to date."]
    return []


def counts_replicas(intent: Intent) -> bool:
    """Tell whether replicas say how much of an object a cluster has: those that divide, or those of its template."""
    return intent.parts is None and (
        intent.replicas is not None or dig(intent.template, *intent.scale.replicas) is not None
    )


def source_summary(source: Obj, intent: Intent) -> str:
    """Say in a few words how a source object is doing over all clusters."""
    if intent.parts is not None:
        return "divided over the chosen clusters"
    if intent.replicas is None:
        return "copied to every chosen cluster"
    available = dig(source, "status", "availableReplicas", default=0)
    return f"{intent.replicas} replicas wanted, {available} available"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
