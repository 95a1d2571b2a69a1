"""Rollouts over several kinds and clusters, by server-side apply, and past children that cannot be made."""

from dataclasses import replace

import pytest

from hanse.api.names import TEMPLATE_ANNOTATION
from hanse.api.placed_children import LOST_ANNOTATION
from hanse.composite.applying import mark
from hanse.composite.placing import as_placed
from hanse.composite.preparing import Child
from hanse.composite.rolling.progress import advance
from hanse.composite.rolling.revisions import Revision
from hanse.composite.rolling.situation import Situation, Told
from hanse.composite.spec import Method
from hanse.kube.patches.differences import digest
from hanse.kube.resources import CONFIGMAPS, PODS
from tests.unit.composite.builders import READY, children, pod, rules


def config(name, image):
    return {**pod(name, spec={"image": image}), "kind": "ConfigMap"}


def told(*wanted, at=()):
    """A version of the parent, the children that are wanted at it, and those that are there."""
    return Told(Revision({}, frozenset(child.id for child in at)), tuple(wanted))


def cats(*names, image, make=pod):
    manifests = (pod(name, spec={"image": image}) if make is pod else make(name, image) for name in names)
    return children(*manifests)


def placed(child, cluster):
    return Child(child.id._replace(cluster=cluster), child.resource, child.manifest)


def seen(child):
    """A child as its cluster has it: in another one it tells by a mark what it was made of."""
    if not child.id.cluster:
        return child.manifest
    metadata = {**child.manifest["metadata"], "annotations": {TEMPLATE_ANNOTATION: digest(as_placed(child.manifest))}}
    return {**child.manifest, "metadata": metadata}


def situation(latest, *older, observed, ruling=None, **options):
    return Situation(
        latest,
        older,
        {child.id: seen(child) for child in observed},
        ruling or rules(Method.ROLLING_IN_PLACE),
        1,
        0.0,
        **options,
    )


def moved(progress):
    return [child.name for child in progress.moved]


def test_one_cluster_has_moved_before_the_next_begins():
    homes = {"a0": "eu", "b0": "us", "a1": "eu", "b1": "us"}
    old, new = ([placed(cat, homes[cat.id.name]) for cat in cats(*homes, image=image)] for image in "12")
    ruling = rules(Method.ROLLING_IN_PLACE, max_unavailable=3, by_cluster=True)

    first = advance(situation(told(*new), told(*old, at=old), observed=old, ruling=ruling))
    done = [new[0], new[2]]
    half = advance(situation(told(*new, at=done[:1]), told(*old, at=old), observed=[new[0], *old[1:]], ruling=ruling))
    second = advance(
        situation(told(*new, at=done), told(*old, at=old), observed=[*done, old[1], old[3]], ruling=ruling)
    )

    assert (moved(first), moved(half), moved(second)) == (["a0", "a1"], ["a1"], ["b0", "b1"])


def test_a_rollout_waits_in_a_cluster_that_was_lost_after_its_child_had_moved():
    old, new = ([placed(cat, cat.id.name[0]) for cat in cats("a0", "b0", image=image)] for image in "12")
    state = situation(told(*new, at=new[:1]), told(*old, at=old), observed=[new[0], old[1]])
    state.observed[new[0].id]["metadata"]["annotations"][LOST_ANNOTATION] = "it is offline"

    progress = advance(state)

    assert progress.moved == ()
    assert progress.updated["message"] == "child Pod a0 in a cannot be asked about: it is offline"


def test_a_kind_waits_for_the_kinds_before_it_by_its_own_measure():
    old = [*cats("a", "b", "c", image="1"), *cats("x", image="1", make=config)]
    new = [*cats("a", "b", "c", image="2"), *cats("x", image="2", make=config)]
    ruling = rules(Method.ROLLING_IN_PLACE, max_unavailable=2) | rules(Method.ROLLING_IN_PLACE, kinds=(CONFIGMAPS,))

    assert moved(advance(situation(told(*new), told(*old, at=old), observed=old, ruling=ruling))) == ["a", "b"]
    last = situation(told(*new, at=new[:3]), told(*old, at=old), observed=[*new[:2], *old[2:]], ruling=ruling)
    assert last.rules[PODS].rollout.max_unavailable == 2
    assert advance(last).updated["message"] == "child Pod c is not updated yet"
    assert moved(
        advance(situation(told(*new, at=new[:3]), told(*old, at=old), observed=[*new[:3], old[3]], ruling=ruling))
    ) == ["x"]


