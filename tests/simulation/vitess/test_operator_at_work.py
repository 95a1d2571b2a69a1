"""A VitessCluster with simulated tablets: its first primary, a rolling change, a pool that shrinks, topology kept."""

import asyncio

import pytest

from hanse.api.planetscale.kinds import VITESS_CLUSTERS, VITESS_KEYSPACES, VITESS_SHARDS
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import dig
from hanse.kube.resources import PODS
from hanse.vitess.operator.kinds import CLAIMS
from hanse.vitess.operator.pods import is_ready
from hanse.vitess.topology import paths
from tests.simulation.vitess.operator_stage import operator_stage
from tests.simulation.vitess.tablet_world import EXTERNAL
from tests.vitess_specs import keyspace, pool, vitess_cluster

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(120)]

TABLETS = "planetscale.com/component=vttablet"
SHARD = "example-commerce-x-x-0f5afee6"


def asked(**spec):
    return vitess_cluster(globalLockserver={"external": EXTERNAL}, **spec)


def image(name, **spec):
    return asked(images={"vttablet": name}, **spec)["spec"]


async def condition(stage, resource, name, kind="Ready"):
    found = await stage.get(resource, name)
    return (find_condition(dig(found, "status", "conditions"), kind) or {}).get("status")


async def is_ready_cluster(stage):
    return await condition(stage, VITESS_CLUSTERS, "example") == "True"


async def test_a_new_cluster_is_registered_gets_a_primary_and_is_ready():
    async with operator_stage(tablets=True) as stage:
        await stage.create(asked())
        await stage.until(lambda: is_ready_cluster(stage), 300)
        topology = stage.world.topology
        info = await topology.find(paths.cell_info("zone1"))
        assert (info.server_address, info.root) == ("etcd.example:2379", "/vitess/example/local/zone1")
        assert (await topology.find(paths.cells_alias("planetscale_operator_default"))).cells == ("zone1",)
        assert await topology.find(paths.keyspace("commerce")) is not None
        shard = (await stage.get(VITESS_SHARDS, SHARD))["status"]
        assert (shard["hasMaster"], shard["masterAlias"]) == ("True", await stage.world.primary())
        assert await stage.silent(90)


async def test_53_an_image_rolls_one_tablet_at_a_time_and_the_primary_last_after_a_reparent():
    async with operator_stage(tablets=True) as stage:
        await stage.create(asked(updateStrategy={"type": "Immediate"}))
        await stage.until(lambda: is_ready_cluster(stage), 300)
        first = await stage.world.primary()
        stage.world.reparents.clear()
        watching = asyncio.create_task(stage.world.watch(stage.client))
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"images": {"vttablet": "vitess/lite:v2"}}})

        async def is_rolled():
            pods = await stage.all(PODS, TABLETS)
            images = {pod["spec"]["containers"][0]["image"] for pod in pods}
            return len(pods) == 3 and images == {"vitess/lite:v2"} and all(map(is_ready, pods))

        await stage.until(is_rolled, 900)
        watching.cancel()
        assert stage.world.fewest_ready == 2
        ((old, new),) = stage.world.reparents
        assert (old, new) == (first, await stage.world.primary())
        pods = {pod["metadata"]["name"]: pod["metadata"]["creationTimestamp"] for pod in await stage.all(PODS, TABLETS)}
        assert max(pods, key=lambda name: pods[name]).startswith(f"example-vttablet-{first}")
        await stage.until(lambda: condition_is(stage, "Updated"), 120)
        await stage.settle(60)
        assert await stage.silent(90)


async def condition_is(stage, kind):
    return await condition(stage, VITESS_CLUSTERS, "example", kind) == "True"


async def test_67_a_smaller_pool_gives_up_its_last_tablet_with_its_disk_and_its_record():
    async with operator_stage(tablets=True) as stage:
        await stage.create(asked(updateStrategy={"type": "Immediate"}))
        await stage.until(lambda: is_ready_cluster(stage), 300)
        smaller = keyspace("commerce", 1, pool(replicas=2))
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"keyspaces": [smaller]}})

        async def is_smaller():
            tablets = [path for path in stage.world.lockserver.files() if path.endswith("/Tablet")]
            claims = await stage.names(CLAIMS)
            return len(await stage.names(PODS, TABLETS)) == 2 and len(claims) == 2 and len(tablets) == 2

        await stage.until(is_smaller, 300)
        assert await stage.world.primary() in (await stage.get(VITESS_SHARDS, SHARD))["status"]["tablets"]


