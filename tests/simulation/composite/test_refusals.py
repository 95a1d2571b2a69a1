"""What the server refuses of a parent itself: told where people look, and nothing is lost by it."""

import pytest

from hanse.kube.errors import ApiError, Forbidden
from hanse.kube.manifest import finalizers_of
from hanse.kube.resources import CONFIGMAPS, CRDS, Resource
from tests.simulation.composite.stage import THINGS, child, composite, config, parent_crd, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

STRICT = Resource("ctl.example.com", "v1", "stricts", "Strict")


def _strict_crd():
    crd = parent_crd(STRICT)
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    conditions = {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    properties = {"ready": {"type": "integer"}, "observedGeneration": {"type": "integer"}, "conditions": conditions}
    schema["status"] = {"type": "object", "properties": properties}
    return crd


async def test_a_status_that_the_kind_does_not_allow_is_told_and_the_children_are_there():
    async with stage() as on:
        await on.client.create(CRDS, _strict_crd())
        answers = {"status": {"ready": "two"}, "children": [config("one-0")]}
        hook = on.hook("sync", lambda _body: answers)
        await on.create(composite("stricts", {"sync": hook}, child(CONFIGMAPS), of=STRICT))
        await on.create(thing(kind=STRICT))
        said = (await on.until(lambda: on.events("SyncError")))[0]["message"]
        assert "status.ready" in said
        assert await on.names(CONFIGMAPS, labels="thing=one") == ["one-0"]
        stored = await on.client.get(STRICT, "one", "default")
        assert "status.ready" in stored["status"]["conditions"][0]["message"]

        answers["status"] = {"ready": 2}
        await on.settle(60)
        assert (await on.client.get(STRICT, "one", "default"))["status"] == {"ready": 2, "observedGeneration": 1}


@pytest.mark.parametrize(
    "refusal",
    [
        Forbidden(403, "Forbidden", 'things.ctl.example.com "one" is forbidden: no right to patch'),
        ApiError(413, "RequestEntityTooLarge", "no right to patch so much"),
    ],
)
async def test_a_finalizer_that_may_not_be_written_is_told_and_nothing_is_made_before_it_is(refusal):
    async with stage() as on:
        refused = [True]

        def refuse(request):
            if refused and request.method == "PATCH" and request.path.endswith("/things/one"):
                raise refusal

        on.wire.before_write = refuse
        hooks = {"sync": on.hook("sync", lambda _body: {"children": [config("one-0")]})}
        hooks["finalize"] = on.hook("finalize", lambda _body: {"finalized": True})
        await on.create(composite("things", hooks, child(CONFIGMAPS)))
        await on.create(thing())
        said = (await on.until(lambda: on.events("SyncError")))[0]["message"]
        assert "no right to patch" in said
        assert await on.names(CONFIGMAPS, labels="thing=one") == []

        refused.clear()
        await on.settle(60)
        assert await on.names(CONFIGMAPS, labels="thing=one") == ["one-0"]
        assert len(finalizers_of(await on.client.get(THINGS, "one", "default"))) == 1


async def test_a_label_that_no_object_may_have_is_told_of_the_decorated_object():
    async with stage() as on:
        hook = on.hook("sync", lambda _body: {"labels": {"good": "yes", "bad": "not a label!"}})
        rule = {"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"thing": "one"}}}
        await on.create(
            {
                "apiVersion": "metacontroller.k8s.io/v1alpha1",
                "kind": "DecoratorController",
                "metadata": {"name": "labels"},
                "spec": {"resources": [rule], "attachments": [], "hooks": {"sync": hook}},
            }
        )
        await on.create(config("target", namespace="default"))
        said = (await on.until(lambda: on.events("SyncError")))[0]["message"]
        assert "metadata.labels" in said
