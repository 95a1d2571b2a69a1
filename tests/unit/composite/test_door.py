"""What a PlacedChild means to the engine: each cluster's own copy, for as long as that one is named."""

import pytest

from hanse.api.clusters import parse_cluster
from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION, TEMPLATE_ANNOTATION
from hanse.api.placed_children import PLACED_CHILDREN, Author, PlacedChild, Template
from hanse.composite.door import CompositeDoor
from hanse.composite.placing import placed_manifest
from hanse.kube.manifest import Key, annotations_of, key_of
from hanse.kube.resources import PODS
from hanse.propagation.comparison import Absent, Present
from hanse.propagation.door import keyed
from hanse.propagation.intent import Ref
from hanse.propagation.planning import Observation, plan
from hanse.propagation.rendering import render
from tests.unit.composite.builders import catset, pod

CAT = Key("shop", "cat-0")
SINCE = "2026-01-01T00:00:00Z"


def source(*, leaving=(), author=None, **images):
    placed = PlacedChild(PODS, CAT, author=author)
    for cluster, image in images.items():
        placed = placed.present_in(cluster, pod(spec={"image": image}))
    for cluster in leaving:
        placed = placed.absent_in(cluster, SINCE)
    made = placed_manifest(catset(), placed)
    return {**made, "metadata": {**made["metadata"], "uid": "u-placed"}}


def clusters(*names, lost=()):
    return [
        parse_cluster(
            {
                "metadata": {"name": name},
                "status": {"conditions": [{"type": "Ready", "status": "False" if name in lost else "True"}]},
            }
        )
        for name in names
    ]


def has(intent, **images):
    copies = {name: pod(spec={"image": image}) for name, image in images.items()}
    return {
        name: Observation(seen=True, copy=render(intent, None, [{"op": "replace", "path": "", "value": each}]))
        for name, each in copies.items()
    }


def wishes(found):
    return {
        name: wish.manifest["spec"]["image"] if isinstance(wish, Present) else type(wish)
        for name, wish in found.wanted.items()
    }


def test_members_hold_the_child_itself():
    made = source(east="cat:1")
    door = CompositeDoor().informed(keyed({PLACED_CHILDREN: [made]}))

    assert door.target(Ref(PLACED_CHILDREN, key_of(made))) == Ref(PODS, CAT)
    unknown = Ref(PLACED_CHILDREN, Key("shop", "unknown"))
    assert door.target(unknown) == unknown


def test_every_cluster_gets_its_own_version_marked_with_what_was_asked_for():
    made = source(east="cat:1", west="cat:2")
    found = plan(CompositeDoor().translate(made), clusters("east", "north", "west"), {})

    assert wishes(found) == {"east": "cat:1", "west": "cat:2"}
    marks = {version["clusters"][0]: version["digest"] for version in made["spec"]["versions"]}
    assert {name: annotations_of(wish.manifest)[TEMPLATE_ANNOTATION] for name, wish in found.wanted.items()} == marks


@pytest.mark.parametrize("lost", [(), ("west",)])
def test_a_copy_goes_when_its_cluster_is_named_no_longer_however_the_others_are(lost):
    intent = CompositeDoor().translate(source(west="cat:1", leaving=["east"]))
    observed = has(intent, east="cat:1") | {"west": Observation(seen=not lost)}
    found = plan(intent, clusters("east", "west", lost=lost), observed)

    assert wishes(found)["east"] is Absent
    assert found.leaving == frozenset()


def test_what_a_lost_cluster_has_is_left_alone():
    intent = CompositeDoor().translate(source(east="cat:2"))
    observed = {"east": Observation(seen=False, copy=has(intent, east="cat:1")["east"].copy)}

    assert plan(intent, clusters("east", lost=["east"]), observed).wanted == {}


def test_a_farewell_waits_for_no_cluster_that_can_have_no_copy():
    assert CompositeDoor().farewell(source(east="cat:1", leaving=["west"])).within == {"east", "west"}


def test_the_author_of_the_parent_has_a_voice():
    (voice,) = CompositeDoor().translate(source(author=Author("anna", ("cats", "owners")), east="cat:1")).voices

    assert (voice["kind"], voice["metadata"]["name"]) == ("CatSet", "cats")
    assert annotations_of(voice) == {AUTHOR_ANNOTATION: "anna", AUTHOR_GROUPS_ANNOTATION: "cats\nowners"}
    assert CompositeDoor().translate(source(east="cat:1")).voices == ()


@pytest.mark.parametrize(
    "template",
    [pod("another"), pod(namespace="kube-system"), {**pod(), "kind": "Secret"}, {"spec": {}}],
)
def test_what_is_not_of_the_child_goes_nowhere(template):
    made = placed_manifest(catset(), PlacedChild(PODS, CAT, {"east": Template("d", template)}))

    assert not CompositeDoor().admits(made)
    assert CompositeDoor().admits(source(east="cat:1"))


@pytest.mark.parametrize("child", [Key("kube-system", "cat-0"), Key("", "cat-0")])
def test_nobody_reaches_another_namespace_by_a_placed_child_in_their_own(child):
    made = placed_manifest(catset(), PlacedChild(PODS, child))

    assert CompositeDoor().admits(made)
    assert not CompositeDoor().admits({**made, "metadata": {**made["metadata"], "namespace": "shop"}})
