"""Controller objects: which run, which cannot and why, and how one gives way to its next version."""

import asyncio

import pytest

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.composite.hooks.calling import HookFailed
from hanse.kube.conditions import find_condition
from hanse.kube.resources import CONFIGMAPS, CRDS, Resource
from tests.simulation.composite.stage import THINGS, child, composite, config, parent_crd, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

LATE = Resource("ctl.example.com", "v1", "lates", "Late")


async def _ready(on, name="things"):
    stored = await on.client.get(COMPOSITE_CONTROLLERS, name)
    return find_condition((stored.get("status") or {}).get("conditions"), "Ready") or {}


async def test_one_without_hooks_is_not_started_and_says_so():
    async with stage() as on:
        controller = composite("things", {}, child(CONFIGMAPS))
        del controller["spec"]["hooks"]
        await on.create(controller)
        events = await on.until(lambda: on.events("CreateError"))
        assert "spec.hooks" in events[0]["message"]
        assert (await _ready(on))["status"] == "False"


async def test_one_whose_parents_have_no_status_subresource_is_not_started():
    async with stage() as on:
        await on.client.create(CRDS, parent_crd(LATE, status=False))
        await on.create(composite("things", {"sync": on.hook("sync", lambda _body: {})}, child(CONFIGMAPS), of=LATE))
        await on.create(thing(kind=LATE))
        events = await on.until(lambda: on.events("CreateError"))
        assert "add subresources.status" in events[0]["message"]
        await on.settle(20)
        assert on.calls("sync") == []


async def test_one_that_names_a_kind_that_is_not_there_starts_by_itself_when_it_comes():
    async with stage() as on:
        hook = on.hook("sync", lambda _body: {"children": []})
        await on.create(composite("things", {"sync": hook}, child(LATE)))
        await on.create(thing())
        events = await on.until(lambda: on.events("CreateError"))
        assert "the server serves no lates of ctl.example.com/v1" in events[0]["message"]
        await on.client.create(CRDS, parent_crd(LATE))
        await on.until(lambda: on.calls("sync"))
        assert (await _ready(on))["status"] == "True"
        assert len(await on.events("Started")) == 1


async def test_a_changed_controller_starts_only_after_the_old_one_has_stopped():
    async with stage() as on:
        working = []

        async def slow(_body):
            working.append("in")
            assert len(working) == 1
            try:
                await asyncio.sleep(1)
            finally:
                working.pop()
            return {"children": []}

        await on.create(composite("things", {"sync": on.hook("sync", slow)}, child(CONFIGMAPS)))
        await on.create(thing())
        await on.until(lambda: working)
        await on.client.patch(COMPOSITE_CONTROLLERS, "things", {"spec": {"resyncPeriodSeconds": 3}})
        await on.settle(20)
        assert [event["count"] for event in await on.events("Stopped")] == [1]
        assert [event["count"] for event in await on.events("Started")] == [2]
        assert len(on.calls("sync")) > 4


async def test_a_deleted_controller_does_nothing_any_more_and_takes_nothing_away():
    async with stage() as on:
        hook = on.hook("sync", lambda _body: {"children": [config("one-0")]})
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS)))
        await on.create(thing())
        await on.settle()
        await on.client.delete(COMPOSITE_CONTROLLERS, "things")
        await on.settle()
        calls = len(on.calls("sync"))
        await on.client.patch(THINGS, "one", {"spec": {"text": "new"}}, "default")
        await on.settle()
        assert len(on.calls("sync")) == calls
        assert await on.names(CONFIGMAPS, labels="thing=one") == ["one-0"]
        assert dict(on.controllers.served) == {}


async def test_instances_share_controllers_by_label():
    async with stage() as on:
        await on.kill()
        on.serve(labels="shard=a")
        for name, shard in (("mine", "a"), ("theirs", "b")):
            controller = composite(name, {"sync": on.hook(name, lambda _body: {"children": []})}, child(CONFIGMAPS))
            controller["metadata"]["labels"] = {"shard": shard}
            await on.create(controller)
        await on.create(thing())
        await on.settle()
        assert len(on.calls("mine")) >= 1
        assert on.calls("theirs") == []


async def test_calls_are_counted_by_hook_controller_and_code_and_none_stays_in_flight():
    async with stage() as on:
        answers = [HookFailed("broken", status=500), {"children": []}]
        hook = on.hook("sync", lambda _body: answers.pop(0) if answers else {"children": []})
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS), parent={"ignoreStatusChanges": True}))
        await on.create(thing())
        await on.until(lambda: len(on.calls("sync")) == 2)
        await on.settle()
        of = {"url": "http://sync", "controller_name": "things", "controller_type": "CompositeController"}
        of["cluster"] = ""
        value = on.controllers.metrics.registry.get_sample_value
        for code in ("200", "500"):
            assert value("metacontroller_sync_requests_total", {**of, "code": code, "method": "post"}) == 1
        assert value("metacontroller_sync_in_flight_requests", of) == 0
        assert value("metacontroller_sync_request_duration_histogram_seconds_count", of) == 2
