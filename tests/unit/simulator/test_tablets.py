"""Simulated tablets and their MySQLs: writes, replication, terms, and calls that they refuse."""

import asyncio
import uuid

import pytest

from hanse.api.vitess_records import tablet_manager as calls
from hanse.api.vitess_records.replication import ThreadState
from hanse.api.vitess_records.topology import Shard, Tablet, TabletAlias, TabletType
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.tablets.mysql import SimulatedMySQL, SimulatedNetwork
from hanse.simulator.tablets.registry import RegistryOutOfReach
from hanse.simulator.tablets.tablet import SimulatedTablet, TabletRefuses
from hanse.simulator.virtual_time import run_virtually

NOTHING = calls.Nothing()


class Book:
    """A registry in memory; closed, it is out of reach."""

    def __init__(self):
        self.records = {}
        self.record = Shard()
        self.closed = False

    async def publish(self, tablet):
        self._reach()
        self.records[tablet.alias] = tablet

    async def tablet(self, alias):
        self._reach()
        return self.records.get(alias)

    async def shard(self, keyspace, shard):
        self._reach()
        return self.record

    async def claim(self, tablet):
        self._reach()
        mine, held = tablet.primary_term_start_time, self.record.primary_term_start_time
        if held is None or mine.timestamp > held.timestamp:
            self.record = Shard(primary_alias=tablet.alias, primary_term_start_time=mine)
        return self.record

    def _reach(self):
        if self.closed:
            raise RegistryOutOfReach("closed")


class Two:
    """Two tablets of one shard."""

    def __init__(self):
        self.book, self.network, self.runtime = Book(), SimulatedNetwork(), SeededRuntime()
        self.a, self.b = self._tablet(1), self._tablet(2)

    def _tablet(self, uid):
        alias, address = TabletAlias("zone1", uid), ("zone1", uid)
        kind = TabletType.REPLICA
        record = Tablet(alias=alias, keyspace="k", shard="-", type=kind, mysql_hostname="zone1", mysql_port=uid)
        mysql = SimulatedMySQL(address, str(uuid.UUID(int=uid)), uid, self.network)
        return SimulatedTablet(record, mysql, self.book, self.runtime)

    async def begin(self, *, semi_sync=True):
        await self.a.start()
        await self.a.answer("InitPrimary", calls.SemiSyncRequest(semi_sync))
        await self.b.start()
        self.b.mysql.acknowledges = semi_sync


def scene(play):
    def test():
        async def run():
            await play(Two())

        run_virtually(run)

    test.__name__ = play.__name__
    return test


@scene
async def test_a_replica_has_what_its_source_writes_and_takes_no_writes(two):
    await two.begin()
    assert two.a.mysql.write()
    assert two.b.mysql.has(two.a.mysql.executed)
    assert not two.b.mysql.write()
    status = (await two.b.answer("ReplicationStatus", NOTHING)).status
    assert (status.io_state, status.source_port, status.replication_lag_unknown) == (ThreadState.RUNNING, 1, False)


@scene
async def test_a_write_that_nobody_acknowledges_does_not_count(two):
    await two.begin()
    two.network.reaches = lambda here, there: False
    assert not two.a.mysql.write()
    assert (await two.b.answer("ReplicationStatus", NOTHING)).status.io_state == ThreadState.CONNECTING
    two.network.reaches = lambda here, there: True
    assert two.a.mysql.acknowledged()


@scene
async def test_a_primary_without_the_semi_synchronous_policy_waits_for_nobody(two):
    await two.begin(semi_sync=False)
    two.b.mysql.up = False
    assert two.a.mysql.write()


@scene
async def test_who_is_nobodys_replica_says_so_in_mysqls_words(two):
    await two.begin()
    with pytest.raises(TabletRefuses, match=r"no replication status \(errno 100\)"):
        await two.a.answer("ReplicationStatus", NOTHING)
    with pytest.raises(TabletRefuses, match="does not know Backup"):
        await two.a.answer("Backup", NOTHING)


@scene
async def test_a_primary_whose_term_is_over_steps_down_once_topology_tells_it(two):
    await two.begin()
    life = asyncio.create_task(two.a.live())
    await two.runtime.sleep(5)
    await two.b.answer("PromoteReplica", calls.SemiSyncRequest())
    two.book.closed = True
    await two.runtime.sleep(5)
    assert not two.a.mysql.read_only
    two.book.closed = False
    await two.runtime.sleep(5)
    assert two.a.mysql.read_only
    assert two.a.record.type == TabletType.REPLICA
    assert two.a.mysql.source == ("zone1", 2)
    life.cancel()


@scene
async def test_a_tablet_that_comes_back_is_primary_only_if_its_shard_still_says_so(two):
    await two.begin()
    two.a.mysql.up = False
    await two.a.start()
    assert (two.a.record.type, two.a.mysql.read_only) == (TabletType.PRIMARY, False)
    await two.runtime.sleep(5)
    two.a.mysql.up = False
    await two.b.answer("PromoteReplica", calls.SemiSyncRequest())
    await two.a.start()
    assert (two.a.record.type, two.a.mysql.read_only) == (TabletType.REPLICA, True)


@scene
async def test_one_whose_replication_was_stopped_stays_stopped_until_it_is_forced(two):
    await two.begin()
    stopped = calls.StopReplicationAndGetStatusRequest()
    status = (await two.b.answer("StopReplicationAndGetStatus", stopped)).status
    assert (status.before.io_state, status.after.io_state) == (ThreadState.RUNNING, ThreadState.STOPPED)
    follow = calls.SetReplicationSourceRequest(two.a.alias)
    await two.b.answer("SetReplicationSource", follow)
    assert not two.b.mysql.connected
    await two.b.answer("SetReplicationSource", calls.SetReplicationSourceRequest(two.a.alias, 0, True))
    assert two.b.mysql.connected


@scene
async def test_a_line_of_the_journal_counts_once_a_replica_has_it(two):
    await two.begin()
    two.b.mysql.stop()
    line = calls.PopulateReparentJournalRequest(time_created_ns=7)
    writing = asyncio.create_task(two.a.answer("PopulateReparentJournal", line))
    await two.runtime.sleep(5)
    assert not writing.done()
    await two.b.answer("StartReplication", calls.SemiSyncRequest(semi_sync=True))
    await writing
    assert (await two.b.answer("ReadReparentJournalInfo", NOTHING)).length == 1
