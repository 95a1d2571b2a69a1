"""Tablets: who they are, what their pods have, and that the primary is moved away before one is touched."""

import copy
import re

import pytest

from hanse.vitess.first.reparent import pre_update_child
from hanse.vitess.first.shard import sync
from hanse.vitess.first.tablets import tablet_uid
from tests.unit.vitess.first.requests import a_shard, asked, below, complete, named, now

RDONLY, FIRST, SECOND = (f"vitess-vttablet-zone1-{uid}" for uid in ("1327744200", "0214747900", "0214747901"))
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}


def pods_of(answer):
    return [each for each in answer["children"] if each["kind"] == "Pod"]


def jobs_of(answer):
    return [each for each in answer["children"] if each["kind"] == "Job"]


@pytest.mark.parametrize(
    ("identity", "uid"),
    [
        (("zone1", "main", "-80", "replica", 0), 214747900),
        (("zone1", "main", "-80", "replica", 15), 214747915),
        (("zone1", "main", "-80", "rdonly", 0), 1327744200),
    ],
)
def test_a_uid_follows_from_where_a_tablet_belongs(identity, uid):
    assert tablet_uid(*identity) == uid


def test_a_shard_has_a_volume_and_a_pod_for_each_tablet_those_first_that_cannot_be_the_primary():
    children = below("shard", a_shard())

    assert [(each["kind"], each["metadata"]["name"]) for each in children] == [
        *(("PersistentVolumeClaim", name) for name in (RDONLY, FIRST, SECOND)),
        *(("Pod", name) for name in (RDONLY, FIRST, SECOND)),
    ]
    assert children[0]["spec"] == CLAIM
    assert children[0]["metadata"]["labels"] == children[3]["metadata"]["labels"]
    assert children[3]["metadata"]["labels"] == {
        "vitess.io/cluster": "vitess",
        "vitess.io/cell": "zone1",
        "vitess.io/keyspace": "main",
        "vitess.io/shard": "x-80",
        "vitess.io/component": "vttablet",
        "vitess.io/tablet-uid": "1327744200",
    }


def test_a_tablets_pod_has_a_name_of_its_own_and_two_containers_that_share_the_data():
    pod = named(below("shard", a_shard()), FIRST, "Pod")
    spec = pod["spec"]
    vttablet, mysql = spec["containers"]

    assert (spec["hostname"], spec["subdomain"]) == ("zone1-0214747900", "vitess-vttablet-zone1")
    assert spec["volumes"] == [{"name": "vtdataroot", "persistentVolumeClaim": {"claimName": FIRST}}]
    assert (vttablet["name"], mysql["name"]) == ("vttablet", "mysql")
    assert vttablet["volumeMounts"] == mysql["volumeMounts"] == [{"name": "vtdataroot", "mountPath": "/vt/vtdataroot"}]
    assert vttablet["livenessProbe"] == {
        "httpGet": {"path": "/debug/vars", "port": 15000},
        "initialDelaySeconds": 60,
        "timeoutSeconds": 10,
    }
    assert "report-host=$(hostname -s).vitess-vttablet-zone1" in spec["initContainers"][0]["command"][-1]
    assert spec["securityContext"] == {"runAsUser": 999, "fsGroup": 999}
    assert "mysqlctld" in mysql["command"][-1]


def flags(shard, name=FIRST, container=0):
    line = named(below("shard", shard), name, "Pod")["spec"]["containers"][container]["command"][-1]
    return re.findall(r' -([\w-]+="[^"]*")', line)


def test_vttablet_knows_who_it_is_and_where_the_topology_is():
    found = flags(a_shard())

    assert found == sorted(found, key=lambda flag: flag.partition("=")[0])
    assert {
        'tablet-path="zone1-0214747900"',
        'tablet_hostname="$(hostname -s).vitess-vttablet-zone1"',
        'init_keyspace="main"',
        'init_shard="-80"',
        'init_tablet_type="replica"',
        'health_check_interval="5s"',
        'db-config-filtered-uname="vt_filtered"',
        'db-config-app-dbname="vt_main"',
        'enable_semi_sync="true"',
        'enable_replication_reporter="true"',
        'orc_api_url="http://vitess-global-orchestrator/api"',
        'orc_discover_interval="5m"',
        'restore_from_backup="false"',
        'topo_global_root="/vitess/global"',
    } <= set(found)
    assert 'init_tablet_type="rdonly"' in flags(a_shard(), RDONLY)


