"""Keeps VitessBackups what a location holds. What could not be listed is left as it was: nothing goes on ignorance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field

from hanse.api.planetscale.kinds import (
    CLUSTER_LABEL,
    KEYSPACE_LABEL,
    SHARD_LABEL,
    VITESS_BACKUPS,
    VITESS_SHARDS,
)
from hanse.api.planetscale.reading import read_location
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, controller_of, labels_of, name_of, namespace_of, owner_reference, uid_of
from hanse.kube.patches.merge_patch import same
from hanse.vitess.operator.backup_listing import MOST_BACKUPS, Inventory, StoredBackup, inventory
from hanse.vitess.operator.verdicts import Happening

EVERY_SECONDS = 60.0
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Listed:
    """What was found, and of which shards it is not known what there is, with the reasons.

    Of shards of which nothing was found `doubt` says why there may be something all the same; "" where that is proof.
    """

    stored: tuple[StoredBackup, ...] = ()
    unknown: Mapping[tuple[str, str], str] = field(default_factory=dict)
    doubt: str = ""

    def uncertain(self, mirrored: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Return the shards whose VitessBackups stay as they are, with the reasons; `mirrored` are those with any."""
        found = {(each.keyspace, each.shard) for each in self.stored}
        doubted = {shard: self.doubt for shard in mirrored if self.doubt and shard not in found}
        return {**doubted, **self.unknown}


@dataclass(frozen=True, slots=True)
class Mirrored:
    """How many backups there are, what is to be told of them, and what could not be listed, in a sentence."""

    count: int = 0
    told: tuple[Happening, ...] = ()
    problem: str = ""


Shards = frozenset[tuple[str, str]]
Look = Callable[[Shards], Awaitable[Listed]]


async def mirror(client: Client, storage: Obj, look: Look) -> Mirrored:
    """Have the VitessBackups of a location be what it holds; raises ApiError, and whatever `look` raises."""
    namespace, cluster = namespace_of(storage), labels_of(storage)[CLUSTER_LABEL]
    found = (await client.list(VITESS_SHARDS, namespace, labels=f"{CLUSTER_LABEL}={cluster}")).items
    shards = {(labels_of(each)[KEYSPACE_LABEL], str(each["spec"]["name"])): labels_of(each) for each in found}
    listed = await look(frozenset(shards))
    location = read_location(storage["spec"].get("location") or {}).name
    kept = inventory(cluster, location, listed.stored, frozenset(shards))
    own = await _own(client, storage, cluster)
    wanted = {name_of(each): each for each in kept.backups}
    for name, each in wanted.items():
        await _write(client, storage, each, own.get(name))
    mirrored = {_labelled(each) for each in own.values()}
    uncertain = listed.uncertain([shard for shard, labels in shards.items() if _place(labels) in mirrored])
    hidden = {_place(shards[shard]) for shard in uncertain if shard in shards}
    for name in own.keys() - wanted.keys():
        if _labelled(own[name]) not in hidden:
            await client.delete(VITESS_BACKUPS, name, namespace, uid=uid_of(own[name]))
    problem = "; ".join(f"{keyspace}/{shard}: {why}" for (keyspace, shard), why in sorted(uncertain.items())[:_NAMED])
    return Mirrored(len(wanted), happenings(kept), problem)


def _labelled(backup: Obj) -> tuple[str, str]:
    return _place(labels_of(backup))


def _place(labels: Mapping[str, str]) -> tuple[str, str]:
    """Return the shard that labels name."""
    return labels.get(KEYSPACE_LABEL, ""), labels.get(SHARD_LABEL, "")


async def _own(client: Client, storage: Obj, cluster: str) -> dict[str, Obj]:
    listed = (await client.list(VITESS_BACKUPS, namespace_of(storage), labels=f"{CLUSTER_LABEL}={cluster}")).items
    return {name_of(each): each for each in listed if (controller_of(each) or {}).get("uid") == uid_of(storage)}


def happenings(kept: Inventory) -> tuple[Happening, ...]:
    """Return what is to be told of what a location holds."""
    told: list[Happening] = []
    if kept.left_out:
        said = f"there are {kept.left_out} more than the {MOST_BACKUPS} newest backups, and they are not listed"
        told.append(Happening("InventoryLimitExceeded", said, warning=True))
    if kept.invalid:
        more = f" and {len(kept.invalid) - _NAMED} more" if len(kept.invalid) > _NAMED else ""
        said = f"{', '.join(kept.invalid[:_NAMED])}{more}: not what Vitess calls a backup, and not listed"
        told.append(Happening("InvalidBackup", said, warning=True))
    return tuple(told)


async def _write(client: Client, storage: Obj, wish: Obj, live: Obj | None) -> None:
    namespace = namespace_of(storage)
    if live is None:
        metadata = {**wish["metadata"], "namespace": namespace, "ownerReferences": [owner_reference(storage)]}
        body = {name: value for name, value in wish.items() if name != "status"}
        live = await client.create(VITESS_BACKUPS, {**body, "metadata": metadata})
    # What was known of a backup stays so: one that was complete is, though who lists it now does not know it.
    before = live.get("status") or {}
    if not same(before, {**before, **wish["status"]}):
        patch = {"status": wish["status"]}
        await client.patch(VITESS_BACKUPS, name_of(wish), patch, namespace, subresource="status")
