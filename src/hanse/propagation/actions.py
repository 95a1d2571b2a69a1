"""Carrying actions out in a member: the only writes that members see.

Every action is conditional, so that what was decided on an older view cannot hurt: creation fails on an object that is
there, deletion names the uid, apply touches only the fields that were rendered.
"""

from __future__ import annotations

from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION, RENDERED_ANNOTATION
from hanse.kube.client import FIELD_MANAGER, Client, PatchType
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Key, Obj, version_of
from hanse.kube.patches.field_sets import FieldSet
from hanse.kube.resources import NAMESPACES, Resource
from hanse.kube.schemas import Schema
from hanse.propagation.comparison import Action, Apply, Create, Delete, Refuse, Release


class Refused(Exception):
    """A member's object cannot be brought to what it shall be; the sentence says why."""


async def carry_out(action: Action, client: Client, resource: Resource, key: Key, schema: Schema | None) -> Obj | None:
    """Do one thing in one member; returns the object as written, None when it was removed or was not ours."""
    match action:
        case Create(manifest):
            return await _create(client, resource, manifest)
        case Apply(manifest, observed):
            return await _apply(client, resource, key, manifest, observed, schema)
        case Delete(uid):
            await _delete(client, resource, key, uid)
            return None
        case Release(uid):
            await _release(client, resource, key, uid)
            return None
        case Refuse(message):
            raise Refused(message)


async def _create(client: Client, resource: Resource, manifest: Obj) -> Obj | None:
    try:
        return await client.create(resource, manifest)
    except AlreadyExists as error:
        if resource == NAMESPACES:
            # A namespace that the member already has is used and never owned.
            return None
        raise Refused("an object of this name is there already and is not Hanse's; delete or rename it") from error


async def _apply(
    client: Client, resource: Resource, key: Key, manifest: Obj, observed: Obj, schema: Schema | None
) -> Obj:
    if any(_created_by_us(entry) for entry in observed["metadata"].get("managedFields") or ()):
        await _claim_created_fields(client, resource, key, manifest, schema)
    return await client.apply(resource, manifest)


async def _claim_created_fields(
    client: Client, resource: Resource, key: Key, manifest: Obj, schema: Schema | None
) -> None:
    """Turn the ownership that creation gave us into that of an applier, if a field is to go.

    Creation is the cheaper request, but fields it set would outlive an apply that no longer has them: an apply removes
    only what an earlier apply owned.
    """
    live = await client.get(resource, key.name, key.namespace)
    entries = live["metadata"].get("managedFields") or []
    rendered = FieldSet.of(manifest, schema)
    ours = [entry for entry in entries if _created_by_us(entry)]
    owned = [FieldSet.from_v1(entry.get("fieldsV1") or {}) for entry in ours]
    if all(fields.difference(rendered).empty for fields in owned):
        return
    others = [entry for entry in entries if not _created_by_us(entry)]
    applied = [entry for entry in others if _applied_by_us(entry)]
    union = FieldSet()
    for fields in (*owned, *(FieldSet.from_v1(entry.get("fieldsV1") or {}) for entry in applied)):
        union = union.union(fields)
    claimed = {**ours[0], "operation": "Apply", "fieldsV1": union.to_v1()}
    kept = [entry for entry in others if entry not in applied]
    patch = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": version_of(live)},
        {"op": "replace", "path": "/metadata/managedFields", "value": [*kept, claimed]},
    ]
    await client.patch(resource, key.name, patch, key.namespace, patch_type=PatchType.JSON)


def _created_by_us(entry: Obj) -> bool:
    return entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Update" and not entry.get("subresource")


def _applied_by_us(entry: Obj) -> bool:
    return entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply" and not entry.get("subresource")


async def _delete(client: Client, resource: Resource, key: Key, uid: str) -> None:
    try:
        await client.delete(resource, key.name, key.namespace, uid=uid)
    except NotFound:
        return


async def _release(client: Client, resource: Resource, key: Key, uid: str) -> None:
    marks = {
        "uid": uid,
        "labels": {MANAGED_LABEL: None},
        "annotations": {OWNER_ANNOTATION: None, RENDERED_ANNOTATION: None},
    }
    try:
        await client.patch(resource, key.name, {"metadata": marks}, key.namespace)
    except NotFound:
        return
