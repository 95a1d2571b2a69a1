"""What differs between two manifests, field by field, for people and for decisions; and a fingerprint of one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from hanse.kube.manifest import Obj
from hanse.kube.patches.merge_patch import same
from hanse.kube.schemas import Schema


@dataclass(frozen=True, slots=True)
class Difference:
    """One field: its path as people write it, and its value before and after (None where absent)."""

    path: str
    old: Any
    new: Any


def differences(old: Any, new: Any, schema: Schema | None = None, path: str = "") -> Iterator[Difference]:
    """Yield what differs, parents before children, in order of field names.

    With a schema, elements of keyed lists are matched by their keys (`spec.containers[name=web].image`), so that an
    inserted element is one difference.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            child = schema.child(name) if schema is not None else None
            yield from differences(old.get(name), new.get(name), child, f"{path}.{name}" if path else name)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_differences(old, new, schema, path)
    elif not same(old, new):
        yield Difference(path, old, new)


def _list_differences(old: list[Any], new: list[Any], schema: Schema | None, path: str) -> Iterator[Difference]:
    items = schema.items if schema is not None else None
    keys = schema.list_map_keys if schema is not None and schema.list_type == "map" else ()
    if keys and all(isinstance(item, dict) for item in (*old, *new)):
        before = {_identity(item, keys): item for item in old}
        after = {_identity(item, keys): item for item in new}
        for identity in dict.fromkeys((*before, *after)):
            yield from differences(before.get(identity), after.get(identity), items, f"{path}[{identity}]")
        return
    for index in range(max(len(old), len(new))):
        have = old[index] if index < len(old) else None
        want = new[index] if index < len(new) else None
        yield from differences(have, want, items, f"{path}[{index}]")


def _identity(item: Obj, keys: tuple[str, ...]) -> str:
    return ",".join(f"{key}={item.get(key)}" for key in keys if item.get(key) is not None)


def digest(manifest: Obj) -> str:
    """Return a short fingerprint of a manifest that does not depend on the order of its fields."""
    return hashlib.blake2b(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()
