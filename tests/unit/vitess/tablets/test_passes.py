"""Drains and first primaries on simulated tablets, pass by pass (checklist 60 to 62, 78, 81)."""

from dataclasses import replace

import pytest

from hanse.api.planetscale.values import PoolType
from hanse.api.vitess_records.topology import TabletAlias, TabletType, Time
from hanse.simulator.virtual_time import run_virtually
from hanse.vitess.tablets.begin_pass import BeginPasses
from hanse.vitess.tablets.beginning import Beginner, BeginningScene
from hanse.vitess.tablets.candidates import TabletPod
from hanse.vitess.tablets.drain_pass import DrainPasses, ShardRef
from hanse.vitess.tablets.draining import DrainState, DrainTablet
from hanse.vitess.topology import paths
from hanse.vitess.topology.picture import read_picture
from hanse.vitess.topology.store import Unreachable
from tests.unit.vitess.tablets.company import KEYSPACE, SHARD, Company

A, B, C = TabletAlias("zone1", 1), TabletAlias("zone1", 2), TabletAlias("zone2", 3)
REF = ShardRef(KEYSPACE, SHARD, frozenset({"zone1", "zone2"}))


class Pods:
    """The annotations of Pods, on which the states of a pass are written."""

    def __init__(self, *aliases):
        self.tablets = {alias: DrainTablet(alias) for alias in aliases}
        self.told = []

    def start(self, *aliases):
        for alias in aliases:
            self.tablets[alias] = replace(self.tablets[alias], started=True)

    def write(self, states):
        marks = {
            DrainState.NOT_DRAINING: {"acknowledged": False, "finished": False},
            DrainState.ACKNOWLEDGED: {"acknowledged": True},
            DrainState.FINISHED: {"finished": True},
        }
        for alias, state in states.items():
            self.tablets[alias] = replace(self.tablets[alias], **marks[state])

    def finished(self):
        return [alias for alias, each in self.tablets.items() if each.state is DrainState.FINISHED]

    async def look(self, company, passes, turns=None):
        """Look once, some time after the last time, and write what follows."""
        await company.runtime.sleep(5)
        pods = {
            alias: TabletPod(PoolType.REPLICA, ready=each.available, drains=each.started or each.acknowledged)
            for alias, each in self.tablets.items()
        }
        picture = await read_picture(company.topology)
        outcome = await passes.look(REF, picture, list(self.tablets.values()), pods, turns)
        self.write(outcome.states)
        self.told += [told.reason for told in outcome.told]
        return outcome


def play(scene, **settings):
    async def run():
        return await scene(Company(**settings))

    return run_virtually(run)


async def with_primary(company, *, third=True):
    for alias in (A, B, C) if third else (A, B):
        await company.add(alias.cell, alias.uid)
    await company.vtctld.planned_reparent(KEYSPACE, SHARD, new=A, expected=None)
    return Pods(*company.tablets), DrainPasses(company.topology, company, company.vtctld)


def test_a_drained_primary_is_replaced_by_the_replica_that_has_most_and_finished_afterwards():
    async def scene(company):
        pods, passes = await with_primary(company)
        company.tablets[B].mysql.lag_seconds = 3
        company.tablets[A].mysql.write()
        pods.start(A)
        for _ in range(3):
            await pods.look(company, passes)
        assert company.primaries() == [C]
        assert (await company.topology.read(paths.shard(KEYSPACE, SHARD))).value.primary == C
        return pods

    pods = play(scene)
    assert pods.finished() == [A]
    assert pods.told == ["PlannedReparent"]


def test_two_drains_are_finished_one_after_the_other():
    async def scene(company):
        pods, passes = await with_primary(company)
        pods.start(B, C)
        for _ in range(4):
            await pods.look(company, passes)
        assert pods.finished() == [B]
        pods.tablets[B] = DrainTablet(B, available=False)
        await pods.look(company, passes)
        assert pods.finished() == []
        pods.tablets[B] = DrainTablet(B)
        await pods.look(company, passes)
        return pods

    assert play(scene).finished() == [C]


def test_a_primary_whose_replicas_all_drain_stays():
    async def scene(company):
        pods, passes = await with_primary(company)
        pods.start(A, B, C)
        for _ in range(3):
            outcome = await pods.look(company, passes)
        assert company.primaries() == [A]
        assert outcome.again == 5
        return pods

    pods = play(scene)
    assert (pods.finished(), pods.told) == ([], ["DrainBlocked", "DrainBlocked"])


