"""The first primary of a shard (checklist 78, 80 to 83)."""

from dataclasses import replace

import pytest

from hanse.api.planetscale.values import PoolType
from hanse.api.vitess_records.positions import Position
from hanse.api.vitess_records.topology import Tablet, TabletAlias, TabletType
from hanse.vitess.tablets.beginning import (
    AdoptPrimary,
    Beginner,
    BeginningScene,
    DeclareExternal,
    Initialise,
    Promote,
    plan_beginning,
)
from hanse.vitess.topology.steps import Told

SERVER = "00000000-0000-0000-0000-00000000000a"


def alias(uid):
    return TabletAlias("zone1", uid)


def beginner(uid, kind=TabletType.REPLICA, pool=PoolType.REPLICA, **answers):
    said = {"running": True, "replicates": False, "has_database": False, **answers}
    return Beginner(alias(uid), pool, record=Tablet(alias=alias(uid), type=kind), **said)


def scene(*beginners, **more):
    facts = {"initialize": True, "has_primary": False, "uses_backups": False, "has_initial_backup": None, **more}
    records = tuple(each.record for each in beginners if each.record is not None)
    return BeginningScene(beginners=tuple(beginners), records=records, **facts)


EMPTY = (beginner(2), beginner(1), beginner(3, TabletType.RDONLY, PoolType.RDONLY))
RESTORED = (beginner(1, has_database=True), beginner(2, has_database=True), beginner(3))


def restored(*beginners, **more):
    return scene(*beginners, uses_backups=True, has_initial_backup=True, **more)


@pytest.mark.parametrize(
    ("given", "planned"),
    [
        # Nothing is to be done here.
        (scene(*EMPTY, initialize=False), None),
        (restored(*RESTORED, initialize=False), None),
        (scene(*EMPTY, has_primary=True), None),
        # Without backups: the first replica, once all are there and empty.
        (scene(*EMPTY), Initialise(alias(1))),
        # From backups: the restored replica that has most.
        (restored(*RESTORED), Promote(alias(1), (alias(2),))),
        (
            replace(
                restored(*RESTORED),
                positions={alias(1): Position.parse(f"{SERVER}:1"), alias(2): Position.parse(f"{SERVER}:1-2")},
            ),
            Promote(alias(2), (alias(1),)),
        ),
        # A tablet is primary already: only its shard is told.
        (restored(beginner(1, TabletType.PRIMARY, has_database=True), *RESTORED[1:]), AdoptPrimary(alias(1))),
        # Databases that others run.
        (scene(beginner(5, TabletType.SPARE, PoolType.EXTERNAL_MASTER)), DeclareExternal(alias(5))),
    ],
)
def test_a_shard_without_a_primary_gets_its_first(given, planned):
    assert plan_beginning(given) == planned


@pytest.mark.parametrize(
    ("given", "reason", "why"),
    [
        (scene(*EMPTY, has_primary=None), "InitShardWaiting", "is not known"),
        (scene(replace(EMPTY[0], running=False), *EMPTY[1:]), "InitShardWaiting", "zone1-0000000002 does not run yet"),
        (scene(replace(EMPTY[0], record=None), *EMPTY[1:]), "InitShardWaiting", "zone1-0000000002 does not run yet"),
        (scene(beginner(1, TabletType.RESTORE)), "InitShardWaiting", "is restoring"),
        (scene(beginner(1, has_database=None)), "InitShardWaiting", "does not answer"),
        (scene(beginner(1, has_database=True)), "InitShardBlocked", "has a database already"),
        (scene(beginner(1, replicates=True)), "InitShardBlocked", "replicates already"),
        (scene(beginner(1, TabletType.RDONLY, PoolType.RDONLY)), "InitShardBlocked", "no pool of type replica"),
        (scene(*RESTORED, uses_backups=True), "InitShardWaiting", "no initial backup yet"),
        (scene(*RESTORED, uses_backups=True, has_initial_backup=False), "InitShardWaiting", "no initial backup yet"),
        (restored(beginner(1), beginner(2)), "InitShardWaiting", "no replica has been restored"),
        (
            restored(beginner(1, TabletType.PRIMARY), beginner(2, TabletType.PRIMARY)),
            "InitShardFailed",
            "zone1-0000000001 and zone1-0000000002 both say that they are the primary",
        ),
        (
            scene(replace(beginner(5, TabletType.SPARE, PoolType.EXTERNAL_MASTER), running=False)),
            "ExternalPrimaryShardBlocked",
            "no tablet of an externalmaster pool runs yet",
        ),
    ],
)
def test_what_is_not_certain_is_waited_for_and_what_would_lose_data_is_not_done(given, reason, why):
    told = plan_beginning(given)
    assert isinstance(told, Told)
    assert told.reason == reason
    assert why in told.message
