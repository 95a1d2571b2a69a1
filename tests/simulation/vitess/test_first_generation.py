"""The first Vitess operator: a VitessCluster comes up by itself, and one edit rolls through all of it in order."""

import pytest

from hanse.api.vitess.kinds import ETCD_CLUSTERS, VITESS_CELLS, VITESS_CLUSTERS, VITESS_SHARDS
from hanse.kube.client import PatchType
from hanse.kube.errors import Invalid
from hanse.kube.resources import DEPLOYMENTS, PODS, Resource
from tests.simulation.vitess.first_stage import JOBS, NEW_IMAGE, first_stage, my_vitess, with_image

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(120)]

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
LOW = ["1327744200", "0214747900", "0214747901"]
HIGH = ["1007420500", "1213596500", "1213596501"]
LOOKUP = ["1617183000", "1617183001"]


def tablets(*uids, cell="zone1"):
    return [f"vitess-vttablet-{cell}-{uid}" for uid in uids]


def small(cells=("zone1",), **tablets_):
    """Return a cluster of one keyspace that is not divided."""
    found = my_vitess()
    found["spec"]["cells"] = [
        {"name": "global", "etcd": {"version": "3.2.11", "size": 1}, "vtctld": {"image": "vitess/lite:v2.2"}},
        *({"name": name} for name in cells),
    ]
    pools = {"defaults": {"image": "vitess/lite:v2.2"}, "masterEligible": {"replicas": 2}, "batch": {}, **tablets_}
    found["spec"]["keyspaces"] = [{"name": "db", "cells": list(cells), "tablets": pools}]
    return found


async def test_one_edit_rolls_keyspace_by_keyspace_shard_by_shard_and_pod_by_pod_with_the_primary_moved_first():
    async with first_stage() as vitess:
        on, witness = vitess.on, vitess.witness
        await on.create(my_vitess())
        await on.until(vitess.ready, seconds=300)
        assert sorted(witness.images) == sorted(tablets(*LOW, *HIGH, *LOOKUP))
        assert await on.names(CLAIMS, labels="vitess.io/component=vttablet") == sorted(witness.images)
        assert await on.silent()

        # The primaries are where they are in the way: the first that is touched, and the last.
        witness.primaries |= {
            "main/-80": tablets("0214747900")[0],
            "main/80-": tablets("1213596501")[0],
            "lookup/0": tablets("1617183000")[0],
        }
        await vitess.change(with_image(my_vitess(), NEW_IMAGE))
        await on.until(lambda: set(witness.images.values()) == {NEW_IMAGE}, seconds=600)
        await on.until(vitess.ready, seconds=300)

        assert witness.touched == tablets(*LOW, *HIGH, *LOOKUP)
        assert witness.wrongs == []
        assert len(witness.reparents) == 6
        for name, component in (("vitess-global-vtctld", "vtctld"), ("vitess-zone1-vtgate", "vtgate")):
            deployment = await vitess.get(DEPLOYMENTS, name)
            assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == NEW_IMAGE, component
        assert [name for name in await on.names(JOBS) if "reparent" in name] == []
        assert await on.silent()


async def test_cells_are_rolled_one_at_a_time_also_when_the_server_of_hooks_is_killed_on_the_way():
    async with first_stage() as vitess:
        on, witness = vitess.on, vitess.witness
        cells = ("zone1", "zone2")
        await on.create(small(cells))
        await on.until(vitess.ready, seconds=300)
        witness.primaries["db/0"] = witness.replicas("db/0")[0]
        await vitess.change(with_image(small(cells), NEW_IMAGE))
        for killed in (1, 3, 5):
            await on.until(lambda killed=killed: len(witness.touched) >= killed, seconds=300)
            await on.kill()
            await on.settle(1.0)
            on.serve()
        await on.until(vitess.ready, seconds=300)

        assert set(witness.images.values()) == {NEW_IMAGE}
        assert [name.split("-")[2] for name in witness.touched] == ["zone1"] * 3 + ["zone2"] * 3
        assert witness.wrongs == []