async def test_70_an_emptied_keyspace_that_is_removed_leaves_topology():
    async with operator_stage(tablets=True) as stage:
        await stage.create(asked(updateStrategy={"type": "Immediate"}))
        await stage.until(lambda: is_ready_cluster(stage), 300)
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"keyspaces": []}})
        await stage.settle(60)
        assert await stage.names(VITESS_KEYSPACES) == ["example-commerce-fb9b866a"]
        orphans = (await stage.get(VITESS_CLUSTERS, "example"))["status"]["orphanedKeyspaces"]
        assert orphans["commerce"]["reason"] == "NotIdle"
        empty = keyspace("commerce", 1, pool(replicas=0))
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"keyspaces": [empty]}})
        await stage.settle(60)
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"keyspaces": []}})

        async def is_gone():
            left = [path for path in stage.world.lockserver.files() if "commerce" in path]
            return not await stage.names(VITESS_KEYSPACES) and not await stage.names(PODS, TABLETS) and not left

        await stage.until(is_gone, 300)


async def test_a_spec_that_cannot_be_meant_removes_nothing_from_topology():
    async with operator_stage(tablets=True) as stage:
        await stage.create(asked(updateStrategy={"type": "Immediate"}))
        await stage.until(lambda: is_ready_cluster(stage), 300)
        before = set(stage.world.lockserver.files())
        wrong = keyspace("other", 1, pool("zone9"))
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"keyspaces": [wrong]}})
        await stage.settle(60)
        assert await condition(stage, VITESS_CLUSTERS, "example") == "False"
        assert set(stage.world.lockserver.files()) == before
        assert len(await stage.names(PODS, TABLETS)) == 3


async def test_73_while_the_lockserver_is_silent_nothing_is_turned_down():
    async with operator_stage(tablets=True) as stage:
        await stage.create(asked(updateStrategy={"type": "Immediate"}))
        await stage.until(lambda: is_ready_cluster(stage), 300)
        stage.world.lockserver.up = False
        smaller = keyspace("commerce", 1, pool(replicas=2))
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"keyspaces": [smaller]}})
        await stage.settle(300)
        assert len(await stage.names(PODS, TABLETS)) == 3
        assert len(await stage.events("TopoConnectFailed")) >= 1
        stage.world.lockserver.up = True
        await stage.until(lambda: _count(stage, 2), 300)


async def _count(stage, tablets):
    return len(await stage.names(PODS, TABLETS)) == tablets


async def test_an_operator_that_is_killed_again_and_again_finishes_what_it_began():
    async with operator_stage(tablets=True, seed=7) as stage:
        await stage.create(asked(updateStrategy={"type": "Immediate"}))
        await stage.until(lambda: is_ready_cluster(stage), 300)
        watching = asyncio.create_task(stage.world.watch(stage.client))
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"images": {"vttablet": "vitess/lite:v2"}}})

        async def images():
            return [pod["spec"]["containers"][0]["image"] for pod in await stage.all(PODS, TABLETS)]

        for _ in range(60):
            await stage.settle(stage.runtime.uniform(0.05, 12.0))
            await stage.kill()
            stage.operate()
            if await images() == ["vitess/lite:v2"] * 3:
                break
        await stage.until(lambda: condition_is(stage, "Updated"), 900)
        watching.cancel()
        assert await images() == ["vitess/lite:v2"] * 3
        assert stage.world.fewest_ready == 2
        assert len(stage.world.primaries()) == 1


async def test_an_operator_that_starts_again_writes_nothing_where_nothing_changed():
    async with operator_stage(tablets=True) as stage:
        await stage.create(asked())
        await stage.until(lambda: is_ready_cluster(stage), 300)
        await stage.settle(60)
        await stage.kill()
        stage.wire.writes.clear()
        stage.operate()
        await stage.settle(60)
        assert stage.wire.writes == []
