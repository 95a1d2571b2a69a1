"""Parents that wait for a finalize hook, let go when nobody will call it any more."""

from __future__ import annotations

from hanse.api.metacontroller.kinds import COMPOSITE_FINALIZER_PREFIX, DECORATOR_FINALIZER_PREFIX
from hanse.cli.offspring import parents_of, stored_controllers
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Forbidden, NotFound
from hanse.kube.manifest import Obj, finalizers_of, key_of, name_of, namespace_of, version_of
from hanse.kube.resources import Resource

_PAUSE_SECONDS = 0.5
_PREFIXES = (COMPOSITE_FINALIZER_PREFIX, DECORATOR_FINALIZER_PREFIX)


async def held_parents(client: Client) -> list[tuple[Resource, Obj]]:
    """Return the parents of a cluster's lambda controllers that wait for one before they go."""
    served = {(kind.api_version, kind.plural): kind for kind in await client.discovery.resources()}
    named = {ref for controller in await stored_controllers(client) for ref in parents_of(controller)}
    found: list[tuple[Resource, Obj]] = []
    for ref in sorted(named, key=str):
        kind = served.get((ref.api_version, ref.resource))
        if kind is None:
            continue
        try:
            listed = (await client.list(kind)).items
        except (NotFound, Forbidden):
            continue
        found += [(kind, obj) for obj in listed if any(map(_is_ours, finalizers_of(obj)))]
    return found


async def release_parents(client: Client, patience: float) -> list[str]:
    """Take the finalizers of lambda controllers off all parents; return those that still have one after a while.

    One look more than needed is taken: whoever ran the controllers may just have added one.
    """
    runtime = client.runtime
    end, clean = runtime.monotonic() + patience, 0
    while True:
        held = await held_parents(client)
        clean = 0 if held else clean + 1
        if clean > 1 or runtime.monotonic() >= end:
            return [f"{kind.kind} {key_of(obj)}" for kind, obj in held]
        for kind, obj in held:
            await _release(client, kind, obj)
        await runtime.sleep(_PAUSE_SECONDS)


async def _release(client: Client, kind: Resource, obj: Obj) -> None:
    kept = [name for name in finalizers_of(obj) if not _is_ours(name)]
    patch = {"metadata": {"finalizers": kept, "resourceVersion": version_of(obj)}}
    try:
        await client.patch(kind, name_of(obj), patch, namespace_of(obj))
    except ApiError:
        # Gone, or changed since: the next look tells.
        return


def _is_ours(finalizer: str) -> bool:
    return finalizer.startswith(_PREFIXES)
