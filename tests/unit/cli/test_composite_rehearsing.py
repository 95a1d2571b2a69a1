"""What would follow from a hook's answer, told of files alone."""

import pytest

from hanse.api.metacontroller.kinds import MAP_ANNOTATION, MAP_KEY_ANNOTATION
from hanse.cli.composite_asking import Given, rehearse
from hanse.cli.composite_files import Local
from hanse.cli.failures import Failure, Misuse
from hanse.composite.applying import with_last_applied
from hanse.composite.hooks.calling import HookBusy, HookFailed
from hanse.composite.reading import read_controller
from hanse.composite.spec import ControllerSpec

CAT = {"apiVersion": "example.com/v1", "kind": "Cat", "metadata": {"name": "tom"}, "spec": {}}


def config(name, kind="ConfigMap", **data):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "data": data}


def kind(resource, method="InPlace", version="v1"):
    return {"apiVersion": version, "resource": resource, "updateStrategy": {"method": method}}


def local(sort="CompositeController", hooks=("sync",), **spec):
    cats = {"apiVersion": "example.com/v1", "resource": "cats"}
    given = {
        "CompositeController": {"parentResource": cats, "generateSelector": True},
        "DecoratorController": {"resources": [cats]},
        "MapController": {"parentResource": cats},
    }[sort]
    obj = {
        "apiVersion": "metacontroller.k8s.io/v1alpha1",
        "kind": sort,
        "metadata": {"name": "cats"},
        "spec": given | {"hooks": {name: {"webhook": {"url": f"http://{name}"}} for name in hooks}} | spec,
    }
    read = read_controller(obj)
    assert isinstance(read, ControllerSpec), read
    return Local(obj, read)


