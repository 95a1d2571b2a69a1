"""Parents that go: held by a finalizer while the finalize hook works, then let go; nothing is taken from others."""

from itertools import pairwise

import pytest

from hanse.kube.manifest import finalizers_of
from hanse.kube.resources import CONFIGMAPS
from tests.simulation.composite.stage import THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

FINALIZER = "metacontroller.io/compositecontroller-things"


def _three(_body):
    return {"children": [config(f"one-{letter}") for letter in "abc"]}


def _one_less(body):
    """Take the last child away, until there is none."""
    left = sorted(body["children"]["ConfigMap.v1"])[:-1]
    return {"children": [config(name) for name in left], "finalized": not body["children"]["ConfigMap.v1"]}


async def test_a_parent_with_a_finalize_hook_is_held_before_its_first_child_and_torn_down_in_order():
    async with stage() as on:
        hooks = {"sync": on.hook("sync", _three), "finalize": on.hook("finalize", _one_less)}
        await on.create(composite("things", hooks, child(CONFIGMAPS)))
        await on.create(thing())
        await on.settle()
        assert finalizers_of(await on.client.get(THINGS, "one", "default")) == [FINALIZER]
        first = [path for _method, path in on.wire.writes if "ctl.example.com" in path or "configmaps" in path]
        assert "things" in first[0]

        await on.client.delete(THINGS, "one", "default")
        await on.until(lambda: _gone(on))
        seen = [len(call["children"]["ConfigMap.v1"]) for call in on.calls("finalize")]
        assert seen[0] == 3
        assert seen[-1] == 0
        assert all(before - after <= 1 for before, after in pairwise(seen))
        assert all(call["finalizing"] for call in on.calls("finalize"))
        assert await on.names(CONFIGMAPS, labels="thing=one") == []


async def _gone(on):
    return await on.client.find(THINGS, "one", "default") is None


async def test_without_the_hook_the_finalizer_is_taken_off_again():
    async with stage() as on:
        hooks = {"sync": on.hook("sync", _three), "finalize": on.hook("finalize", _one_less)}
        await on.create(composite("things", hooks, child(CONFIGMAPS)))
        await on.create(thing())
        await on.settle()
        controllers = await on.client.resource_of(composite("things", {}))
        await on.client.patch(controllers, "things", {"spec": {"hooks": {"finalize": None}}})
        await on.settle()
        assert finalizers_of(await on.client.get(THINGS, "one", "default")) == []


async def test_a_parent_that_no_longer_matches_is_finalized_and_then_left_alone():
    async with stage() as on:
        hooks = {"sync": on.hook("sync", _three), "finalize": on.hook("finalize", _one_less)}
        wanted = {"labelSelector": {"matchLabels": {"tier": "web"}}}
        await on.create(composite("things", hooks, child(CONFIGMAPS), parent=wanted))
        parent = thing()
        parent["metadata"]["labels"] = {"tier": "web"}
        await on.create(parent)
        await on.settle()
        assert len(await on.names(CONFIGMAPS, labels="thing=one")) == 3
        await on.client.patch(THINGS, "one", {"metadata": {"labels": {"tier": "db"}}}, "default")
        await on.settle()
        assert finalizers_of(await on.client.get(THINGS, "one", "default")) == []
        assert await on.names(CONFIGMAPS, labels="thing=one") == []
        calls = len(on.calls("finalize"))
        await on.client.patch(THINGS, "one", {"spec": {"text": "new"}}, "default")
        await on.settle()
        assert len(on.calls("finalize")) == calls


async def test_a_sync_hook_that_says_finalized_takes_no_finalizer_off():
    async with stage() as on:
        hooks = {"sync": on.hook("sync", lambda _body: {"children": [], "finalized": True})}
        hooks["finalize"] = on.hook("finalize", lambda _body: {"finalized": False})
        await on.create(composite("things", hooks, child(CONFIGMAPS)))
        await on.create(thing())
        await on.settle()
        assert finalizers_of(await on.client.get(THINGS, "one", "default")) == [FINALIZER]


async def test_a_parent_that_goes_adopts_nothing():
    async with stage() as on:
        hooks = {"sync": on.hook("sync", _three), "finalize": on.hook("finalize", lambda _body: {"finalized": False})}
        await on.create(composite("things", hooks, child(CONFIGMAPS)))
        await on.create(thing())
        await on.settle()
        await on.client.delete(THINGS, "one", "default")
        await on.create(config("stranger", namespace="default"))
        await on.settle()
        stranger = await on.client.get(CONFIGMAPS, "stranger", "default")
        assert "ownerReferences" not in stranger["metadata"]
        assert all("stranger" not in call["children"]["ConfigMap.v1"] for call in on.calls("finalize"))
