"""Node selectors and node affinity over virtual nodes, as demands and likings of placement.

A virtual node's labels are those of its cluster as placement knows it. Its name, which is its hostname as well, is no
label there: what asks for it is turned into the names of targets here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hanse.api.admiralty.names import target_named
from hanse.kube.manifest import Obj
from hanse.kube.selectors import Requirement, label_value_problems, qualified_name_problems
from hanse.placement.ask import ClusterTerm, Demand, Liking
from hanse.placement.cluster_selector import ClusterSelector
from hanse.pods.wishes.constraints import Constraints, WishError, entries, known_fields, mapping, number

HOSTNAME = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}
_NAME = "metadata.name"


def node_demands(constraints: Constraints, targets: Sequence[str]) -> tuple[Demand, ...]:
    """Return what a pod's node selector and required node affinity demand of its target; raises WishError."""
    found = []
    if constraints.node_selector:
        path = constraints.path("nodeSelector")
        needed = [_selected(key, value, path) for key, value in sorted(constraints.node_selector.items())]
        found.append(Demand(path, (_term(needed, (), targets),)))
    required, path = _affinity(constraints, _REQUIRED)
    if required is not None:
        if not isinstance(required, dict):
            raise WishError(f"{path} must be a mapping")
        known_fields(required, path, "nodeSelectorTerms")
        terms = list(entries(required, "nodeSelectorTerms", f"{path}."))
        if not terms:
            raise WishError(f"{path}.nodeSelectorTerms must have at least one entry")
        found.append(Demand(path, tuple(filter(None, (_node_term(term, at, targets) for at, term in terms)))))
    return tuple(found)


def node_likings(constraints: Constraints, targets: Sequence[str]) -> tuple[Liking, ...]:
    """Return which targets a pod's preferred node affinity likes, and by how much; raises WishError."""
    preferred, path = _affinity(constraints, _PREFERRED)
    if preferred is None:
        return ()
    found = []
    for at, entry in entries({_PREFERRED: preferred}, _PREFERRED, path.removesuffix(_PREFERRED)):
        known_fields(entry, at, "weight", "preference")
        weight = number(entry, "weight", at, default=0, least=1, most=100)
        if not weight:
            raise WishError(f"{at}.weight must be a whole number from 1 to 100")
        preference = mapping(entry, "preference", f"{at}.")
        known_fields(preference, f"{at}.preference", "matchExpressions", "matchFields")
        # Unlike a demand without any, a liking without requirements likes every node.
        found.append(Liking(_node_term(preference, f"{at}.preference", targets) or ClusterTerm(), weight))
    return tuple(found)


def node_name(target: str) -> str:
    """Return the virtual node that stands for a target."""
    return target_named(target).node


def _affinity(constraints: Constraints, name: str) -> tuple[Any, str]:
    where = constraints.path("affinity.")
    known_fields(constraints.affinity, where.removesuffix("."), "nodeAffinity", "podAffinity", "podAntiAffinity")
    affinity = mapping(constraints.affinity, "nodeAffinity", where)
    known_fields(affinity, f"{where}nodeAffinity", _REQUIRED, _PREFERRED)
    return affinity.get(name), f"{where}nodeAffinity.{name}"


def _node_term(term: Obj, path: str, targets: Sequence[str]) -> ClusterTerm | None:
    """Read one term; None for an empty one, which no node fulfils."""
    known_fields(term, path, "matchExpressions", "matchFields")
    labels = [_expression(entry, at) for at, entry in entries(term, "matchExpressions", f"{path}.")]
    fields = [_field(entry, at) for at, entry in entries(term, "matchFields", f"{path}.")]
    return _term(labels, fields, targets) if labels or fields else None


def _term(labels: Sequence[Requirement], fields: Sequence[Requirement], targets: Sequence[str]) -> ClusterTerm:
    """Put requirements together: those on labels stay, those on the node's name become the names of targets."""
    by_name = [*fields, *(needed for needed in labels if needed.key == HOSTNAME)]
    others = tuple(needed for needed in labels if needed.key != HOSTNAME)
    if not by_name:
        return ClusterTerm(ClusterSelector(others))
    names = tuple(each for each in targets if all(_names(needed, node_name(each)) for needed in by_name))
    return ClusterTerm(ClusterSelector(others), names)


def _names(needed: Requirement, node: str) -> bool:
    return needed.matches({needed.key: node})


def _selected(key: Any, value: Any, path: str) -> Requirement:
    if not isinstance(key, str) or not isinstance(value, str):
        raise WishError(f"{path} must have texts as keys and values")
    _check_key(key, path)
    _check_value(value, f"{path}[{key}]")
    return Requirement(key, "=", (value,))


def _expression(entry: Obj, path: str) -> Requirement:
    known_fields(entry, path, "key", "operator", "values")
    key, spelt = entry.get("key"), entry.get("operator")
    if not isinstance(key, str):
        raise WishError(f"{path}.key must be the key of a label")
    _check_key(key, f"{path}.key")
    operator = _OPERATORS.get(spelt) if isinstance(spelt, str) else None
    if operator is None:
        raise WishError(f"{path}.operator must be one of {', '.join(_OPERATORS)}, not {spelt!r}")
    values = _values(entry, path)
    _CHECKS[operator](values, f"{path}.values")
    return Requirement(key, operator, values)


def _field(entry: Obj, path: str) -> Requirement:
    known_fields(entry, path, "key", "operator", "values")
    if entry.get("key") != _NAME:
        raise WishError(f"{path}.key must be {_NAME}, the only field by which nodes are chosen")
    operator, values = entry.get("operator"), _values(entry, path)
    if operator not in ("In", "NotIn") or len(values) != 1:
        raise WishError(f"{path} must have operator In or NotIn and exactly one value")
    return Requirement(_NAME, _OPERATORS[operator], values)


def _values(entry: Obj, path: str) -> tuple[str, ...]:
    values = entry.get("values")
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise WishError(f"{path}.values must be a list of texts")
    return tuple(values)


def _check_key(key: str, path: str) -> None:
    if problems := qualified_name_problems(key):
        raise WishError(f"{path}: {key!r} is no label key: {problems[0]}")


def _check_value(value: str, path: str) -> None:
    if problems := label_value_problems(value):
        raise WishError(f"{path}: {value!r} is no label value: {problems[0]}")


def _some(values: tuple[str, ...], path: str) -> None:
    if not values:
        raise WishError(f"{path} must have at least one entry")
    for value in values:
        _check_value(value, path)


def _none(values: tuple[str, ...], path: str) -> None:
    if values:
        raise WishError(f"{path} must be empty where only the key is looked at")


def _one_number(values: tuple[str, ...], path: str) -> None:
    if len(values) != 1 or not values[0].lstrip("+-").isdecimal():
        raise WishError(f"{path} must be exactly one whole number")


_CHECKS: dict[str, Callable[[tuple[str, ...], str], None]] = {
    "in": _some,
    "notin": _some,
    "exists": _none,
    "!": _none,
    "gt": _one_number,
    "lt": _one_number,
}
