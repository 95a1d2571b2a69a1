"""Children with fields that may not change: they are made anew, unless what is wanted instead is no valid object."""

import pytest

from hanse.kube.manifest import uid_of
from hanse.kube.resources import Resource
from tests.simulation.composite.stage import THINGS, child, composite, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

JOBS = Resource("batch", "v1", "jobs", "Job")


def _job(body):
    spec = {"restartPolicy": body["parent"]["spec"].get("policy", "Never"), "containers": [{"name": "a", "image": "a"}]}
    job = {"metadata": {"name": "one", "labels": {"thing": "one"}}, "spec": {"template": {"spec": spec}}}
    return {"children": [{"apiVersion": "batch/v1", "kind": "Job", **job}]}


async def test_an_applied_child_that_cannot_change_is_recreated_but_not_for_an_invalid_one():
    async with stage() as on:
        hook = on.hook("sync", _job)
        await on.create(composite("jobs", {"sync": hook}, child(JOBS, "Recreate"), applyStrategy="ServerSideApply"))
        await on.create(thing())
        await on.settle()
        first = await on.client.get(JOBS, "one", "default")

        await on.client.patch(THINGS, "one", {"spec": {"policy": "Always"}}, "default")
        await on.settle()
        assert uid_of(await on.client.get(JOBS, "one", "default")) == uid_of(first)
        (event,) = await on.events("SyncError")
        assert "restartPolicy" in event["message"]

        await on.client.patch(THINGS, "one", {"spec": {"policy": "OnFailure"}}, "default")
        await on.settle()
        second = await on.client.get(JOBS, "one", "default")
        assert uid_of(second) != uid_of(first)
        assert second["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
        assert await on.silent()
