"""JSON merge patch (RFC 7386): what `kubectl patch --type=merge` sends.

Results share what did not change with their inputs; nothing given is ever written to.
"""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Obj


def apply_merge_patch(obj: Any, patch: Any) -> Any:
    """Return the object with the patch applied; null removes a key, lists are replaced whole."""
    if not isinstance(patch, dict):
        return _without_nulls(patch)
    if not patch and isinstance(obj, dict):
        return obj
    result = dict(obj) if isinstance(obj, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = apply_merge_patch(result.get(key), value)
        else:
            result[key] = _without_nulls(value)
    return result


def _without_nulls(value: Any) -> Any:
    """Drop null fields of objects inside a list, which the API server does where the RFC would keep them."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value


def merge_patch_between(old: Obj, new: Obj) -> Obj:
    """Return the smallest merge patch that turns the old object into the new one.

    A merge patch cannot set a null, so a null in the new object counts as absent.
    """
    patch: Obj = {}
    for key, value in new.items():
        before = old.get(key)
        if value is None or same(before, value):
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            inner = merge_patch_between(before, value)
            if inner:
                patch[key] = inner
        elif isinstance(value, dict):
            patch[key] = merge_patch_between({}, value)
        else:
            patch[key] = value
    for key, before in old.items():
        if before is not None and new.get(key) is None:
            patch[key] = None
    return patch


def same(left: Any, right: Any) -> bool:
    """Compare as JSON does: true is not 1, and the check goes all the way down."""
    if left is right:
        return True
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(same(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(same(a, b) for a, b in zip(left, right, strict=True))
        )
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)
