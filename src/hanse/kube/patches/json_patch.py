"""JSON patch (RFC 6902): what `kubectl patch --type=json` sends.

Where the RFC and the API server part ways the server is followed: `replace` of an absent key sets it, `test` of
an absent key compares with null, negative indices count from the end. Refusals are the server's sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.patches.merge_patch import same

_MISSING = "missing value"
_BAD_INDEX = "invalid index referenced"
_FAILED = "test failed"

Edit = Callable[[Any, str], Any]


class JsonPatchError(ValueError):
    """A JSON patch that does not apply; the message is what the API server answers with 422."""


def apply_json_patch(obj: Any, ops: Sequence[Obj]) -> Any:
    """Return the object after all operations, leaving the given one untouched; raises JsonPatchError."""
    for op in ops:
        if not isinstance(op, dict):
            raise JsonPatchError("Unexpected kind: unknown")
        apply = _OPERATIONS.get(str(op.get("op")))
        if apply is None:
            raise JsonPatchError(f"Unexpected kind: {op.get('op', 'unknown')}")
        obj = apply(obj, op)
    return obj


def _add(doc: Any, op: Obj) -> Any:
    path = _pointer(op, "path", f"add operation failed to decode path: {_MISSING}")
    missing = f'add operation does not apply: doc is missing path: "{path}": {_MISSING}'
    return _edited(doc, path, _adding(op.get("value")), missing=missing, wrong=f"error in add for path: '{path}'")


def _remove(doc: Any, op: Obj) -> Any:
    path = _pointer(op, "path", f"remove operation failed to decode path: {_MISSING}")
    missing = f'remove operation does not apply: doc is missing path: "{path}": {_MISSING}'
    return _edited(doc, path, _removing, missing=missing, wrong=f"error in remove for path: '{path}'")


def _replace(doc: Any, op: Obj) -> Any:
    path = _pointer(op, "path", f"replace operation failed to decode path: operation missing path field: {_MISSING}")
    value = op.get("value")
    if path == "":
        if not isinstance(value, dict | list):
            raise JsonPatchError("replace operation value must be object or array: %!w(<nil>)")
        return value
    container, key = _find(doc, path, f"replace operation does not apply: doc is missing path: {path}: {_MISSING}")
    if isinstance(container, list):
        try:
            _get(container, key)
        except ValueError:
            message = f"replace operation does not apply: doc is missing key: {path}: {_MISSING}"
            raise JsonPatchError(message) from None
    return _edited(doc, path, _setting(value), missing="", wrong=f"error in remove for path: '{path}'")


def _move(doc: Any, op: Obj) -> Any:
    source = _pointer(op, "from", f"move operation failed to decode from: operation, missing from field: {_MISSING}")
    missing = f"move operation does not apply: doc is missing from path: {source}: {_MISSING}"
    container, key = _find(doc, source, missing)
    wrong = f"error in move for path: '{key}'"
    value = _wrapped(container, key, wrong)
    doc = _edited(doc, source, _removing, missing=missing, wrong=wrong)
    path = _pointer(op, "path", f"move operation failed to decode path: operation missing path field: {_MISSING}")
    missing = f"move operation does not apply: doc is missing destination path: {path}: {_MISSING}"
    return _edited(doc, path, _adding(value), missing=missing, wrong=f"error in move for path: '{path}'")


def _copy(doc: Any, op: Obj) -> Any:
    source = _pointer(op, "from", f"copy operation failed to decode from: operation, missing from field: {_MISSING}")
    container, key = _find(
        doc, source, f"copy operation does not apply: doc is missing from path: {source}: {_MISSING}"
    )
    value = _wrapped(container, key, f"error in copy for from: '{source}'")
    path = _pointer(op, "path", f"copy operation failed to decode path: {_MISSING}")
    missing = f"copy operation does not apply: doc is missing destination path: {path}: {_MISSING}"
    return _edited(doc, path, _adding(value), missing=missing, wrong="error while adding value during copy")


def _test(doc: Any, op: Obj) -> Any:
    path = _pointer(op, "path", f"test operation failed to decode path: operation missing path field: {_MISSING}")
    if path == "":
        found = doc
    else:
        container, key = _find(doc, path, f"test operation does not apply: is missing path: {path}: {_MISSING}")
        found = _wrapped(container, key, f"error in test for path: '{path}'")
    if not same(found, op.get("value")):
        raise JsonPatchError(f"testing value {path} failed: {_FAILED}")
    return doc


_OPERATIONS: dict[str, Callable[[Any, Obj], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _pointer(op: Obj, field: str, refusal: str) -> str:
    pointer = op.get(field)
    if not isinstance(pointer, str):
        raise JsonPatchError(refusal)
    return pointer


def _tokens(path: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _find(doc: Any, path: str, missing: str) -> tuple[Any, str]:
    """Return the container that holds the pointer's last step, and that step."""
    tokens = _tokens(path)
    if not tokens:
        raise JsonPatchError(missing)
    for token in tokens[:-1]:
        try:
            doc = _get(doc, token)
        except ValueError:
            raise JsonPatchError(missing) from None
        if not isinstance(doc, dict | list):
            raise JsonPatchError(missing)
    return doc, tokens[-1]


