"""Terms by which pods choose nodes and each other: node selector terms, pod affinity terms, spread constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hanse.kube.manifest import Obj
from hanse.kube.selectors import LabelSelector, Requirement

NODE_NAME = "metadata.name"
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}

# The labels of namespaces by name.
Namespaces = Mapping[str, Mapping[str, str]]


class PodView(Protocol):
    """What a pod term looks at."""

    @property
    def namespace(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One node selector term: conditions on labels and on the node's name, all of which must hold."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]
    weight: int = 0

    @classmethod
    def of(cls, term: Obj, weight: int = 0) -> NodeTerm:
        """Read a node selector term."""
        return cls(_requirements(term.get("matchExpressions")), _requirements(term.get("matchFields")), weight)

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Tell whether a node is meant; a term without conditions means none."""
        if not self.labels and not self.fields:
            return False
        named = {NODE_NAME: name}
        return all(part.matches(labels) for part in self.labels) and all(part.matches(named) for part in self.fields)

    def names(self) -> frozenset[str] | None:
        """Return the nodes that the term names; None where it names none."""
        sets = [frozenset(part.values) for part in self.fields if (part.key, part.operator) == (NODE_NAME, "in")]
        return frozenset.intersection(*sets) if sets else None


@dataclass(frozen=True, slots=True)
class PodTerm:
    """One pod affinity or anti-affinity term; the weight of a preferred one is negative for anti-affinity."""

    topology_key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    namespace_selector: LabelSelector | None = None
    weight: int = 0

    @classmethod
    def of(cls, term: Obj, pod: PodView, weight: int = 0) -> PodTerm:
        """Read a term of a pod; without namespaces it means the pod's own."""
        chosen = term.get("namespaceSelector")
        named = frozenset(term.get("namespaces") or (() if chosen is not None else (pod.namespace,)))
        by_label = LabelSelector.from_object(chosen) if chosen is not None else None
        selector = _narrowed(term, pod.labels)
        return cls(str(term.get("topologyKey") or ""), selector, named, by_label, weight)

    def selects(self, pod: PodView, namespaces: Namespaces) -> bool:
        """Tell whether a pod is one of those that the term is about."""
        if pod.namespace not in self.namespaces:
            chosen = self.namespace_selector
            if chosen is None or not chosen.matches(namespaces.get(pod.namespace, {})):
                return False
        return self.selector.matches(pod.labels)


@dataclass(frozen=True, slots=True)
class Spread:
    """One topology spread constraint."""

    topology_key: str
    max_skew: int
    selector: LabelSelector
    hard: bool
    min_domains: int
    honors_affinity: bool
    honors_taints: bool

    @classmethod
    def of(cls, constraint: Obj, labels: Mapping[str, str]) -> Spread:
        """Read a constraint of a pod with these labels."""
        return cls(
            topology_key=constraint["topologyKey"],
            max_skew=int(constraint["maxSkew"]),
            selector=_narrowed(constraint, labels),
            hard=constraint.get("whenUnsatisfiable") == "DoNotSchedule",
            min_domains=int(constraint.get("minDomains") or 1),
            honors_affinity=constraint.get("nodeAffinityPolicy", "Honor") == "Honor",
            honors_taints=constraint.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )


def _narrowed(term: Obj, labels: Mapping[str, str]) -> LabelSelector:
    """Read a label selector, narrowed to what the pod itself carries under matchLabelKeys."""
    selector = LabelSelector.from_object(term.get("labelSelector"))
    more = [Requirement(key, "in", (labels[key],)) for key in term.get("matchLabelKeys") or () if key in labels]
    more += [Requirement(key, "notin", (labels[key],)) for key in term.get("mismatchLabelKeys") or () if key in labels]
    return LabelSelector((*selector.requirements, *more), selector.nothing) if more else selector


def _requirements(expressions: Sequence[Obj] | None) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(part["key"], _OPERATORS[part["operator"]], tuple(part.get("values") or ()))
        for part in expressions or ()
    )
