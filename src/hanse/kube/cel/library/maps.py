"""Maps that comprehensions build: what transformMap and transformMapEntry add entries with.

The engine declares these functions under another name and does not have them.
"""

from __future__ import annotations

from typing import Any

from hanse.kube.cel.library.function import Function

DECLARED, OURS = "@mapInsert", "@mapExtend"


def _put(entries: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if key in entries:
        raise ValueError(f"insert failed: key {key} already exists")
    return {**entries, key: value}


def _put_all(entries: dict[Any, Any], more: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in more.items():
        entries = _put(entries, key, value)
    return entries


FUNCTIONS = (
    Function(f"cel.{OURS}", ("map", "dyn", "dyn"), "map", _put, member=False, overload=f"{OURS}_map_key_value"),
    Function(f"cel.{OURS}", ("map", "map"), "map", _put_all, member=False, overload=f"{OURS}_map_map"),
)
