"""Patches that say only what changed, on the version that was read.

Every write of the simulator goes through these: it is refused when somebody else wrote first, and it is not sent at
all when there is nothing to say.
"""

from __future__ import annotations

from typing import Any

from hanse.kube.client import Client
from hanse.kube.manifest import Obj, name_of, namespace_of, version_of
from hanse.kube.resources import Resource


def changed_fields(old: Obj, new: Obj) -> Obj:
    """Return the merge patch that turns one mapping's fields into another's; lists are replaced whole."""
    patch: Obj = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := changed_fields(before, value):
                patch[name] = inner
        elif before != value:
            patch[name] = value
    return patch


async def write_status(client: Client, resource: Resource, seen: Obj, status: Obj) -> bool:
    """Bring an object's status to `status` where it differs; raises Conflict when `seen` is not the newest."""
    patch = changed_fields(seen.get("status") or {}, status)
    if not patch:
        return False
    await write(client, resource, seen, {"status": patch}, subresource="status")
    return True


async def write(client: Client, resource: Resource, seen: Obj, patch: Obj, *, subresource: str = "") -> Obj:
    """Merge a patch into exactly the version that was seen; raises Conflict."""
    metadata: dict[str, Any] = {**(patch.get("metadata") or {}), "resourceVersion": version_of(seen)}
    body = {**patch, "metadata": metadata}
    return await client.patch(resource, name_of(seen), body, namespace_of(seen), subresource=subresource)
