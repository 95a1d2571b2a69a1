"""What nobody asks for any more stays until it is known that nobody uses it."""

import pytest

from hanse.api.planetscale.kinds import DRAIN_STARTED_ANNOTATION
from hanse.kube.manifest import annotations_of, name_of
from tests.unit.vitess.operator.scenes import (
    annotated,
    by_alias,
    cell,
    child,
    children,
    cluster,
    grown_up,
    keyspace,
    live,
    names,
    picture,
    reasons,
    shard,
    shard_of,
    silent_picture,
    srv_keyspaces,
)
from tests.vitess_specs import keyspace as keyspace_spec
from tests.vitess_specs import pool, vitess_cluster

ONE, TWO, THREE = "zone1-0790125915", "zone1-2469782763", "zone1-2548885007"
DRAINED = {"started": "now", "acknowledged": "now", "finished": "now"}


def replicas(count):
    return vitess_cluster(keyspaces=[keyspace_spec("commerce", 1, pool(replicas=count))])


def after_shrinking(found=None, **annotations):
    """Return what becomes of a shard of three tablets that shall have two; the third by index is the first by alias."""
    existing = grown_up(shard(shard_of(replicas(3))))
    existing = [
        annotated(each, **annotations) if each["kind"] == "Pod" and ONE in name_of(each) else each for each in existing
    ]
    return shard(shard_of(replicas(2)), *existing, picture=found)


def test_67_a_tablet_too_many_is_drained_first():
    verdict = after_shrinking(picture(THREE))
    assert annotations_of(by_alias(children(verdict, "Pod"))[ONE])[DRAIN_STARTED_ANNOTATION]
    assert verdict.status["orphanedTablets"][ONE]["reason"] == "Draining"
    assert len(names(verdict, "PersistentVolumeClaim")) == 3


def test_67_drained_its_pod_goes_and_then_its_disk():
    verdict = after_shrinking(picture(THREE), **DRAINED)
    assert sorted(by_alias(children(verdict, "Pod"))) == [TWO, THREE]
    assert len(names(verdict, "PersistentVolumeClaim")) == 3
    assert verdict.status["orphanedTablets"][ONE]["reason"] == "PodExists"
    existing = [
        each for each in grown_up(shard(shard_of(replicas(3)))) if each["kind"] != "Pod" or ONE not in name_of(each)
    ]
    later = shard(shard_of(replicas(2)), *existing, picture=picture(THREE))
    assert len(names(later, "PersistentVolumeClaim")) == 2
    assert "orphanedTablets" not in later.status


@pytest.mark.parametrize(
    ("found", "reason"), [(picture(ONE), "Primary"), (None, "PrimaryUnknown")], ids=["primary", "topology is silent"]
)
def test_68_the_primary_stays_and_so_does_what_might_be_it(found, reason):
    verdict = after_shrinking(found, **DRAINED)
    assert ONE in by_alias(children(verdict, "Pod"))
    assert verdict.status["orphanedTablets"][ONE]["reason"] == reason
    assert "TurndownBlocked" in reasons(verdict)


@pytest.mark.parametrize(
    ("found", "down", "reason"),
    [
        (picture(ONE), "", "Primary"),
        (None, "", "PrimaryUnknown"),
        (picture(THREE), TWO, "ShardNotHealthy"),
    ],
)
def test_a_disk_whose_pod_went_with_its_node_stays_while_it_may_hold_what_nobody_else_has(found, down, reason):
    existing = [
        {**each, "status": {"phase": "Pending"}} if down and each["kind"] == "Pod" and down in name_of(each) else each
        for each in grown_up(shard(shard_of(replicas(3))))
        if each["kind"] != "Pod" or ONE not in name_of(each)
    ]
    verdict = shard(shard_of(replicas(2)), *existing, picture=found)
    assert len(names(verdict, "PersistentVolumeClaim")) == 3
    assert verdict.status["orphanedTablets"][ONE]["reason"] == reason


def test_a_tablet_is_not_given_up_while_others_are_not_ready():
    existing = grown_up(shard(shard_of(replicas(3))))
    existing = [
        annotated(each, **DRAINED) if each["kind"] == "Pod" and ONE in name_of(each) else each for each in existing
    ]
    existing = [
        {**each, "status": {"phase": "Pending"}} if each["kind"] == "Pod" and TWO in name_of(each) else each
        for each in existing
    ]
    verdict = shard(shard_of(replicas(2)), *existing, picture=picture(THREE))
    assert verdict.status["orphanedTablets"][ONE]["reason"] == "ShardNotHealthy"


def idle(obj, value="True", seen=1):
    return {**obj, "status": {"idle": value, "observedGeneration": seen}}


