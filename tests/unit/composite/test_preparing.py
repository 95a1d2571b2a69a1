"""A hook's answer is made ready, or refused in one sentence that names the child."""

import pytest

from hanse.api.metacontroller.kinds import (
    CONTROLLER_UID_LABEL,
    DECORATOR_ANNOTATION,
    MAP_ANNOTATION,
    MAP_KEY_ANNOTATION,
)
from hanse.composite.preparing import MOST_CHILDREN, prepared
from hanse.composite.spec import Sort
from hanse.kube.resources import CONFIGMAPS, NODES, PODS, SECRETS, Resource
from tests.unit.composite.builders import catset, children, controller, pod

KINDS = (PODS, CONFIGMAPS, NODES)
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n-1", "labels": {"app": "cats"}}}


def config(size, annotations=None):
    metadata = {"name": "big", "labels": {"app": "cats"}, "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "x" * size}}


def nested(levels):
    inner = {}
    for _ in range(levels):
        inner = {"a": [inner]}
    return inner


def test_a_child_without_a_namespace_gets_its_parents():
    (child,) = children(pod(namespace=""))

    assert child.id == ("v1", "Pod", "shop", "cat-0", "")
    assert child.manifest["metadata"]["namespace"] == "shop"
    assert child.resource == PODS


def test_children_keep_the_order_of_the_answer_and_nulls_are_passed_over():
    assert [child.id.name for child in children(pod("b"), None, pod("a"))] == ["b", "a"]


def test_a_generated_selector_labels_children_that_have_no_such_label():
    (child,) = children(pod(labels={}), spec=controller(generate_selector=True))

    assert child.manifest["metadata"]["labels"] == {CONTROLLER_UID_LABEL: "u-cats"}


@pytest.mark.parametrize(
    ("sort", "marks"),
    [
        (Sort.DECORATOR, {DECORATOR_ANNOTATION: "cats"}),
        (Sort.MAP, {MAP_ANNOTATION: "cats", MAP_KEY_ANNOTATION: "key"}),
    ],
)
def test_attachments_and_outputs_are_marked_and_need_no_labels(sort, marks):
    (child,) = prepared([pod(labels={})], catset(selector={}), controller(sort), KINDS, map_key="key")

    assert child.manifest["metadata"]["annotations"] == marks


@pytest.mark.parametrize(
    ("secret", "stored"),
    [
        ({"stringData": {"a": "x"}}, {"data": {"a": "eA=="}}),
        ({"stringData": {"a": "x"}, "data": {"a": "b2xk", "b": "Yg=="}}, {"data": {"a": "eA==", "b": "Yg=="}}),
        ({"stringData": {"a": 1}}, {"stringData": {"a": 1}}),
        ({"stringData": None}, {"stringData": None}),
        ({"data": {"a": "eA=="}}, {"data": {"a": "eA=="}}),
    ],
)
def test_the_texts_of_a_secret_are_where_servers_put_them(secret, stored):
    metadata = {"name": "s", "namespace": "shop", "labels": {"app": "cats"}}
    told = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **secret}
    (child,) = prepared([told], catset(), controller(), (SECRETS,))

    assert {name: child.manifest[name] for name in ("data", "stringData") if name in child.manifest} == stored
    assert told == {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **secret}


def test_the_answer_itself_is_not_written_to():
    answer = pod(namespace="", labels={})
    children(answer, spec=controller(generate_selector=True))

    assert answer == pod(namespace="", labels={})


def test_a_cluster_scoped_child_loses_a_namespace_that_could_not_be_stored():
    placed = {**NODE, "metadata": {**NODE["metadata"], "namespace": "shop"}}

    assert children(placed, parent=catset(namespace=""))[0].manifest == NODE


