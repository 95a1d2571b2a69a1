"""How children change: by the method of their kind, merged or applied by the server, one after the other if asked."""

import pytest

from hanse.api.metacontroller.kinds import CONTROLLER_REVISIONS
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import is_deleting, uid_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, PODS
from tests.simulation.composite.stage import THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

SERVER_SIDE = {"applyStrategy": "ServerSideApply"}


def _texts(body):
    return {"children": [config("one-0", text=body["parent"]["spec"].get("text", "old"))]}


@pytest.mark.parametrize("strategy", [{}, SERVER_SIDE])
@pytest.mark.parametrize(
    ("method", "text", "same"), [("OnDelete", "old", True), ("InPlace", "new", True), ("Recreate", "new", False)]
)
async def test_a_child_that_differs_changes_by_the_method_of_its_kind(method, text, same, strategy):
    async with stage() as on:
        hook = on.hook("sync", _texts)
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS, method), **strategy))
        await on.create(thing())
        await on.settle()
        before = await on.client.get(CONFIGMAPS, "one-0", "default")
        await on.client.patch(THINGS, "one", {"spec": {"text": "new"}}, "default")
        await on.settle()
        after = await on.client.get(CONFIGMAPS, "one-0", "default")
        assert after["data"] == {"text": text}
        assert (uid_of(before) == uid_of(after)) is same

        await on.client.delete(CONFIGMAPS, "one-0", "default")
        await on.settle()
        assert (await on.client.get(CONFIGMAPS, "one-0", "default"))["data"] == {"text": "new"}


@pytest.mark.parametrize("strategy", [{}, SERVER_SIDE])
async def test_what_others_added_stays_and_what_the_hook_leaves_out_goes(strategy):
    async with stage() as on:

        def data(body):
            return {"children": [config("one-0", **body["parent"]["spec"]["data"])]}

        hook = on.hook("sync", data)
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS, "InPlace"), **strategy))
        await on.create(thing(data={"a": "1", "b": "2"}))
        await on.settle()
        await on.client.patch(CONFIGMAPS, "one-0", {"data": {"theirs": "3"}}, "default")
        await on.client.patch(THINGS, "one", {"spec": {"data": {"b": None}}}, "default")
        await on.settle()
        assert (await on.client.get(CONFIGMAPS, "one-0", "default"))["data"] == {"a": "1", "theirs": "3"}


@pytest.mark.parametrize("strategy", [{}, SERVER_SIDE])
async def test_what_somebody_changed_is_put_back_even_where_kinds_have_no_generation(strategy):
    async with stage() as on:
        hook = on.hook("sync", _texts)
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS, "InPlace"), **strategy))
        await on.create(thing())
        await on.settle()
        await on.client.patch(CONFIGMAPS, "one-0", {"data": {"text": "theirs"}}, "default")
        await on.settle()
        assert (await on.client.get(CONFIGMAPS, "one-0", "default"))["data"] == {"text": "old"}
        on.wire.writes.clear()
        await on.client.patch(THINGS, "one", {"metadata": {"labels": {"nothing": "new"}}}, "default")
        await on.settle()
        assert on.wire.writes == []


async def test_values_that_only_a_server_writes_make_no_difference():
    async with stage() as on:

        def typed(_body):
            made = config("one-0", text="same")
            made["metadata"] |= {"creationTimestamp": None, "uid": None, "resourceVersion": "7"}
            return {"children": [made | {"status": {}}]}

        await on.create(composite("things", {"sync": on.hook("sync", typed)}, child(CONFIGMAPS, "InPlace")))
        await on.create(thing())
        await on.settle()
        on.wire.writes.clear()
        await on.client.patch(THINGS, "one", {"metadata": {"labels": {"nothing": "new"}}}, "default")
        await on.settle()
        assert on.wire.writes == []


def _pods(body):
    """Make pods in falling order, each with the parent's image."""
    spec = body["parent"]["spec"]
    return {
        "status": {"replicas": len(body["children"]["Pod.v1"])},
        "children": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"cat-{i}", "labels": {"thing": "one"}},
                "spec": {"containers": [{"name": "cat", "image": spec["template"]["image"]}]},
            }
            for i in reversed(range(spec["replicas"]))
        ],
    }


READY = {"statusChecks": {"conditions": [{"type": "Ready", "status": "True"}]}}
ROLLING = child(PODS, "RollingRecreate", **READY)
TEMPLATE_ONLY = {"revisionHistory": {"fieldPaths": ["spec.template"]}}


async def _images(on):
    return {
        pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"]
        for pod in (await on.client.list(PODS, "default")).items
        if not is_deleting(pod)
    }


async def _updated(on):
    stored = await on.client.get(THINGS, "one", "default")
    return find_condition((stored.get("status") or {}).get("conditions"), "Updated") or {}


async def _rolled_out(on, image, count):
    images = await _images(on)
    return len(images) == count and set(images.values()) == {image} and (await _updated(on)).get("status") == "True"


async def _cats(on, **spec):
    await on.create(
        composite("cats", {"sync": on.hook("sync", _pods)}, spec.pop("child", ROLLING), parent=TEMPLATE_ONLY, **spec)
    )
    await on.create(thing(replicas=3, template={"image": "cat:1"}))
    await on.until(lambda: _ready(on, 3))


async def _ready(on, count):
    listed = (await on.client.list(PODS, "default")).items
    found = [pod for pod in listed if is_true((pod.get("status") or {}).get("conditions"), "Ready")]
    return len([pod for pod in found if not is_deleting(pod)]) >= count


