"""Children in other clusters as values: where they shall be, what is asked for there, and what is seen of them."""

import pytest

from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION, MANAGED_LABEL, OWNER_ANNOTATION
from hanse.api.placed_children import (
    CLUSTER_ANNOTATION,
    CLUSTERS_ANNOTATION,
    LOST_ANNOTATION,
    Author,
    PlacedChild,
    parse_placed_child,
    placed_child_spec,
)
from hanse.composite.children import ChildId
from hanse.composite.placing import (
    Nowhere,
    Sight,
    as_placed,
    author_of,
    children_abroad,
    clusters_of,
    has_arrived,
    placed_key,
    placed_manifest,
)
from hanse.kube.manifest import Key, annotations_of, controller_of, is_deleting, uid_of
from hanse.kube.resources import PODS, Resource
from tests.unit.composite.builders import catset, pod

FLEET = {"east": {"tier": "gold"}, "north": {}, "west": {"tier": "gold"}}
SINCE = "2026-01-01T00:00:00Z"
CAT = Key("shop", "cat-0")


def wanted(manifest=None, **annotations):
    manifest = manifest or pod()
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


@pytest.mark.parametrize(
    ("annotations", "clusters"),
    [
        ({}, ()),
        ({CLUSTER_ANNOTATION: "west"}, ("west",)),
        ({CLUSTER_ANNOTATION: "unheard-of"}, ("unheard-of",)),
        ({CLUSTERS_ANNOTATION: "tier=gold"}, ("east", "west")),
        ({CLUSTERS_ANNOTATION: "tier notin (gold)"}, ("north",)),
        ({CLUSTERS_ANNOTATION: ""}, ("east", "north", "west")),
        ({CLUSTERS_ANNOTATION: "tier=lead"}, ()),
    ],
)
def test_a_child_is_in_the_cluster_that_it_names_or_in_all_that_match(annotations, clusters):
    assert clusters_of(wanted(**annotations), FLEET) == clusters


@pytest.mark.parametrize(
    ("annotations", "fleet", "sentence"),
    [
        ({CLUSTER_ANNOTATION: "west"}, None, "hanse.dev/cluster: only a CompositeController on the federation has"),
        ({CLUSTERS_ANNOTATION: ""}, None, "hanse.dev/clusters: only a CompositeController on the federation has"),
        ({CLUSTER_ANNOTATION: "a", CLUSTERS_ANNOTATION: ""}, FLEET, "and not both"),
        ({CLUSTER_ANNOTATION: "No Name"}, FLEET, "hanse.dev/cluster: must be the name of a cluster"),
        ({CLUSTERS_ANNOTATION: "tier in gold"}, FLEET, "metadata.annotations.hanse.dev/clusters: "),
        ({CLUSTERS_ANNOTATION: "tier=gold"}, {}, "no cluster is registered at all: join one"),
    ],
)
def test_what_says_nothing_about_clusters_that_can_be_meant_is_refused(annotations, fleet, sentence):
    with pytest.raises(Nowhere, match=sentence):
        clusters_of(wanted(**annotations), fleet)


def test_what_a_hook_was_shown_and_returns_is_the_same_wish():
    shown = wanted(pod(owner="u-x"), **{CLUSTER_ANNOTATION: "west", OWNER_ANNOTATION: "u", LOST_ANNOTATION: "why"})
    shown["metadata"] |= {"uid": "u-1", "labels": {"app": "cats", MANAGED_LABEL: "true"}}
    shown["status"] = {"phase": "Running"}

    assert as_placed(shown) == as_placed(pod()) == pod()


def placed(**templates):
    found = PlacedChild(PODS, CAT)
    for cluster, image in templates.items():
        found = found.present_in(cluster, pod(spec={"image": image}))
    return found


def test_clusters_that_shall_have_the_same_share_a_template_and_all_of_it_is_read_again():
    child = placed(west="cat:1", east="cat:1", north="cat:2").absent_in("north", SINCE)
    child = child.present_in("south", pod(spec={"image": "cat:2"}))
    spec = placed_child_spec(child)

    assert [version["clusters"] for version in spec["versions"]] == [["east", "west"], ["south"]]
    assert spec["leaving"] == [{"cluster": "north", "since": SINCE}]
    assert parse_placed_child({"spec": spec}) == child
    assert child.clusters == ("east", "north", "south", "west")


