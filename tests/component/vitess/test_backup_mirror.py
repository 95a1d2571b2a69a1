"""The program that lists a location's backups, against an API server: written once, kept current, removed."""

import orjson

from hanse.api.planetscale.definitions import PLANETSCALE_CRDS
from hanse.api.planetscale.kinds import VITESS_BACKUP_STORAGES, VITESS_BACKUPS, VITESS_SHARDS
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.resources import CRDS
from hanse.kube.runtime import SystemRuntime
from hanse.vitess.operator.subcontroller import mirror_once
from tests.unit.vitess.operator.scenes import child, cluster, shard_of
from tests.vitess_specs import vitess_cluster

ASKED = vitess_cluster(backup={"locations": [{"volume": {"emptyDir": {}}}]})


def plain(obj):
    metadata = {name: obj["metadata"][name] for name in ("name", "labels")}
    return {**obj, "metadata": {**metadata, "namespace": "default"}}


async def test_backups_appear_are_completed_and_go(tmp_path):
    runtime = SystemRuntime()
    server = await ApiServer.open(name="home", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    for crd in PLANETSCALE_CRDS:
        await client.create(CRDS, crd)
    storage = await client.create(VITESS_BACKUP_STORAGES, plain(child(cluster(ASKED), "VitessBackupStorage")))
    await client.create(VITESS_SHARDS, plain(shard_of(ASKED)))
    key = Key("default", storage["metadata"]["name"])
    folder = tmp_path / "example" / "commerce" / "-" / "2026-11-18.014500.zone1-2548885007"
    folder.mkdir(parents=True)

    async def complete():
        return [each["status"]["complete"] for each in (await client.list(VITESS_BACKUPS, "default")).items]

    assert await mirror_once(client, key, tmp_path) == 1
    assert await complete() == [False]
    (folder / "MANIFEST").write_bytes(orjson.dumps({"BackupMethod": "builtin"}))
    await mirror_once(client, key, tmp_path)
    assert await complete() == [True]
    (folder / "MANIFEST").unlink()
    folder.rmdir()
    assert await mirror_once(client, key, tmp_path) == 0
    assert await complete() == []
    await client.close()
    await server.close()
