"""What each member shall have follows from the intent, the registry and what the members show."""

from dataclasses import replace

import pytest

from hanse.placement.ask import ClusterTerm, Override, Rollout
from hanse.propagation.comparison import Absent, Kept, Present, Released
from hanse.propagation.planning import UNSEEN, Observation, plan, tear_down
from tests.unit.propagation.builders import UID, config_intent, copy, deployment_intent, fleet


def seen(obj=None):
    return Observation(seen=True, copy=obj)


def replicas(planned):
    return {
        name: wanted.manifest["spec"]["replicas"] if isinstance(wanted, Present) else type(wanted).__name__
        for name, wanted in planned.wanted.items()
    }


def test_nine_replicas_over_three_ready_clusters_are_three_each():
    planned = plan(deployment_intent(9), fleet("a", "b", "c"), {name: seen() for name in "abc"})

    assert replicas(planned) == {"a": 3, "b": 3, "c": 3}


def test_a_lost_cluster_is_left_alone_and_its_replicas_go_to_the_others():
    intent = deployment_intent(9)
    observed = {name: seen(copy(intent, 3)) for name in "abc"}

    planned = plan(intent, fleet("a", "b", "c", offline="c"), observed)

    assert sorted(replicas(planned).values()) == [4, 5]
    assert "c" not in planned.wanted


def test_a_healed_cluster_gets_its_share_before_the_others_give_theirs():
    intent = deployment_intent(9)
    observed = {"a": seen(copy(intent, 5)), "b": seen(copy(intent, 4)), "c": seen(copy(intent, 3, available=0))}

    assert replicas(plan(intent, fleet("a", "b", "c"), observed)) == {"a": 5, "b": 4, "c": 3}

    observed["c"] = seen(copy(intent, 3, available=3))
    assert replicas(plan(intent, fleet("a", "b", "c"), observed)) == {"a": 3, "b": 3, "c": 3}


def test_a_cluster_that_has_not_told_everything_yet_takes_part_and_nobody_shrinks_for_it():
    intent = deployment_intent(9)
    observed = {"a": seen(copy(intent, 5)), "b": seen(copy(intent, 4)), "c": UNSEEN}

    assert replicas(plan(intent, fleet("a", "b", "c"), observed)) == {"a": 5, "b": 4}


def test_a_deselected_cluster_drains_and_then_goes():
    intent = deployment_intent(4, selector=[{"key": "x", "operator": "!"}])
    clusters = fleet("a", "b")
    clusters[1].labels["x"] = "1"
    waiting = {"a": seen(copy(intent, 2)), "b": seen(copy(intent, 2))}
    moved = {"a": seen(copy(intent, 4)), "b": seen(copy(intent, 2))}

    assert replicas(plan(intent, clusters, waiting)) == {"a": 4, "b": 2}
    assert replicas(plan(intent, clusters, moved)) == {"a": 4, "b": "Absent"}


def test_an_empty_registry_deletes_nothing():
    intent = deployment_intent(9)

    planned = plan(intent, [], {"a": seen(copy(intent, 9))})

    assert planned.wanted == {}


def test_somebody_elses_object_of_the_same_name_is_never_removed():
    intent = config_intent()
    foreign = copy(intent)
    foreign["metadata"]["annotations"] = {"hanse.dev/owner-uid": "another"}
    deselecting = type(intent)(
        intent.resource, intent.key, intent.source_uid, intent.template,
        deployment_intent(selector=[{"key": "none", "operator": "exists"}]).placement,
    )  # fmt: skip

    assert plan(deselecting, fleet("a"), {"a": seen(foreign)}).wanted == {}


def test_a_plan_is_the_same_for_the_same_world():
    intent = deployment_intent(7)
    observed = {name: seen(copy(intent, 2)) for name in "abc"}

    assert plan(intent, fleet("a", "b", "c"), observed) == plan(intent, fleet("c", "b", "a"), observed)


def test_while_a_cluster_cannot_be_relied_on_what_the_others_hold_stays_as_it_is():
    intent = deployment_intent(9, image="web:2")
    observed = {"a": seen(copy(intent, 5)), "b": seen(copy(intent, 2)), "c": UNSEEN}

    planned = plan(intent, fleet("a", "b", "c"), observed)

    assert replicas(planned) == {"a": 5, "b": 2}


