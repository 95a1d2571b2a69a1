"""The program that lists a location's backups, against an API server: written once, kept current, removed."""

from contextlib import asynccontextmanager

import orjson
import pytest

from hanse.api.planetscale.definitions import PLANETSCALE_CRDS
from hanse.api.planetscale.kinds import VITESS_BACKUP_STORAGES, VITESS_BACKUPS, VITESS_SHARDS
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key
from hanse.kube.resources import CRDS, EVENTS
from hanse.kube.runtime import SystemRuntime
from hanse.vitess.operator.backup_asking import doubts
from hanse.vitess.operator.backup_listing import StoredBackup
from hanse.vitess.operator.backup_mirroring import Listed, mirror
from hanse.vitess.operator.hooks import Told
from hanse.vitess.operator.subcontroller import mirror_once
from tests.unit.vitess.operator.scenes import child, cluster, shard_of
from tests.vitess_specs import vitess_cluster

ASKED = vitess_cluster(backup={"locations": [{"volume": {"emptyDir": {}}}]})


def plain(obj):
    metadata = {name: obj["metadata"][name] for name in ("name", "labels")}
    return {**obj, "metadata": {**metadata, "namespace": "default"}}


@asynccontextmanager
async def served():
    """An API server with a VitessBackupStorage on a volume and the shard that is backed up there."""
    runtime = SystemRuntime()
    server = await ApiServer.open(name="home", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    for crd in PLANETSCALE_CRDS:
        await client.create(CRDS, crd)
    storage = await client.create(VITESS_BACKUP_STORAGES, plain(child(cluster(ASKED), "VitessBackupStorage")))
    await client.create(VITESS_SHARDS, plain(shard_of(ASKED)))
    yield client, Key("default", storage["metadata"]["name"]), Told(EventRecorder(client, "test"))
    await client.close()
    await server.close()


async def complete(client):
    return [each["status"]["complete"] for each in (await client.list(VITESS_BACKUPS, "default")).items]


async def test_backups_appear_are_completed_and_go(tmp_path):
    folder = tmp_path / "example" / "commerce" / "-" / "2026-11-18.014500.zone1-2548885007"
    folder.mkdir(parents=True)
    async with served() as (client, key, told):
        assert await mirror_once(client, key, tmp_path, told) == 1
        assert await complete(client) == [False]
        (folder / "MANIFEST").write_bytes(orjson.dumps({"BackupMethod": "builtin"}))
        await mirror_once(client, key, tmp_path, told)
        assert await complete(client) == [True]
        (folder / "MANIFEST").unlink()
        folder.rmdir()
        assert await mirror_once(client, key, tmp_path, told) == 0
        assert await complete(client) == []


async def test_what_cannot_be_read_is_not_taken_for_gone_and_what_is_no_backup_is_told_once(tmp_path):
    mounted = tmp_path / "backups"
    shard = mounted / "example" / "commerce" / "-"
    (shard / "2026-11-18.014500.zone1-2548885007").mkdir(parents=True)
    (shard / "lost+found").mkdir()
    async with served() as (client, key, told):
        for _ in range(2):
            assert await mirror_once(client, key, mounted, told) == 1
        events = (await client.list(EVENTS, "default")).items
        assert [(each["reason"], each["count"]) for each in events] == [("InvalidBackup", 1)]
        mounted.rename(tmp_path / "unmounted")
        with pytest.raises(FileNotFoundError, match="is not mounted"):
            await mirror_once(client, key, mounted, told)
        assert await complete(client) == [False]


async def test_an_empty_list_that_is_no_proof_removes_nothing_and_one_that_names_others_does():
    first, second = (StoredBackup("commerce", "-", f"2026-11-1{day}.014500.zone1-2548885007") for day in (7, 8))
    async with served() as (client, key, _):
        storage = await client.get(VITESS_BACKUP_STORAGES, key.name, key.namespace)

        async def mirrored(*stored, doubt=""):
            async def look(_shards):
                return Listed(stored, doubt=doubt)

            told = await mirror(client, storage, look)
            names = [each["status"]["storageName"] for each in (await client.list(VITESS_BACKUPS, "default")).items]
            return sorted(names), told.problem

        doubt = doubts({"spec": {"location": {"ceph": {}}}})
        assert doubts({"spec": {"location": {"s3": {}}}}) == ""
        assert await mirrored(doubt=doubt) == ([], ""), "nothing is lost where nothing was"
        assert await mirrored(first, second, doubt=doubt) == ([first.name, second.name], "")
        assert await mirrored(doubt=doubt) == ([first.name, second.name], f"commerce/-: {doubt}")
        assert await mirrored(second, doubt=doubt) == ([second.name], "")
        assert await mirrored() == ([], "")