@pytest.mark.parametrize(
    ("child", "said"),
    [
        pytest.param("pod", "child 0 of the answer: must be an object", id="no object"),
        pytest.param({"kind": "Pod"}, "child 0 of the answer: apiVersion must be given", id="no apiVersion"),
        pytest.param({"apiVersion": "v1", "kind": 7}, "child 0 of the answer: kind must be given", id="no kind"),
        pytest.param(pod(metadata={"name": ""}), "a Pod: metadata.name must be given", id="no name"),
        pytest.param(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "cat-"}},
            "a Pod: metadata.name must be given; a generated name would never be found",
            id="a generated name",
        ),
        pytest.param(pod("a/b"), "Pod a/b: metadata.name may not contain '/'", id="a slash"),
        pytest.param(pod(metadata={"namespace": 1}), "Pod cat-0: metadata.namespace must be a string", id="number"),
        pytest.param(pod(labels={"app": 1}), "Pod cat-0: metadata.labels.app must be a string", id="a number"),
        pytest.param(pod(labels=["app"]), "Pod cat-0: metadata.labels must be an object of strings", id="a list"),
        pytest.param(
            pod(metadata={"annotations": {"a": None}}), "Pod cat-0: metadata.annotations.a must be a string", id="null"
        ),
        pytest.param(
            pod(metadata={"ownerReferences": "me"}), "Pod cat-0: metadata.ownerReferences must be a list", id="owners"
        ),
        pytest.param(
            pod(metadata={"finalizers": [1]}),
            "Pod cat-0: metadata.finalizers must be a list of strings",
            id="finalizers",
        ),
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}},
            "Deployment d: Deployment of apps/v1 is not in spec.childResources of CompositeController cats: add it",
            id="not declared",
        ),
        pytest.param(pod(namespace="other"), "Pod cat-0: metadata.namespace is other, and must be shop", id="other"),
        pytest.param(
            NODE, "Node n-1: is cluster-scoped, and a parent in a namespace has children only there", id="node"
        ),
        pytest.param(
            pod(labels={"app": "dogs"}),
            "Pod cat-0: its labels do not match the selector app=cats of its parent",
            id="off",
        ),
        pytest.param(
            config(262144), "ConfigMap big: has 262284 bytes, too many to be remembered", id="too big to remember"
        ),
        pytest.param(
            config(200_000, {"note": "x" * 40_000}), "ConfigMap big: has 240149 bytes, too many", id="other annotations"
        ),
        pytest.param(config(2_000_000), "and clusters store at most 1572864: split it", id="too big to store"),
        pytest.param(pod(spec=nested(300)), "Pod cat-0: has more than 100 levels of objects and lists", id="too deep"),
        pytest.param(pod(spec={"image": 2**70}), "Pod cat-0: is not JSON", id="a number that JSON has not"),
    ],
)
def test_a_wrong_child_refuses_the_answer_by_name(child, said):
    sentence = prepared([child, pod("fine")], catset(), controller(), KINDS)

    assert isinstance(sentence, str)
    assert said in sentence


def test_an_answer_with_more_children_than_can_be_looked_at_is_refused_before_it_is():
    many = [pod(f"cat-{number}") for number in range(MOST_CHILDREN)]
    refusal = prepared([*many, pod("more")], catset(), controller(), KINDS)
    fleet = {f"c-{number}": {} for number in range(MOST_CHILDREN // 2 + 1)}
    everywhere = [pod(name, metadata={"annotations": {"hanse.dev/clusters": "!lost"}}) for name in ("a", "b")]

    assert refusal == "the answer has more than 10000 children: divide them among several parents"
    assert prepared(everywhere, catset(), controller(), KINDS, fleet=fleet) == refusal
    assert len(prepared(many, catset(), controller(), KINDS)) == MOST_CHILDREN


def test_a_cluster_scoped_parent_has_no_namespace_to_give():
    sentence = prepared([pod(namespace="")], catset(namespace=""), controller(), KINDS)

    assert sentence == "Pod cat-0: metadata.namespace must be given, since its parent has none"


def test_a_child_is_returned_once_in_whichever_version():
    beta = Resource("", "v1beta1", "pods", "Pod")
    sentence = prepared([pod(), {**pod(), "apiVersion": "v1beta1"}], catset(), controller(), (PODS, beta))

    assert sentence == "Pod cat-0: is in the answer twice: return each child once"


def test_the_server_remembers_more_than_an_annotation():
    answer = prepared([config(300_000)], catset(), controller(server_side=True), KINDS)

    assert [child.id.name for child in answer] == ["big"]


def test_without_a_selector_there_is_no_answer_to_carry_out():
    assert prepared([], catset(selector={}), controller(), KINDS).startswith("spec.selector: must be given")


def test_a_child_that_asks_for_clusters_is_one_child_in_each_of_them():
    both = {**pod(), "metadata": {**pod()["metadata"], "annotations": {"hanse.dev/clusters": "tier=gold"}}}
    fleet = {"east": {"tier": "gold"}, "north": {}, "west": {"tier": "gold"}}
    found = prepared([pod("here"), both], catset(), controller(), (PODS,), fleet=fleet)

    assert [(child.id.name, child.id.cluster) for child in found] == [
        ("here", ""),
        ("cat-0", "east"),
        ("cat-0", "west"),
    ]


def test_the_same_child_may_be_in_two_clusters_and_not_in_one_of_them_twice():
    east, west = (
        {**pod(), "metadata": {**pod()["metadata"], "annotations": {"hanse.dev/cluster": name}}}
        for name in ("east", "west")
    )

    assert len(prepared([east, west], catset(), controller(), (PODS,), fleet={})) == 2
    refused = prepared([east, east], catset(), controller(), (PODS,), fleet={})
    assert refused == "Pod cat-0 in east: is in the answer twice: return each child once"


@pytest.mark.parametrize("sort", list(Sort))
def test_without_other_clusters_a_child_that_asks_for_one_refuses_the_answer(sort):
    away = {**pod(), "metadata": {**pod()["metadata"], "annotations": {"hanse.dev/cluster": "east"}}}

    assert prepared([away], catset(), controller(sort), (PODS,)) == (
        "Pod cat-0: metadata.annotations.hanse.dev/cluster: only a CompositeController on the federation has children "
        "in other clusters: take the annotation away"
    )
