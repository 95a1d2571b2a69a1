"""The finalizer by which a controller holds its parents until its finalize hook has said that all is done."""

from __future__ import annotations

from hanse.composite.spec import ControllerSpec
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import (
    Obj,
    finalizers_of,
    is_deleting,
    name_of,
    namespace_of,
    uid_of,
    version_of,
    with_finalizer,
    without_finalizer,
)
from hanse.kube.resources import Resource

_GARBAGE_COLLECTOR = frozenset({"foregroundDeletion", "orphan"})


def is_held(parent: Obj, spec: ControllerSpec) -> bool:
    """Tell whether a parent waits for the controller before it goes."""
    return spec.finalizer in finalizers_of(parent)


def manages_children(parent: Obj, spec: ControllerSpec) -> bool:
    """Tell whether children are the controller's to make and take: of a parent that goes, only while it holds it."""
    if not is_deleting(parent):
        return True
    if spec.hooks.finalize is None or not is_held(parent, spec):
        return False
    return not _GARBAGE_COLLECTOR & set(finalizers_of(parent))


async def held(client: Client, resource: Resource, parent: Obj, spec: ControllerSpec) -> Obj:
    """Have a parent carry the finalizer if, and only if, there is a hook that it has to wait for."""
    wanted = spec.hooks.finalize is not None
    if wanted == is_held(parent, spec) or (wanted and is_deleting(parent)):
        return parent
    change = with_finalizer if wanted else without_finalizer
    return await _write(client, resource, change(parent, spec.finalizer))


async def released(client: Client, resource: Resource, parent: Obj, spec: ControllerSpec) -> Obj:
    """Let a parent go."""
    if not is_held(parent, spec):
        return parent
    try:
        return await _write(client, resource, without_finalizer(parent, spec.finalizer))
    except NotFound:
        return parent


async def _write(client: Client, resource: Resource, parent: Obj) -> Obj:
    # Nothing but the finalizers is written, on exactly the version that was read.
    metadata = {
        "finalizers": finalizers_of(parent),
        "uid": uid_of(parent),
        "resourceVersion": version_of(parent),
    }
    return await client.patch(resource, name_of(parent), {"metadata": metadata}, namespace_of(parent))
