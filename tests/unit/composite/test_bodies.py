"""What hooks are told in either version, and how their answers are read; numbers are lines of the fact sheet."""

import math

import pytest

from hanse.composite.bodies import (
    DecoratorAnswer,
    SyncAnswer,
    UpdateAnswer,
    customize_request,
    decorator_request,
    is_strict,
    map_request,
    read_customize,
    read_decorator,
    read_map,
    read_sync,
    read_tombstone,
    read_update_child,
    sync_request,
    tombstone_request,
    update_child_request,
)
from hanse.composite.spec import HookSpec, JsonnetSpec, PythonSpec, SourceSpec, Version, WebhookSpec
from hanse.kube.resources import CONFIGMAPS, NAMESPACES, PODS, Resource

STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
CONTROLLER = {"kind": "CompositeController", "metadata": {"name": "c"}}


def named(name, namespace="", **metadata):
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {}), **metadata}}


INSIDE, OUTSIDE, CLUSTER_WIDE = named("pod-0", "ns"), named("pod-0", "other"), named("ns")
PARENT, CLUSTER_PARENT = named("p", "ns"), named("p")


def children_told(parent, version, observed):
    return sync_request(CONTROLLER, parent, observed, {}, False, version)["children"]


def test_4_every_declared_kind_is_told_even_if_there_is_nothing_of_it():
    told = sync_request(CONTROLLER, PARENT, {STATEFUL_SETS: [], PODS: []}, {CONFIGMAPS: []}, False, Version.V1)

    assert told == {
        "controller": CONTROLLER,
        "parent": PARENT,
        "children": {"Pod.v1": {}, "StatefulSet.apps/v1": {}},
        "related": {"ConfigMap.v1": {}},
        "finalizing": False,
    }


@pytest.mark.parametrize(
    ("parent", "version", "keys"),
    [
        pytest.param(PARENT, Version.V1, {"pod-0": INSIDE}, id="5 v1 in a namespace"),
        pytest.param(PARENT, Version.V2, {"ns/pod-0": INSIDE, "other/pod-0": OUTSIDE}, id="5 v2 in a namespace"),
        pytest.param(CLUSTER_PARENT, Version.V1, {"ns/pod-0": INSIDE, "other/pod-0": OUTSIDE}, id="6 v1 without one"),
        pytest.param(CLUSTER_PARENT, Version.V2, {"ns/pod-0": INSIDE, "other/pod-0": OUTSIDE}, id="6 v2 without one"),
    ],
)
def test_the_keys_of_objects_follow_the_version_and_the_parents_scope(parent, version, keys):
    assert children_told(parent, version, {PODS: [OUTSIDE, INSIDE]}) == {"Pod.v1": keys}


@pytest.mark.parametrize(
    ("parent", "version", "keys"),
    [
        (PARENT, Version.V1, {}),
        (PARENT, Version.V2, {"ns": CLUSTER_WIDE}),
        (CLUSTER_PARENT, Version.V1, {"ns": CLUSTER_WIDE}),
        (CLUSTER_PARENT, Version.V2, {"ns": CLUSTER_WIDE}),
    ],
)
def test_only_a_parent_in_a_namespace_under_v1_is_not_told_of_objects_without_one(parent, version, keys):
    assert children_told(parent, version, {NAMESPACES: [CLUSTER_WIDE]}) == {"Namespace.v1": keys}


def test_objects_in_other_clusters_are_told_under_the_clusters_name():
    here = named("pod-0", "ns")
    there = named("pod-0", "ns", annotations={"hanse.dev/cluster": "east"})

    assert children_told(PARENT, Version.V1, {PODS: [here, there]})["Pod.v1"] == {"pod-0": here, "east/pod-0": there}
    assert list(children_told(PARENT, Version.V2, {PODS: [here, there]})["Pod.v1"]) == ["east/ns/pod-0", "ns/pod-0"]


def test_the_order_of_what_is_observed_makes_no_difference_to_what_is_told():
    one, two = named("a", "ns"), named("b", "ns")
    told = [
        children_told(PARENT, Version.V2, observed)
        for observed in ({PODS: [one, two], CONFIGMAPS: []}, {CONFIGMAPS: [], PODS: [two, one]})
    ]

    assert [list(each) for each in told] == [["ConfigMap.v1", "Pod.v1"]] * 2
    assert [list(each["Pod.v1"]) for each in told] == [["ns/a", "ns/b"]] * 2