def test_a_cluster_that_stays_silent_about_a_kind_is_done_without():
    intent = deployment_intent(9)
    silent = Observation(seen=False, refusal="its deployments cannot be followed: forbidden")
    observed = {"a": seen(copy(intent, 3)), "b": seen(copy(intent, 3)), "c": silent}

    planned = plan(intent, fleet("a", "b", "c"), observed)

    assert sorted(replicas(planned).values()) == [4, 5]
    assert planned.decision.of("c").reasons[-1] == "its deployments cannot be followed: forbidden"


def test_where_changes_go_in_turn_a_cluster_that_has_not_told_its_version_keeps_it():
    made = config_intent()
    made = replace(made, placement=replace(made.placement, rollout=Rollout(max_clusters=1)))

    begun = plan(made, fleet("a", "b"), {"a": UNSEEN, "b": UNSEEN})
    known = plan(made, fleet("a", "b"), {"a": seen(), "b": seen()})

    assert not any(isinstance(wish, Present) for wish in begun.wanted.values())
    assert all(isinstance(wish, Present) for wish in known.wanted.values())


def in_turn_after_a(source):
    rollout = Rollout(order=(ClusterTerm(names=("a",)),))
    return replace(source, placement=replace(source.placement, rollout=rollout))


def test_a_new_version_waits_for_an_earlier_cluster_that_only_now_gets_its_first_copy():
    old, new = deployment_intent(4), in_turn_after_a(deployment_intent(4, image="web:2"))

    planned = plan(new, fleet("a", "b"), {"a": seen(), "b": seen(copy(old, 4))})

    assert isinstance(planned.wanted["a"], Present)
    assert isinstance(planned.wanted["b"], Kept)
    assert planned.wave.sentence == "0 of 2 clusters have the new version; it waits for a: it has no copy yet"


@pytest.mark.parametrize("cannot", ["somebody else's object is there", "nothing is ours there"])
def test_a_new_version_does_not_wait_for_a_cluster_that_can_get_no_copy(cannot):
    old, new = deployment_intent(4), in_turn_after_a(deployment_intent(4, image="web:2"))
    foreign = copy(old, 4, annotations={})
    without = seen(foreign) if "somebody" in cannot else Observation(seen=True, unserved=True)

    planned = plan(new, fleet("a", "b"), {"a": without, "b": seen(copy(old, 4))})

    assert isinstance(planned.wanted["b"], Present)


class TestTearingDown:
    def test_every_cluster_that_answers_is_asked_to_hold_nothing(self):
        rest = tear_down(UID, fleet("a", "b"), set(), orphan=False)

        assert (rest.wanted, rest.waiting_for) == ({"a": Absent(UID), "b": Absent(UID)}, ("a", "b"))

    def test_orphaning_releases_the_copies(self):
        assert tear_down(UID, fleet("a"), set(), orphan=True).wanted == {"a": Released(UID)}

    def test_a_cluster_that_cannot_be_asked_is_waited_for(self):
        rest = tear_down(UID, fleet("a", "b", offline="a"), {"b"}, orphan=False)

        assert (rest.wanted, rest.waiting_for) == ({"b": Absent(UID)}, ("a",))

    def test_all_confirmed_waits_for_nobody(self):
        assert tear_down(UID, fleet("a"), {"a"}, orphan=False).waiting_for == ()


def override(cluster, path, value):
    return Override(ClusterTerm(names=(cluster,)), ({"op": "replace", "path": path, "value": value},))


def test_an_override_changes_the_copy_of_its_cluster_only():
    intent = replace(config_intent(), overrides=(override("b", "/data/color", "red"),))

    wanted = plan(intent, fleet("a", "b"), {}).wanted

    assert (wanted["a"].manifest["data"], wanted["b"].manifest["data"]) == ({"color": "blue"}, {"color": "red"})


def test_an_override_that_does_not_apply_leaves_its_cluster_alone_and_is_told():
    intent = replace(config_intent(), overrides=(override("b", "/nowhere/color", "red"),))

    planned = plan(intent, fleet("a", "b"), {})

    assert set(planned.wanted) == {"a"}
    assert planned.decision.notes[0].startswith("the overrides for b do not apply: ")


def test_replicas_are_placements_whatever_an_override_says():
    intent = replace(deployment_intent(4), overrides=(override("a", "/spec/replicas", 99),))

    wanted = plan(intent, fleet("a", "b"), {name: Observation(seen=True) for name in "ab"}).wanted

    assert [wanted[name].manifest["spec"]["replicas"] for name in "ab"] == [2, 2]
