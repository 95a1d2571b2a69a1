"""Objects that a customize hook asks for: shown to the hook, and followed."""

import pytest

from hanse.kube.resources import CONFIGMAPS, SECRETS
from tests.simulation.composite.stage import THINGS, WIDE_THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


def _rules(*rules):
    return lambda _body: {"relatedResources": [{"apiVersion": "v1", "resource": "secrets", **rule} for rule in rules]}


async def _secret(on, name, namespace="default", **labels):
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    await on.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})


async def test_related_objects_are_shown_and_their_changes_sync_the_parents_that_match():
    async with stage() as on:
        await _secret(on, "mine", use="yes")
        await _secret(on, "other")
        hooks = {"sync": on.hook("sync", lambda _body: {"children": []})}
        hooks["customize"] = on.hook("customize", _rules({"labelSelector": {"matchLabels": {"use": "yes"}}}))
        await on.create(composite("things", hooks, child(CONFIGMAPS)))
        await on.create(thing())
        await on.settle()
        assert list(on.calls("sync")[-1]["related"]["Secret.v1"]) == ["mine"]
        for patch, names in (({"use": "yes"}, ["mine", "other"]), ({"use": None}, ["mine"])):
            calls = len(on.calls("sync"))
            await on.client.patch(SECRETS, "other", {"metadata": {"labels": patch}}, "default")
            await on.settle()
            assert len(on.calls("sync")) == calls + 1
            assert list(on.calls("sync")[-1]["related"]["Secret.v1"]) == names


async def test_the_hook_is_asked_once_for_each_generation_of_a_parent():
    async with stage() as on:
        hooks = {"sync": on.hook("sync", lambda _body: {"children": []})}
        hooks["customize"] = on.hook("customize", _rules({}))
        await on.create(composite("things", hooks, child(CONFIGMAPS), resyncPeriodSeconds=1))
        await on.create(thing())
        await on.settle(10)
        assert len(on.calls("sync")) > 5
        assert len(on.calls("customize")) == 1
        await on.client.patch(THINGS, "one", {"spec": {"text": "new"}}, "default")
        await on.settle()
        assert len(on.calls("customize")) == 2


@pytest.mark.parametrize(
    ("version", "rule", "said"),
    [
        ("v1", {"names": ["a"], "labelSelector": {}}, "give either names or selectors"),
        ("v1", {"namespace": "elsewhere"}, "namespace elsewhere is not the parent's"),
        ("v2", {"namespace": "elsewhere", "namespaceSelector": {}}, "give either namespace or namespaceSelector"),
        ("v1", {"resource": "nothings"}, "the server serves no nothings"),
    ],
)
async def test_rules_that_contradict_themselves_are_told(version, rule, said):
    async with stage() as on:
        hooks = {"sync": on.hook("sync", lambda _body: {"children": []})}
        hooks["customize"] = on.hook("customize", _rules(rule)) | {"version": version}
        await on.create(composite("things", hooks, child(CONFIGMAPS)))
        await on.create(thing())
        events = await on.until(lambda: on.events("SyncError"))
        assert said in events[0]["message"]
        assert on.calls("sync") == []


async def test_under_v2_a_parent_sees_other_namespaces_also_by_their_labels():
    async with stage() as on:
        await on.namespace("elsewhere", team="red")
        await _secret(on, "far", "elsewhere")
        hooks = {"sync": on.hook("sync", lambda _body: {"children": []}) | {"version": "v2"}}
        rule = {"namespaceSelector": {"matchLabels": {"team": "red"}}}
        hooks["customize"] = on.hook("customize", _rules(rule)) | {"version": "v2"}
        await on.create(composite("things", hooks, child(CONFIGMAPS)))
        await on.create(thing())
        await on.settle()
        assert list(on.calls("sync")[-1]["related"]["Secret.v1"]) == ["elsewhere/far"]
        await on.namespace("third", team="red")
        await _secret(on, "late", "third")
        await on.settle()
        assert list(on.calls("sync")[-1]["related"]["Secret.v1"]) == ["elsewhere/far", "third/late"]


async def test_a_parent_without_namespace_makes_a_copy_in_every_namespace_that_is_related():
    async with stage() as on:
        for name in ("red", "blue"):
            await on.namespace(name, copy="yes")

        def copies(body):
            return {"children": [config("shared", namespace=name) for name in body["related"]["Namespace.v1"]]}

        def wanted(_body):
            rule = {"apiVersion": "v1", "resource": "namespaces", "labelSelector": {"matchLabels": {"copy": "yes"}}}
            return {"relatedResources": [rule]}

        hooks = {"sync": on.hook("sync", copies), "customize": on.hook("customize", wanted)}
        await on.create(composite("things", hooks, child(CONFIGMAPS), of=WIDE_THINGS))
        await on.create(thing(kind=WIDE_THINGS))
        await on.settle()
        await on.namespace("green", copy="yes")
        await on.settle()
        for name in ("red", "blue", "green"):
            assert await on.client.find(CONFIGMAPS, "shared", name) is not None