def test_a_decorator_is_told_of_its_object_and_attachments():
    told = decorator_request(CONTROLLER, PARENT, {PODS: [INSIDE]}, {CONFIGMAPS: []}, True, Version.V1)

    assert told == {
        "controller": CONTROLLER,
        "object": PARENT,
        "attachments": {"Pod.v1": {"pod-0": INSIDE}},
        "related": {"ConfigMap.v1": {}},
        "finalizing": True,
    }


def test_the_other_hooks_are_told_what_they_are_about():
    outputs = {"Pod.v1": {"pod-0": INSIDE}}

    assert customize_request(CONTROLLER, PARENT) == {"controller": CONTROLLER, "parent": PARENT}
    assert map_request(CONTROLLER, PARENT, "Node.v1/n", CLUSTER_WIDE, {PODS: [INSIDE]}, Version.V1) == {
        "controller": CONTROLLER,
        "parent": PARENT,
        "mapKey": "Node.v1/n",
        "input": CLUSTER_WIDE,
        "outputs": outputs,
    }
    assert tombstone_request(CONTROLLER, PARENT, "Node.v1/n", {PODS: [INSIDE]}, Version.V1) == {
        "controller": CONTROLLER,
        "parent": PARENT,
        "mapKey": "Node.v1/n",
        "outputs": outputs,
    }
    assert update_child_request(CONTROLLER, PARENT, None, INSIDE, "pods-1") == {
        "controller": CONTROLLER,
        "parent": PARENT,
        "child": None,
        "desired": INSIDE,
        "revision": "pods-1",
    }


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({}, SyncAnswer()),
        ({"children": None, "status": None, "resyncAfterSeconds": None, "finalized": None}, SyncAnswer()),
        ({"children": [INSIDE, None, OUTSIDE]}, SyncAnswer(children=(INSIDE, OUTSIDE))),
        ({"status": {"replicas": 2}}, SyncAnswer(status={"replicas": 2})),
        ({"resyncAfterSeconds": 0.1, "finalized": True}, SyncAnswer(resync_after=0.1, finalized=True)),
        ({"resyncAfterSeconds": 5}, SyncAnswer(resync_after=5.0)),
        ({"resyncAfterSeconds": 0}, SyncAnswer()),
        ({"resyncAfterSeconds": -3}, SyncAnswer()),
        ({"surprise": 1, "children": []}, SyncAnswer()),
    ],
)
def test_a_composites_answer_is_read(body, answer):
    assert read_sync(body, strict=False) == answer


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (None, "the answer must be an object with status, children, resyncAfterSeconds and finalized, and is null"),
        ([], "the answer must be an object with status, children, resyncAfterSeconds and finalized, and is a list"),
        ({"children": {}}, "children must be a list, and is an object"),
        ({"children": ["pod"]}, "children[0] must be an object, and is a string"),
        ({"status": "fine"}, "status must be an object, and is a string"),
        ({"resyncAfterSeconds": "5"}, "resyncAfterSeconds must be a number of seconds, and is a string"),
        ({"resyncAfterSeconds": True}, "resyncAfterSeconds must be a number of seconds, and is True"),
        ({"resyncAfterSeconds": math.inf}, "resyncAfterSeconds must be a number of seconds, and is inf"),
        ({"resyncAfterSeconds": math.nan}, "resyncAfterSeconds must be a number of seconds, and is nan"),
        ({"finalized": "yes"}, "finalized must be true or false, and is a string"),
    ],
)
def test_33_an_answer_of_another_form_is_a_sentence_and_no_wish(body, told):
    assert read_sync(body, strict=False) == told


def test_34_an_unknown_field_is_wrong_only_where_the_hook_is_strict():
    body = {"children": [], "childs": [INSIDE]}

    assert read_sync(body, strict=False) == SyncAnswer()
    assert read_sync(body, strict=True) == (
        "the answer has the unknown field childs; known are status, children, resyncAfterSeconds and finalized"
    )


def test_29_a_decorator_that_says_nothing_of_the_status_leaves_it_alone():
    assert read_decorator({}, strict=True) == DecoratorAnswer(status=None)
    assert read_decorator({"status": {}}, strict=True) == DecoratorAnswer(status={})


def test_39_a_decorator_sets_labels_and_takes_them_away():
    body = {
        "labels": {"set": "yes", "gone": None},
        "annotations": {"note": ""},
        "attachments": [INSIDE, None],
        "resyncAfterSeconds": 2,
        "finalized": True,
    }

    assert read_decorator(body, strict=True) == DecoratorAnswer(
        attachments=(INSIDE,),
        labels={"set": "yes", "gone": None},
        annotations={"note": ""},
        resync_after=2.0,
        finalized=True,
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"labels": {"n": 1}}, "labels.n must be a string, and is 1: put it in quotes"),
        ({"annotations": {"n": {}}}, "annotations.n must be a string, and is an object: put it in quotes"),
        ({"labels": ["a"]}, "labels must be an object, and is a list"),
        ({"attachments": "none"}, "attachments must be a list, and is a string"),
        (
            {"children": []},
            (
                "the answer has the unknown field children; known are "
                "labels, annotations, status, attachments, resyncAfterSeconds and finalized"
            ),
        ),
    ],
)
def test_a_decorators_answer_of_another_form_is_a_sentence(body, told):
    assert read_decorator(body, strict=True) == told


