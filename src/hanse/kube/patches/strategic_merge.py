"""Strategic merge patch: what kubectl sends for apply, edit, label and `set image` on built-in kinds.

A schema says which lists are merged and by which key; directives inside the patch say what a plain merge cannot:

- `$patch: delete | replace` on a map or on an element of a keyed list,
- `$retainKeys: […]`: keys that survive in the live map,
- `$deleteFromPrimitiveList/<field>: […]`: elements to take out of a merged list of scalars,
- `$setElementOrder/<field>: […]`: the order of a merged list; elements that only the server has keep their place.

The result shares what did not change with the live object; neither argument is written to.
"""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.patches.merge_patch import same
from hanse.kube.schemas.schema import Schema

_PATCH = "$patch"
_RETAIN_KEYS = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER_OF = "$setElementOrder/"
_UNKNOWN = Schema()


class StrategicMergeError(ValueError):
    """A strategic merge patch that does not apply; the message is the API server's."""


def apply_strategic_merge(obj: Obj, patch: Obj, schema: Schema | None) -> Obj:
    """Return the object with the patch applied; without a schema lists are replaced and maps merged.

    Raises StrategicMergeError for a patch that misuses a directive or omits a merge key.
    """
    return _merge_maps(obj, patch, schema or _UNKNOWN)


def _merge_maps(live: Obj, patch: Obj, schema: Schema) -> Obj:
    if _PATCH in patch:
        return _directed(patch)
    result = dict(live)
    if _RETAIN_KEYS in patch:
        _retain_keys(result, patch)
    done = {_RETAIN_KEYS}
    for key, order in patch.items():
        if key.startswith(_ORDER_OF):
            field = key.removeprefix(_ORDER_OF)
            done |= {key, field}
            _merge_ordered(result, patch, field, order, schema.child(field) or _UNKNOWN)
    for key, value in patch.items():
        if key in done:
            continue
        if key.startswith(_DELETE_FROM):
            _delete_from(result, key.removeprefix(_DELETE_FROM), value)
        elif value is None:
            result.pop(key, None)
        else:
            _merge_field(result, key, value, schema.child(key) or _UNKNOWN)
    return result


def _directed(patch: Obj) -> Obj:
    match patch[_PATCH]:
        case "replace":
            return {key: value for key, value in patch.items() if key != _PATCH}
        case "delete":
            return {}
        case unknown:
            raise StrategicMergeError(f"unknown patch type: {unknown} in map: {_written(patch)}")


def _retain_keys(result: Obj, patch: Obj) -> None:
    kept = patch[_RETAIN_KEYS]
    if not isinstance(kept, list):
        raise StrategicMergeError("invalid patch format of retainKeys")
    for key, value in patch.items():
        directive = key == _RETAIN_KEYS or key.startswith((_DELETE_FROM, _ORDER_OF))
        if value is not None and not directive and key not in kept:
            raise StrategicMergeError("invalid patch format of retainKeys")
    for key in [key for key in result if key not in kept]:
        del result[key]


def _merge_field(result: Obj, key: str, value: Any, schema: Schema) -> None:
    live = result.get(key)
    strategies = schema.patch_strategy.split(",")
    if isinstance(live, dict) and isinstance(value, dict):
        result[key] = value if "replace" in strategies else _merge_maps(live, value, schema)
    elif isinstance(live, list) and isinstance(value, list):
        result[key] = _merge_lists(live, value, schema) if "merge" in strategies else value
    else:
        _set(result, key, value)


def _set(result: Obj, key: str, value: Any) -> None:
    """Put a value where none of its form was: nulls and directives in it have nothing to act on."""
    if isinstance(value, dict) and _PATCH in value:
        result.pop(key, None)
    else:
        result[key] = _undirected(value)


def _undirected(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _undirected(inner)
            for key, inner in value.items()
            if inner is not None and not key.startswith("$") and not (isinstance(inner, dict) and _PATCH in inner)
        }
    if isinstance(value, list):
        return [_undirected(inner) for inner in value if not (isinstance(inner, dict) and _PATCH in inner)]
    return value


def _delete_from(result: Obj, field: str, values: Any) -> None:
    live = result.get(field)
    if isinstance(live, list) and isinstance(values, list):
        result[field] = [element for element in live if not _contains(values, element)]