@pytest.mark.parametrize(
    ("backup", "restored"),
    [({}, "false"), ({"s3_bucket": "b"}, "false"), ({"backup_storage_implementation": "s3"}, "true")],
)
def test_a_tablet_begins_with_a_backup_where_there_is_an_implementation_of_them(backup, restored):
    shard = a_shard()
    shard["spec"]["backupFlags"] = backup
    found = flags(shard)

    assert f'restore_from_backup="{restored}"' in found
    assert {f'{key}="{value}"' for key, value in backup.items()} <= set(found)


def test_what_a_pool_says_is_laid_over_the_defaults_and_flags_of_users_win():
    defaults = {"image": "a", "replicas": 1, "vttablet": {"flags": {"x": 1, "port": 1}, "resources": {"limits": {}}}}
    shard = a_shard(defaults=defaults, masterEligible={"image": "b", "vttablet": {"flags": {"x": 2}}}, batch={})
    rdonly, replica = (each for each in below("shard", shard) if each["kind"] == "Pod")

    assert (rdonly["spec"]["containers"][0]["image"], replica["spec"]["containers"][0]["image"]) == ("a", "b")
    assert replica["spec"]["containers"][0]["resources"] == {"limits": {}}
    assert {'x="2"', 'port="1"'} <= set(flags(shard, replica["metadata"]["name"]))
    assert replica["spec"]["volumes"] == [{"name": "vtdataroot", "emptyDir": {}}]


def test_a_shard_is_ready_when_exactly_its_tablets_are():
    shard = a_shard()
    pods = pods_of(sync(asked("shard", shard)))
    two = sync(asked("shard", shard, *complete(pods[:2]), now(pods[2], "!Ready")))
    leaving = sync(asked("shard", shard, *complete(pods[:2]), now(pods[2], "Ready", leaving=True)))
    three = sync(asked("shard", shard, *complete(pods)))

    assert two["status"]["tablets"] == ["0214747900", "0214747901", "1327744200"]
    assert two["status"]["readyTablets"] == leaving["status"]["readyTablets"] == ["0214747900", "1327744200"]
    assert two["status"]["conditions"][0]["message"] == "waiting for tablet 0214747901"
    assert three["status"]["conditions"][0]["status"] == "True"


def changed(shard, image="vitess/lite:v9"):
    """Return a shard with another image, and its pods as they were before."""
    before = complete(pods_of(sync(asked("shard", shard))))
    after = copy.deepcopy(shard)
    after["spec"]["tablets"]["defaults"] = {**after["spec"]["tablets"].get("defaults", {}), "image": image}
    return after, before


def moved(shard, *pods):
    """Return pods of which those that are named are as the shard wants them now."""
    wanted = {each["metadata"]["name"]: each for each in pods_of(sync(asked("shard", shard)))}
    return [now(wanted[name], "Ready") for name in pods]


def test_nobody_is_moved_while_nothing_changes_nor_for_a_tablet_that_cannot_be_the_primary():
    shard = a_shard()
    after, before = changed(shard)

    assert jobs_of(sync(asked("shard", shard, *before))) == []
    assert jobs_of(sync(asked("shard", after, *before))) == []


def test_vitess_is_told_to_avoid_the_replica_that_is_touched_next():
    after, before = changed(a_shard())
    pods = [*moved(after, RDONLY), *before[1:]]
    (job,) = jobs_of(sync(asked("shard", after, *pods)))

    assert job["metadata"]["name"].startswith("vitess-reparent-zone1-0214747900-")
    assert job["spec"]["template"]["spec"]["containers"][0]["command"][3:] == [
        *("PlannedReparentShard", "-keyspace_shard", "main/-80"),
        *("-avoid_master", "zone1-0214747900"),
    ]


def asks(shard, pod, reparented=""):
    """Ask whether a pod may be taken away."""
    desired = named(below("shard", shard), pod["metadata"]["name"], "Pod")
    parent = {**shard, "status": {"reparented": reparented}}
    return pre_update_child({"parent": parent, "child": pod, "desired": desired})


def test_a_replica_waits_for_the_job_that_moves_the_primary_away():
    after, before = changed(a_shard())
    pods = [*moved(after, RDONLY), *before[1:]]
    (job,) = jobs_of(sync(asked("shard", after, *pods)))
    name = job["metadata"]["name"]
    under_way = sync(asked("shard", after, *pods, job))
    done = sync(asked("shard", after, *pods, now(job, "Complete")))

    assert under_way["status"]["reparented"] == ""
    assert done["status"]["reparented"] == name
    assert asks(after, before[1]) == {"ready": False, "message": f"Job {name} moves the primary away from it first"}
    assert asks(after, before[1], reparented=name) == {"ready": True}
    assert asks(after, before[2], reparented=name)["ready"] is False
    assert asks(after, before[0]) == {"ready": True}


