"""What becomes of parents whose hooks fail, wait, answer nonsense or never settle: nothing is deleted, all is told."""

import pytest

from hanse.composite.hooks.calling import HookBusy, HookFailed
from hanse.kube.resources import CONFIGMAPS
from tests.simulation.composite.stage import THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def _with_a_child(on, controller=None, **spec):
    """Have a parent with one child, then let the hook answer something else."""
    hook = on.hook("sync", lambda _body: {"children": [config("one-0")]})
    await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS, "InPlace"), **spec))
    await on.create(thing())
    await on.until(lambda: on.names(CONFIGMAPS, labels="thing=one"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (HookFailed("the hook answered 500"), "answered 500"),
        ({"children": {}}, "children must be a list"),
        ({"children": "none"}, "children must be a list"),
        ([], "the answer must be an object"),
        (None, "the answer must be an object"),
        ({"children": [{"kind": "ConfigMap"}]}, "apiVersion must be given"),
        ({"children": [{**config("x"), "apiVersion": "v2"}]}, "is not in spec.childResources"),
        ({"children": [config("x", namespace="kube-system")]}, "metadata.namespace is kube-system"),
        ({"children": [config("x"), config("x")]}, "is in the answer twice"),
        ({"children": [], "resyncAfterSeconds": "soon"}, "resyncAfterSeconds must be a number"),
    ],
)
async def test_an_answer_that_cannot_be_used_changes_nothing_and_is_told(answer, said):
    async with stage() as on:
        await _with_a_child(on)
        on.hooks["http://sync"].function = lambda _body: answer
        await on.client.patch(THINGS, "one", {"spec": {"text": "new"}}, "default")
        events = await on.until(lambda: on.events("SyncError"))
        assert said in events[0]["message"]
        assert await on.names(CONFIGMAPS, labels="thing=one") == ["one-0"]
        stored = await on.client.get(THINGS, "one", "default")
        assert [each["message"] for each in stored["status"]["conditions"] if said in each["message"]]


async def test_a_failing_hook_is_retried_ever_later_and_its_word_goes_when_it_works_again():
    async with stage() as on:
        await _with_a_child(on)
        on.hooks["http://sync"].function = lambda _body: HookFailed("broken")
        await on.client.patch(THINGS, "one", {"spec": {"text": "new"}}, "default")
        calls = len(on.calls("sync"))
        await on.settle(60)
        assert 5 <= len(on.calls("sync")) - calls <= 20
        on.hooks["http://sync"].function = lambda _body: {"status": {"well": True}, "children": [config("one-0")]}
        await on.settle(90)
        assert (await on.client.get(THINGS, "one", "default"))["status"] == {"well": True, "observedGeneration": 2}


async def test_a_busy_hook_is_called_when_it_asks_for_that_and_nobody_hears_of_it():
    async with stage() as on:
        await _with_a_child(on)
        on.hooks["http://sync"].function = lambda _body: HookBusy(10.0)
        await on.client.patch(THINGS, "one", {"spec": {"text": "new"}}, "default")
        await on.settle(1)
        calls = len(on.calls("sync"))
        await on.settle(8)
        assert len(on.calls("sync")) == calls
        await on.settle(2)
        assert len(on.calls("sync")) == calls + 1
        assert await on.events("SyncError") == []


async def test_a_hook_that_asks_to_be_called_again_is_called_once():
    async with stage() as on:
        answers = [{"children": [], "resyncAfterSeconds": 0.1}]
        hook = on.hook("sync", lambda _body: answers.pop() if answers else {"children": []})
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS), parent={"ignoreStatusChanges": True}))
        await on.create(thing())
        await on.settle(30)
        assert len(on.calls("sync")) == 2


