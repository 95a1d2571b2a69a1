"""What a plain object asks of placement: its annotations, then the policy that speaks for it, then the default.

An annotation replaces that part of the policy it speaks of: the cluster selector its clusters and groups, the
preferences its division. Everything else of the policy stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hanse.api.names import CLUSTER_SELECTOR_ANNOTATION, SINGLETON_ANNOTATION
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
from hanse.propagation.intent import Problem

# Each replica has a name and a volume of its own; two of the same name would both write for it.
_AT_MOST_ONCE = frozenset({"StatefulSet"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for an object, and by whom."""

    placement: Placement
    overrides: tuple[Override, ...] = ()
    sources: tuple[str, ...] = ()


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
    return Asked(placement, policy.overrides if policy is not None else (), (*sources, *_told(matched)))


def _looks_at_room(division: Division) -> bool:
    return isinstance(division, ByCapacity | ByFreeCapacity | Aggregated)


def _told(matched: Matched) -> list[str]:
    if matched.policy is None:
        return []
    others = ", ".join(str(policy) for policy in matched.others)
    return [f"{matched.policy} selects it" + (f" and counts before {others}" if others else "")]
