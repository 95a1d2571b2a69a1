"""Maps: for every input the outputs that a hook makes of it; what an input leaves behind goes, unless it is kept."""

import pytest

from hanse.kube.resources import CONFIGMAPS, SECRETS
from tests.simulation.composite.stage import THINGS, child, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


def _map(hooks):
    return {
        "apiVersion": "metacontroller.k8s.io/v1alpha1",
        "kind": "MapController",
        "metadata": {"name": "copies"},
        "spec": {
            "parentResource": {"apiVersion": THINGS.api_version, "resource": THINGS.plural},
            "inputResources": [{"apiVersion": "v1", "resource": "secrets"}],
            "outputResources": [child(CONFIGMAPS, "InPlace")],
            "hooks": hooks,
        },
    }


def _copy(body):
    name = body["input"]["metadata"]["name"]
    return {"outputs": [config(f"copy-{name}", text=body["parent"]["spec"].get("text", ""))]}


async def _secret(on, name, **labels):
    await on.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default", "labels": labels}}
    )


async def test_every_input_that_the_parent_selects_has_its_outputs_and_all_are_counted():
    async with stage() as on:
        await on.create(_map({"map": on.hook("map", _copy)}))
        await _secret(on, "a", thing="one")
        await _secret(on, "b", thing="one")
        await _secret(on, "c")
        await on.create(thing())
        await on.settle()
        assert await on.names(CONFIGMAPS, labels="thing") == ["copy-a", "copy-b"]
        made = await on.client.get(CONFIGMAPS, "copy-a", "default")
        assert made["metadata"]["annotations"]["metacontroller.k8s.io/map-key"] == "secrets/default/a"
        status = (await on.client.get(THINGS, "one", "default"))["status"]
        assert status == {
            "inputs": {"secrets": {"total": 2}},
            "outputs": {"configmaps": {"total": 2}},
            "observedGeneration": 1,
        }


async def test_only_the_input_that_changed_is_asked_about():
    async with stage() as on:
        await on.create(_map({"map": on.hook("map", _copy)}))
        for name in "abc":
            await _secret(on, name, thing="one")
        await on.create(thing())
        await on.settle()
        calls = len(on.calls("map"))
        await on.client.patch(SECRETS, "a", {"stringData": {"k": "v"}}, "default")
        await on.settle()
        assert [call["mapKey"] for call in on.calls("map")[calls:]] == ["secrets/default/a"]


async def test_outputs_of_an_input_that_is_gone_go_unless_the_tombstone_hook_keeps_them():
    async with stage() as on:

        def keep(body):
            return {"outputs": [obj for key, obj in body["outputs"]["ConfigMap.v1"].items() if key == "copy-b"]}

        await on.create(_map({"map": on.hook("map", _copy), "tombstone": on.hook("tombstone", keep)}))
        await _secret(on, "a", thing="one")
        await _secret(on, "b", thing="one")
        await on.create(thing())
        await on.settle()
        for name in "ab":
            await on.client.delete(SECRETS, name, "default")
        await on.settle()
        assert await on.names(CONFIGMAPS, labels="thing") == ["copy-b"]
