"""Rollouts: what waits to be released, what flows at once, and in which order tablets go."""

import pytest

from hanse.api.planetscale.kinds import (
    CASCADE_ANNOTATION,
    DRAIN_STARTED_ANNOTATION,
    RELEASED_ANNOTATION,
    SCHEDULED_ANNOTATION,
)
from hanse.kube.manifest import annotations_of, name_of
from hanse.kube.runtime import timestamp
from hanse.vitess.operator.mysql_versions import VersionStep, version_step
from tests.unit.vitess.operator.scenes import (
    NOW,
    annotated,
    by_alias,
    child,
    children,
    cluster,
    container,
    flags_of,
    grown_up,
    keyspace,
    live,
    names,
    picture,
    reasons,
    shard,
    shard_of,
)
from tests.vitess_specs import CLAIM, pool, vitess_cluster
from tests.vitess_specs import keyspace as keyspace_spec

ONE, TWO, THREE = "zone1-0790125915", "zone1-2469782763", "zone1-2548885007"
IMMEDIATE = {"type": "Immediate"}
DRAINED = {"released": "go", "started": "now", "acknowledged": "now", "finished": "now"}


def flagged(**more):
    """Return the cluster with another flag for its tablets."""
    pools = pool(vttablet={"extraFlags": {"queryserver-config-pool-size": "7"}})
    return vitess_cluster(keyspaces=[keyspace_spec("commerce", 1, pools)], **more)


def changed(before=None, after=None):
    """Return a shard whose tablets were made by one spec, after its own spec has become another."""
    first = shard_of(before or vitess_cluster())
    existing = grown_up(shard(first))
    second = shard_of(after or flagged())
    return {**second, "metadata": {**second["metadata"], "generation": 1}}, existing


def with_pod(existing, alias, **annotations):
    return [
        annotated(each, **annotations) if each["kind"] == "Pod" and alias in name_of(each) else each
        for each in existing
    ]


def without_pod(existing, alias):
    return [each for each in existing if each["kind"] != "Pod" or alias not in name_of(each)]


def pods(verdict):
    return by_alias(children(verdict, "Pod"))


def marked(verdict):
    return {(mark.resource.kind, mark.name): dict(mark.annotations) for mark in verdict.marks}


# One level: an object that waits, is released, or is put back.


def test_52_under_external_a_change_waits_on_the_keyspace():
    before = grown_up(cluster(vitess_cluster()))
    found = child(cluster(flagged(), *before), "VitessKeyspace")
    assert "queryserver-config-pool-size" in annotations_of(found)[SCHEDULED_ANNOTATION]
    assert found["spec"] == child(cluster(vitess_cluster()), "VitessKeyspace")["spec"]


def test_52_released_it_is_applied_and_the_release_is_used_up():
    before = grown_up(cluster(vitess_cluster()))
    before = [annotated(each, released="yes") if each["kind"] == "VitessKeyspace" else each for each in before]
    verdict = cluster(flagged(), *before)
    found = child(verdict, "VitessKeyspace")
    assert found["spec"] == child(cluster(flagged()), "VitessKeyspace")["spec"]
    assert SCHEDULED_ANNOTATION not in annotations_of(found)
    assert verdict.marks == ()
    written = annotated(live(found), released="yes")
    assert marked(cluster(flagged(), written)) == {("VitessKeyspace", name_of(found)): {RELEASED_ANNOTATION: None}}


def test_56_a_change_that_is_taken_back_waits_no_longer():
    before = grown_up(cluster(vitess_cluster()))
    waiting = [live(each) for each in cluster(flagged(), *before).children]
    assert SCHEDULED_ANNOTATION not in annotations_of(child(cluster(vitess_cluster(), *waiting), "VitessKeyspace"))


def test_under_immediate_every_level_changes_at_once():
    before = grown_up(cluster(vitess_cluster()))
    found = child(cluster(flagged(updateStrategy=IMMEDIATE), *before), "VitessKeyspace")
    assert found["spec"]["partitionings"] == flagged()["spec"]["keyspaces"][0]["partitionings"]


def test_the_number_of_vtgates_changes_without_a_release():
    before = grown_up(cluster(vitess_cluster()))
    more = vitess_cluster(cells=[{"name": "zone1", "gateway": {"replicas": 5}}])
    found = child(cluster(more, *before), "VitessCell")
    assert found["spec"]["gateway"]["replicas"] == 5
    assert SCHEDULED_ANNOTATION not in annotations_of(found)


