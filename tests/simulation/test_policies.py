"""Placement policies on a running federation, on virtual time."""

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.kube.conditions import find_condition
from hanse.kube.errors import Invalid
from hanse.kube.manifest import dig
from hanse.kube.resources import DEPLOYMENTS
from hanse.kube.runtime import timestamp
from tests.simulation.world import deployment, federation
from tests.unit.placement.policy_cases import REFUSED, policy

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def spread_is(world, **wanted):
    return await world.spread() == wanted


async def test_policies_come_and_go_and_plain_objects_follow():
    async with federation() as world:
        everywhere = policy(CLUSTER_PLACEMENT_POLICIES, "all", clusters={"names": ["a", "b"]})
        await world.host.create(CLUSTER_PLACEMENT_POLICIES, everywhere)
        await world.host.create(DEPLOYMENTS, deployment(replicas=6))
        await world.until(lambda: spread_is(world, a=3, b=3))

        own = policy(
            PLACEMENT_POLICIES,
            "web",
            clusters={"exclude": ["a"]},
            division={"type": "Weighted", "weights": [{"weight": 1}, {"clusters": {"names": ["c"]}, "weight": 2}]},
            overrides=[
                {
                    "clusters": {"names": ["c"]},
                    "patches": [{"path": "/spec/template/spec/containers/0/image", "value": "mirror/web:1"}],
                }
            ],
        )
        made = await world.host.create(PLACEMENT_POLICIES, own)
        took = await world.until(lambda: spread_is(world, b=2, c=4))
        there = await world.find("c", DEPLOYMENTS, "web")
        assert dig(there, "spec", "template", "spec", "containers")[0]["image"] == "mirror/web:1"
        assert took < 30.0

        # One that cannot be followed moves nothing, and the object says why.
        spec = {**own["spec"], "spread": [{"by": "region", "minGroups": 4}]}
        await world.host.update(PLACEMENT_POLICIES, {**made, "spec": spec})
        await world.until(lambda: _told(world, "at least 4 regions are asked for"))
        assert await world.spread() == {"b": 2, "c": 4}

        await world.host.delete(PLACEMENT_POLICIES, "web", "default")
        await world.until(lambda: spread_is(world, a=3, b=3))


async def _told(world, sentence):
    source = await world.host.get(DEPLOYMENTS, "web", "default")
    told = find_condition(dig(source, "status", "conditions"), "Propagated") or {}
    return sentence in told.get("message", "")


async def test_work_leaves_a_tainted_cluster_when_its_time_is_over():
    async with federation() as world:
        lenient = policy(
            PLACEMENT_POLICIES,
            "lenient",
            tolerations=[{"key": "maintenance", "operator": "Exists", "tolerationSeconds": 40}],
        )
        await world.host.create(PLACEMENT_POLICIES, lenient)
        await world.host.create(DEPLOYMENTS, deployment(replicas=6))
        await world.until(lambda: spread_is(world, a=2, b=2, c=2))
        cluster = await world.host.get(CLUSTERS, "b")
        added = timestamp(world.runtime.now())
        cluster["spec"]["taints"] = [{"key": "maintenance", "effect": "NoExecute", "timeAdded": added}]
        await world.host.update(CLUSTERS, cluster)

        await world.runtime.sleep(20)
        assert await world.spread() == {"a": 2, "b": 2, "c": 2}

        await world.until(lambda: spread_is(world, a=3, c=3))


async def test_policies_that_make_no_sense_are_refused():
    async with federation("a") as world:
        for sentence, spec in REFUSED.items():
            with pytest.raises(Invalid, match=sentence):
                await world.host.create(PLACEMENT_POLICIES, policy(PLACEMENT_POLICIES, "odd", **spec))