async def test_a_tablet_that_does_not_come_up_stops_the_rollout_and_the_cluster_says_where_it_waits():
    async with first_stage() as vitess:
        on, witness = vitess.on, vitess.witness
        await on.create(small())
        await on.until(vitess.ready, seconds=300)
        await vitess.change(small(defaults={"image": "vitess/lite:missing"}))
        await on.until(lambda: len(witness.touched) == 1)
        await on.settle(30)

        assert len(witness.touched) == 1
        told = (await vitess.get(VITESS_CLUSTERS, "vitess"))["status"]
        assert told["readyCells"] == ["global"]
        assert "waiting for cell zone1" in [each.get("message") for each in told["conditions"]]

        await vitess.change(with_image(small(), NEW_IMAGE))
        await on.until(vitess.ready, seconds=300)
        assert set(witness.images.values()) == {NEW_IMAGE}
        assert witness.wrongs == []


async def test_a_cell_is_not_ready_until_its_registration_is_complete():
    async with first_stage() as vitess:
        on = vitess.on
        cluster = small()
        await on.create(cluster)
        await on.until(vitess.ready, seconds=300)
        cell = await vitess.get(VITESS_CELLS, "vitess-zone1")
        assert cell["status"]["cellInfoRegistered"] is True
        assert await on.names(JOBS) == ["vitess-zone1-cell-info"]
        assert (await vitess.get(VITESS_CELLS, "vitess-global"))["status"]["vttablet"] == {"services": 0}

        await on.client.delete(JOBS, "vitess-zone1-cell-info", "default")
        await on.until(lambda: _says(vitess, "waiting for cell zone1"))
        await on.until(vitess.ready)


async def _says(vitess, message):
    conditions = (await vitess.get(VITESS_CLUSTERS, "vitess"))["status"]["conditions"]
    return message in [each.get("message") for each in conditions]


async def test_a_replica_too_many_goes_once_the_primary_is_elsewhere():
    async with first_stage() as vitess:
        on, witness = vitess.on, vitess.witness
        await on.create(small(batch={"replicas": 0}, masterEligible={"replicas": 3}))
        await on.until(vitess.ready, seconds=300)
        leaving = (await vitess.get(VITESS_SHARDS, "vitess-zone1-db-0"))["status"]["tablets"][-2:]
        witness.primaries["db/0"] = tablets(leaving[1])[0]
        await vitess.change(small(batch={"replicas": 0}, masterEligible={"replicas": 1}))
        await on.until(lambda: len(witness.pods) == 1, seconds=300)
        await on.until(vitess.ready, seconds=300)

        assert witness.wrongs == []
        assert witness.primaries["db/0"] not in tablets(*leaving)
        assert len(await on.names(PODS, labels="vitess.io/component=vttablet")) == 1


async def test_an_etcd_mends_itself_and_takes_another_version_member_by_member_but_never_another_size():
    async with first_stage() as vitess:
        on = vitess.on
        cluster = my_vitess()
        del cluster["spec"]["cells"][1], cluster["spec"]["keyspaces"]
        await on.create(cluster)
        await on.until(vitess.ready, seconds=300)
        await on.client.delete(PODS, "vitess-global-etcd-1", "default")
        await on.until(lambda: _members(vitess, 2))
        await on.until(lambda: _members(vitess, 3))

        cluster["spec"]["cells"][0]["etcd"]["version"] = "3.3.0"
        await vitess.change(cluster)
        await on.until(lambda: _etcd_is(vitess, "v3.3.0"), seconds=300)
        await on.until(vitess.ready, seconds=300)

        size = [{"op": "replace", "path": "/spec/size", "value": 5}]
        with pytest.raises(Invalid, match="size cannot be changed"):
            await on.client.patch(ETCD_CLUSTERS, "vitess-global-etcd", size, "default", patch_type=PatchType.JSON)


async def _members(vitess, count):
    found = await vitess.get(ETCD_CLUSTERS, "vitess-global-etcd")
    return len(found["status"]["members"]["ready"]) == count


async def _etcd_is(vitess, version):
    listed = (await vitess.on.client.list(PODS, "default", labels="app=etcd")).items
    return {each["spec"]["containers"][0]["image"] for each in listed} == {f"quay.io/coreos/etcd:{version}"}


async def test_all_goes_with_the_cluster():
    async with first_stage() as vitess:
        on = vitess.on
        await on.create(small())
        await on.until(vitess.ready, seconds=300)
        await on.client.delete(VITESS_CLUSTERS, "vitess", "default")

        async def nothing_left():
            kinds = (VITESS_CELLS, VITESS_SHARDS, ETCD_CLUSTERS, PODS, CLAIMS, JOBS, DEPLOYMENTS)
            return [name for kind in kinds for name in await on.names(kind)] == []

        await on.until(nothing_left, seconds=120)
