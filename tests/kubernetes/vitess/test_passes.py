"""Hanse's own decisions carried out on a shard of served tablets: over gRPC, through the real vtctld."""

import pytest

from hanse.api.planetscale.values import PoolType
from hanse.api.vitess_records import tablet_manager as calls
from hanse.api.vitess_records.topology import CellInfo, Keyspace, TabletAlias
from hanse.kube.runtime import SystemRuntime
from hanse.vitess.tablets.asking import Questions
from hanse.vitess.tablets.begin_pass import BeginPasses
from hanse.vitess.tablets.beginning import Beginner, BeginningScene
from hanse.vitess.tablets.calling import CallFailed, NotReplicating
from hanse.vitess.tablets.candidates import TabletPod
from hanse.vitess.tablets.drain_pass import DrainPasses, ShardRef
from hanse.vitess.tablets.draining import DrainState, DrainTablet
from hanse.vitess.tablets.grpc_calling import GrpcCaller
from hanse.vitess.tablets.reshard_watch import watch_resharding
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology import paths
from hanse.vitess.topology.picture import read_picture
from tests.kubernetes.vitess.programs import real_vitess
from tests.kubernetes.vitess.served_tablets import served_shard

A, B, C = "zone1-0000000201", "zone1-0000000202", "zone1-0000000203"
CELLS = frozenset({"zone1"})


@pytest.fixture(scope="module")
def vitess():
    with real_vitess() as running:
        yield running


@pytest.fixture
async def topology(vitess):
    stores = vitess.stores()
    topology = vitess.topology(stores)
    await topology.ensure(paths.cell_info("zone1"), CellInfo(vitess.etcd, "/vitess/shop/local/zone1"))
    yield topology
    await stores.close()


@pytest.fixture
async def caller():
    opened = GrpcCaller()
    yield opened
    await opened.close()


def aliases(*texts):
    return [TabletAlias.parse(each) for each in texts]


async def beginning(topology, keyspace, *, uses_backups):
    picture = await read_picture(topology)
    records = [each.value for each in picture.tablets_of(keyspace).values()]
    return BeginningScene(
        initialize=True,
        has_primary=picture.shards[keyspace, "-"].value.primary is not None,
        uses_backups=uses_backups,
        has_initial_backup=True,
        beginners=tuple(Beginner(each.alias, PoolType.REPLICA, True, each) for each in records),
        records=tuple(records),
    )


@pytest.mark.parametrize("uses_backups", [False, True])
async def test_a_shard_gets_its_first_primary_and_a_drained_primary_is_replaced(vitess, topology, caller, uses_backups):
    keyspace = f"passes{int(uses_backups)}"
    ref, vtctld = ShardRef(keyspace, "-", CELLS), Vtctld(caller, vitess.vtctld)
    await topology.create(paths.keyspace(keyspace), Keyspace(durability_policy="semi_sync"))
    async with served_shard(topology, keyspace, [A, B, C]) as shard:
        if uses_backups:
            for tablet in shard.tablets.values():
                tablet.mysql.databases.add(f"vt_{keyspace}")
        passes = BeginPasses(topology, caller, vtctld, SystemRuntime())
        outcome = await passes.look(ref, await beginning(topology, keyspace, uses_backups=uses_backups))
        assert [told.reason for told in outcome.told] == ["InitShardPrimary"], outcome
        [first] = shard.primaries()
        record = (await vitess.client("GetShard", f"{keyspace}/-"))["shard"]
        assert record["primary_alias"] == {"cell": "zone1", "uid": TabletAlias.parse(first).uid}
        assert shard.tablets[first].mysql.write()

        drained = TabletAlias.parse(first)
        tablets = [
            DrainTablet(each, started=each == drained, acknowledged=each == drained) for each in aliases(A, B, C)
        ]
        pods = {each: TabletPod(PoolType.REPLICA, ready=True, drains=each == drained) for each in aliases(A, B, C)}
        drains = DrainPasses(topology, caller, vtctld)
        outcome = await drains.look(ref, await read_picture(topology), tablets, pods)
        assert [told.reason for told in outcome.told] == ["PlannedReparent"], outcome
        [second] = shard.primaries()
        assert second != first
        outcome = await drains.look(ref, await read_picture(topology), tablets, pods)
        assert outcome.states == {drained: DrainState.FINISHED}


async def test_tablets_are_asked_over_grpc_and_silence_is_no_answer(topology, caller):
    await topology.create(paths.keyspace("asked"), Keyspace(durability_policy="none"))
    async with served_shard(topology, "asked", [A, B]) as shard:
        records = {str(alias): tablet.record for alias, tablet in shard.tablets.items()}
        with pytest.raises(NotReplicating, match=f"ReplicationStatus of tablet {A}: no replication status"):
            await caller.ask(records[A], calls.REPLICATION_STATUS, calls.Nothing(), 2)
        status = (await caller.ask(records[A], calls.FULL_STATUS, calls.Nothing(), 2)).status
        assert (status.server_id, status.read_only) == (201, True)
        await shard.kill(B)
        with pytest.raises(CallFailed, match=f"Ping of tablet {B}"):
            await caller.ask(records[B], calls.PING, calls.PositionMessage("x"), 1)
        assert set(await Questions(caller).progress(records.values())) == set(aliases(A))


async def test_whether_a_keyspace_is_resharded_is_asked_of_vtctld_and_its_silence_is_no_answer(
    vitess, topology, caller
):
    await topology.create(paths.keyspace("calm"), Keyspace(durability_policy="none"))
    questions = Questions(caller)
    async with served_shard(topology, "calm", [A]):
        await vitess.client("PlannedReparentShard", "--new-primary", A, "calm/-")
        picture = await read_picture(topology)
        report = await watch_resharding("calm", picture, Vtctld(caller, vitess.vtctld), questions)
        assert report.active == (False, "NoActiveReshardingWorkflows")
        report = await watch_resharding("calm", picture, Vtctld(caller, "127.0.0.1:1"), questions)
        assert report.active == (None, "WorkflowsUnknown")
