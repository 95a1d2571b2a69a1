"""Simulated tablets under the real vtctld and the real vtorc: planned reparents, and a dead primary."""

import asyncio

import pytest

from hanse.api.vitess_records.topology import CellInfo, Keyspace, TabletAlias, TabletType
from hanse.vitess.tablets.grpc_calling import GrpcCaller
from hanse.vitess.tablets.promoting import Promotions, PromotionUnderWay
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology import paths
from hanse.vitess.topology.store import LockTaken
from tests.kubernetes.vitess.programs import eventually, real_vitess
from tests.kubernetes.vitess.served_tablets import served_shard

A, B, C = "zone1-0000000101", "zone1-0000000102", "zone2-0000000103"


@pytest.fixture(scope="module")
def vitess():
    with real_vitess() as running:
        yield running


@pytest.fixture
async def topology(vitess):
    stores = vitess.stores()
    topology = vitess.topology(stores)
    for cell in ("zone1", "zone2"):
        await topology.ensure(paths.cell_info(cell), CellInfo(vitess.etcd, f"/vitess/shop/local/{cell}"))
    yield topology
    await stores.close()


async def primary_of(topology, keyspace):
    shard = await topology.find(paths.shard(keyspace, "-"))
    return str(shard.primary) if shard is not None and shard.primary is not None else None


async def test_vtctld_makes_the_first_primary_and_moves_it_by_a_planned_reparent(vitess, topology):
    await topology.create(paths.keyspace("moved"), Keyspace(durability_policy="semi_sync"))
    async with served_shard(topology, "moved", [A, B], [C]) as shard:
        await vitess.client("PlannedReparentShard", "--new-primary", A, "moved/-")
        assert (await primary_of(topology, "moved"), shard.primaries()) == (A, [A])
        assert shard.tablets[A].mysql.write()

        await vitess.client("PlannedReparentShard", "--new-primary", B, "--expected-primary", A, "moved/-")
        assert (await primary_of(topology, "moved"), shard.primaries()) == (B, [B])
        types = {str(alias): (await topology.read(paths.tablet(alias))).value.type for alias in aliases(A, B, C)}
        assert types == {A: TabletType.REPLICA, B: TabletType.PRIMARY, C: TabletType.RDONLY}
        assert shard.tablets[B].mysql.write()
        assert {shard.tablets[each].mysql.has(shard.tablets[B].mysql.executed) for each in (A, C)} == {True}
        assert not shard.tablets[A].mysql.write()


async def test_while_vtctld_reparents_hanse_has_no_lock_of_the_shard_and_a_failed_reparent_is_undone(vitess, topology):
    await topology.create(paths.keyspace("slow"), Keyspace(durability_policy="none"))
    async with served_shard(topology, "slow", [A, B]) as shard:
        await vitess.client("PlannedReparentShard", "--new-primary", A, "slow/-")
        shard.tablets[B].mysql.lag_seconds = 5
        assert shard.tablets[A].mysql.write()
        timeout = "--wait-replicas-timeout=4s"
        reparent = asyncio.create_task(
            vitess.client("PlannedReparentShard", timeout, "--new-primary", B, "slow/-", refused=True)
        )
        await vitess.queued(paths.shard_directory("slow", "-"), 1)
        promotions = Promotions(topology, Vtctld(GrpcCaller(), vitess.vtctld))
        with pytest.raises(PromotionUnderWay, match="slow/- is locked"):
            await promotions.reparent("slow", "-", new=TabletAlias.parse(B), expected=TabletAlias.parse(A))
        with pytest.raises(LockTaken):
            async with await topology.lock(paths.shard_directory("slow", "-"), "meanwhile", patience=0.5):
                pass
        assert "did not catch up in time" in await reparent
        assert shard.primaries() == [A]
        assert shard.tablets[A].mysql.write()


async def test_vtorc_fails_a_dead_primary_over_and_the_old_one_comes_back_as_a_replica(vitess, topology):
    await topology.create(paths.keyspace("failed"), Keyspace(durability_policy="semi_sync"))
    async with served_shard(topology, "failed", [A, B, C]) as shard:
        await vitess.client("PlannedReparentShard", "--new-primary", A, "failed/-")
        for _ in range(3):
            assert shard.tablets[A].mysql.write()
        acknowledged = shard.tablets[A].mysql.executed
        vitess.start_vtorc("zone1", "failed/-")
        await shard.kill(A)

        async def replaced():
            return await primary_of(topology, "failed") not in (None, A) and len(shard.primaries()) == 1

        await eventually(replaced, seconds=90, what=lambda: f"no failover:\n{vitess.log_tail('vtorc')}")
        [new] = shard.primaries()
        assert await primary_of(topology, "failed") == new
        assert shard.tablets[new].mysql.has(acknowledged)

        await shard.start(A)
        assert shard.tablets[A].record.type == TabletType.REPLICA
        assert shard.primaries() == [new]
        assert shard.tablets[A].mysql.has(acknowledged)


def aliases(*texts):
    return [TabletAlias.parse(each) for each in texts]
