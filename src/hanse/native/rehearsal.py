"""Placement on files alone: what would go where, with no federation to ask.

The same functions decide as in the control plane, on clusters, policies and objects that somebody wrote down. A policy
may also be a Python function from a manifest to a `Placement`, so that it can be tried before it is an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from hanse.api.clusters import CLUSTERS, Cluster, parse_cluster
from hanse.api.federated_kinds import FEDERATED_KINDS
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.kube.manifest import Obj, key_of, labels_of, name_of
from hanse.kube.resources import Resource, gvk
from hanse.native.door import NativeDoor
from hanse.placement.ask import Placement
from hanse.placement.decision import Decision
from hanse.propagation.door import keyed
from hanse.propagation.explanation import ClusterExplanation, explain
from hanse.propagation.intent import Follows, Intent, Problem, Ref
from hanse.propagation.planning import Observation, Planned, plan
from hanse.propagation.rehearsing import Onlooker

PolicyFunction: TypeAlias = Callable[[Obj], Placement]

_NOTHING_THERE = Observation(seen=True)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What would become of one object; `problem` says why nothing would."""

    source: Obj
    intent: Intent | None = None
    planned: Planned | None = None
    problem: str = ""

    @property
    def title(self) -> str:
        """The object's kind and name."""
        namespace = self.source["metadata"].get("namespace")
        return (
            f"{self.source['kind']} {namespace}/{name_of(self.source)}"
            if namespace
            else (f"{self.source['kind']} {name_of(self.source)}")
        )

    @property
    def trouble(self) -> str:
        """What stands in the way of having everything that was asked for, "" where nothing does."""
        if self.problem or self.planned is None:
            return self.problem
        decision = self.planned.decision
        if decision.unplaced:
            return f"{decision.unplaced} replicas find no place: {decision.remedy}"
        if not decision.chosen():
            return "no cluster is chosen"
        return decision.notes[0] if decision.notes else ""

    def explain(self) -> list[ClusterExplanation]:
        """Say for every cluster why."""
        if self.intent is None or self.planned is None:
            return []
        observed = {verdict.cluster: _NOTHING_THERE for verdict in self.planned.decision.verdicts}
        return explain(self.intent, self.planned, observed)


class Federation:
    """A federation on paper: clusters, policies and FederatedKinds, to see what would go where."""

    def __init__(self, clusters: Sequence[Cluster], policies: Iterable[Obj] = (), now: float = 0.0) -> None:
        self.clusters = list(clusters)
        self._now = now
        self._beside: tuple[Obj, ...] = ()
        inputs = (PLACEMENT_POLICIES, CLUSTER_PLACEMENT_POLICIES, FEDERATED_KINDS)
        known: dict[Resource, list[Obj]] = {resource: [] for resource in inputs}
        by_kind = {resource.kind: resource for resource in inputs}
        for policy in policies:
            known[by_kind[policy["kind"]]].append(policy)
        self._door = NativeDoor().informed(keyed(known))

    def federates(self, source: Obj) -> bool:
        """Tell whether an object would go into members at all."""
        kinds = {(kind.group, kind.version, kind.kind) for kind in self._door.resources}
        return gvk(source) in kinds and self._door.admits(source)

    def rehearse(self, source: Obj, policy: PolicyFunction | None = None) -> Rehearsed:
        """Decide where an object would go; a policy that is a function counts before every other."""
        if not self.federates(source):
            return Rehearsed(source, problem="it is of no kind that is federated, or belongs to the federation itself")
        intent = self._door.translate(source)
        if isinstance(intent, Problem):
            return Rehearsed(source, problem=intent.message)
        ref = Ref(intent.resource, intent.key)
        if policy is not None:
            told = (f"the function {policy.__name__}",)
            intent = replace(intent, placement=policy(source), sources=told, follows=Follows.NEVER)
        intent = self._onlooker.accompanied(ref, intent)
        return Rehearsed(source, intent, self._plan(ref, intent))

    def beside(self, objects: Iterable[Obj]) -> Federation:
        """Return the same federation with these objects in it, so that what their pods name follows them."""
        peopled = Federation(self.clusters, now=self._now)
        peopled._door = self._door
        peopled._beside = (*self._beside, *objects)
        return peopled

    @cached_property
    def _onlooker(self) -> Onlooker:
        kinds = {(kind.group, kind.version, kind.kind): kind for kind in self._door.resources}
        found = {Ref(kinds[gvk(obj)], key_of(obj)): obj for obj in self._beside if gvk(obj) in kinds}
        nothing = {cluster.name: _NOTHING_THERE for cluster in self.clusters}
        return Onlooker(self._door, self.clusters, found, dict.fromkeys(found, nothing), self._plan, in_the_end=True)

    def _plan(self, _ref: Ref, intent: Intent) -> Planned:
        observed = {cluster.name: _NOTHING_THERE for cluster in self.clusters}
        return plan(intent, self.clusters, observed, now=self._now)

    def without(self, *names: str) -> Federation:
        """Return the same federation after it lost clusters."""
        lost = Federation([], now=self._now)
        lost._door = self._door
        lost._beside = self._beside
        lost.clusters = [
            replace(each, ready=False, offline=True, why="it was lost") if each.name in names else each
            for each in self.clusters
        ]
        return lost


def fleet(clusters: Iterable[Obj] | Mapping[str, Mapping[str, str]]) -> list[Cluster]:
    """Return clusters from Cluster objects, or from names and labels; without a status they are ready."""
    if isinstance(clusters, Mapping):
        clusters = [
            {"kind": CLUSTERS.kind, "metadata": {"name": name, "labels": dict(labels)}}
            for name, labels in clusters.items()
        ]
    found = [_ready_if_silent(obj) for obj in clusters]
    return sorted(found, key=lambda cluster: cluster.name)


def place(
    source: Obj, clusters: Sequence[Cluster] | Mapping[str, Mapping[str, str]], policy: PolicyFunction | None = None
) -> Decision:
    """Decide where an object goes; raises ValueError where it cannot be said.

    `clusters` are names with labels, or what `fleet` returns.
    """
    registered = fleet(clusters) if isinstance(clusters, Mapping) else clusters
    rehearsed = Federation(registered).rehearse(_complete(source), policy)
    if rehearsed.planned is None:
        raise ValueError(f"{rehearsed.title}: {rehearsed.problem}")
    return rehearsed.planned.decision


def _ready_if_silent(obj: Obj) -> Cluster:
    cluster = parse_cluster({**obj, "metadata": {**obj["metadata"], "labels": labels_of(obj)}})
    told = (obj.get("status") or {}).get("conditions")
    return cluster if told else replace(cluster, ready=True)


def _complete(source: Obj) -> Obj:
    """Return a manifest with the namespace that kubectl would give it."""
    metadata = source["metadata"]
    return {**source, "metadata": {"namespace": "default", **metadata}}
