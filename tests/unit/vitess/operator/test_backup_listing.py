"""What a location holds, as VitessBackups."""

import orjson

from hanse.kube.manifest import labels_of, name_of
from hanse.vitess.operator.backup_listing import list_folder, mirrored
from hanse.vitess.operator.storages import sync_storage
from tests.unit.vitess.operator.scenes import SETTINGS, child, cluster, live, names, watched
from tests.vitess_specs import vitess_cluster

NAME = "2026-11-18.014500.zone1-2548885007"
SHARDS = frozenset({("commerce", "-")})


def store(root, keyspace="commerce", shard="-", name=NAME, **manifest):
    folder = root / keyspace / shard / name
    folder.mkdir(parents=True)
    if manifest:
        (folder / "MANIFEST").write_bytes(orjson.dumps(manifest))


def test_a_backup_is_complete_once_it_has_a_manifest(tmp_path):
    store(tmp_path, BackupMethod="builtin", Position="MySQL56/a:1-5", FinishedTime="2026-11-18T01:46:00Z")
    store(tmp_path, name="2026-11-18.020000.zone1-2548885007")
    unfinished, complete = mirrored("example", "", list_folder(tmp_path), SHARDS)
    assert unfinished["status"]["complete"] is False
    assert complete["status"] == {
        "startTime": "2026-11-18T01:45:00Z",
        "finishedTime": "2026-11-18T01:46:00Z",
        "complete": True,
        "position": "MySQL56/a:1-5",
        "engine": "builtin",
        "storageDirectory": "commerce/-",
        "storageName": NAME,
    }
    assert name_of(complete).startswith("example-commerce-x-x-20261118-014500-97ece60f-")
    assert labels_of(complete)["planetscale.com/shard"] == "x-x"


def test_what_belongs_to_no_shard_or_says_nothing_is_left_out(tmp_path):
    store(tmp_path, keyspace="gone", BackupMethod="builtin")
    store(tmp_path, name="lost+found", BackupMethod="builtin")
    assert mirrored("example", "", list_folder(tmp_path), SHARDS) == []
    assert list_folder(tmp_path / "missing") == []


def storage(**location):
    return live(child(cluster(vitess_cluster(backup={"locations": [location]})), "VitessBackupStorage"))


def test_a_volume_is_listed_by_a_pod_that_alone_is_given_it():
    verdict = sync_storage(storage(volume={"persistentVolumeClaim": {"claimName": "backups"}}), watched([]), SETTINGS)
    assert names(verdict, "Pod") == ["example-90089e05-vitessbackupstorage-subcontroller"]
    pod = child(verdict, "Pod")
    assert pod["spec"]["volumes"] == [
        {"name": "vitess-backups", "persistentVolumeClaim": {"claimName": "backups"}},
    ]


def test_what_is_in_an_object_store_is_not_listed_and_that_is_said():
    verdict = sync_storage(storage(s3={"region": "r", "bucket": "b"}), watched([]), SETTINGS)
    assert verdict.children == ()
    assert verdict.status["conditions"][0]["reason"] == "NotListed"
