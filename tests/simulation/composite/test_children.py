"""Children of composites: made, kept, changed and deleted as the hook says; taken over and given back by labels."""

import pytest

from hanse.kube.manifest import controller_of, uid_of
from hanse.kube.resources import CONFIGMAPS, SECRETS
from tests.simulation.composite.stage import THINGS, WIDE_THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


def _configs(body):
    """Make as many ConfigMaps as the parent says."""
    parent = body["parent"]
    name, count = parent["metadata"]["name"], parent["spec"].get("count", 1)
    return {
        "status": {"made": count},
        "children": [config(f"{name}-{i}", name, text=parent["spec"].get("text", "")) for i in range(count)],
    }


async def test_children_come_and_go_with_what_the_hook_returns_and_the_status_is_stored():
    async with stage() as on:
        await on.create(composite("things", {"sync": on.hook("sync", _configs)}, child(CONFIGMAPS, "InPlace")))
        parent = await on.create(thing(count=3))
        await on.until(lambda: on.names(CONFIGMAPS, labels="thing=one"))
        await on.settle()
        assert await on.names(CONFIGMAPS, labels="thing=one") == ["one-0", "one-1", "one-2"]
        made = await on.client.get(CONFIGMAPS, "one-0", "default")
        assert controller_of(made)["uid"] == uid_of(parent)
        stored = await on.client.get(THINGS, "one", "default")
        assert stored["status"] == {"made": 3, "observedGeneration": 1}

        await on.client.patch(THINGS, "one", {"spec": {"count": 1, "text": "new"}}, "default")
        await on.settle()
        assert await on.names(CONFIGMAPS, labels="thing=one") == ["one-0"]
        assert (await on.client.get(CONFIGMAPS, "one-0", "default"))["data"] == {"text": "new"}
        assert (await on.client.get(THINGS, "one", "default"))["status"] == {"made": 1, "observedGeneration": 2}


async def test_steady_is_silent():
    async with stage() as on:
        hook = on.hook("sync", _configs)
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS, "InPlace"), resyncPeriodSeconds=5))
        await on.create(thing(count=3))
        await on.settle()
        on.wire.writes.clear()
        calls = len(on.calls("sync"))
        await on.settle(60)
        assert on.wire.writes == []
        assert len(on.calls("sync")) - calls == 12


async def test_every_declared_kind_is_in_the_request_even_if_there_is_none():
    async with stage() as on:
        hook = on.hook("sync", lambda _body: {"children": []})
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS), child(SECRETS)))
        await on.create(thing())
        request = (await on.until(lambda: on.calls("sync")))[0]
        assert request["children"] == {"ConfigMap.v1": {}, "Secret.v1": {}}
        assert request["controller"]["metadata"]["name"] == "things"
        assert request["finalizing"] is False


@pytest.mark.parametrize(
    ("kind", "version", "key"),
    [
        (THINGS, "v1", "one-0"),
        (THINGS, "v2", "default/one-0"),
        (WIDE_THINGS, "v1", "default/one-0"),
        (WIDE_THINGS, "v2", "default/one-0"),
    ],
)
async def test_children_are_keyed_as_the_hooks_version_says(kind, version, key):
    async with stage() as on:

        def made(_body):
            return {"children": [config("one-0", namespace="default")]}

        hook = {**on.hook("sync", made), "version": version}
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS), of=kind))
        await on.create(thing(kind=kind))
        await on.until(lambda: any(each["children"]["ConfigMap.v1"] for each in on.calls("sync")))
        assert list(on.calls("sync")[-1]["children"]["ConfigMap.v1"]) == [key]


async def test_a_child_whose_labels_do_not_match_refuses_the_whole_answer():
    async with stage() as on:

        def wrong(body):
            return {"status": {"seen": True}, "children": [config("good"), config("bad", of="other")]}

        await on.create(composite("things", {"sync": on.hook("sync", wrong)}, child(CONFIGMAPS)))
        await on.create(thing())
        event = (await on.until(lambda: on.events("SyncError")))[0]
        assert "ConfigMap bad" in event["message"]
        assert await on.names(CONFIGMAPS, labels="thing") == []
        status = (await on.client.get(THINGS, "one", "default"))["status"]
        assert "seen" not in status
        assert "ConfigMap bad" in status["conditions"][0]["message"]


async def test_an_orphan_that_matches_is_adopted_and_goes_when_the_hook_does_not_want_it():
    async with stage() as on:
        await on.create(
            {
                **config("one-0", namespace="default", text="mine"),
                "metadata": {**config("one-0", namespace="default")["metadata"]},
            }
        )
        hook = on.hook("sync", _configs)
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS)))
        parent = await on.create(thing(count=1))
        await on.settle()
        adopted = await on.client.get(CONFIGMAPS, "one-0", "default")
        assert controller_of(adopted)["uid"] == uid_of(parent)
        assert adopted["data"] == {"text": "mine"}
        await on.client.patch(THINGS, "one", {"spec": {"count": 0}}, "default")
        await on.settle()
        assert await on.client.find(CONFIGMAPS, "one-0", "default") is None


async def test_a_child_that_is_relabelled_is_released_and_made_again():
    async with stage() as on:
        await on.create(composite("things", {"sync": on.hook("sync", _configs)}, child(CONFIGMAPS)))
        await on.create(thing(count=2))
        await on.settle()
        await on.client.patch(CONFIGMAPS, "one-1", {"metadata": {"labels": {"thing": "other"}}}, "default")
        await on.client.patch(THINGS, "one", {"spec": {"count": 1}}, "default")
        await on.settle()
        free = await on.client.get(CONFIGMAPS, "one-1", "default")
        assert controller_of(free) is None


async def test_two_parents_with_one_selector_do_not_fight_over_children():
    async with stage() as on:

        def shared(body):
            return {"children": [config(body["parent"]["spec"]["child"], of="same")]}

        await on.create(composite("things", {"sync": on.hook("sync", shared)}, child(CONFIGMAPS)))
        for name in ("one", "two"):
            await on.create(thing(name, selector={"matchLabels": {"thing": "same"}}, child=f"of-{name}"))
        await on.settle()
        on.wire.writes.clear()
        await on.settle(30)
        assert on.wire.writes == []
        owners = {
            name: controller_of(await on.client.get(CONFIGMAPS, f"of-{name}", "default"))["name"]
            for name in ("one", "two")
        }
        assert owners == {"one": "one", "two": "two"}
