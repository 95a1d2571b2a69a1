"""What a plain object asks of placement: its annotations, then the policy that speaks for it, then the default.

An annotation replaces that part of the policy it speaks of: the cluster selector its clusters and groups, the
preferences its division. Everything else of the policy stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hanse.api.names import CLUSTER_SELECTOR_ANNOTATION, DEPENDENCIES_ANNOTATION, SINGLETON_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.native.preferences import parse_preferences, parse_selector
from hanse.placement.amounts import requests_of
from hanse.placement.ask import (
    Aggregated,
    ByCapacity,
    ByFreeCapacity,
    ClusterTerm,
    Division,
    Override,
    Placement,
)
from hanse.placement.candidate import Toleration
from hanse.placement.cluster_selector import SelectorError
from hanse.placement.policy import Matched, Policies
from hanse.propagation.intent import Follows, Problem

# Each replica has a name and a volume of its own; two of the same name would both write for it.
_AT_MOST_ONCE = frozenset({"StatefulSet"})
_FOLLOW, _STAY = "follow", "stay"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for an object, and by whom."""

    placement: Placement
    overrides: tuple[Override, ...] = ()
    sources: tuple[str, ...] = ()
    follows: Follows = Follows.ASKED


def asked_for(source: Obj, policies: Policies, *, preferences: str = "", runs: bool = False) -> Asked | Problem:
    """Put together what an object's annotations and its policy ask.

    `preferences` is the annotation that divides replicas of this kind, "" for kinds without. What `runs` nothing
    tolerates every taint: a ConfigMap has to be where a Deployment that tolerates the taint needs it.
    """
    annotations = annotations_of(source)
    matched = policies.of(source)
    policy = matched.policy
    if policy is not None and policy.problem:
        return Problem("InvalidPolicy", f"{policy}: {policy.problem}")
    placement = policy.placement if policy is not None else Placement()
    sources = []
    text = annotations.get(CLUSTER_SELECTOR_ANNOTATION)
    if text is not None:
        try:
            placement = replace(placement, clusters=ClusterTerm(parse_selector(text)), groups=())
        except SelectorError as error:
            return Problem("InvalidClusterSelector", f"annotation {CLUSTER_SELECTOR_ANNOTATION}: {error}")
        sources.append(f"annotation {CLUSTER_SELECTOR_ANNOTATION} chooses the clusters")
    text = annotations.get(preferences) if preferences else None
    if text is not None:
        try:
            placement = replace(placement, division=parse_preferences(text) or placement.division)
        except ValueError as error:
            return Problem("InvalidPreferences", f"annotation {preferences}: {error}")
        sources.append(f"annotation {preferences} divides the replicas")
    if not preferences and not runs:
        placement = replace(placement, tolerations=(*placement.tolerations, Toleration(operator="Exists")))
    singleton = annotations.get(SINGLETON_ANNOTATION) == "true"
    if singleton:
        sources.append(f"annotation {SINGLETON_ANNOTATION} forbids a second copy while a lost cluster may run one")
    if (singleton or source.get("kind") in _AT_MOST_ONCE) and not placement.failover.always:
        placement = replace(placement, failover=replace(placement.failover, after_seconds=None), at_most_once=True)
    if _looks_at_room(placement.division) or (policy is not None and policy.respect_capacity):
        placement = replace(placement, requests=requests_of(dig(source, "spec", "template")))
    follows = _follows(annotations, matched)
    if isinstance(follows, Problem):
        return follows
    return Asked(placement, policy.overrides if policy is not None else (), (*sources, *_told(matched)), follows)


def brings_along(source: Obj, policies: Policies) -> bool:
    """Tell whether what an object's pods name follows it; an annotation counts before a policy."""
    text = annotations_of(source).get(DEPENDENCIES_ANNOTATION)
    if text is not None or not policies.any_dependencies_follow:
        return text == _FOLLOW
    policy = policies.of(source).policy
    return policy is not None and policy.dependencies_follow


def _follows(annotations: Mapping[str, str], matched: Matched) -> Follows | Problem:
    """Return whether an object goes where those are that name it: a placement of its own counts before that."""
    text = annotations.get(DEPENDENCIES_ANNOTATION)
    if text not in (None, _FOLLOW, _STAY):
        return Problem(
            "InvalidDependencies",
            f"annotation {DEPENDENCIES_ANNOTATION} must be {_FOLLOW} or {_STAY}, not {text}",
        )
    if text == _FOLLOW:
        return Follows.ALWAYS
    placed = matched.policy is not None and not matched.policy.dependencies_follow
    if text == _STAY or placed or CLUSTER_SELECTOR_ANNOTATION in annotations:
        return Follows.NEVER
    return Follows.ASKED


def _looks_at_room(division: Division) -> bool:
    return isinstance(division, ByCapacity | ByFreeCapacity | Aggregated)


def _told(matched: Matched) -> list[str]:
    if matched.policy is None:
        return []
    others = ", ".join(str(policy) for policy in matched.others)
    return [f"{matched.policy} selects it" + (f" and counts before {others}" if others else "")]
