"""What the operator tells of its work: an Event for each object that it writes or cannot, and none for nothing."""

from collections import Counter

import pytest

from hanse.api.planetscale.kinds import VITESS_CLUSTERS, VITESS_KEYSPACES, VITESS_SHARDS
from hanse.kube.conditions import find_condition
from hanse.kube.errors import Forbidden
from hanse.kube.resources import EVENTS
from tests.simulation.vitess.operator_stage import operator_stage
from tests.simulation.vitess.test_operator_at_work import asked, is_ready_cluster
from tests.vitess_specs import vitess_cluster

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(120)]

KEYSPACE, SHARD = "example-commerce-fb9b866a", "example-commerce-x-x-0f5afee6"


def refuse(stage, part, method="POST"):
    """Have the server refuse writes to paths that contain a part."""

    def before(request):
        if request.method == method and part in request.path:
            raise Forbidden(403, "Forbidden", "somebody took the right away")

    stage.wire.before_write = before


async def keyspace_condition(stage, kind):
    found = await stage.get(VITESS_KEYSPACES, KEYSPACE)
    return find_condition(found.get("status", {}).get("conditions"), kind)


async def test_every_object_that_is_made_changed_or_removed_is_told_once():
    async with operator_stage(tablets=True) as stage:
        await stage.create(asked(images={"vtadmin": "vitess/vtadmin:v24"}, vtadmin={"apiAddresses": ["http://admin"]}))
        await stage.until(lambda: is_ready_cluster(stage), 300)
        await stage.settle(60)
        told = Counter(await stage.events("Created"))
        assert told[f"VitessKeyspace {KEYSPACE} was created"] == 1
        assert told[f"VitessShard {SHARD} was created"] == 1
        assert set(told.values()) == {1}
        assert {each["count"] for each in await stage.all(EVENTS) if each["reason"] == "Created"} == {1}

        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"vtadmin": None, "vitessDashboard": {"replicas": 2}}})
        await stage.until(lambda: is_ready_cluster(stage), 300)
        await stage.settle(30)
        assert "Deployment example-zone1-vtctld-1d4dcad0 was updated" in await stage.events("Updated")
        assert "Deployment example-zone1-vtadmin-c03d7eae was deleted" in await stage.events("Deleted")
        assert await stage.silent(120), "who changes nothing tells nothing"


async def test_an_object_that_cannot_be_made_is_told_and_then_its_making():
    async with operator_stage() as stage:
        refuse(stage, "/vitessshards")
        await stage.create(vitess_cluster())
        said = f"VitessShard {SHARD}: somebody took the right away"
        await stage.until(lambda: _told(stage, "CreateFailed", said))
        await stage.settle(120)
        assert await stage.events("CreateFailed") == [said], "the same thing again is a count"
        stage.wire.before_write = lambda _request: None
        await stage.until(lambda: _told(stage, "Created", f"VitessShard {SHARD} was created"), 600)


async def test_a_change_and_a_removal_that_are_refused_are_told():
    async with operator_stage() as stage:
        await stage.create(vitess_cluster())
        await stage.settle(60)
        refuse(stage, "/deployments/example-zone1-vtctld", "PUT")
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"vitessDashboard": {"replicas": 3}}})
        said = "Deployment example-zone1-vtctld-1d4dcad0: somebody took the right away"
        await stage.until(lambda: _told(stage, "UpdateFailed", said))
        refuse(stage, "/deployments/example-zone1-vtctld", "DELETE")
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"vitessDashboard": {"cells": ["elsewhere"]}}})
        await stage.until(lambda: _told(stage, "DeleteFailed", said))


async def test_a_status_that_cannot_be_written_is_told():
    async with operator_stage() as stage:
        refuse(stage, f"/{KEYSPACE}/status", "PATCH")
        await stage.create(vitess_cluster())
        await stage.until(lambda: _told(stage, "StatusUpdateFailed", "its status: somebody took the right away"))


async def test_while_a_keyspace_cannot_be_reconciled_its_conditions_are_unknown_and_say_so():
    async with operator_stage(tablets=True) as stage:
        await stage.create(asked())
        await stage.until(lambda: is_ready_cluster(stage), 300)
        before = await keyspace_condition(stage, "Ready")
        assert before["status"] == "True"
        await stage.patch(VITESS_CLUSTERS, "example", {"spec": {"images": {"vttablet": "vitess/lite:v2"}}})
        released = {"metadata": {"annotations": {"rollout.planetscale.com/released": "now"}}}
        await stage.until(lambda: _is_scheduled(stage, VITESS_KEYSPACES, KEYSPACE))
        await stage.patch(VITESS_KEYSPACES, KEYSPACE, released)
        await stage.until(lambda: _is_scheduled(stage, VITESS_SHARDS, SHARD))
        # The release that was used up is taken away by a patch.
        refuse(stage, f"/vitessshards/{SHARD}", "PATCH")
        await stage.patch(VITESS_SHARDS, SHARD, released)

        async def failed(kind):
            return (await keyspace_condition(stage, kind))["reason"] == "ReconcileFailed"

        await stage.until(lambda: failed("Ready"))
        ready = await keyspace_condition(stage, "Ready")
        assert (ready["status"], "somebody took the right away" in ready["message"]) == ("Unknown", True)
        assert await failed("ReshardingActive")
        assert await failed("ReshardingInSync")
        stage.wire.before_write = lambda _request: None

        async def known():
            return (await keyspace_condition(stage, "Ready"))["status"] == "True"

        await stage.until(known, 600)


async def test_a_cascade_that_is_over_and_cannot_be_unmarked_is_told():
    async with operator_stage(tablets=True) as stage:
        await stage.create(asked())
        await stage.until(lambda: is_ready_cluster(stage), 300)
        refuse(stage, f"/vitessshards/{SHARD}", "PATCH")
        await stage.patch(
            VITESS_SHARDS, SHARD, {"metadata": {"annotations": {"rollout.planetscale.com/cascade": "go"}}}
        )
        said = "its cascade is over and stays marked: somebody took the right away"
        await stage.until(lambda: _told(stage, "UncascadeFailed", said))


async def _told(stage, reason, message):
    return message in await stage.events(reason)


async def _is_scheduled(stage, resource, name):
    found = await stage.get(resource, name)
    return "rollout.planetscale.com/scheduled" in found["metadata"].get("annotations", {})
