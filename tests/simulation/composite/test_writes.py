"""How much is written: a status once it is true, children of a kind at once, and nothing for whoever is gone."""

import pytest

from hanse.kube.resources import CONFIGMAPS, SECRETS
from tests.simulation.composite.stage import THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


def _three(body):
    """Make three ConfigMaps, and tell how many of them are as they shall be."""
    text = body["parent"]["spec"].get("text", "old")
    there = [each for each in body["children"]["ConfigMap.v1"].values() if each["data"] == {"text": text}]
    return {"status": {"there": len(there)}, "children": [config(f"one-{i}", text=text) for i in range(3)]}


def _statuses(on):
    return [path for method, path in on.wire.writes if method == "PATCH" and path.endswith("/things/one/status")]


async def test_a_status_is_written_once_the_children_that_it_tells_of_are_there():
    async with stage() as on:
        hooks = {"sync": on.hook("sync", _three)}
        hooks["finalize"] = on.hook("finalize", lambda body: {"finalized": not body["children"]["ConfigMap.v1"]})
        await on.create(composite("things", hooks, child(CONFIGMAPS, "InPlace")))
        await on.create(thing())
        await on.settle()
        assert (await on.client.get(THINGS, "one", "default"))["status"] == {"there": 3, "observedGeneration": 1}
        assert len(_statuses(on)) == 1

        on.wire.writes.clear()
        await on.client.patch(THINGS, "one", {"spec": {"text": "new"}}, "default")
        await on.settle()
        assert (await on.client.get(THINGS, "one", "default"))["status"] == {"there": 3, "observedGeneration": 2}
        assert len(_statuses(on)) == 1

        on.wire.writes.clear()
        await on.client.delete(THINGS, "one", "default")
        await on.settle()
        assert await on.client.find(THINGS, "one", "default") is None
        assert [method for method, path in on.wire.writes if path.endswith("/things/one")] == ["PATCH"]
        assert _statuses(on) == []


async def test_a_status_is_not_kept_back_for_ever_where_something_changes_all_the_time():
    async with stage() as on:
        on.wire.latency = 0.05
        seen = []

        def counting(body):
            seen.append(body)
            return {"status": {"calls": len(seen)}, "children": [config("one-0")]}

        controller = composite("things", {"sync": on.hook("sync", counting)}, child(CONFIGMAPS))
        controller["spec"]["parentResource"]["ignoreStatusChanges"] = True
        await on.create(controller)
        await on.create(thing())
        await on.until(lambda: on.names(CONFIGMAPS, labels="thing=one"))
        on.wire.writes.clear()
        for number in range(100):
            await on.client.patch(CONFIGMAPS, "one-0", {"metadata": {"labels": {"tick": str(number)}}}, "default")
            await on.runtime.sleep(0.03)
        assert len(_statuses(on)) >= 2


async def test_children_of_a_kind_are_written_at_once_and_kinds_in_the_hooks_order():
    async with stage() as on:
        on.wire.latency = 0.1
        order, times = [], []

        def began(request):
            if request.method == "POST" and request.path.endswith(("/configmaps", "/secrets")):
                order.append(request.path.rpartition("/")[2])
                times.append(on.runtime.monotonic())

        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "first", "labels": {"thing": "one"}}}
        children = [secret, *(config(f"one-{i}") for i in range(20))]
        hook = on.hook("sync", lambda _body: {"children": children})
        on.wire.before_write = began
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS), child(SECRETS)))
        await on.create(thing())
        await on.settle()
        assert order == ["secrets", *["configmaps"] * 20]
        # One after the other they would take two seconds.
        assert 0.1 <= times[-1] - times[0] < 0.5
        assert len(await on.names(CONFIGMAPS, labels="thing=one")) == 20


@pytest.mark.parametrize("strategy", [{}, {"applyStrategy": "ServerSideApply"}])
async def test_a_secret_with_texts_is_written_once_and_changed_where_they_change(strategy):
    def secret(body):
        metadata = {"name": "word", "labels": {"thing": "one"}}
        texts = {"word": body["parent"]["spec"].get("text", "old")}
        return {"children": [{"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": texts}]}

    async with stage() as on:
        await on.create(composite("things", {"sync": on.hook("sync", secret)}, child(SECRETS, "InPlace"), **strategy))
        await on.create(thing())
        await on.settle()
        assert len([path for _, path in on.wire.writes if "secrets" in path]) == 1
        await on.client.patch(THINGS, "one", {"spec": {"text": "new"}}, "default")
        await on.settle()
        assert (await on.client.get(SECRETS, "word", "default"))["data"] == {"word": "bmV3"}
        assert await on.silent()
