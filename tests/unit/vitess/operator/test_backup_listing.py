"""What a location holds, as VitessBackups."""

import importlib.util
from dataclasses import replace

import orjson
import pytest

from hanse.api.vitess_records.vtctld import BackupInfo, BackupStatus
from hanse.kube.manifest import labels_of, name_of
from hanse.vitess.operator import backup_listing
from hanse.vitess.operator.backup_asking import Listing, stored_backup
from hanse.vitess.operator.backup_listing import StoredBackup, inventory, list_folder
from hanse.vitess.operator.backup_mirroring import happenings
from hanse.vitess.operator.storages import reads_manifests, sync_storage
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
    unfinished, complete = inventory("example", "", list_folder(tmp_path), SHARDS).backups
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


def test_what_belongs_to_no_shard_is_left_out_and_what_is_no_backup_is_named(tmp_path):
    store(tmp_path, keyspace="gone", BackupMethod="builtin")
    for name in ("lost+found", "2026-13-18.014500.zone1-2548885007"):
        store(tmp_path, name=name, BackupMethod="builtin")
    found = inventory("example", "", list_folder(tmp_path), SHARDS)
    assert found.backups == ()
    assert "commerce/-/lost+found" in found.invalid
    assert "commerce/-/2026-13-18.014500.zone1-2548885007" in found.invalid
    assert list_folder(tmp_path / "nothing-yet") == []


def test_beyond_so_many_the_oldest_are_left_out_and_told(monkeypatch):
    monkeypatch.setattr(backup_listing, "MOST_BACKUPS", 2)
    stored = [StoredBackup("commerce", "-", f"2026-11-1{day}.014500.zone1-2548885007") for day in range(1, 6)]
    found = inventory("example", "", stored, SHARDS)
    assert [each["status"]["startTime"] for each in found.backups] == ["2026-11-15T01:45:00Z", "2026-11-14T01:45:00Z"]
    assert found.left_out == 3
    assert [(each.reason, each.warning) for each in happenings(found)] == [("InventoryLimitExceeded", True)]


@pytest.mark.parametrize(
    ("info", "complete"),
    [
        (BackupInfo(NAME), None),
        (BackupInfo(NAME, status=BackupStatus.COMPLETE), True),
        (BackupInfo(NAME, status=BackupStatus.VALID), True),
        (BackupInfo(NAME, status=BackupStatus.INCOMPLETE), False),
        (BackupInfo(NAME, status=BackupStatus.INVALID), False),
    ],
)
def test_a_backup_of_which_vtctld_does_not_say_whether_it_is_complete_is_neither(info, complete):
    (mirror,) = inventory("example", "", [stored_backup("commerce", "-", info)], SHARDS).backups
    assert mirror["status"].get("complete") is complete


def storage(**location):
    return live(child(cluster(vitess_cluster(backup={"locations": [location]})), "VitessBackupStorage"))


LOCATIONS = {
    "volume": {"volume": {"persistentVolumeClaim": {"claimName": "backups"}}},
    "s3": {"s3": {"region": "r", "bucket": "b", "authSecret": {"name": "keys", "key": "k"}}},
    "gcs": {"gcs": {"bucket": "b", "authSecret": {"name": "keys", "key": "k"}}},
    "azblob": {"azblob": {"account": "a", "container": "c", "authSecret": {"name": "keys", "key": "k"}}},
    "ceph": {"ceph": {"authSecret": {"name": "keys", "key": "k"}}},
}


@pytest.mark.parametrize("kind", LOCATIONS)
def test_every_kind_of_location_is_looked_into_by_a_vtctld_that_alone_is_given_it(kind):
    verdict = sync_storage(storage(**LOCATIONS[kind]), watched([]), SETTINGS, Listing())
    assert names(verdict, "Pod") == ["example-90089e05-vitessbackupstorage-subcontroller"]
    container = child(verdict, "Pod")["spec"]["containers"][0]
    assert (container["image"], container["command"]) == ("vitess/lite:latest", ["/vt/bin/vtctld"])
    implementation = "file" if kind == "volume" else kind
    assert f"--backup_storage_implementation={implementation}" in container["args"]
    assert "--service_map=grpc-vtctld" in container["args"]
    assert container["volumeMounts"]
    assert verdict.status["conditions"][0]["reason"] == "Listed"


def test_with_an_image_of_hanse_a_volume_is_listed_by_hanses_own_program_and_nothing_else_is():
    settings = replace(SETTINGS, backup_image="registry.example/hanse:1")
    assert [reads_manifests(storage(**each), settings) for each in LOCATIONS.values()] == [True, *[False] * 4]
    verdict = sync_storage(storage(**LOCATIONS["volume"]), watched([]), settings)
    container = child(verdict, "Pod")["spec"]["containers"][0]
    assert container["image"] == "registry.example/hanse:1"
    assert container["command"][:2] == ["python", "-m"]
    assert importlib.util.find_spec(container["command"][2]) is not None
    assert child(verdict, "Pod")["spec"]["volumes"] == [
        {"name": "vitess-backups", "persistentVolumeClaim": {"claimName": "backups"}},
    ]


def test_a_location_that_cannot_be_listed_says_why():
    verdict = sync_storage(storage(**LOCATIONS["s3"]), watched([]), SETTINGS, Listing("commerce/-: AccessDenied"))
    (ready,) = verdict.status["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "NotListed")
    assert ready["message"].startswith("commerce/-: AccessDenied; VitessBackups stay as they were")