def _edited(doc: Any, path: str, edit: Edit, *, missing: str, wrong: str) -> Any:
    """Return the document with one container changed; containers on the way are copied, the rest is shared."""
    container, key = _find(doc, path, missing)
    try:
        changed = edit(container, key)
    except ValueError as error:
        raise JsonPatchError(f"{wrong}: {error}") from None
    return _grafted(doc, _tokens(path)[:-1], changed)


def _grafted(doc: Any, tokens: list[str], changed: Any) -> Any:
    if not tokens:
        return changed
    step = tokens[0]
    inner = _grafted(_get(doc, step), tokens[1:], changed)
    return _setting(inner)(doc, step)


def _wrapped(container: Any, key: str, wrong: str) -> Any:
    try:
        return _get(container, key)
    except ValueError as error:
        raise JsonPatchError(f"{wrong}: {error}") from None


def _get(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container))]


def _index(key: str, length: int) -> int:
    try:
        index = int(key)
    except ValueError:
        raise ValueError(f'strconv.Atoi: parsing "{key}": invalid syntax') from None
    if not -length <= index < length:
        raise ValueError(f"Unable to access invalid index: {index}: {_BAD_INDEX}")
    return index + length if index < 0 else index


def _adding(value: Any) -> Edit:
    def edit(container: Any, key: str) -> Any:
        if isinstance(container, dict):
            return {**container, key: value}
        if key == "-":
            return [*container, value]
        try:
            index = _index(key, len(container) + 1)
        except ValueError as error:
            if "Atoi" in str(error):
                raise ValueError(f"value was not a proper array index: '{key}': {error}") from None
            raise
        return [*container[:index], value, *container[index:]]

    return edit


def _setting(value: Any) -> Edit:
    def edit(container: Any, key: str) -> Any:
        if isinstance(container, dict):
            return {**container, key: value}
        index = _index(key, len(container))
        return [*container[:index], value, *container[index + 1 :]]

    return edit


def _removing(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        if key not in container:
            raise ValueError(f"Unable to remove nonexistent key: {key}: {_MISSING}")
        return {name: value for name, value in container.items() if name != key}
    index = _index(key, len(container))
    return [*container[:index], *container[index + 1 :]]


def json_patch_between(old: Any, new: Any) -> list[Obj]:
    """Return operations that turn the old value into the new one."""
    return list(_difference(old, new, ""))


def _difference(old: Any, new: Any, path: str) -> Iterator[Obj]:
    if old is new:
        # What a patch did not touch is the very same value.
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _object_difference(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_difference(old, new, path)
    elif not same(old, new):
        yield {"op": "replace", "path": path, "value": new}


def _object_difference(old: Obj, new: Obj, path: str) -> Iterator[Obj]:
    for key in old:
        if key not in new:
            yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    for key, value in new.items():
        inner = f"{path}/{_escaped(key)}"
        if key in old:
            yield from _difference(old[key], value, inner)
        else:
            yield {"op": "add", "path": inner, "value": value}


def _list_difference(old: list[Any], new: list[Any], path: str) -> Iterator[Obj]:
    """Keep equal ends, change what overlaps between them, then drop or insert the surplus."""
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and same(old[start], new[start]):
        start += 1
    end = 0
    while end < shorter - start and same(old[-1 - end], new[-1 - end]):
        end += 1
    overlap = shorter - end
    for index in range(start, overlap):
        yield from _difference(old[index], new[index], f"{path}/{index}")
    for index in reversed(range(overlap, len(old) - end)):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for index in range(overlap, len(new) - end):
        yield {"op": "add", "path": f"{path}/{index}", "value": new[index]}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
