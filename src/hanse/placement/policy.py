"""Policies as objects: which objects they speak for, what they ask, and which of several counts.

A namespaced policy comes before a cluster-wide one. Among equals the higher priority counts, then the one that names
the object before one that selects it by label before one that takes its whole kind, then the name. One policy counts
as a whole; what annotations on the object say replaces that part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hanse.kube.manifest import Obj, dig, labels_of, name_of, namespace_of
from hanse.kube.selectors import LabelSelector
from hanse.placement.ask import Override, Placement
from hanse.placement.policy_spec import PolicyError, overrides_of, placement_of, selector_of


@dataclass(frozen=True, slots=True)
class Target:
    """Objects that a policy speaks for."""

    kind: str
    api_version: str = ""
    name: str = ""
    labels: LabelSelector | None = None

    def precision(self, obj: Obj) -> int:
        """Return how precisely this names an object: 3 by name, 2 by label, 1 by kind, 0 not at all."""
        if self.kind not in ("*", obj.get("kind")) or self.api_version not in ("", obj.get("apiVersion")):
            return 0
        if self.name:
            return 3 if self.name == name_of(obj) else 0
        if self.labels is not None and not self.labels.empty:
            return 2 if self.labels.matches(labels_of(obj)) else 0
        return 1


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it was read; `problem` says what is wrong with one that cannot be followed."""

    kind: str
    namespace: str
    name: str
    targets: tuple[Target, ...]
    placement: Placement = field(default_factory=Placement)
    priority: int = 0
    respect_capacity: bool = False
    overrides: tuple[Override, ...] = ()
    dependencies_follow: bool = False
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    def precision(self, obj: Obj) -> int:
        """Return how precisely the policy names an object, 0 where it does not select it."""
        if self.namespace and self.namespace != namespace_of(obj):
            return 0
        return max((target.precision(obj) for target in self.targets), default=0)


@dataclass(frozen=True, slots=True)
class Matched:
    """The policy that counts for an object, None where there is none, and those that it comes before."""

    policy: Policy | None = None
    others: tuple[Policy, ...] = ()


@dataclass(frozen=True)
class Policies:
    """Every policy of a federation."""

    policies: Sequence[Policy] = ()

    @cached_property
    def _by_kind(self) -> dict[str, list[Policy]]:
        kinds: dict[str, list[Policy]] = {}
        for policy in self.policies:
            for kind in {target.kind for target in policy.targets}:
                kinds.setdefault(kind, []).append(policy)
        return kinds

    @cached_property
    def any_dependencies_follow(self) -> bool:
        """Whether any policy has what workloads name follow them."""
        return any(policy.dependencies_follow for policy in self.policies)

    def of(self, obj: Obj) -> Matched:
        """Find the policy that counts for an object."""
        candidates = {id(each): each for kind in (obj.get("kind", ""), "*") for each in self._by_kind.get(kind, ())}
        found = [(policy.precision(obj), policy) for policy in candidates.values()]
        ordered = sorted(
            ((precision, policy) for precision, policy in found if precision),
            key=lambda pair: (not pair[1].namespace, -pair[1].priority, -pair[0], pair[1].name),
        )
        if not ordered:
            return Matched()
        return Matched(ordered[0][1], tuple(policy for _, policy in ordered[1:]))


def read_policies(objects: Iterable[Obj]) -> Policies:
    """Read PlacementPolicy and ClusterPlacementPolicy objects."""
    return Policies(tuple(read_policy(obj) for obj in objects))


def read_policy(obj: Obj) -> Policy:
    """Read one policy; what is wrong is told in its `problem`, and the objects that it selects keep what they have."""
    found = obj.get("spec")
    spec: Obj = found if isinstance(found, dict) else {}
    head = (str(obj.get("kind") or "PlacementPolicy"), namespace_of(obj), name_of(obj), _targets(spec))
    priority = dig(spec, "priority", default=0)
    try:
        return Policy(
            *head,
            placement=placement_of(spec),
            priority=priority if isinstance(priority, int) else 0,
            respect_capacity=dig(spec, "respectCapacity", default=False) is True,
            overrides=overrides_of(spec),
            dependencies_follow=dig(spec, "dependencies") == "Follow",
        )
    except PolicyError as error:
        return Policy(*head, priority=priority if isinstance(priority, int) else 0, problem=str(error))


def _targets(spec: Any) -> tuple[Target, ...]:
    entries = dig(spec, "selects", default=[])
    found = []
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
            continue
        try:
            labels = selector_of(entry.get("labelSelector"), "labelSelector")
        except PolicyError:
            # What cannot be read selects nothing, rather than everything.
            continue
        selector = LabelSelector(labels.requirements) if labels.requirements else None
        found.append(Target(entry["kind"], str(entry.get("apiVersion") or ""), str(entry.get("name") or ""), selector))
    return tuple(found)