def test_58_a_partitioning_is_added_at_once_and_the_content_of_another_waits():
    before = grown_up(cluster(vitess_cluster()))
    one = flagged()["spec"]["keyspaces"][0]["partitionings"][0]
    two = keyspace_spec("commerce", 2)["partitionings"][0]
    asked = vitess_cluster(keyspaces=[{"name": "commerce", "partitionings": [one, two]}])
    found = child(cluster(asked, *before), "VitessKeyspace")
    assert found["spec"]["partitionings"] == [vitess_cluster()["spec"]["keyspaces"][0]["partitionings"][0], two]
    assert SCHEDULED_ANNOTATION in annotations_of(found)
    assert (
        names(keyspace(live(found)), "VitessShard")
        == [
            "example-commerce-80-x-06bc3eb6",
            "example-commerce-x-80-53c0a4b1",
            "example-commerce-x-x-0f5afee6",
        ]
        or len(names(keyspace(live(found)), "VitessShard")) == 3
    )


# The tablets of a shard.


def test_52_tablets_that_differ_wait_and_nothing_restarts():
    stored, existing = changed()
    verdict = shard(stored, *existing, picture=picture(THREE))
    assert all(SCHEDULED_ANNOTATION in annotations_of(pod) for pod in pods(verdict).values())
    assert len(pods(verdict)) == 3
    assert verdict.marks == ()
    assert all("pendingChanges" in each for each in verdict.status["tablets"].values())


def test_53_a_cascade_releases_replicas_in_order_and_the_primary_last():
    stored, existing = changed()
    stored = annotated(stored, cascade="go")
    first = shard(stored, *existing, picture=picture(ONE))
    assert marked(first) == {("Pod", name_of(pods(first)[TWO])): {RELEASED_ANNOTATION: "by the operator"}}
    made_anew = [live(each) for each in shard(shard_of(flagged())).children if each["kind"] == "Pod"]
    done = [each for each in made_anew if TWO in name_of(each) or THREE in name_of(each)]
    rest = [each for each in existing if each["kind"] != "Pod" or ONE in name_of(each)]
    last = shard(stored, *rest, *done, picture=picture(ONE))
    assert list(marked(last)) == [("Pod", name_of(pods(last)[ONE]))]


def test_a_released_tablet_is_drained_before_it_goes():
    stored, existing = changed()
    stored = annotated(stored, cascade="go")
    asked = shard(stored, *with_pod(existing, TWO, released="go"), picture=picture(ONE))
    assert DRAIN_STARTED_ANNOTATION in annotations_of(pods(asked)[TWO])
    assert asked.marks == ()
    gone = shard(stored, *with_pod(existing, TWO, **DRAINED), picture=picture(ONE))
    assert sorted(pods(gone)) == [ONE, THREE]
    back = shard(stored, *without_pod(existing, TWO), picture=picture(ONE))
    assert flags_of(container(pods(back)[TWO], "vttablet"))["queryserver-config-pool-size"] == "7"


def test_54_the_only_replica_goes_without_a_drain():
    alone = vitess_cluster(keyspaces=[keyspace_spec("commerce", 1, pool(replicas=1))])
    other = vitess_cluster(
        keyspaces=[keyspace_spec("commerce", 1, pool(replicas=1, vttablet={"extraFlags": {"a": "1"}}))]
    )
    stored, existing = changed(alone, other)
    verdict = shard(annotated(stored, cascade="go"), *existing, picture=picture(THREE))
    assert pods(verdict) == {}
    assert verdict.marks == ()
    released = shard(stored, *with_pod(existing, THREE, released="go"), picture=picture(THREE))
    assert pods(released) == {}


def test_55_while_one_tablet_is_not_available_none_is_released():
    stored, existing = changed()
    young = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": timestamp(NOW - 29)}],
    }
    existing = [
        {**each, "status": young} if each["kind"] == "Pod" and TWO in name_of(each) else each for each in existing
    ]
    verdict = shard(annotated(stored, cascade="go"), *existing, picture=picture(ONE))
    assert reasons(verdict) == ["RolloutPaused"]
    assert verdict.marks == ()
    assert verdict.again == pytest.approx(1.0)


def test_73_where_topology_is_silent_no_tablet_is_released():
    stored, existing = changed()
    verdict = shard(annotated(stored, cascade="go"), *existing, picture=None)
    assert reasons(verdict) == ["RolloutPaused"]
    assert verdict.marks == ()


def test_a_cascade_ends_when_all_tablets_are_new():
    stored = shard_of(flagged())
    existing = grown_up(shard(stored))
    verdict = shard(annotated(stored, cascade="go"), *existing, picture=picture(ONE))
    assert marked(verdict) == {("VitessShard", name_of(stored)): {CASCADE_ANNOTATION: None}}
    assert reasons(verdict) == ["RollingRestartComplete"]


