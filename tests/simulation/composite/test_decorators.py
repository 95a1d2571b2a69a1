"""Decorators: labels, annotations and attachments for objects that others made, each decorator for itself."""

import itertools

import pytest

from hanse.kube.manifest import annotations_of, finalizers_of, labels_of
from hanse.kube.resources import CONFIGMAPS, SECRETS, SERVICES
from tests.simulation.composite.stage import child, config, stage

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


def _decorator(name, hooks, *attachments, **rule):
    return {
        "apiVersion": "metacontroller.k8s.io/v1alpha1",
        "kind": "DecoratorController",
        "metadata": {"name": name},
        "spec": {
            "resources": [{"apiVersion": "v1", "resource": "configmaps", **rule}],
            "attachments": list(attachments),
            "hooks": hooks,
        },
    }


MARKED = {"annotationSelector": {"matchAnnotations": {"secret-for": "yes"}}}


def _target(name="conf", **annotations):
    made = config(name, namespace="default", text="x")
    made["metadata"]["annotations"] = annotations
    return made


def _secret(body):
    name = body["object"]["metadata"]["name"]
    return {"attachments": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-secret"}}]}


async def test_what_both_selectors_match_gets_attachments_and_the_rest_gets_none():
    async with stage() as on:
        await on.create(_decorator("secrets", {"sync": on.hook("sync", _secret)}, child(SECRETS), **MARKED))
        await on.create(_target("conf", **{"secret-for": "yes"}))
        await on.create(_target("other"))
        await on.settle()
        made = await on.client.get(SECRETS, "conf-secret", "default")
        assert annotations_of(made)["metacontroller.k8s.io/decorator-controller"] == "secrets"
        assert await on.client.find(SECRETS, "other-secret", "default") is None


async def test_labels_and_annotations_are_set_and_taken_away_and_others_stay():
    async with stage() as on:
        answer = {"labels": {"added": "yes", "thing": None}, "annotations": {"note": "hello", "old": None}}
        await on.create(_target("conf", **{"secret-for": "yes", "old": "1", "mine": "2"}))
        await on.create(_decorator("notes", {"sync": on.hook("sync", lambda _body: answer)}, **MARKED))
        await on.settle()
        made = await on.client.get(CONFIGMAPS, "conf", "default")
        assert labels_of(made) == {"added": "yes"}
        assert annotations_of(made) == {"secret-for": "yes", "mine": "2", "note": "hello"}
        on.wire.writes.clear()
        await on.client.patch(CONFIGMAPS, "conf", {"data": {"text": "new"}}, "default")
        await on.settle()
        assert on.wire.writes == []


async def test_two_decorators_of_one_object_do_not_see_each_others_attachments():
    async with stage() as on:
        await on.create(_target("conf", **{"secret-for": "yes"}))
        for name in ("left", "right"):

            def attach(_body, name=name):
                return {"attachments": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"of-{name}"}}]}

            await on.create(_decorator(name, {"sync": on.hook(name, attach)}, child(SECRETS), **MARKED))
        await on.settle(30)
        assert await on.names(SECRETS) == ["of-left", "of-right"]
        for name in ("left", "right"):
            assert set(on.calls(name)[-1]["attachments"]["Secret.v1"]) == {f"of-{name}"}


async def test_an_object_that_stops_matching_is_finalized_if_there_is_a_hook_and_keeps_its_attachments_otherwise():
    async with stage() as on:
        await on.create(_target("conf", **{"secret-for": "yes"}))

        def undo(body):
            return {"attachments": [], "labels": {"added": None}, "finalized": not body["attachments"]["Secret.v1"]}

        hooks = {"sync": on.hook("sync", _secret), "finalize": on.hook("finalize", undo)}
        await on.create(_decorator("secrets", hooks, child(SECRETS), **MARKED))
        await on.create(_decorator("plain", {"sync": on.hook("plain", _service)}, child(SERVICES), **MARKED))
        await on.settle()
        assert await on.client.find(SECRETS, "conf-secret", "default") is not None
        await on.client.patch(CONFIGMAPS, "conf", {"metadata": {"annotations": {"secret-for": None}}}, "default")
        await on.settle()
        assert await on.client.find(SECRETS, "conf-secret", "default") is None
        assert finalizers_of(await on.client.get(CONFIGMAPS, "conf", "default")) == []
        assert await on.client.find(SERVICES, "conf-service", "default") is not None


def _service(_body):
    spec = {"ports": [{"port": 80}]}
    return {
        "attachments": [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "conf-service"}, "spec": spec}]
    }


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        (lambda number: {"annotations": {"now": str(number)}}, "metadata.annotations.now"),
        (lambda number: {"labels": {"now": str(number)}}, "metadata.labels.now"),
    ],
)
async def test_a_decorator_that_never_settles_is_left_alone_and_the_field_is_named(answer, path):
    async with stage() as on:
        count = itertools.count()
        hook = on.hook("sync", lambda _body: answer(next(count)))
        await on.create(_decorator("clock", {"sync": hook}, **MARKED))
        await on.create(_target("conf", **{"secret-for": "yes"}))
        events = await on.until(lambda: on.events("SyncError"))
        assert f"{path} of the object itself" in events[0]["message"]
        calls = len(on.calls("sync"))
        await on.settle(25)
        assert len(on.calls("sync")) == calls < 100
