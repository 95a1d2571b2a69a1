"""Reading plain manifests: small accessors over dicts, and the keys that name objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

Obj = dict[str, Any]


class Key(NamedTuple):
    """An object's namespace ("" where it has none) and name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(obj: Obj) -> Key:
    """Return the namespace and name of an object."""
    metadata = obj["metadata"]
    return Key(metadata.get("namespace") or "", metadata["name"])


def name_of(obj: Obj) -> str:
    """Return an object's name."""
    return str(obj["metadata"]["name"])


def namespace_of(obj: Obj) -> str:
    """Return an object's namespace, "" where it has none."""
    return obj["metadata"].get("namespace") or ""


def uid_of(obj: Obj) -> str:
    """Return an object's uid, "" before the server gave it one."""
    return obj["metadata"].get("uid") or ""


def version_of(obj: Obj) -> str:
    """Return an object's resourceVersion, "" before the server gave it one."""
    return obj["metadata"].get("resourceVersion") or ""


def is_newer(version: str, than: str) -> bool:
    """Tell whether one resourceVersion came after another; False where that cannot be told."""
    # Those of one kind in one server are comparable numbers (KEP-5504); anything else is left to the watch.
    try:
        return int(version) > int(than)
    except ValueError:
        return False


def labels_of(obj: Obj) -> dict[str, str]:
    """Return an object's labels; an empty dict where it has none."""
    return obj["metadata"].get("labels") or {}


def annotations_of(obj: Obj) -> dict[str, str]:
    """Return an object's annotations; an empty dict where it has none."""
    return obj["metadata"].get("annotations") or {}


def finalizers_of(obj: Obj) -> list[str]:
    """Return an object's finalizers; an empty list where it has none."""
    return obj["metadata"].get("finalizers") or []


def is_deleting(obj: Obj) -> bool:
    """Tell whether somebody asked for the object's deletion."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def with_finalizer(obj: Obj, finalizer: str) -> Obj:
    """Return the object held by one more finalizer; the object itself where it has it already."""
    if finalizer in finalizers_of(obj):
        return obj
    return {**obj, "metadata": {**obj["metadata"], "finalizers": [*finalizers_of(obj), finalizer]}}


def without_finalizer(obj: Obj, finalizer: str) -> Obj:
    """Return the object without a finalizer; the object itself where it does not have it."""
    if finalizer not in finalizers_of(obj):
        return obj
    kept = [name for name in finalizers_of(obj) if name != finalizer]
    return {**obj, "metadata": {**obj["metadata"], "finalizers": kept}}


def controller_of(obj: Obj) -> Obj | None:
    """Return the owner reference that controls the object, if there is one."""
    owners: Iterable[Obj] = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def owner_reference(owner: Obj, *, controller: bool = True) -> Obj:
    """Return the reference that makes another object depend on `owner`."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": controller,
        "blockOwnerDeletion": True,
    }


def dig(obj: Any, *path: str, default: Any = None) -> Any:
    """Return the value under a path of field names, or the default where any step is missing."""
    for step in path:
        if not isinstance(obj, dict):
            return default
        obj = obj.get(step)
        if obj is None:
            return default
    return obj