def test_a_drain_waits_for_the_turn_that_a_tablet_of_another_cluster_has():
    class Taken:
        mine, known = False, False

        async def take(self, alias):
            if not self.known:
                raise Unreachable("the lockserver does not answer")
            return self.mine

    async def scene(company):
        pods, passes = await with_primary(company)
        turns = Taken()
        pods.start(B)
        for _ in range(3):
            await pods.look(company, passes, turns)
            turns.known = bool(pods.told)
        assert pods.finished() == []
        assert pods.told == ["NotReconcilingDrain", "DrainBlocked"]
        turns.mine = True
        await pods.look(company, passes, turns)
        return pods

    assert play(scene).finished() == [B]


def test_a_tablet_that_cannot_be_told_to_stop_slowly_is_not_finished():
    async def scene(company):
        pods, passes = await with_primary(company)
        pods.start(B)
        pods.tablets[B] = replace(pods.tablets[B], acknowledged=True, slow_shutdown=True)
        company.tablets[B].mysql.up = False
        await pods.look(company, passes)
        assert pods.finished() == []
        company.tablets[B].mysql.up = True
        await pods.look(company, passes)
        assert f"ExecuteFetchAsDba {B}" in company.asked
        return pods

    pods = play(scene)
    assert (pods.finished(), pods.told) == ([B], ["MysqldSafeUpgradeFailed"])


async def begin(company, *, uses_backups=True):
    picture = await read_picture(company.topology)
    records = {alias: each.value for alias, each in picture.tablets_of(KEYSPACE, SHARD).items()}
    beginners = tuple(Beginner(alias, PoolType.REPLICA, True, record) for alias, record in sorted(records.items()))
    scene = BeginningScene(
        initialize=True,
        has_primary=picture.shards[KEYSPACE, SHARD].value.primary is not None,
        uses_backups=uses_backups,
        has_initial_backup=True,
        beginners=beginners,
        records=tuple(records.values()),
    )
    outcome = await BeginPasses(company.topology, company, company.vtctld, company.runtime).look(REF, scene)
    return [told.reason for told in outcome.told]


def test_the_restored_replica_that_has_most_becomes_the_first_primary_and_the_others_follow():
    async def scene(company):
        for alias in (A, B, C):
            await company.add(alias.cell, alias.uid, database=True)
        mysql = company.tablets[B].mysql
        mysql.executed = mysql.executed.after_write(mysql.uuid)
        assert await begin(company) == ["InitShardPrimary"]
        assert company.primaries() == [B]
        assert (await company.topology.read(paths.shard(KEYSPACE, SHARD))).value.primary == B
        assert company.tablets[B].mysql.write()
        assert await begin(company) == []
        return [company.tablets[each].mysql.connected for each in (A, C)]

    assert play(scene) == [True, True]


def test_without_backups_the_first_empty_replica_is_initialised_and_one_with_a_database_blocks():
    async def scene(company):
        await company.add("zone1", 1)
        other = await company.add("zone1", 2, database=True)
        assert await begin(company, uses_backups=False) == ["InitShardBlocked"]
        other.mysql.databases.clear()
        assert await begin(company, uses_backups=False) == ["InitShardPrimary"]
        return company.primaries()

    assert play(scene) == [A]


def test_a_tablet_that_is_primary_already_is_only_named_in_the_shard():
    async def scene(company):
        for alias in (A, B):
            await company.add(alias.cell, alias.uid, database=True)
        term = Time(5)
        primary = {"type": TabletType.PRIMARY, "primary_term_start_time": term}
        await company.topology.update(paths.tablet(B), lambda found: replace(found, **primary))
        assert await begin(company) == ["InitShardPrimary"]
        record = (await company.topology.read(paths.shard(KEYSPACE, SHARD))).value
        assert (record.primary, record.primary_term_start_time) == (B, term)
        return [each for each in company.asked if "Promote" in each]

    assert play(scene) == []


@pytest.mark.parametrize("down", [[], [C]])
def test_tablets_that_do_not_answer_stop_no_first_primary(down):
    async def scene(company):
        for alias in (A, B, C):
            await company.add(alias.cell, alias.uid, database=True)
        for alias in down:
            company.tablets[alias].mysql.up = False
        return await begin(company)

    assert play(scene) == ["InitShardPrimary"]


@pytest.mark.parametrize("primary", [False, True])
def test_while_a_cell_is_silent_in_which_a_primary_may_be_none_is_chosen(primary):
    async def scene(company):
        for alias in (A, B, C):
            await company.add(alias.cell, alias.uid, database=True)
        if primary:
            await company.topology.update(paths.tablet(A), lambda found: replace(found, type=TabletType.PRIMARY))
        company.servers["zone2:2379"].up = False
        assert await begin(company) == ["InitShardFailed"]
        record = (await company.topology.read(paths.shard(KEYSPACE, SHARD))).value
        return record.primary, company.primaries()

    assert play(scene) == (None, [])