def test_under_immediate_the_cascade_begins_once_every_tablet_has_seen_the_change():
    stored, existing = changed(after=flagged(updateStrategy=IMMEDIATE))
    newer = {**stored, "metadata": {**stored["metadata"], "generation": 2}}
    first = shard(newer, *existing, picture=picture(ONE))
    assert first.marks == ()
    seen = [live(each) for each in first.children]
    second = shard(newer, *seen, picture=picture(ONE))
    assert list(marked(second)) == [("VitessShard", name_of(stored))]


def test_50_an_evicted_pod_is_made_anew_on_the_same_disk():
    stored = shard_of(vitess_cluster())
    existing = grown_up(shard(stored))
    evicted = [
        {**each, "status": {"phase": "Failed", "reason": "Evicted"}}
        if each["kind"] == "Pod" and TWO in name_of(each)
        else each
        for each in existing
    ]
    verdict = shard(stored, *evicted, picture=picture(ONE))
    assert sorted(pods(verdict)) == [ONE, THREE]
    assert len(names(verdict, "PersistentVolumeClaim")) == 3
    assert sorted(pods(shard(stored, *without_pod(existing, TWO), picture=picture(ONE)))) == [ONE, TWO, THREE]


# Disks.


def sized(size, **more):
    disk = {**CLAIM, "resources": {"requests": {"storage": size}}}
    return vitess_cluster(keyspaces=[keyspace_spec("commerce", 1, pool(dataVolumeClaimTemplate=disk))], **more)


FLOWS = {"updateStrategy": {"type": "External", "external": {"allowResourceChanges": ["storage"]}}}


def size_of(claim):
    return claim["spec"]["resources"]["requests"]["storage"]


def test_57_with_storage_allowed_disks_grow_without_a_release():
    before = grown_up(cluster(sized("1Gi", **FLOWS)))
    found = child(cluster(sized("2Gi", **FLOWS), *before), "VitessKeyspace")
    assert SCHEDULED_ANNOTATION not in annotations_of(found)
    stored, existing = changed(sized("1Gi", **FLOWS), sized("2Gi", **FLOWS))
    growing = shard(stored, *existing, picture=picture(ONE))
    assert {size_of(each) for each in children(growing, "PersistentVolumeClaim")} == {"2Gi"}
    assert reasons(growing) == ["PVCResizeWaiting"]
    pending = {"conditions": [{"type": "FileSystemResizePending", "status": "True"}]}
    grown = [
        live(each, status=pending) if each["kind"] == "PersistentVolumeClaim" else live(each)
        for each in growing.children
    ]
    restarts = shard(stored, *grown, picture=picture(ONE))
    assert list(marked(restarts)) == [("VitessShard", name_of(stored))]


def test_57_without_leave_a_larger_disk_waits():
    before = grown_up(cluster(sized("1Gi")))
    assert SCHEDULED_ANNOTATION in annotations_of(child(cluster(sized("2Gi"), *before), "VitessKeyspace"))


def test_57_a_smaller_disk_is_refused_and_nothing_waits_for_it():
    stored, existing = changed(sized("2Gi"), sized("1Gi"))
    verdict = shard(stored, *existing, picture=picture(ONE))
    assert {size_of(each) for each in children(verdict, "PersistentVolumeClaim")} == {"2Gi"}
    assert set(reasons(verdict)) == {"InvalidSpec"}
    assert not any(SCHEDULED_ANNOTATION in annotations_of(pod) for pod in pods(verdict).values())


@pytest.mark.parametrize(
    ("before", "after", "step"),
    [
        ("mysql:8.0.33", "mysql:8.0.35", VersionStep.UPGRADE),
        ("mysql:8.0.35", "mysql:8.0.33", VersionStep.DOWNGRADE),
        ("mysql:8.0.35", "mirror.example/mysql:8.0.35", VersionStep.NONE),
        ("mysql:latest", "mysql:8.0.35", VersionStep.NONE),
    ],
)
def test_66_a_change_of_mysqls_image_is_judged_by_its_version(before, after, step):
    assert version_step(before, after) is step


def mysql(version):
    return vitess_cluster(images={"mysqld": {"mysql80Compatible": f"mysql:{version}"}})


def test_66_an_older_mysql_is_refused_and_no_tablet_goes_for_it():
    stored, existing = changed(mysql("8.0.35"), mysql("8.0.33"))
    verdict = shard(annotated(stored, cascade="go"), *with_pod(existing, TWO, **DRAINED), picture=picture(ONE))
    assert set(reasons(verdict)) == {"MysqldSafeUpgradeFailed"}
    assert len(pods(verdict)) == 3
    assert verdict.marks == ()
