"""Three-way merge: what `kubectl apply` means without server-side apply.

Of what was applied last, what shall be applied now and what is there, the middle one wins, what it no longer has goes,
and what others added stays.
"""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.patches.merge_patch import apply_merge_patch, same


def three_way_patch(last: Obj, wanted: Obj, live: Obj) -> Obj:
    """Return the merge patch for the live object; empty where nothing is to do."""
    patch: Obj = {}
    for key, value in wanted.items():
        before = live.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            inner = three_way_patch(_mapping(last.get(key)), value, before)
            if inner:
                patch[key] = inner
        elif value is not None and not same(before, value):
            patch[key] = value
    for key in last:
        if wanted.get(key) is None and live.get(key) is not None:
            patch[key] = None
    return patch


def three_way_merge(last: Obj, wanted: Obj, live: Obj) -> Obj:
    """Return the live object as it shall be."""
    merged: Obj = apply_merge_patch(live, three_way_patch(last, wanted, live))
    return merged


def _mapping(value: Any) -> Obj:
    return value if isinstance(value, dict) else {}
