"""Part of an answer cannot be carried out: the rest is, and the parent says both without ever taking either back."""

import pytest

from hanse.kube.conditions import find_condition
from hanse.kube.resources import CONFIGMAPS
from tests.simulation.composite.stage import THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


def one_refused(_body):
    """Want two ConfigMaps, of which no server takes one."""
    return {"status": {"made": 2}, "children": [config("bad", **{"not a key": "x"}), config("good")]}


async def test_the_status_of_the_hook_and_what_the_server_refused_are_told_together_and_once():
    async with stage() as on:
        await on.create(composite("things", {"sync": on.hook("sync", one_refused)}, child(CONFIGMAPS, "InPlace")))
        await on.create(thing())
        await on.settle(20)
        assert await on.names(CONFIGMAPS, labels="thing=one") == ["good"]
        status = (await on.client.get(THINGS, "one", "default"))["status"]
        assert status["made"] == 2
        assert "ConfigMap bad" in find_condition(status["conditions"], "Synced")["message"]

        on.wire.writes.clear()
        await on.settle(120)
        assert [path for _, path in on.wire.writes if "/things/" in path] == []


async def test_a_member_refuses_children_in_other_clusters_and_says_why():
    async with stage() as on:
        away = config("one")
        away["metadata"]["annotations"] = {"hanse.dev/cluster": "east"}
        hook = on.hook("sync", lambda _body: {"children": [away]})
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS)))
        await on.create(thing())
        event = (await on.until(lambda: on.events("SyncError")))[0]
        assert "only a CompositeController on the federation has children in other clusters" in event["message"]
        assert await on.names(CONFIGMAPS, labels="thing=one") == []