RULE = {"apiVersion": "v1", "resource": "secrets"}


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ({}, ()),
        ({"relatedResources": None}, ()),
        ({"relatedResources": [RULE]}, (RULE,)),
        (
            {"relatedResources": [{**RULE, "labelSelector": None, "names": None, "namespace": ""}]},
            ({**RULE, "namespace": ""},),
        ),
        ({"relatedResources": [{**RULE, "label": {}}]}, (RULE,)),
        ({"relatedResources": [{**RULE, "labelSelector": {}}]}, ({**RULE, "labelSelector": {}},)),
    ],
)
def test_the_rules_of_a_customize_hook_are_read(body, rules):
    assert read_customize(body, strict=False) == rules


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("all", "relatedResources must be a list, and is a string"),
        ([None], "relatedResources[0] must be an object, and is null"),
        ([RULE, {"resource": "pods"}], "relatedResources[1].apiVersion: Required value"),
        ([{**RULE, "label": {}}], "relatedResources[0].label is an unknown field"),
        (
            [{**RULE, "labelSelector": {"matchLabel": {}}}],
            "relatedResources[0].labelSelector.matchLabel is an unknown field",
        ),
    ],
)
def test_rules_of_another_form_are_a_sentence(rules, told):
    assert read_customize({"relatedResources": rules}, strict=True) == told


@pytest.mark.parametrize(
    "rule",
    [{"names": "a"}, {"names": [1]}, {"labelSelector": {"matchLabels": {"a": 1}}}, {"namespaceSelector": []}],
)
def test_a_rule_with_a_value_of_another_type_names_its_field(rule):
    told = read_customize({"relatedResources": [{**RULE, **rule}]}, strict=False)

    assert isinstance(told, str)
    assert told.startswith(f"relatedResources[0].{next(iter(rule))}")


def test_what_a_hook_answered_is_left_as_it_is():
    body = {"relatedResources": [{**RULE, "names": None, "more": 1}]}

    read_customize(body, strict=False)

    assert body == {"relatedResources": [{**RULE, "names": None, "more": 1}]}


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


def test_outputs_are_read_and_those_that_are_kept_must_say_which_they_are():
    assert read_map({"outputs": [POD, None]}, strict=True) == (POD,)
    assert read_map({"outputs": [POD], "status": {}}, strict=True) == (
        "the answer has the unknown field status; known are outputs"
    )
    assert read_tombstone({"outputs": [POD]}, strict=True) == (POD,)
    assert read_tombstone({}, strict=True) == ()


@pytest.mark.parametrize("missing", ["apiVersion", "kind", "metadata"])
def test_an_output_to_keep_that_is_nobody_is_a_sentence(missing):
    nobody = {field: value for field, value in POD.items() if field != missing}

    assert read_tombstone({"outputs": [POD, nobody]}, strict=False) == (
        "outputs[1] must have apiVersion, kind and metadata.name"
    )


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ({"ready": True}, UpdateAnswer(ready=True)),
        ({"ready": False, "message": "reparenting"}, UpdateAnswer(ready=False, message="reparenting")),
        ({}, "ready must be true or false, and is not given"),
        ({"ready": "yes"}, "ready must be true or false, and is a string"),
        ({"ready": True, "message": 3}, "message must be a string, and is a number"),
    ],
)
def test_whether_a_child_may_move_must_be_said(body, read):
    assert read_update_child(body, strict=True) == read


@pytest.mark.parametrize(
    ("hook", "strict"),
    [
        (HookSpec(WebhookSpec("http://a", strict=True), Version.V1), True),
        (HookSpec(WebhookSpec("http://a", strict=False), Version.V2), False),
        (HookSpec(PythonSpec(None, "f", "m"), Version.V1), False),
        (HookSpec(PythonSpec(None, "f", "m"), Version.V2), True),
        (HookSpec(JsonnetSpec(SourceSpec(path="/a")), Version.V2), True),
    ],
)
def test_a_webhook_says_itself_whether_it_is_strict_and_others_are_so_under_v2(hook, strict):
    assert is_strict(hook) is strict
