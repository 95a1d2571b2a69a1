"""Who takes over from a primary that is drained (checklist 61 and 62)."""

import pytest

from hanse.api.planetscale.values import PoolType
from hanse.api.vitess_records.positions import Position
from hanse.api.vitess_records.topology import Tablet, TabletAlias, TabletType
from hanse.vitess.tablets.candidates import TabletPod, candidates, most_advanced
from hanse.vitess.tablets.durability import acknowledges, waits_for_acknowledgement

SERVER = "00000000-0000-0000-0000-00000000000a"
OTHER = "00000000-0000-0000-0000-00000000000b"
PRIMARY = TabletAlias("zone1", 1)


def tablet(uid, kind=TabletType.REPLICA, cell="zone1"):
    return Tablet(alias=TabletAlias(cell, uid), type=kind)


@pytest.mark.parametrize(
    ("record", "pod", "able"),
    [
        (tablet(2), TabletPod(PoolType.REPLICA, ready=True), True),
        (tablet(2), TabletPod(PoolType.REPLICA, ready=False), False),
        (tablet(2), TabletPod(PoolType.REPLICA, ready=True, drains=True), False),
        (tablet(2), None, False),
        (tablet(2, TabletType.RDONLY), TabletPod(PoolType.RDONLY, ready=True), False),
        (tablet(2, TabletType.DRAINED), TabletPod(PoolType.REPLICA, ready=True), False),
        (tablet(2, cell="zone9"), TabletPod(PoolType.REPLICA, ready=True), False),
        (tablet(1, TabletType.PRIMARY), TabletPod(PoolType.REPLICA, ready=True), False),
        (tablet(2, TabletType.SPARE), TabletPod(PoolType.EXTERNAL_MASTER, ready=True), True),
        (tablet(2, TabletType.PRIMARY), TabletPod(PoolType.EXTERNAL_MASTER, ready=True), True),
        (tablet(2), TabletPod(PoolType.EXTERNAL_MASTER, ready=True), False),
        (tablet(2, TabletType.SPARE), TabletPod(PoolType.REPLICA, ready=True), False),
    ],
)
def test_only_ready_undrained_replicas_of_own_cells_may_take_over(record, pod, able):
    pods = {} if pod is None else {record.alias: pod}
    assert bool(candidates([record], pods, PRIMARY, ["zone1", "zone2"])) is able


@pytest.mark.parametrize(
    ("positions", "chosen"),
    [
        ({}, 2),
        ({3: f"{SERVER}:1-5"}, 3),
        ({2: f"{SERVER}:1-5", 3: f"{SERVER}:1-6"}, 3),
        ({2: f"{SERVER}:1-6", 3: f"{SERVER}:1-6"}, 2),
        ({2: f"{SERVER}:1-5,{OTHER}:1", 3: f"{SERVER}:1-9", 4: f"{SERVER}:1-2"}, 3),
    ],
)
def test_the_one_that_has_most_takes_over_or_the_first_where_none_says(positions, chosen):
    tablets = [tablet(uid) for uid in (2, 3, 4)]
    said = {TabletAlias("zone1", uid): Position.parse(text) for uid, text in positions.items()}
    found = most_advanced(tablets, said)
    assert found is not None
    assert found.alias == TabletAlias("zone1", chosen)


def test_nobody_takes_over_where_nobody_can():
    assert most_advanced([], {}) is None


@pytest.mark.parametrize(
    ("policy", "replica", "rdonly", "elsewhere"),
    [
        ("", False, False, False),
        ("none", False, False, False),
        ("semi_sync", True, False, True),
        ("semi_sync_with_rdonly_ack", True, True, True),
        ("cross_cell", False, False, True),
        ("cross_cell_with_rdonly_ack", False, False, True),
    ],
)
def test_who_acknowledges_is_what_the_durability_policy_says(policy, replica, rdonly, elsewhere):
    assert acknowledges(policy, PRIMARY, tablet(2)) is replica
    assert acknowledges(policy, PRIMARY, tablet(2, TabletType.RDONLY)) is rdonly
    assert acknowledges(policy, PRIMARY, tablet(2, cell="zone2")) is elsewhere
    assert waits_for_acknowledgement(policy) is (policy not in ("", "none"))