def test_a_job_that_failed_goes_so_that_another_one_comes():
    after, before = changed(a_shard())
    pods = [*moved(after, RDONLY), *before[1:]]
    (job,) = jobs_of(sync(asked("shard", after, *pods)))

    assert jobs_of(sync(asked("shard", after, *pods, now(job, "Failed")))) == []
    assert sync(asked("shard", after, *pods, now(job, "Complete", leaving=True)))["status"]["reparented"] == ""


@pytest.mark.parametrize(("came_up", "holds"), [("2026-01-01T00:00:05Z", True), ("2026-01-01T00:00:06Z", False)])
def test_a_move_does_not_hold_any_more_once_a_tablet_was_down_after_it(came_up, holds):
    after, before = changed(a_shard())
    pods = [*moved(after, RDONLY), *before[1:]]
    (job,) = jobs_of(sync(asked("shard", after, *pods)))
    done = now(job, "Complete")
    done["status"]["completionTime"] = "2026-01-01T00:00:05Z"
    pods[2]["status"]["conditions"][0]["lastTransitionTime"] = came_up
    answer = sync(asked("shard", after, *pods, done))

    assert (answer["status"]["reparented"] != "", jobs_of(answer) != []) == (holds, holds)


@pytest.mark.parametrize("state", [now({"metadata": {}}, "!Ready"), now({"metadata": {}}, "Ready", leaving=True)])
def test_the_primary_is_not_moved_beside_a_tablet_that_is_down(state):
    after, before = changed(a_shard())
    down = {**moved(after, RDONLY)[0], "status": state["status"]}
    down["metadata"] = {**down["metadata"], **state["metadata"]}

    assert jobs_of(sync(asked("shard", after, down, *before[1:]))) == []


def test_a_replica_that_is_down_itself_is_not_waited_for():
    after, before = changed(a_shard())

    assert asks(after, now(before[1], "!Ready")) == {"ready": True}


def test_the_only_replica_of_a_shard_is_touched_without_and_one_of_several_cells_has_the_primary_go_to_another():
    alone = a_shard(masterEligible={"replicas": 1}, batch={"replicas": 0})
    after, before = changed(alone)
    spread = copy.deepcopy(after)
    spread["spec"]["cells"] = ["zone1", "zone2"]
    (job,) = jobs_of(sync(asked("shard", spread, *before)))

    assert jobs_of(sync(asked("shard", after, *before))) == []
    assert asks(after, before[0]) == {"ready": True}
    elsewhere = f"zone2-{tablet_uid('zone2', 'main', '-80', 'replica', 0):010d}"
    assert job["spec"]["template"]["spec"]["containers"][0]["command"][-2:] == ["-new_master", elsewhere]


def test_a_replica_too_many_stays_until_the_primary_is_elsewhere_and_goes_with_its_volume():
    shard = a_shard()
    fewer = a_shard(masterEligible={"replicas": 1})
    pods = complete(pods_of(sync(asked("shard", shard))))
    first = sync(asked("shard", fewer, *pods))
    (job,) = jobs_of(first)
    then = sync(asked("shard", fewer, *pods, now(job, "Complete")))

    assert job["metadata"]["name"] == "vitess-reparent-zone1-0214747901-gone"
    assert [each["metadata"]["name"] for each in pods_of(first)] == [RDONLY, FIRST, SECOND]
    assert [each["metadata"]["name"] for each in pods_of(then)] == [RDONLY, FIRST]
    assert [each["metadata"]["name"] for each in then["children"] if each["kind"] == "PersistentVolumeClaim"] == [
        RDONLY,
        FIRST,
    ]
    assert pods_of(sync(asked("shard", a_shard(masterEligible={"replicas": 0}), *pods)))[1:] == []


def test_of_two_replicas_too_many_the_second_waits_until_the_first_is_gone():
    four, two = a_shard(masterEligible={"replicas": 4}), a_shard(masterEligible={"replicas": 2})
    *stay, third, fourth = complete(pods_of(sync(asked("shard", four))))
    leaving = now(third, "Ready", leaving=True)
    answer = sync(asked("shard", two, *stay, leaving, fourth))

    assert jobs_of(answer) == []
    assert answer["status"]["conditions"][0]["message"] == "waiting for tablet 0214747903 to go"
    wish = {"parent": two, "child": fourth, "desired": fourth}
    assert pre_update_child(wish) == {"ready": False, "message": "it is to go, and is not changed any more"}
    assert fourth["metadata"]["name"] in [each["metadata"]["name"] for each in pods_of(answer)]
    (job,) = jobs_of(sync(asked("shard", two, *stay, fourth)))
    assert job["metadata"]["name"] == "vitess-reparent-zone1-0214747903-gone"
