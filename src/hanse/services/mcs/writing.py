"""Bringing one member to what it shall hold of a service of many clusters: only what differs is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hanse.api.mcs import SERVICE_EXPORTS, SERVICE_IMPORTS
from hanse.kube.client import Client
from hanse.kube.conditions import merge_conditions
from hanse.kube.errors import Invalid, NotFound
from hanse.kube.manifest import Key, Obj, is_deleting, name_of, namespace_of, uid_of, version_of
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.resources import ENDPOINT_SLICES, SERVICES, Resource
from hanse.kube.runtime import timestamp
from hanse.kube.schemas import schema_for
from hanse.propagation.comparison import covers
from hanse.propagation.rendering import rendered_digest
from hanse.services.mcs.conditions import import_condition
from hanse.services.mcs.imports import import_manifest, import_status, is_ours, owned_slice, service_manifest
from hanse.services.mcs.merging import Merged
from hanse.services.mcs.planning import Held, Plan


class Writer:
    """Writes into one member; `remember` hears every answer."""

    def __init__(self, client: Client, remember: Callable[[Obj], None]) -> None:
        self._client = client
        self._remember = remember

    async def carry_out(self, key: Key, plan: Plan, held: Held) -> None:
        """Have the member hold what the plan says."""
        if plan.remove:
            await self._remove(SERVICE_IMPORTS, held.import_)
        owner = held.import_
        if plan.import_ is not None:
            owner = await self._write(SERVICE_IMPORTS, held.import_, plan.import_)
        if plan.merged is not None and owner is not None:
            service, refusal = await self._give_address(key, plan.merged, held, owner)
            if service is not None:
                owner = await self._write(SERVICE_IMPORTS, owner, import_manifest(key, plan.merged, service))
            usable = plan.merged.headless or service is not None
            await self._tell(owner, plan.merged, import_condition(refusal, usable=usable))
        await self._write_slices(held.slices, plan, owner)

    async def tell_export(self, export: Obj, conditions: list[Obj]) -> None:
        """Write what a ServiceExport shall say of itself, where it says something else."""
        old: Obj = export.get("status") or {}
        now = timestamp(self._client.runtime.now())
        new = {**old, "conditions": merge_conditions(old.get("conditions"), conditions, now)}
        await self._write_status(SERVICE_EXPORTS, export, old, new)

    async def clear(self) -> None:
        """Take away every import of ours, and with each what belongs to it."""
        try:
            found = (await self._client.list(SERVICE_IMPORTS)).items
        except NotFound:
            return
        for entry in filter(is_ours, found):
            await self._remove(SERVICE_IMPORTS, entry)

    async def _give_address(self, key: Key, merged: Merged, held: Held, owner: Obj) -> tuple[Obj | None, str]:
        """Have the import's Service there; returns it, and why the cluster does not take it."""
        if merged.headless or not merged.ports:
            await self._remove(SERVICES, held.service)
            return None, ""
        try:
            return await self._write(SERVICES, held.service, service_manifest(key, merged, owner)), ""
        except Invalid as error:
            return None, f"this cluster cannot give it an address: {error}"

    async def _tell(self, import_: Obj, merged: Merged, ready: Obj) -> None:
        old: Obj = import_.get("status") or {}
        new = import_status(old, merged, ready, timestamp(self._client.runtime.now()))
        await self._write_status(SERVICE_IMPORTS, import_, old, new)

    async def _write_slices(self, held: Sequence[Obj], plan: Plan, owner: Obj | None) -> None:
        present = {name_of(entry): entry for entry in held}
        if owner is not None:
            for wanted in plan.slices:
                await self._write(ENDPOINT_SLICES, present.pop(name_of(wanted), None), owned_slice(wanted, owner))
        for name, surplus in present.items():
            if name not in plan.keep:
                await self._remove(ENDPOINT_SLICES, surplus)

    async def _write(self, resource: Resource, present: Obj | None, wanted: Obj) -> Obj:
        if present is not None and not is_deleting(present) and _is_as_wanted(resource, present, wanted):
            return present
        # What came into being since it was looked for is somebody's, and is not taken from them.
        written = await self._client.apply(resource, wanted, force=present is not None)
        self._remember(written)
        return written

    async def _write_status(self, resource: Resource, obj: Obj, old: Obj, new: Obj) -> None:
        if new == old:
            return
        patch = {"metadata": {"uid": uid_of(obj)}, "status": merge_patch_between(old, new)}
        try:
            written = await self._client.patch(resource, name_of(obj), patch, namespace_of(obj), subresource="status")
        except NotFound:
            return
        self._remember(written)

    async def _remove(self, resource: Resource, obj: Obj | None) -> None:
        if obj is None or is_deleting(obj):
            return
        try:
            # It names the version that was judged, so a view that is no longer true deletes nothing.
            await self._client.delete(
                resource, name_of(obj), namespace_of(obj), uid=uid_of(obj), version=version_of(obj)
            )
        except NotFound:
            return


def _is_as_wanted(resource: Resource, present: Obj, wanted: Obj) -> bool:
    if resource == ENDPOINT_SLICES:
        # Lists in slices are whole, and nobody adds to an endpoint.
        fields = ("addressType", "endpoints", "ports")
        same = all(present.get(name) == wanted.get(name) for name in fields)
        return same and covers(present["metadata"], wanted["metadata"], None)
    schema = schema_for(resource.group, resource.version, resource.kind)
    return rendered_digest(present) == rendered_digest(wanted) and covers(present, wanted, schema)