def _merge_lists(live: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    if not live and not patch:
        return live
    key = schema.patch_merge_key
    if not _holds_maps(live, patch):
        merged = _distinct([*live, *patch])
        return _ordered(merged, patch, live, "")
    if not key:
        raise StrategicMergeError(f"cannot merge lists without merge key for {schema.type or 'struct'}")
    live, patch = _directed_elements(live, patch, key)
    merged = _merge_elements(live, patch, key, schema.items or _UNKNOWN)
    return _ordered(merged, patch, live, key)


def _holds_maps(*lists: list[Any]) -> bool:
    elements = [element for each in lists for element in each]
    if any(isinstance(element, list) for element in elements):
        raise StrategicMergeError("lists of lists are not supported")
    maps = [isinstance(element, dict) for element in elements]
    if any(maps) and not all(maps):
        raise StrategicMergeError(f"list element types are not identical: {_written(list(lists))}")
    return any(maps)


def _directed_elements(live: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carry out the elements that are directives; return what is left of the live list and of the patch."""
    plain = [element for element in patch if _PATCH not in element]
    replaced = False
    for element in patch:
        match element.get(_PATCH):
            case None:
                continue
            case "delete":
                doomed = _key_of(element, key)
                live = [kept for kept in live if not same(_key_of(kept, key), doomed)]
            case "replace":
                replaced = True
            case "merge":
                raise StrategicMergeError("merging lists cannot yet be specified in the patch")
            case unknown:
                raise StrategicMergeError(f"unknown patch type: {unknown} in map: {_written(element)}")
    return (plain, []) if replaced else (live, plain)


def _merge_elements(live: list[Any], patch: list[Any], key: str, schema: Schema) -> list[Any]:
    merged = list(live)
    for element in patch:
        wanted = _key_of(element, key)
        at = next((index for index, each in enumerate(merged) if same(_key_of(each, key), wanted)), -1)
        if at < 0:
            merged.append(_undirected(element))
        else:
            merged[at] = _merge_maps(merged[at], element, schema)
    return merged


def _merge_ordered(result: Obj, patch: Obj, field: str, order: Any, schema: Schema) -> None:
    """Merge one list and put it into the order that the patch dictates."""
    if not isinstance(order, list):
        raise StrategicMergeError("invalid patch format of setElementOrder list")
    live, change = result.get(field), patch.get(field)
    if field in patch and change is None:
        result.pop(field, None)
        return
    if live is None and change is None:
        return
    for each in (live, change):
        if each is not None and not isinstance(each, list):
            raise StrategicMergeError(f"expected a []interface {{}}, but received a {type(each).__name__}")
    key = schema.patch_merge_key
    _check_order(change or [], order, key)
    if live is None:
        merged = _undirected(change)
    elif change is None:
        merged = live
    elif "merge" in schema.patch_strategy.split(","):
        merged = _merge_lists(live, change, schema)
        live = _server_order(live, change, key)
    else:
        merged = change
    result[field] = _ordered(merged, order, live or [], key)


def _server_order(live: list[Any], change: list[Any], key: str) -> list[Any]:
    """Return the order against which a real server weaves: new elements move into the places that deletion freed."""
    if not key:
        return live
    doomed = [_key_of(element, key) for element in change if element.get(_PATCH) == "delete"]
    kept = [element for element in live if not _contains(doomed, _key_of(element, key))]
    known = [_key_of(element, key) for element in kept]
    new = [element for element in change if _PATCH not in element and not _contains(known, _key_of(element, key))]
    return [*kept, *new][: len(live)]


def _check_order(change: list[Any], order: list[Any], key: str) -> None:
    """Refuse a patch whose elements stand in another order than the one that it dictates."""
    if not order or not change:
        return
    remaining = iter(order)
    for element in change:
        if isinstance(element, dict) and _PATCH in element:
            continue
        wanted = _key_of(element, key)
        if not any(same(_key_of(candidate, key), wanted) for candidate in remaining):
            text = f"The order in patch list:\n{_written(change)}\n doesn't match $setElementOrder list:\n"
            raise StrategicMergeError(f"{text}{_written(order)}\n")


def _ordered(merged: list[Any], order: list[Any], live_order: list[Any], key: str) -> list[Any]:
    """Sort what the patch names as it says, the rest as the server has it, and weave the two."""
    ranks = [_key_of(element, key) for element in order]
    live_ranks = [_key_of(element, key) for element in live_order]
    named = [element for element in merged if _rank(ranks, element, key) >= 0]
    others = [element for element in merged if _rank(ranks, element, key) < 0]
    named.sort(key=lambda element: _rank(ranks, element, key))
    others.sort(key=lambda element: _rank(live_ranks, element, key))
    woven: list[Any] = []
    while others and named:
        left, right = _rank(live_ranks, others[0], key), _rank(live_ranks, named[0], key)
        woven.append(others.pop(0) if 0 <= left < right else named.pop(0))
    return [*woven, *others, *named]


def _rank(ranks: list[Any], element: Any, key: str) -> int:
    wanted = _key_of(element, key)
    return next((index for index, rank in enumerate(ranks) if same(rank, wanted)), -1)


def _key_of(element: Any, key: str) -> Any:
    if not key or not isinstance(element, dict):
        return element
    if key not in element:
        raise StrategicMergeError(f"map: {_written(element)} does not contain declared merge key: {key}")
    return element[key]


def _contains(values: list[Any], element: Any) -> bool:
    return any(same(value, element) for value in values)


def _distinct(values: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if not _contains(kept, value):
            kept.append(value)
    return kept


def _written(value: Any) -> str:
    """Write a value as Go's %v does, for the server's messages."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_written(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_written(inner) for inner in value) + "]"
    if value is None or isinstance(value, bool):
        return {None: "<nil>", True: "true", False: "false"}[value]
    return str(value)
