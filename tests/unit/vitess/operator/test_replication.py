"""How the Pods of a shard look to its drains."""

from hanse.api.vitess_records.topology import TabletAlias
from hanse.kube.manifest import name_of
from hanse.vitess.operator.replication import drain_tablets
from hanse.vitess.operator.shard_scene import shard_scene
from hanse.vitess.tablets.draining import DrainState, plan_drains
from tests.unit.vitess.operator.scenes import SETTINGS, annotated, grown_up, shard, shard_of, watched
from tests.vitess_specs import keyspace, pool, vitess_cluster

FIRST, SECOND = "zone1-0790125915", "zone1-2548885007"
PRIMARY = TabletAlias("zone1", 2469782763)


def replicas(count):
    return shard_of(vitess_cluster(keyspaces=[keyspace("commerce", 1, pool(replicas=count))]))


def ending(pod):
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2023-11-14T22:13:20Z"}}


def turned_down(first):
    """Plan the drains of three tablets of which one shall stay; `first` says what became of the first of them."""
    pods = {name_of(each): each for each in grown_up(shard(replicas(3))) if each["kind"] == "Pod"}
    (one,) = [name for name in pods if FIRST in name]
    (two,) = [name for name in pods if SECOND in name]
    pods[two] = annotated(pods[two], started="now", acknowledged="now")
    changed = first(annotated(pods.pop(one), started="now", acknowledged="now", finished="now"))
    there = [*pods.values(), *([changed] if changed else [])]
    scene = shard_scene(replicas(1), watched(there), None, SETTINGS)
    return plan_drains(drain_tablets(scene), PRIMARY)


def test_while_the_pod_of_a_drained_tablet_still_ends_no_other_drain_is_finished():
    assert not turned_down(ending).states


def test_once_the_pod_of_a_drained_tablet_has_gone_the_next_drain_is_finished():
    assert turned_down(lambda _pod: None).states == {TabletAlias("zone1", 2548885007): DrainState.FINISHED}