def test_kinds_that_do_not_roll_are_the_latest_at_once():
    old, new = cats("x", image="1", make=config), cats("x", image="2", make=config)
    ruling = rules(Method.IN_PLACE, kinds=(CONFIGMAPS,))
    progress = advance(situation(told(*new), told(*old, at=old), observed=old, ruling=ruling))

    assert progress.desired == tuple(new)
    assert [len(progress.kept), len(progress.dropped)] == [1, 1]


@pytest.mark.parametrize(
    ("marked", "message", "next_one"),
    [
        (False, "child Pod a is not updated yet", []),
        (True, "updating Pod b", ["b"]),
    ],
)
def test_what_the_server_applied_counts_as_updated_without_any_annotation(marked, message, next_one):
    old, new = cats("a", "b", image="1"), cats("a", "b", image="2")
    marks = {new[0].id: mark(new[0].manifest, new[0].manifest)} if marked else {}
    progress = advance(situation(told(*new, at=new[:1]), told(*old, at=old), observed=[new[0], old[1]], marks=marks))

    assert progress.updated["message"] == message
    assert moved(progress) == next_one


@pytest.mark.parametrize(("refused", "first"), [((), []), (("b",), ["b"])])
def test_a_child_that_cannot_be_made_at_its_version_is_not_waited_for(refused, first):
    old, new = cats("a", "b", image="1"), cats("a", "b", image="2")
    stuck = {child.id for child in new if child.id.name in refused}
    progress = advance(situation(told(*new), told(*old, at=old), observed=old[:1], refused=stuck))

    assert moved(progress) == first


NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}


def ailing(*children):
    return [replace(child, manifest={**child.manifest, "status": NOT_READY}) for child in children]


def overtaken(observed, *, held_up=()):
    """Children a, b and c at an older version, of which c was on its way there when the parent changed again."""
    old, new = cats("a", "b", "c", image="1"), cats("a", "b", "c", *held_up, image="2")
    on_its_way = Told(Revision({}, frozenset(each.id for each in old), {old[2].id: 5.0}), tuple(old))
    ruling = rules(Method.ROLLING_IN_PLACE, checks=(READY,))
    return advance(situation(told(*new), on_its_way, observed=observed(old), ruling=ruling))


def well(*children):
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    return [replace(child, manifest={**child.manifest, "status": status}) for child in children]


@pytest.mark.parametrize(
    ("observed", "first"),
    [
        (lambda old: [*ailing(old[0]), *well(old[1]), *ailing(old[2])], ["c"]),
        (lambda old: [*ailing(old[0]), *well(old[1]), *well(old[2])], ["a"]),
        (lambda old: well(*old), ["a"]),
    ],
    ids=["of-two-that-fail-the-one-that-was-moving", "one-that-fails", "none-fails"],
)
def test_a_change_goes_on_from_the_child_that_it_overtook(observed, first):
    assert moved(overtaken(observed)) == first


def test_a_child_that_was_overtaken_is_remembered_until_it_is_its_turn():
    progress = overtaken(lambda old: [*ailing(old[0]), *well(old[1]), *ailing(old[2])], held_up=("new",))

    assert moved(progress) == []
    assert {child.name: since for child, since in progress.kept[0].waiting.items()} == {"c": 5.0}
    assert progress.recheck_after is None


def test_a_child_that_is_claimed_twice_stays_with_the_latest():
    old, new = cats("a", image="1"), cats("a", image="2")
    progress = advance(situation(told(*new, at=new), told(*old, at=old), observed=old))

    assert progress.desired == tuple(new)
    assert [revision.children for revision in progress.kept] == [frozenset({new[0].id})]
    assert [revision.children for revision in progress.dropped] == [frozenset()]


def test_claims_of_children_that_nobody_wants_any_more_are_dropped():
    old, new = cats("a", "gone", image="1"), cats("a", image="2")
    progress = advance(
        situation(told(*new), told(*old, at=old), observed=old, ruling=rules(Method.ROLLING_IN_PLACE, paused=True))
    )

    assert progress.kept[1].children == frozenset({new[0].id})
    assert [child.id.name for child in progress.desired] == ["a"]


def test_an_older_version_that_does_not_want_a_child_cannot_keep_it():
    new = cats("a", "b", image="2")
    old = cats("b", image="1")
    progress = advance(situation(told(*new), told(*old, at=cats("a", "b", image="1")), observed=old))

    assert [child.manifest["spec"]["image"] for child in progress.desired] == ["2", "1"]


def test_many_names_are_counted_in_a_message():
    old, new = (cats(*"abcdefgh", image=image) for image in "12")
    ruling = rules(Method.ROLLING_IN_PLACE, max_unavailable=8)

    assert advance(situation(told(*new), told(*old, at=old), observed=old, ruling=ruling)).updated["message"] == (
        "updating Pod a, Pod b, Pod c, Pod d, Pod e and 3 more"
    )
