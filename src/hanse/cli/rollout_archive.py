"""Applications with all that belongs to them as one document, and made again from it.

Objects that are made again have other uids. Who owns what is therefore told by name: owner references are renewed, and
what clusters hold of a Piece is handed from the old one to the new one by a write to its metadata alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hanse.api.names import OWNER_ANNOTATION
from hanse.api.pieces import PIECES, parse_piece
from hanse.api.shipper.kinds import (
    APPLICATIONS,
    CAPACITY_TARGETS,
    INSTALLATION_TARGETS,
    RELEASES,
    ROLLOUT_BLOCKS,
    TRAFFIC_TARGETS,
)
from hanse.cli.connection import read_clusters
from hanse.cli.failures import Failure, Misuse
from hanse.cli.fleet import ask_members
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, annotations_of, key_of, uid_of, version_of
from hanse.kube.resources import Resource, gvk

# In the order in which they are made again: owners first, then what commits a release, last what would refuse all that.
_KINDS = (APPLICATIONS, RELEASES, PIECES, CAPACITY_TARGETS, TRAFFIC_TARGETS, INSTALLATION_TARGETS, ROLLOUT_BLOCKS)
_BY_GVK = {(kind.group, kind.version, kind.kind): kind for kind in _KINDS}
# What a server gives to an object; the uid is kept, so that owners are found by it.
_GIVEN = ("resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")


async def read_archive(host: Client, namespace: str = "") -> Obj:
    """Return all applications, their releases, Pieces, targets and blocks as one List."""
    items: list[Obj] = []
    for kind in _KINDS:
        try:
            items += [_kept(kind.name_kind(obj)) for obj in (await host.list(kind, namespace)).items]
        except NotFound:
            continue
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _kept(obj: Obj) -> Obj:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _GIVEN}
    return {**obj, "metadata": metadata}


@dataclass(frozen=True, slots=True)
class Archive:
    """What is to be made again, by kind, in order."""

    objects: Mapping[Resource, Sequence[Obj]] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(each) for each in self.objects.values())


def parse_archive(document: object, where: str) -> Archive:
    """Read what `backup` has written; raises Misuse."""
    items = document.get("items") if isinstance(document, dict) else None
    if not isinstance(items, list) or not all(isinstance(each, dict) and each.get("metadata") for each in items):
        raise Misuse(f"{where} is no backup; `hanse rollout backup` makes one")
    found: dict[Resource, list[Obj]] = {kind: [] for kind in _KINDS}
    for each in items:
        kind = _BY_GVK.get(gvk(each))
        if kind is None:
            raise Misuse(f"{where}: {each.get('kind')} {each['metadata'].get('name')} belongs to no application")
        found[kind].append(each)
    return Archive(found)


async def require_room(host: Client, archive: Archive) -> None:
    """Raise Failure where one of the objects is there already."""
    for kind, objects in archive.objects.items():
        if not objects:
            continue
        try:
            present = {key_of(obj) for obj in (await host.list(kind)).items}
        except NotFound as error:
            raise Failure(
                f"the federation serves no {kind.plural}; start its control plane once, stop it, and repeat the command"
            ) from error
        if taken := sorted(present & {key_of(obj) for obj in objects}):
            raise Failure(
                f"{kind.kind} {taken[0]} is there already; nothing was restored, since what is there would be mixed "
                "with what was: delete it first"
            )


async def restore(host: Client, archive: Archive) -> int:
    """Make everything again; returns how many objects in clusters were handed to their new Pieces.

    What clusters hold is handed over before the InstallationTarget commits a release: until then nothing acts on it.
    """
    uids: dict[str, str] = {}
    handed = 0
    for kind, objects in archive.objects.items():
        if kind == INSTALLATION_TARGETS:
            handed = await _hand_over(host, archive.objects[PIECES], uids)
        for obj in objects:
            made = await _make(host, kind, obj, uids)
            uids[obj["metadata"].get("uid", "")] = uid_of(made)
    return handed


async def _make(host: Client, kind: Resource, obj: Obj, uids: Mapping[str, str]) -> Obj:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "uid"}
    if owners := metadata.get("ownerReferences"):
        metadata["ownerReferences"] = [{**owner, "uid": uids.get(owner["uid"], owner["uid"])} for owner in owners]
    body = {name: value for name, value in obj.items() if name != "status"}
    made = await host.create(kind, {**body, "metadata": metadata})
    if status := obj.get("status"):
        key = key_of(obj)
        made = await host.patch(kind, key.name, {"status": _current(status, made)}, key.namespace, subresource="status")
    return made


def _current(status: Obj, made: Obj) -> Obj:
    """Return a status that speaks of the spec as it was made: its generation is counted anew."""
    if "observedGeneration" not in status:
        return status
    return {**status, "observedGeneration": made["metadata"].get("generation", 0)}


async def _hand_over(host: Client, pieces: Sequence[Obj], uids: Mapping[str, str]) -> int:
    """Hand what clusters hold to the Pieces that took the place of their old ones; raises Failure."""
    parsed = [(parse_piece(piece), str(piece["metadata"].get("uid"))) for piece in pieces]
    wanted = [(piece.resource, piece.key, uid) for piece, uid in parsed]

    async def hand(member: Member) -> int:
        return sum([await _hand(member.client, kind, key, uid, uids[uid]) for kind, key, uid in wanted])

    answers = await ask_members(host, await read_clusters(host) if wanted else [], hand)
    if silent := {name: told for name, told in answers.items() if isinstance(told, str)}:
        told = "; ".join(f"{name}: {why}" for name, why in sorted(silent.items()))
        raise Failure(
            f"clusters could not be told that their objects have new owners ({told}); delete the applications that "
            "were restored, and repeat the command when the clusters answer"
        )
    return sum(count for count in answers.values() if isinstance(count, int))


async def _hand(client: Client, kind: Resource, key: Key, old: str, new: str) -> int:
    copy = await client.find(kind, key.name, key.namespace)
    if copy is None or annotations_of(copy).get(OWNER_ANNOTATION) != old:
        return 0
    metadata = {"uid": uid_of(copy), "resourceVersion": version_of(copy), "annotations": {OWNER_ANNOTATION: new}}
    await client.patch(kind, key.name, {"metadata": metadata}, key.namespace)
    return 1
