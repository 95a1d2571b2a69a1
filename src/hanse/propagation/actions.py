"""Carrying actions out in a member: the only writes that members see.

Every action is conditional, so that what was decided on an older view cannot hurt: creation fails on an object that is
there, deletion names the uid, apply touches only the fields that were rendered.
"""

from __future__ import annotations

from hanse.api.names import ADOPT_ANNOTATION, MANAGED_LABELS, OWNER_ANNOTATION, RENDERED_ANNOTATION
from hanse.kube.client import Client, PatchType
from hanse.kube.errors import AlreadyExists, Conflict, Invalid, NotFound, ServerError
from hanse.kube.manifest import Key, Obj, annotations_of, is_deleting, is_newer, version_of
from hanse.kube.resources import Resource
from hanse.propagation.comparison import Action, Apply, Create, Delete, Refuse, Release, Renumber, Revise, declined_by
from hanse.propagation.ownership import claimed, is_creation, outlives_apply


class Refused(Exception):
    """A member's object cannot be brought to what it shall be; the sentence says why, `reason` in one word."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def failure_of(action: Action) -> str:
    """Return in one word what went wrong where an action could not be carried out."""
    match action:
        case Create():
            return "CreationFailed"
        case Delete():
            return "DeletionFailed"
        case Release():
            return "LabelRemovalFailed"
        case _:
            return "UpdateFailed"


async def carry_out(action: Action, client: Client, resource: Resource, key: Key) -> Obj | None:
    """Do one thing in one member; returns the object as it is then, None when it is gone or was released."""
    match action:
        case Create(manifest, adopt):
            return await _create(client, resource, key, manifest, adopt=adopt)
        case Apply(manifest, observed):
            return await _apply(client, resource, key, manifest, observed)
        case Revise(whole, otherwise):
            return await _revise(client, resource, key, whole, otherwise)
        case Renumber(uid, patch):
            return await _renumber(client, resource, key, uid, patch)
        case Delete():
            return await _delete(client, resource, key, action)
        case Release(uid):
            await _release(client, resource, key, uid)
            return None
        case Refuse(message, reason):
            raise Refused(message, reason)


async def _create(client: Client, resource: Resource, key: Key, manifest: Obj, *, adopt: bool) -> Obj | None:
    try:
        return await client.create(resource, manifest)
    except AlreadyExists as error:
        if not adopt:
            raise Refused(
                "an object of this name is there already and is not Hanse's; delete or rename it, or take it over with "
                f'the annotation {ADOPT_ANNOTATION}: "true" on the federation\'s object',
                "AlreadyExists",
            ) from error
    return await _adopt(client, resource, key, manifest)


async def _adopt(client: Client, resource: Resource, key: Key, manifest: Obj) -> Obj:
    """Take over an object that is nobody's copy: fields that were not rendered stay, and pods run on."""
    live = await client.get(resource, key.name, key.namespace)
    if owner := annotations_of(live).get(OWNER_ANNOTATION):
        raise Refused(
            f"an object of this name is there already and is the copy of another object, {owner}", "AlreadyExists"
        )
    if is_deleting(live):
        raise Refused("an object of this name is there already and is being deleted", "WaitingForRemoval")
    if label := declined_by(live):
        raise Refused(
            f'an object of this name is there already and is labelled {label}: "false"; it is left alone',
            "ManagedLabelFalse",
        )
    return await client.apply(resource, manifest)


async def _revise(client: Client, resource: Resource, key: Key, whole: Obj, otherwise: Apply) -> Obj:
    try:
        return await client.update(resource, whole)
    except (Conflict, Invalid):
        # Somebody wrote meanwhile, or a default that the server once added does not go with the new rendering.
        return await _apply(client, resource, key, otherwise.manifest, otherwise.observed)


async def _apply(client: Client, resource: Resource, key: Key, manifest: Obj, observed: Obj) -> Obj:
    if any(is_creation(entry) for entry in observed["metadata"].get("managedFields") or ()):
        await _claim(client, resource, key, manifest, version_of(observed))
    return await client.apply(resource, manifest)


async def _renumber(client: Client, resource: Resource, key: Key, uid: str, patch: Obj) -> Obj | None:
    try:
        exactly = {**patch, "metadata": {**patch.get("metadata", {}), "uid": uid}}
        return await client.patch(resource, key.name, exactly, key.namespace)
    except NotFound:
        return None


async def _claim(client: Client, resource: Resource, key: Key, manifest: Obj, seen: str) -> None:
    """Become an applier of what was created, if a field is to go; a crash in between only means doing it again."""
    live = await client.get(resource, key.name, key.namespace)
    if is_newer(seen, version_of(live)):
        # By what it was once nobody can tell whether a field is to go.
        raise ServerError(503, "ServiceUnavailable", "its API server answers with an older version than it has told")
    entries = live["metadata"].get("managedFields") or []
    if not outlives_apply(entries, manifest):
        return
    patch = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": version_of(live)},
        {"op": "replace", "path": "/metadata/managedFields", "value": claimed(entries)},
    ]
    await client.patch(resource, key.name, patch, key.namespace, patch_type=PatchType.JSON)


async def _delete(client: Client, resource: Resource, key: Key, action: Delete) -> Obj | None:
    """Delete what was judged; Conflict says that it has changed since and must be judged again."""
    try:
        return await client.delete(
            resource,
            key.name,
            key.namespace,
            uid=action.uid,
            version=action.version,
            propagation=action.removal.propagation,
            grace_seconds=action.removal.grace_seconds,
        )
    except NotFound:
        return None


async def _release(client: Client, resource: Resource, key: Key, uid: str) -> None:
    marks = {
        "uid": uid,
        "labels": dict.fromkeys(MANAGED_LABELS),
        "annotations": {OWNER_ANNOTATION: None, RENDERED_ANNOTATION: None},
    }
    try:
        await client.patch(resource, key.name, {"metadata": marks}, key.namespace)
    except NotFound:
        return
