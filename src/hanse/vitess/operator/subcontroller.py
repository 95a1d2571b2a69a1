"""The program of a VitessBackupStorage's Pod where backups are on a volume and an image with Hanse is given.

It lists what the location holds, every minute, as VitessBackups; unlike vtctld it reads the manifests, so that these
say which backups are complete. They go with their VitessBackupStorage.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from hanse.api.planetscale.kinds import CLUSTER_LABEL, VITESS_BACKUP_STORAGES
from hanse.kube.auth.service_account import in_cluster_endpoint
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.events import EventRecorder
from hanse.kube.http import HttpTransport
from hanse.kube.log import Log
from hanse.kube.manifest import Key, labels_of
from hanse.kube.runtime import SystemRuntime
from hanse.kube.transport import Unreachable
from hanse.vitess.operator.backup_listing import list_folder
from hanse.vitess.operator.backup_mirroring import EVERY_SECONDS, Listed, Shards, mirror
from hanse.vitess.operator.backup_storage import BACKUP_FOLDER
from hanse.vitess.operator.hooks import Told

log = Log("hanse")
COMPONENT = "vitess-backups"


async def mirror_once(client: Client, storage: Key, folder: Path, told: Told) -> int:
    """Have the VitessBackups of a location be what it holds; returns how many. Raises ApiError and OSError."""
    parent = await client.get(VITESS_BACKUP_STORAGES, storage.name, storage.namespace)
    root = folder / labels_of(parent)[CLUSTER_LABEL]

    async def look(_shards: Shards) -> Listed:
        return Listed(tuple(await client.runtime.in_thread(lambda: list_folder(root))))

    mirrored = await mirror(client, parent, look)
    await told.tell(parent, mirrored.told)
    return mirrored.count


async def run(client: Client, storage: Key, folder: Path) -> None:
    """Look every minute until cancelled."""
    told = Told(EventRecorder(client, COMPONENT))
    while True:
        try:
            await mirror_once(client, storage, folder, told)
        except (ApiError, Unreachable, OSError) as error:
            log.warning("Backups could not be listed", storage=str(storage), error=str(error))
        await client.runtime.sleep(EVERY_SECONDS)


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
