"""Which other objects a parent's hook wants to see: the rules of a customize hook, and what matches them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hanse.composite.spec import EVERYTHING, KindRef, Version
from hanse.kube.manifest import Obj, labels_of, name_of, namespace_of
from hanse.kube.selectors import LabelSelector


@dataclass(frozen=True, slots=True)
class RelatedRule:
    """Objects of one kind; every part that is given must hold.

    `namespace` is "" for any, `namespaces` asks for labels of the namespace, `names` is empty for any.
    """

    kind: KindRef
    labels: LabelSelector = EVERYTHING
    namespace: str = ""
    namespaces: LabelSelector | None = None
    names: frozenset[str] = frozenset()


def read_rules(
    answer: Sequence[Obj], parent_namespace: str, version: Version, namespaced: Callable[[KindRef], bool]
) -> tuple[RelatedRule, ...] | str:
    """Return what the rules of a customize hook mean for a parent, or the sentence that says what is wrong.

    `answer` is what `bodies.read_customize` gave; `namespaced` says of a kind whether it is in namespaces.
    """
    # Under v1 a parent in a namespace sees no other one.
    bound_to = parent_namespace if version is Version.V1 else ""
    rules = []
    for index, raw in enumerate(answer):
        kind = KindRef(raw["apiVersion"], raw["resource"])
        within = namespaced(kind)
        where = f"relatedResources[{index}]"
        problem = _problem(raw, bound_to, namespaced=within)
        if problem:
            return f"{where}: {problem}"
        # A kind without namespaces is not limited to one, whatever the rule says.
        namespace = (raw.get("namespace") or bound_to) if within else ""
        try:
            rules.append(_rule(raw, kind, namespace))
        except ValueError as error:
            return f"{where}: {error}"
    return tuple(rules)


def matches(rule: RelatedRule, obj: Obj, namespace_labels: Mapping[str, str] | None) -> bool:
    """Tell whether a rule asks for an object of its kind.

    `namespace_labels` are those of the object's namespace, None where it is in none or that is not known.
    """
    if rule.namespace and namespace_of(obj) != rule.namespace:
        return False
    if rule.names and name_of(obj) not in rule.names:
        return False
    if rule.namespaces is not None and (namespace_labels is None or not rule.namespaces.matches(namespace_labels)):
        return False
    return rule.labels.matches(labels_of(obj))


def _problem(raw: Obj, bound_to: str, *, namespaced: bool) -> str:
    """Say which parts of a rule exclude each other; a parent that is `bound_to` a namespace sees no other."""
    by_labels, by_namespaces = raw.get("labelSelector") is not None, raw.get("namespaceSelector") is not None
    if raw.get("names") and (by_labels or by_namespaces):
        return "give either names or selectors, and not both"
    if raw.get("namespace") and by_namespaces:
        return "give either namespace or namespaceSelector, and not both"
    if by_namespaces and not namespaced:
        return "namespaceSelector is only for kinds that are in namespaces; leave it out"
    if by_namespaces and bound_to:
        return "namespaceSelector is not for parents in a namespace under v1; use version: v2 for the hook"
    if raw.get("namespace") and bound_to and raw["namespace"] != bound_to:
        return (
            f"namespace {raw['namespace']} is not the parent's, which is {bound_to}; use version: v2 for the hook, "
            "under which parents see every namespace"
        )
    return ""


def _rule(raw: Obj, kind: KindRef, namespace: str) -> RelatedRule:
    labels, namespaces = (
        None if raw.get(field) is None else LabelSelector.from_object(raw[field])
        for field in ("labelSelector", "namespaceSelector")
    )
    return RelatedRule(
        kind=kind,
        labels=labels or EVERYTHING,
        namespace=namespace,
        namespaces=namespaces,
        names=frozenset(raw.get("names") or ()),
    )
