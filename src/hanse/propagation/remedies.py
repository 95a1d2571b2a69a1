"""What would have to change for a cluster to be chosen that is not: found by deciding again on a changed world.

Each hindrance knows its remedy and what the world would be like with it. The remedies are tried one after another until
the decision says yes, so what is told would really help; where it never does, nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hanse.api.clusters import Cluster
from hanse.kube.selectors import Requirement
from hanse.placement.ask import ClusterTerm
from hanse.placement.candidate import Taint, Toleration
from hanse.propagation.candidates import candidate_of
from hanse.propagation.intent import Intent
from hanse.propagation.planning import Observation, plan


@dataclass(frozen=True, slots=True)
class Remedy:
    """Everything that would have to be done for a cluster, in order, and what it would then get."""

    steps: tuple[str, ...]
    replicas: int | None = None

    def __str__(self) -> str:
        share = "it" if self.replicas is None else f"{self.replicas} replica{'' if self.replicas == 1 else 's'}"
        return f"to place it there: {'; '.join(self.steps)} (it would then get {share})"


@dataclass(frozen=True, slots=True)
class _World:
    intent: Intent
    cluster: Cluster


def remedy_for(
    name: str,
    intent: Intent,
    clusters: Sequence[Cluster],
    observed: Mapping[str, Observation],
    *,
    now: float = 0.0,
) -> Remedy | None:
    """Return what would have to change for this cluster to be chosen; None where nothing known here would do."""
    cluster = next((each for each in clusters if each.name == name), None)
    if cluster is None:
        return None
    world, steps = _World(intent, cluster), []
    for step, changed in _hindrances(world):
        steps.append(step)
        world = changed
    if not steps:
        return None
    fleet = [world.cluster if each.name == name else each for each in clusters]
    # What the cluster does not say of itself today is taken as nothing there.
    seen = {**observed, name: replace(observed.get(name, Observation(seen=True)), seen=True, refusal="")}
    verdict = plan(world.intent, fleet, seen, now=now).decision.of(name)
    return Remedy(tuple(steps), verdict.replicas) if verdict is not None and verdict.chosen else None


def _hindrances(world: _World) -> Iterator[tuple[str, _World]]:
    """Yield one remedy after another, each with the world in which it and those before it are done."""
    for find in (_named, _labelled, _permitted, _answering, _open, _tolerated):
        found = find(world)
        if found is not None:
            yield found
            world = found[1]


def _named(world: _World) -> tuple[str, _World] | None:
    term, name = world.intent.placement.clusters, world.cluster.name
    if name in term.excluded:
        rest = replace(term, excluded=tuple(other for other in term.excluded if other != name))
        return f"take {name} from the excluded clusters of the policy", _asking(world, rest)
    if term.names is not None and name not in term.names:
        return f"add {name} to the clusters that its policy or placement names", _asking(
            world, replace(term, names=(*term.names, name))
        )
    return None


def _labelled(world: _World) -> tuple[str, _World] | None:
    cluster, labels, words = world.cluster, dict(world.cluster.labels), []
    for needed in world.intent.placement.clusters.selector.requirements:
        if needed.matches(labels):
            continue
        label = _label_for(needed, labels)
        if label is None:
            return None
        words.append(label)
        key, _, value = label.partition("=")
        if label.endswith("-"):
            labels.pop(label[:-1], None)
        else:
            labels[key] = value
    if not words:
        return None
    step = f"`kubectl label cluster {cluster.name} {' '.join(words)} --overwrite`"
    return step, replace(world, cluster=replace(cluster, labels=labels))


def _label_for(needed: Requirement, labels: Mapping[str, str]) -> str | None:
    """Return the label, as kubectl takes it, with which a requirement would be met."""
    match needed.operator:
        case "in" | "=":
            return f"{needed.key}={needed.values[0]}"
        case "exists":
            return f"{needed.key}="
        case "!" | "notin" | "!=":
            return f"{needed.key}-" if needed.key in labels else None
        case "gt" | "lt":
            return f"{needed.key}={int(needed.values[0]) + (1 if needed.operator == 'gt' else -1)}"
    return None


def _permitted(world: _World) -> tuple[str, _World] | None:
    name, placement = world.cluster.name, world.intent.placement
    if not world.intent.forbids(name):
        return None
    rest = tuple(entry for entry in placement.forbidden if entry[0] != name)
    step = f"bind its author to a ClusterRole with the verb use on clusters.clusterregistry.k8s.io/{name}"
    return step, replace(world, intent=replace(world.intent, placement=replace(placement, forbidden=rest)))


def _answering(world: _World) -> tuple[str, _World] | None:
    cluster = world.cluster
    if not cluster.refusal:
        return None
    back = replace(cluster, ready=True, offline=False, why="", refused_since="")
    return f"get {cluster.name} to answer again (`hanse clusters -o wide` says what is wrong)", replace(
        world, cluster=back
    )


def _open(world: _World) -> tuple[str, _World] | None:
    cluster = world.cluster
    if not cluster.unschedulable:
        return None
    return f"`hanse clusters uncordon {cluster.name}`", replace(world, cluster=replace(cluster, unschedulable=False))


def _tolerated(world: _World) -> tuple[str, _World] | None:
    tolerations = world.intent.placement.tolerations
    kept_out = [
        taint
        for taint in candidate_of(world.cluster).taints
        if taint.effect != "PreferNoSchedule" and not any(each.covers(taint) for each in tolerations)
    ]
    if not kept_out:
        return None
    told = " and ".join(map(str, kept_out))
    placement = replace(world.intent.placement, tolerations=(*tolerations, *map(_toleration, kept_out)))
    return f"let its policy tolerate {told}", replace(world, intent=replace(world.intent, placement=placement))


def _toleration(taint: Taint) -> Toleration:
    return Toleration(key=taint.key, operator="Exists", effect=taint.effect)


def _asking(world: _World, term: ClusterTerm) -> _World:
    placement = replace(world.intent.placement, clusters=term)
    return replace(world, intent=replace(world.intent, placement=placement))
