"""The program of a VitessBackupStorage's Pod: lists what the location holds, every minute, as VitessBackups.

It is the only one that is given the location, so it alone writes them; they go with their VitessBackupStorage.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from hanse.api.planetscale.kinds import (
    CLUSTER_LABEL,
    KEYSPACE_LABEL,
    VITESS_BACKUP_STORAGES,
    VITESS_BACKUPS,
    VITESS_SHARDS,
)
from hanse.api.planetscale.reading import read_location
from hanse.kube.auth.service_account import in_cluster_endpoint
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.http import HttpTransport
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj, controller_of, labels_of, name_of, owner_reference, uid_of
from hanse.kube.patches.merge_patch import same
from hanse.kube.runtime import SystemRuntime
from hanse.kube.transport import Unreachable
from hanse.vitess.operator.backup_listing import list_folder, mirrored
from hanse.vitess.operator.backup_storage import BACKUP_FOLDER

log = Log("hanse")
_EVERY_SECONDS = 60.0


async def mirror_once(client: Client, storage: Key, folder: Path) -> int:
    """Have the VitessBackups of a location be what it holds; returns how many there are. Raises ApiError."""
    parent = await client.get(VITESS_BACKUP_STORAGES, storage.name, storage.namespace)
    cluster = labels_of(parent)[CLUSTER_LABEL]
    shards = (await client.list(VITESS_SHARDS, storage.namespace, labels=f"{CLUSTER_LABEL}={cluster}")).items
    known = frozenset((labels_of(each)[KEYSPACE_LABEL], str(each["spec"]["name"])) for each in shards)
    location = read_location(parent["spec"].get("location") or {}).name
    stored = await client.runtime.in_thread(lambda: list_folder(folder / cluster))
    wanted = {name_of(each): each for each in mirrored(cluster, location, stored, known)}
    listed = (await client.list(VITESS_BACKUPS, storage.namespace, labels=f"{CLUSTER_LABEL}={cluster}")).items
    own = {name_of(each): each for each in listed if (controller_of(each) or {}).get("uid") == uid_of(parent)}
    for name, each in wanted.items():
        await _write(client, parent, each, own.get(name))
    for name in own.keys() - wanted.keys():
        await client.delete(VITESS_BACKUPS, name, storage.namespace, uid=uid_of(own[name]))
    return len(wanted)


async def _write(client: Client, parent: Obj, wish: Obj, live: Obj | None) -> None:
    namespace = parent["metadata"]["namespace"]
    if live is None:
        metadata = {**wish["metadata"], "namespace": namespace, "ownerReferences": [owner_reference(parent)]}
        body = {name: value for name, value in wish.items() if name != "status"}
        live = await client.create(VITESS_BACKUPS, {**body, "metadata": metadata})
    if not same(live.get("status") or {}, wish["status"]):
        patch = {"status": wish["status"]}
        await client.patch(VITESS_BACKUPS, name_of(wish), patch, namespace, subresource="status")


async def run(client: Client, storage: Key, folder: Path) -> None:
    """Look every minute until cancelled."""
    while True:
        try:
            await mirror_once(client, storage, folder)
        except (ApiError, Unreachable, OSError) as error:
            log.warning("Backups could not be listed", storage=str(storage), error=str(error))
        await client.runtime.sleep(_EVERY_SECONDS)


def main() -> None:
    """Run in a Pod, as its ServiceAccount."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--storage", required=True, help="the VitessBackupStorage")
    parser.add_argument("--folder", type=Path, default=Path(BACKUP_FOLDER), help="where the location is mounted")
    given = parser.parse_args()
    runtime = SystemRuntime()
    client = Client(HttpTransport(in_cluster_endpoint(), user_agent="hanse-vitess-backups"), runtime)
    asyncio.run(run(client, Key(os.environ["POD_NAMESPACE"], given.storage), given.folder))


if __name__ == "__main__":
    main()
