"""Finds where two normalised answers differ, as paths that people can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_ABSENT = object()
# By one of these the elements of a list are told apart, so that one that is missing does not shift all others.
_KEYS = ("name", "metadata", "resource", "subresource", "groupVersion", "version", "field")


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the answers differ."""

    path: str
    real: str
    embedded: str


def differences(real: Any, embedded: Any, path: str = "$") -> Iterator[Difference]:
    """Yield every place where two values differ, each as deep as it can be told."""
    if isinstance(real, dict) and isinstance(embedded, dict) and real.get("kind") == embedded.get("kind"):
        for key in sorted(real.keys() | embedded.keys()):
            yield from differences(real.get(key, _ABSENT), embedded.get(key, _ABSENT), f"{path}.{key}")
    elif isinstance(real, list) and isinstance(embedded, list):
        yield from _lists(real, embedded, path)
    elif real is _ABSENT or embedded is _ABSENT or type(real) is not type(embedded) or real != embedded:
        # Objects of different kinds, a refusal and an object for one, have nothing to be compared in.
        yield Difference(path, _shown(real), _shown(embedded))


def _lists(real: list[Any], embedded: list[Any], path: str) -> Iterator[Difference]:
    key = next((key for key in _KEYS if _tells_apart(real, key) and _tells_apart(embedded, key)), "")
    if not key:
        for place in range(max(len(real), len(embedded))):
            ours = embedded[place] if place < len(embedded) else _ABSENT
            theirs = real[place] if place < len(real) else _ABSENT
            yield from differences(theirs, ours, f"{path}[{place}]")
        return
    theirs_by, ours_by = ({_named(one, key): one for one in values} for values in (real, embedded))
    for name in sorted(theirs_by.keys() | ours_by.keys(), key=str):
        yield from differences(theirs_by.get(name, _ABSENT), ours_by.get(name, _ABSENT), f"{path}[{name}]")
    shared = [name for name in theirs_by if name in ours_by]
    if shared != [name for name in ours_by if name in theirs_by]:
        yield Difference(f"{path}:order", _shown(list(theirs_by)), _shown(list(ours_by)))


def _tells_apart(values: list[Any], key: str) -> bool:
    names = [_named(one, key) for one in values]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _named(value: Any, key: str) -> Any:
    found = value.get(key) if isinstance(value, dict) else None
    return found.get("name") if isinstance(found, dict) else found


def _shown(value: Any) -> str:
    return "absent" if value is _ABSENT else repr(value)
