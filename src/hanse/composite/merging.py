"""Apply without a schema: what a hook asked for last, what it asks for now, and what is there, made into one.

Lists are merged by the fields by which Kubernetes' own lists are told apart, since a hook's kinds may be anybody's.
What was asked for before just so is taken to be fulfilled where the server keeps it in another form: it leaves out
empty values, completes the elements of lists, and writes amounts in its own way. Without that, such a child would be
written at every sync, or made again for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.patches.merge_patch import same
from hanse.kube.quantities import parse_quantity

_MERGE_KEYS = ("containerPort", "port", "mountPath", "name", "uid", "ip", "path")
_AMOUNTS = frozenset({"limits", "requests", "capacity", "hard", "overhead"})
# What servers fill in where it is left blank, and typed hooks leave blank where they mean nothing by it.
_FILLED_IN = frozenset({"clusterIP", "nodePort", "healthCheckNodePort", "targetPort", "nodeName", "volumeName"})
_ABSENT = object()


class MergeProblem(Exception):
    """A hook returned a value of another sort than the object has there; the text names the field."""


def merged(observed: Obj, last_applied: Obj, desired: Obj) -> Obj:
    """Return the observed object as it shall be; nothing given is written to, and what did not change is shared.

    What was applied last and is no longer desired goes, what is desired is set, what others added stays.
    Raises MergeProblem.
    """
    return _merged_object(observed, last_applied, desired, "")


def _merged(observed: Any, last: Any, desired: Any, path: str) -> Any:
    if desired is None and last is None:
        # A null clears a field once; what the server or others put there afterwards was not refused by it.
        return observed
    if isinstance(observed, dict):
        return _merged_object(observed, _as(dict, last), _checked(dict, desired, path), path)
    if isinstance(observed, list):
        return _merged_list(observed, _as(list, last), _checked(list, desired, path), path)
    if observed is _ABSENT and (desired is None or (_is_blank(desired) and same(last, desired))):
        return _ABSENT
    return desired


def _as(sort: type, value: Any) -> Any:
    # A field may have been of another sort when it was applied last; then nothing of it is known.
    return value if isinstance(value, sort) else sort()


def _checked(sort: type, desired: Any, path: str) -> Any:
    if desired is None:
        return sort()
    if not isinstance(desired, sort):
        have = "an object" if sort is dict else "a list"
        found = _sort_of(desired)
        raise MergeProblem(f"{path} is {have} in the cluster and {found} in the hook's answer: return {have} there")
    return desired


def _sort_of(value: Any) -> str:
    sorts = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return sorts.get(type(value), "a number")


def _is_blank(value: Any) -> bool:
    """Tell whether servers leave a value out: null, zero, or nothing but such."""
    if isinstance(value, dict):
        return all(_is_blank(inner) for inner in value.values())
    return not value


def _merged_object(observed: Obj, last: Obj, desired: Obj, path: str) -> Obj:
    result = {name: value for name, value in observed.items() if name not in last or name in desired}
    amounts = path.rpartition(".")[2] in _AMOUNTS
    for name, value in desired.items():
        before = observed.get(name, _ABSENT)
        if (amounts or name == "sizeLimit") and _is_same_amount(before, value):
            continue
        if name in _FILLED_IN and _is_blank(value) and same(last.get(name, _ABSENT), value):
            continue
        after = _merged(before, last.get(name, _ABSENT), value, f"{path}.{name}" if path else name)
        if after is not _ABSENT:
            result[name] = after
    return result


def _is_same_amount(observed: Any, desired: Any) -> bool:
    if not isinstance(observed, str) or isinstance(desired, dict | list | bool | None):
        return False
    try:
        return parse_quantity(observed) == parse_quantity(desired)
    except ValueError:
        return False


def _merged_list(observed: list[Any], last: list[Any], desired: list[Any], path: str) -> list[Any]:
    key = _merge_key(observed, last, desired)
    if key is not None:
        return _merged_by_key(observed, last, desired, key, path)
    if desired and same(last, desired) and _holds(observed, desired):
        return observed
    return desired


def _merge_key(*lists: list[Any]) -> str | None:
    """Return the field by which the elements of all the lists can be told apart."""
    items = [item for each in lists for item in each]
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    return next((key for key in _MERGE_KEYS if all(_is_key_of(key, each) for each in lists)), None)


def _is_key_of(key: str, items: list[Obj]) -> bool:
    # A Service has port 53 once for UDP and once for TCP: merged by that field, one of them would be lost.
    values = {str(item[key]) for item in items if item.get(key) is not None}
    return len(values) == len(items)


def _merged_by_key(observed: list[Obj], last: list[Obj], desired: list[Obj], key: str, path: str) -> list[Obj]:
    asked, before = _by_key(desired, key), _by_key(last, key)
    result = []
    for value, item in _by_key(observed, key).items():
        if value in asked:
            place = f"{path}[{key}={value}]"
            result.append(_merged_object(item, before.get(value, {}), asked.pop(value), place))
        elif value not in before:
            result.append(item)
    return [*result, *asked.values()]


def _by_key(items: Iterable[Obj], key: str) -> dict[str, Obj]:
    return {str(item[key]): item for item in items}


def _holds(observed: list[Any], desired: list[Any]) -> bool:
    """Tell whether every desired element is there, in order, if perhaps completed and among others.

    Only of objects: a word more or less in a list of words, an argument say, is another list.
    """
    if not all(isinstance(item, dict) for item in (*observed, *desired)):
        return False
    remaining = iter(observed)
    return all(any(_is_within(want, have) for have in remaining) for want in desired)


def _is_within(desired: Obj, observed: Obj) -> bool:
    try:
        return same(_merged_object(observed, desired, desired, ""), observed)
    except MergeProblem:
        return False