class Told:
    """A hook that answers one thing, and knows what it was asked."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = {}

    async def open(self, spec):
        told = self

        class Hook:
            async def call(self, body, root):
                name = spec.call.url.removeprefix("http://")
                told.asked[name] = body
                if isinstance(told.answers[name], Exception):
                    raise told.answers[name]
                return told.answers[name]

            async def close(self):
                """Have nothing to close."""

        return Hook()


async def steps(given, controller, **answers):
    told = Told(answers)
    (found,) = await rehearse(controller, given, told.open)
    return [(step.title, str(step.effect)) for step in found.steps], found, told


@pytest.mark.parametrize(
    ("method", "effect"),
    [
        ("InPlace", "updated"),
        ("Recreate", "deleted and made again"),
        ("OnDelete", "kept as it is until it is deleted (OnDelete)"),
    ],
)
async def test_children_are_made_changed_by_their_method_and_deleted(method, effect):
    controller = local(childResources=[kind("configmaps", method)])
    children = (with_last_applied(config("a", color="red")), config("b"))

    found, _, _ = await steps(
        Given(CAT, children), controller, sync={"children": [config("a", color="blue"), config("c")]}
    )

    assert sorted(found) == [
        ("ConfigMap default/a", effect),
        ("ConfigMap default/b", "deleted"),
        ("ConfigMap default/c", "created"),
        ("status", "written"),
    ]


async def test_the_diff_shows_what_changes_and_hides_what_is_secret():
    controller = local(childResources=[kind("secrets"), kind("configmaps")])
    given = Given(CAT, (config("a", "Secret", token="c2VjcmV0"), config("b", color="red")))
    wanted = [config("a", "Secret", token="b3RoZXI="), config("b", color="blue")]

    _, found, _ = await steps(given, controller, sync={"children": wanted})

    shown = {step.title: step.diff for step in found.steps}
    assert "c2VjcmV0" not in shown["Secret default/a"]
    assert "+  token: (hidden, after)" in shown["Secret default/a"]
    assert "-  color: red\n+  color: blue" in shown["ConfigMap default/b"]


async def test_nothing_changes_when_the_children_are_what_the_hook_wants():
    controller = local(childResources=[kind("configmaps")])
    status = {"observedGeneration": 1, "n": 1}
    child = with_last_applied(config("a", color="red"))
    child["metadata"] |= {"namespace": "default"}
    first = Told({"sync": {"children": [config("a", color="red")], "status": {"n": 1}}})
    (made,) = await rehearse(controller, Given({**CAT, "status": status}), first.open)
    written = [with_last_applied(step.then) for step in made.steps]

    found, rehearsed, told = await steps(
        Given({**CAT, "status": status}, tuple(written)),
        controller,
        sync={"children": [config("a", color="red")], "status": {"n": 1}},
    )

    assert (found, rehearsed.settled) == ([], True)
    assert list(told.asked["sync"]["children"]["ConfigMap.v1"]) == ["a"]


async def test_a_decorators_labels_and_status_are_shown_beside_its_attachments():
    controller = local("DecoratorController", attachments=[kind("configmaps")])
    target = {**CAT, "metadata": {"name": "tom", "labels": {"old": "1", "kept": "1"}}}
    answer = {"attachments": [config("a")], "labels": {"old": None, "new": "1"}, "status": {"n": 1}}

    found, rehearsed, _ = await steps(Given(target), controller, sync=answer)

    assert found == [("ConfigMap default/a", "created"), ("status", "written"), ("Cat default/tom", "updated")]
    assert rehearsed.steps[-1].then == {"metadata": {"labels": {"kept": "1", "new": "1"}, "annotations": {}}}


async def test_a_map_is_asked_for_every_input_with_its_own_outputs():
    controller = local(
        "MapController",
        ("map",),
        inputResources=[{"apiVersion": "v1", "resource": "secrets"}],
        outputResources=[kind("configmaps")],
    )
    left = config("left")
    left["metadata"]["annotations"] = {MAP_ANNOTATION: "cats", MAP_KEY_ANNOTATION: "secrets/default/x"}
    given = Given(CAT, (left,), (config("x", "Secret"), config("y", "Secret")))
    told = Told({"map": {"outputs": []}})

    found = await rehearse(controller, given, told.open)

    assert [(each.title, [str(step.effect) for step in each.steps]) for each in found] == [
        ("secrets/default/x", ["deleted"]),
        ("secrets/default/y", []),
    ]


async def test_related_objects_are_those_that_customize_asks_for():
    controller = local(hooks=("sync", "customize"), childResources=[kind("configmaps")])
    rule = {"apiVersion": "v1", "resource": "secrets", "names": ["x"]}
    given = Given(CAT, related=(config("x", "Secret"), config("y", "Secret")))

    _, _, told = await steps(given, controller, sync={}, customize={"relatedResources": [rule]})

    assert list(told.asked["sync"]["related"]["Secret.v1"]) == ["x"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"children": "none"}, "the answer cannot be used: children must be a list"),
        ({"children": [config("x", "Secret")]}, "is not in spec.childResources"),
        (HookFailed("the webhook broke"), "the webhook broke"),
        (HookBusy(5), "asks to be called again in 5 s"),
    ],
)
async def test_an_answer_from_which_nothing_would_follow_is_a_failure(answer, said):
    with pytest.raises(Failure) as failed:
        await steps(Given(CAT), local(childResources=[kind("configmaps")]), sync=answer)

    assert said in failed.value.message


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Given({**CAT, "kind": "Dog"}), "--parent: it is a Dog of example.com/v1"),
        (Given(CAT, (config("x", "Secret"),)), "--children: 1 of them are of no kind"),
        (Given(CAT, finalizing=True), "the controller has no hook finalize"),
    ],
)
async def test_files_that_do_not_fit_the_controller_are_refused(given, said):
    controller = local(childResources=[kind("configmaps")])
    cats = {"names": {"plural": "cats", "kind": "Cat"}, "group": "example.com", "scope": "Namespaced"}
    crd = {"apiVersion": "v1", "kind": "CustomResourceDefinition", "spec": {**cats, "versions": [{"name": "v1"}]}}

    with pytest.raises(Misuse) as refused:
        await steps(given, Local(controller.controller, controller.spec, (crd,)), sync={})

    assert said in refused.value.message


async def test_children_may_be_in_the_clusters_that_are_given():
    controller = local(childResources=[kind("configmaps")])
    wanted, there = config("a", color="blue"), config("a", color="red")
    wanted["metadata"]["annotations"] = {"hanse.dev/clusters": "continent=europe"}
    there["metadata"]["annotations"] = {"hanse.dev/cluster": "eu"}
    fleet = {"eu": {"continent": "europe"}, "de": {"continent": "europe"}, "us": {}}

    found, _, _ = await steps(Given(CAT, (there,), fleet=fleet), controller, sync={"children": [wanted]})

    assert sorted(found)[:2] == [("ConfigMap default/a in de", "created"), ("ConfigMap default/a in eu", "updated")]