def gone_keyspace(**status):
    before = grown_up(cluster(vitess_cluster(**status.pop("spec", {}))))
    before = [idle(each, **status) if each["kind"] == "VitessKeyspace" else each for each in before]
    return cluster(vitess_cluster(keyspaces=[]), *before)


@pytest.mark.parametrize("status", [{"value": "False"}, {"value": "Unknown"}, {"value": "True", "seen": 0}])
def test_69_a_keyspace_with_tablets_stays_when_it_is_removed(status):
    verdict = gone_keyspace(**status)
    assert names(verdict, "VitessKeyspace") == ["example-commerce-fb9b866a"]
    assert verdict.status["orphanedKeyspaces"]["commerce"]["reason"] == "NotIdle"
    assert reasons(verdict) == ["TurndownBlocked"]


def test_69_with_the_policy_immediate_it_goes_at_once():
    spec = {"keyspaces": [keyspace_spec(turndownPolicy="Immediate")]}
    assert names(gone_keyspace(value="False", spec=spec), "VitessKeyspace") == []


def test_70_an_idle_keyspace_goes():
    assert names(gone_keyspace(value="True"), "VitessKeyspace") == []


@pytest.mark.parametrize(("count", "expected"), [(0, "True"), (1, "False")])
def test_70_a_keyspace_without_tablets_is_idle(count, expected):
    verdict = keyspace(live(child(cluster(replicas(count)), "VitessKeyspace")))
    assert verdict.status["idle"] == expected


def gone_cell(**status):
    before = grown_up(cluster(vitess_cluster()))
    before = [idle(each, **status) if each["kind"] == "VitessCell" else each for each in before]
    return cluster(vitess_cluster(cells=[], keyspaces=[]), *before)


def test_71_a_cell_that_is_used_stays():
    verdict = gone_cell(value="False")
    assert verdict.status["orphanedCells"]["zone1"]["reason"] == "NotIdle"
    assert names(verdict, "VitessCell") == ["example-zone1-5abb61ae"]
    assert names(gone_cell(value="True"), "VitessCell") == []


def test_71_a_cell_is_idle_when_no_keyspace_has_pools_there_and_none_is_served():
    made = cluster(vitess_cluster())
    stored, used = live(child(made, "VitessCell")), live(child(made, "VitessKeyspace"))
    assert cell(stored, related=[used], picture=srv_keyspaces("zone1")).status["idle"] == "False"
    assert cell(stored, picture=srv_keyspaces("zone1", "commerce")).status["idle"] == "False"
    assert cell(stored, picture=srv_keyspaces("zone1")).status["idle"] == "True"


@pytest.mark.parametrize("found", [None, silent_picture()], ids=["lockserver", "cell"])
def test_73_what_does_not_answer_is_not_idle(found):
    assert cell(live(child(cluster(vitess_cluster()), "VitessCell")), picture=found).status["idle"] == "Unknown"


def resharded(value):
    """Return a keyspace that has lost its partitioning in one part to one in two, and how far its old shard is."""
    before = [
        idle(each, value) for each in grown_up(keyspace(live(child(cluster(vitess_cluster()), "VitessKeyspace"))))
    ]
    after = cluster(vitess_cluster(keyspaces=[keyspace_spec("commerce", 2)]))
    return keyspace(live(child(after, "VitessKeyspace")), *before)


def test_72_an_old_shard_stays_while_it_serves():
    verdict = resharded("False")
    assert verdict.status["orphanedShards"]["-"]["reason"] == "Serving"
    assert len(names(verdict, "VitessShard")) == 3
    assert len(names(resharded("Unknown"), "VitessShard")) == 3
    assert len(names(resharded("True"), "VitessShard")) == 2


def test_72_a_shard_is_idle_when_no_vtgate_is_led_to_it():
    stored = shard_of(vitess_cluster())
    assert shard(stored, picture=picture(serving=["zone1"])).status["idle"] == "True"
    assert shard(stored, picture=None).status["idle"] == "Unknown"


def test_74_a_lockserver_stays_when_it_is_not_asked_for_any_more():
    before = grown_up(cluster(vitess_cluster()))
    external = {"implementation": "etcd2", "address": "etcd.example:2379", "rootPath": "/vitess"}
    verdict = cluster(vitess_cluster(globalLockserver={"external": external}), *before)
    assert names(verdict, "EtcdLockserver") == ["example-etcd-faf13de3"]
    assert "TurndownBlocked" in reasons(verdict)


def test_74_so_does_that_of_a_cell():
    with_own = vitess_cluster(cells=[{"name": "zone1", "lockserver": {"etcd": {}}}])
    before = grown_up(cell(live(child(cluster(with_own), "VitessCell"))))
    verdict = cell(live(child(cluster(vitess_cluster()), "VitessCell")), *before)
    assert names(verdict, "EtcdLockserver") == ["example-zone1-etcd-43880480"]
