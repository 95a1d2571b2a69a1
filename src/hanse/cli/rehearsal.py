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
from hanse.cli.doors import all_doors, informed, kind_in
from hanse.cli.speaking import claims_of, spoken_for, title_of
from hanse.kube.cache import Change
from hanse.kube.manifest import Obj, key_of, labels_of, name_of
from hanse.kube.packing import pack
from hanse.kube.resources import Resource
from hanse.placement.ask import Placement
from hanse.placement.decision import Decision
from hanse.propagation.claims import Claims
from hanse.propagation.comparison import Present
from hanse.propagation.doors import Doors
from hanse.propagation.explanation import ClusterExplanation, counts_replicas, explain
from hanse.propagation.intent import Follows, Intent, Problem, Ref
from hanse.propagation.planning import Observation, Planned, plan
from hanse.propagation.rehearsing import Onlooker

PolicyFunction: TypeAlias = Callable[[Obj], Placement]

_NOTHING_THERE = Observation(seen=True)
_NOT_FEDERATED = "it is of no kind that is federated, or belongs to the federation itself"


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

    def replicas_in(self, cluster: str) -> int | None:
        """Return how many replicas a cluster would get, None where that is not what an object is counted by."""
        wanted = self.planned.wanted.get(cluster) if self.planned is not None else None
        if self.intent is None or not counts_replicas(self.intent) or not isinstance(wanted, Present):
            return None
        return self.intent.scale.asked(wanted.manifest)

    def explain(self) -> list[ClusterExplanation]:
        """Say for every cluster why."""
        if self.intent is None or self.planned is None:
            return []
        observed = {verdict.cluster: _NOTHING_THERE for verdict in self.planned.decision.verdicts}
        return explain(self.intent, self.planned, observed)


class Federation:
    """A federation on paper: clusters, policies and FederatedKinds, to see what would go where."""

    def __init__(self, clusters: Sequence[Cluster], policies: Iterable[Obj] = (), now: float = 0.0) -> None:
        """`policies` are all objects that say what others mean: policies, FederatedKinds, placements, preferences."""
        self.clusters = list(clusters)
        self._now = now
        self._inputs = tuple(policies)
        self._beside: tuple[Obj, ...] = ()

    def federates(self, source: Obj) -> bool:
        """Tell whether an object would go into members at all."""
        kind = kind_in(self._doors.resources, source)
        return kind is not None and self._doors.of(kind).admits(source)

    def rehearse(self, source: Obj, policy: PolicyFunction | None = None) -> Rehearsed:
        """Decide where an object would go; a policy that is a function counts before every other."""
        kind = kind_in(self._doors.resources, source)
        if kind is None or not self._doors.of(kind).admits(source):
            return Rehearsed(source, problem=self._unheard(source) or _NOT_FEDERATED)
        ref, door = Ref(kind, key_of(source)), self._doors.of(kind)
        holder = self._claims.holder(door.target(ref))
        if holder is not None and holder != ref:
            return Rehearsed(source, problem=spoken_for(holder, door.target(ref)))
        intent = door.translate(source)
        if isinstance(intent, Problem):
            return Rehearsed(source, problem=intent.message)
        if policy is not None:
            told = (f"the function {policy.__name__}",)
            intent = replace(intent, placement=policy(source), sources=told, follows=Follows.NEVER)
        intent = self._onlooker.accompanied(ref, intent)
        return Rehearsed(source, intent, self._plan(ref, intent))

    def rehearse_all(self, policy: PolicyFunction | None = None) -> list[Rehearsed]:
        """Decide where all objects would go that are beside each other, but for those that only speak of others."""
        return [self.rehearse(obj, policy) for obj in self._beside if not self._is_heard(obj)]

    def beside(self, objects: Iterable[Obj]) -> Federation:
        """Return the same federation with these objects in it: what their pods name follows them, and others speak."""
        peopled = Federation(self.clusters, self._inputs, self._now)
        peopled._beside = (*self._beside, *objects)
        return peopled

    @cached_property
    def _doors(self) -> Doors:
        return informed(all_doors(), (*self._inputs, *self._beside))

    @cached_property
    def _sources(self) -> dict[Ref, Obj]:
        kinds = [(kind_in(self._doors.resources, obj), obj) for obj in self._beside]
        return {Ref(kind, key_of(obj)): obj for kind, obj in kinds if kind is not None}

    @cached_property
    def _claims(self) -> Claims:
        return claims_of(self._doors, self._sources)

    @cached_property
    def _onlooker(self) -> Onlooker:
        nothing = {cluster.name: _NOTHING_THERE for cluster in self.clusters}
        seen = dict.fromkeys(self._sources, nothing)
        return Onlooker(self._doors, self.clusters, self._sources, seen, self._plan, in_the_end=True)

    def _is_heard(self, obj: Obj) -> bool:
        """Tell whether an object goes nowhere itself because others are what it makes of them, or speak for it."""
        kind = kind_in(self._doors.resources, obj)
        if kind is None:
            return kind_in(self._doors.inputs, obj) is not None and not self._unheard(obj)
        ref = Ref(kind, key_of(obj))
        holder = self._claims.holder(self._doors.of(kind).target(ref))
        claim = self._claims.claim(holder) if holder is not None and holder != ref else None
        return claim is not None and claim.supersedes

    def _unheard(self, obj: Obj) -> str:
        """Say that an object speaks of others which are not here, "" where it does not."""
        kind = kind_in(self._doors.inputs, obj)
        spoken = self._spoken_of(kind, obj) if kind is not None else []
        if not spoken or any(ref in self._sources for ref in spoken):
            return ""
        return f"it speaks of {title_of(spoken[0])}, which is not here"

    def _spoken_of(self, kind: Resource, obj: Obj) -> list[Ref]:
        change = Change(key_of(obj), None, pack(obj))
        return [ref for _, affected in self._doors.affected(kind, change) for ref in affected.refs]

    def _plan(self, _ref: Ref, intent: Intent) -> Planned:
        observed = {cluster.name: _NOTHING_THERE for cluster in self.clusters}
        return plan(intent, self.clusters, observed, now=self._now)

    def without(self, *names: str) -> Federation:
        """Return the same federation after it lost clusters."""
        lost = Federation([], self._inputs, self._now)
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
