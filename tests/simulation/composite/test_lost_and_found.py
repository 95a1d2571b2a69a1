"""Names that others have taken, and revisions that lost their owner: neither stops a parent for good."""

import pytest

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS, CONTROLLER_REVISIONS
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import controller_of, uid_of
from hanse.kube.resources import CONFIGMAPS
from tests.simulation.composite.stage import THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

STRATEGIES = [{}, {"applyStrategy": "ServerSideApply"}]
ROLLING = child(CONFIGMAPS, "RollingInPlace")


def _one(body):
    return {"children": [config("one-0", text=body["parent"]["spec"].get("text", "old"))]}


async def _taken_name(on):
    stored = await on.client.get(THINGS, "one", "default")
    return find_condition((stored.get("status") or {}).get("conditions"), "Synced")


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_child_whose_name_a_stranger_has_is_told_of_and_made_once_the_stranger_is_gone(strategy):
    async with stage() as on:
        stranger = await on.create(config("one-0", of="nobody", namespace="default", text="theirs"))
        await on.create(composite("things", {"sync": on.hook("sync", _one)}, child(CONFIGMAPS), **strategy))
        parent = await on.create(thing())
        told = await on.until(lambda: _taken_name(on))
        assert "ConfigMap one-0: an object of that name exists that is not this parent's" in told["message"]
        assert uid_of(await on.client.get(CONFIGMAPS, "one-0", "default")) == uid_of(stranger)

        await on.client.delete(CONFIGMAPS, "one-0", "default")
        made = await on.until(lambda: on.client.find(CONFIGMAPS, "one-0", "default"), seconds=600)
        assert controller_of(made)["uid"] == uid_of(parent)


async def test_a_parent_that_is_deleted_without_its_children_goes_and_leaves_them():
    async with stage() as on:
        hooks = {"sync": on.hook("sync", _one)}
        hooks["finalize"] = on.hook("finalize", lambda body: {"finalized": not body["children"]["ConfigMap.v1"]})
        await on.create(composite("things", hooks, ROLLING))
        await on.create(thing())
        await on.until(lambda: on.client.find(CONFIGMAPS, "one-0", "default"))
        await on.settle()
        await on.client.delete(THINGS, "one", "default", propagation="Orphan")
        await on.settle(30)
        assert await on.client.find(THINGS, "one", "default") is None
        assert controller_of(await on.client.get(CONFIGMAPS, "one-0", "default")) is None


async def test_a_revision_that_lost_its_owner_is_taken_back():
    async with stage() as on:
        await on.create(composite("things", {"sync": on.hook("sync", _one)}, ROLLING))
        parent = await on.create(thing())
        (name,) = await on.until(lambda: on.names(CONTROLLER_REVISIONS))
        await on.client.patch(CONTROLLER_REVISIONS, name, {"metadata": {"ownerReferences": None}}, "default")
        await on.client.patch(THINGS, "one", {"metadata": {"labels": {"looked": "at"}}}, "default")
        await on.settle(30)
        stored = await on.client.get(CONTROLLER_REVISIONS, name, "default")
        assert controller_of(stored)["uid"] == uid_of(parent)


async def test_a_parent_that_no_longer_matches_is_not_counted_any_more():
    async with stage() as on:
        mine = {"labelSelector": {"matchLabels": {"mine": "yes"}}}
        await on.create(composite("things", {"sync": on.hook("sync", _one)}, child(CONFIGMAPS), parent=mine))
        parent = thing()
        parent["metadata"]["labels"] = {"mine": "yes"}
        await on.create(parent)

        async def counts(number):
            stored = await on.client.get(COMPOSITE_CONTROLLERS, "things")
            return (stored.get("status") or {}).get("parents") == number

        await on.until(lambda: counts(1))
        await on.client.patch(THINGS, "one", {"metadata": {"labels": {"mine": None}}}, "default")
        await on.until(lambda: counts(0))
        on.wire.writes.clear()
        await on.settle(30)
        assert on.wire.writes == []