async def test_pods_roll_one_by_one_in_the_hooks_order_and_each_is_ready_before_the_next():
    async with stage(nodes=True) as on:
        await _cats(on)
        uids = {pod["metadata"]["name"]: uid_of(pod) for pod in (await on.client.list(PODS, "default")).items}
        order = []

        async def step():
            listed = (await on.client.list(PODS, "default")).items
            assert await _ready(on, 2)
            for pod in listed:
                name = pod["metadata"]["name"]
                if uid_of(pod) != uids[name] and name not in order:
                    order.append(name)
            return await _rolled_out(on, "cat:2", 3)

        await on.client.patch(THINGS, "one", {"spec": {"template": {"image": "cat:2"}}}, "default")
        await on.until(step, 300)
        assert order == ["cat-2", "cat-1", "cat-0"]
        assert len(await on.names(CONTROLLER_REVISIONS)) == 1


async def test_a_change_outside_the_revision_acts_at_once_and_a_deleted_pod_comes_back_as_it_was():
    async with stage(nodes=True) as on:
        await _cats(on)
        await on.client.patch(THINGS, "one", {"spec": {"template": {"image": "cat:2"}}}, "default")
        await on.settle(0.2)
        await on.client.patch(THINGS, "one", {"spec": {"replicas": 4}}, "default")
        await on.client.delete(PODS, "cat-0", "default", grace_seconds=0)
        await on.until(lambda: _has(on, "cat-3", "cat:2"), 20)
        await on.until(lambda: _has(on, "cat-0", "cat:1"), 20)
        await on.until(lambda: _rolled_out(on, "cat:2", 4), 300)


async def _has(on, name, image):
    return (await _images(on)).get(name) == image


async def test_a_second_change_in_the_middle_ends_on_the_newest_revision_also_after_a_crash():
    async with stage(nodes=True) as on:
        await _cats(on)
        await on.client.patch(THINGS, "one", {"spec": {"template": {"image": "cat:2"}}}, "default")
        await on.until(lambda: _has(on, "cat-1", "cat:2"))
        await on.client.patch(THINGS, "one", {"spec": {"template": {"image": "cat:3"}}}, "default")
        await on.settle(0.5)
        assert len(await on.names(CONTROLLER_REVISIONS)) == 3
        await on.kill()
        on.serve()
        await on.until(lambda: _rolled_out(on, "cat:3", 3), 300)
        assert len(await on.names(CONTROLLER_REVISIONS)) == 1


async def test_a_rollout_waits_for_a_child_that_fails_its_check_and_names_it():
    async with stage() as on:
        await on.create(composite("cats", {"sync": on.hook("sync", _pods)}, ROLLING, parent=TEMPLATE_ONLY))
        await on.create(thing(replicas=2, template={"image": "cat:1"}))
        await on.settle()
        await on.client.patch(THINGS, "one", {"spec": {"template": {"image": "cat:2"}}}, "default")
        await on.settle()
        told = await _updated(on)
        assert (told["status"], told["reason"]) == ("False", "RolloutWaiting")
        assert "Pod cat-" in told["message"]
        assert "cat:1" in (await _images(on)).values()


async def test_the_hooks_before_and_after_a_move_hold_it_up():
    async with stage(nodes=True) as on:
        held = {"ready": False, "message": "the tablet is still primary"}
        words = {"before": held, "after": {"ready": True}}
        hooks = {
            "sync": on.hook("sync", _pods),
            "preUpdateChild": on.hook("before", lambda _body: words["before"]),
            "postUpdateChild": on.hook("after", lambda _body: words["after"]),
        }
        await on.create(composite("cats", hooks, ROLLING, parent=TEMPLATE_ONLY, resyncPeriodSeconds=5))
        await on.create(thing(replicas=2, template={"image": "cat:1"}))
        await on.until(lambda: _rolled_out(on, "cat:1", 2))
        await on.client.patch(THINGS, "one", {"spec": {"template": {"image": "cat:2"}}}, "default")
        await on.settle(20)
        assert set((await _images(on)).values()) == {"cat:1"}
        assert "the tablet is still primary" in (await _updated(on))["message"]
        asked = on.calls("before")[-1]
        assert (asked["child"]["metadata"]["name"], asked["desired"]["spec"]["containers"][0]["image"]) == (
            "cat-1",
            "cat:2",
        )
        words["before"] = {"ready": True}
        await on.until(lambda: _rolled_out(on, "cat:2", 2), 300)
        assert {call["child"]["metadata"]["name"] for call in on.calls("after")} == {"cat-0", "cat-1"}


async def test_deployments_roll_in_place_one_after_the_other():
    async with stage(nodes=True) as on:

        def deployments(body):
            image = body["parent"]["spec"]["image"]
            return {"children": [_deployment(f"web-{i}", image) for i in range(3)]}

        checks = {"statusChecks": {"conditions": [{"type": "Available", "status": "True"}]}}
        rolling = child(DEPLOYMENTS, "RollingInPlace", **checks)
        await on.create(composite("webs", {"sync": on.hook("sync", deployments)}, rolling))
        await on.create(thing(image="web:1"))
        await on.until(lambda: _rolled(on, "web:1"))
        await on.client.patch(THINGS, "one", {"spec": {"image": "web:2"}}, "default")
        await on.until(lambda: _rolled(on, "web:2"), 300)
        uids = {uid_of(each) for each in (await on.client.list(DEPLOYMENTS, "default")).items}
        assert len(uids) == 3


async def _rolled(on, image):
    listed = (await on.client.list(DEPLOYMENTS, "default")).items
    images = {each["spec"]["template"]["spec"]["containers"][0]["image"] for each in listed}
    return len(listed) == 3 and images == {image} and (await _updated(on)).get("status") == "True"


def _deployment(name, image):
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"thing": "one"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": image}]}},
        },
    }
