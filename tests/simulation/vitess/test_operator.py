"""A VitessCluster on a simulated cluster: what it consists of, and that nothing is written when nothing changes."""

import pytest

from hanse.api.planetscale.kinds import (
    ETCD_LOCKSERVERS,
    VITESS_CELLS,
    VITESS_CLUSTERS,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.kube.manifest import dig
from hanse.kube.resources import DEPLOYMENTS, PODS, SERVICES
from hanse.vitess.operator.kinds import BUDGETS, CLAIMS
from tests.simulation.vitess.operator_stage import operator_stage
from tests.vitess_specs import vitess_cluster

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def test_29_a_minimal_cluster_has_every_object_by_its_name():
    async with operator_stage() as stage:
        await stage.create(vitess_cluster())
        await stage.until(lambda: _running(stage, 6))
        assert await stage.names(ETCD_LOCKSERVERS) == ["example-etcd-faf13de3"]
        assert await stage.names(VITESS_CELLS) == ["example-zone1-5abb61ae"]
        assert await stage.names(VITESS_KEYSPACES) == ["example-commerce-fb9b866a"]
        assert await stage.names(VITESS_SHARDS) == ["example-commerce-x-x-0f5afee6"]
        assert await stage.names(DEPLOYMENTS) == [
            "example-commerce-x-x-zone1-vtorc-c13ef6ff",
            "example-zone1-vtctld-1d4dcad0",
            "example-zone1-vtgate-bc6cde92",
        ]
        assert [name for name in await stage.names(SERVICES) if name != "kubernetes"] == [
            "example-etcd-faf13de3-client",
            "example-etcd-faf13de3-peer",
            "example-vtctld-625ee430",
            "example-vtgate-ae7df4b6",
            "example-vttablet-08646a59",
            "example-zone1-vtgate-bc6cde92",
        ]
        tablets = [
            "example-vttablet-zone1-0790125915",
            "example-vttablet-zone1-2469782763",
            "example-vttablet-zone1-2548885007-46a852d0",
        ]
        pods = await stage.names(PODS, "planetscale.com/component=vttablet")
        assert [pod[: len(name)] for pod, name in zip(pods, tablets, strict=True)] == tablets
        members = [f"example-etcd-faf13de3-{index}" for index in (1, 2, 3)]
        assert await stage.names(PODS, "planetscale.com/component=etcd") == members
        assert await stage.names(CLAIMS) == sorted([*members, *pods])
        assert await stage.names(BUDGETS) == ["etcd-lockserver-example-etcd-faf13de3"]


async def test_a_cluster_that_is_as_it_shall_be_is_left_alone():
    async with operator_stage() as stage:
        await stage.create(vitess_cluster())
        await stage.until(lambda: _running(stage, 6))
        await stage.settle(60)
        assert await stage.silent()
        status = (await stage.get(VITESS_CLUSTERS, "example"))["status"]
        assert status["observedGeneration"] == 1
        assert status["globalLockserver"]["etcd"]["available"] == "True"
        assert status["cells"]["zone1"]["gatewayAvailable"] == "True"
        assert status["keyspaces"]["commerce"]["readyTablets"] == 3


async def _running(stage, count):
    ready = [pod for pod in await stage.all(PODS) if dig(pod, "status", "phase") == "Running"]
    bare = [pod for pod in ready if "ReplicaSet" not in str(pod["metadata"].get("ownerReferences"))]
    return len(bare) == count