@pytest.mark.parametrize(
    ("change", "calls"),
    [
        ({"status": {"noise": 1}}, 0),
        ({"metadata": {"labels": {"a": "b"}}}, 1),
        ({"metadata": {"annotations": {"a": "b"}}}, 1),
        ({"spec": {"a": "b"}}, 1),
    ],
)
async def test_changes_of_the_status_alone_can_be_ignored(change, calls):
    async with stage() as on:
        hook = on.hook("sync", lambda _body: {"status": {"done": True}, "children": []})
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS), parent={"ignoreStatusChanges": True}))
        await on.create(thing())
        await on.settle()
        before = len(on.calls("sync"))
        subresource = "status" if "status" in change else ""
        await on.client.patch(THINGS, "one", change, "default", subresource=subresource)
        await on.settle()
        assert len(on.calls("sync")) - before == calls


async def test_a_hook_whose_status_changes_at_every_call_is_left_alone_and_the_field_is_named():
    async with stage() as on:
        count = iter(range(10**9))
        hook = on.hook("sync", lambda _body: {"status": {"now": next(count)}, "children": []})
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS)))
        await on.create(thing())
        events = await on.until(lambda: on.events("SyncError"))
        assert "status.now of the parent itself" in events[0]["message"]
        calls = len(on.calls("sync"))
        await on.settle(25)
        assert len(on.calls("sync")) == calls < 100


async def test_a_hook_whose_child_changes_at_every_call_is_left_alone_and_others_go_on():
    async with stage() as on:
        count = iter(range(10**9))

        def unsteady(body):
            name = body["parent"]["metadata"]["name"]
            text = str(next(count)) if name == "one" else "calm"
            return {"children": [config(f"{name}-0", name, text=text)]}

        await on.create(composite("things", {"sync": on.hook("sync", unsteady)}, child(CONFIGMAPS, "InPlace")))
        await on.create(thing("one"))
        await on.until(lambda: on.events("SyncError"))
        assert "data.text of ConfigMap one-0" in (await on.events("SyncError"))[0]["message"]
        await on.create(thing("two"))
        await on.settle()
        assert (await on.client.get(CONFIGMAPS, "two-0", "default"))["data"] == {"text": "calm"}
        assert (await on.client.get(THINGS, "two", "default"))["status"] == {"observedGeneration": 1}


async def test_one_child_that_the_server_refuses_keeps_no_other_and_no_status_waiting():
    async with stage() as on:
        bad = {**config("Bad_Name"), "data": {"a": "b"}}
        answer = {
            "status": {"seen": True},
            "children": [
                config("before"),
                {**bad, "metadata": {**bad["metadata"], "name": "bad"}, "data": {"no/slash": "x"}},
                config("after"),
            ],
        }
        await on.create(composite("things", {"sync": on.hook("sync", lambda _body: answer)}, child(CONFIGMAPS)))
        await on.create(thing())
        await on.until(lambda: on.events("SyncError"))
        assert await on.names(CONFIGMAPS, labels="thing=one") == ["after", "before"]
        assert (await on.client.get(THINGS, "one", "default"))["status"]["seen"] is True


async def test_a_hook_without_status_leaves_the_generation_alone_in_it():
    async with stage() as on:
        await on.create(composite("things", {"sync": on.hook("sync", lambda _body: {})}, child(CONFIGMAPS)))
        await on.create(thing())
        await on.settle()
        assert (await on.client.get(THINGS, "one", "default"))["status"] == {"observedGeneration": 1}


async def test_a_parent_without_selector_is_told_so():
    async with stage() as on:
        hook = on.hook("sync", lambda _body: {"children": [config("x")]})
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS)))
        await on.create(thing(selector={}))
        events = await on.until(lambda: on.events("SyncError"))
        assert "spec.selector: must be given" in events[0]["message"]
        assert on.calls("sync") == []


async def test_a_generated_selector_labels_children_and_ignores_the_parents_own():
    async with stage() as on:
        hook = on.hook("sync", lambda _body: {"children": [config("x", of="whatever")]})
        await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS), generateSelector=True))
        parent = await on.create(thing(selector={}))
        await on.settle()
        made = await on.client.get(CONFIGMAPS, "x", "default")
        assert made["metadata"]["labels"] == {"thing": "whatever", "controller-uid": parent["metadata"]["uid"]}