def test_a_cluster_that_gets_a_child_again_is_waited_for_no_longer_and_neither_is_one_that_left():
    gone = placed(east="cat:1", west="cat:1").absent_in("east", SINCE).absent_in("east", "later")

    assert gone.leaving == {"east": SINCE}
    assert gone.present_in("east", pod()).leaving == {}
    assert gone.within({"west": {}}).leaving == {}
    assert gone.within(FLEET) is gone


def test_every_child_of_every_parent_has_a_name_of_its_own():
    roles = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
    keys = [
        placed_key(catset(), PODS, CAT),
        placed_key(catset(uid="u-other"), PODS, CAT),
        placed_key(catset(), PODS, Key("shop", "cat-1")),
        placed_key(catset(), roles, Key("shop", "System:Cats")),
    ]

    assert len(set(keys)) == len(keys)
    assert keys[0].name.startswith("pod-cat-0-")
    assert keys[3].name.startswith("role-system-cats-")
    assert placed_key(catset(namespace=""), PODS, Key("", "node")).namespace == "hanse-system"
    assert len(placed_key(catset(), PODS, Key("shop", "c" * 253)).name) <= 63


def test_a_placed_child_belongs_to_its_parent_and_says_who_wrote_that():
    parent = catset()
    parent["metadata"]["annotations"] = {AUTHOR_ANNOTATION: "anna", AUTHOR_GROUPS_ANNOTATION: "cats\nowners"}
    made = placed_manifest(parent, PlacedChild(PODS, CAT, author=author_of(parent)))

    assert controller_of(made)["uid"] == uid_of(parent)
    assert parse_placed_child(made).author == Author("anna", ("cats", "owners"))
    assert author_of(catset()) is None


def abroad(child, going=False, **sights):
    metadata = {"uid": "u-placed", **({"deletionTimestamp": SINCE} if going else {})}
    return children_abroad({"metadata": metadata}, child, sights)


def cat(cluster):
    return ChildId("v1", "Pod", "shop", "cat-0", cluster)


def copy(image="cat:1", **metadata):
    made = pod(spec={"image": image}, status={"phase": "Running"})
    return {**made, "metadata": {**made["metadata"], "uid": "u-copy", **metadata}}


def test_a_child_is_shown_as_its_cluster_has_it_and_planned_for_as_it_was_asked_for():
    found = abroad(placed(east="cat:2"), east=Sight(copy(), known=True))

    assert found.shown[cat("east")]["status"] == {"phase": "Running"}
    assert annotations_of(found.shown[cat("east")]) == {CLUSTER_ANNOTATION: "east"}
    assert has_arrived(pod(spec={"image": "cat:2"}), found.asked[cat("east")])
    assert found.of_kind(PODS) == [found.shown[cat("east")]]


def test_a_child_that_has_yet_to_arrive_is_not_shown_and_yet_not_asked_for_again():
    found = abroad(placed(east="cat:1"), east=Sight(known=True))

    assert found.shown == {}
    assert list(found.asked) == [cat("east")]


@pytest.mark.parametrize("last", [copy("cat:0"), None])
def test_a_child_in_a_lost_cluster_is_shown_as_last_seen_or_as_asked_for(last):
    found = abroad(placed(east="cat:1"), east=Sight(last, lost="it is offline"))

    assert found.shown[cat("east")]["spec"] == {"image": "cat:0" if last else "cat:1"}
    assert annotations_of(found.shown[cat("east")])[LOST_ANNOTATION] == "it is offline"
    assert list(found.asked) == [cat("east")]


@pytest.mark.parametrize(
    ("sight", "there"),
    [
        (Sight(copy(), known=True), True),
        (Sight(lost="it is offline"), True),
        (Sight(), True),
        (Sight(known=True), False),
    ],
)
def test_a_child_that_shall_go_is_being_deleted_until_its_cluster_surely_has_none(sight, there):
    found = abroad(placed(east="cat:1").absent_in("east", SINCE), east=sight)

    assert (cat("east") in found.asked) is there
    assert all(is_deleting(obj) for obj in (*found.asked.values(), *found.shown.values()))


def test_every_child_of_what_is_being_deleted_is_being_deleted():
    found = abroad(placed(east="cat:1"), going=True, east=Sight(known=True))

    assert is_deleting(found.asked[cat("east")])


def test_what_keeps_a_child_from_its_cluster_is_told_unless_it_shall_go():
    trouble = Sight(known=True, trouble="the quota is used up")
    child = placed(east="cat:1", west="cat:1").absent_in("west", SINCE)

    assert abroad(child, east=trouble, west=trouble).troubles == ("Pod cat-0 in east: the quota is used up",)
