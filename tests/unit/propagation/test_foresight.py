"""Two plans compared: what a change would change in each cluster."""

from hanse.propagation.foresight import Effect, foresee
from hanse.propagation.planning import Observation, plan
from tests.unit.propagation.builders import copy, deployment_intent, fleet

EU = [{"key": "region", "operator": "in", "values": ["eu"]}]


def planned(intent, clusters, copies=None):
    copies = copies or {}
    return plan(intent, clusters, {each.name: Observation(seen=True, copy=copies.get(each.name)) for each in clusters})


def told(changes):
    return [(change.cluster, change.effect) for change in changes]


def test_a_new_object_is_created_in_every_chosen_cluster():
    changes = foresee(None, planned(deployment_intent(6), fleet("a", "b")))

    assert told(changes) == [("a", Effect.CREATED), ("b", Effect.CREATED)]
    assert [change.then["spec"]["replicas"] for change in changes] == [3, 3]


def test_the_same_plan_twice_changes_nothing():
    intent, clusters = deployment_intent(6), fleet("a", "b")
    copies = {"a": copy(intent, 3), "b": copy(intent, 3)}

    assert foresee(planned(intent, clusters, copies), planned(intent, clusters, copies)) == []


def test_a_new_image_changes_every_copy():
    clusters, before = fleet("a", "b"), deployment_intent(6)
    copies = {"a": copy(before, 3), "b": copy(before, 3)}

    changes = foresee(planned(before, clusters, copies), planned(deployment_intent(6, image="web:2"), clusters, copies))

    assert told(changes) == [("a", Effect.CHANGED), ("b", Effect.CHANGED)]
    assert changes[0].now["spec"]["template"] != changes[0].then["spec"]["template"]


def test_replicas_that_move_are_shown_where_they_come_to_although_they_wait_on_the_way():
    clusters, intent = fleet("a", "b"), deployment_intent(6)
    copies = {"a": copy(intent, 6), "b": None}

    changes = foresee(planned(intent, [clusters[0]], copies), planned(intent, clusters, copies))

    assert [(change.cluster, change.then["spec"]["replicas"]) for change in changes] == [("a", 3), ("b", 3)]


def test_a_cluster_that_is_no_longer_chosen_loses_its_copy_and_says_why():
    clusters, intent = fleet("a", "b"), deployment_intent(6)
    clusters[0].labels["region"] = "eu"
    copies = {"a": copy(intent, 3), "b": copy(intent, 3)}

    changes = foresee(planned(intent, clusters, copies), planned(deployment_intent(6, selector=EU), clusters, copies))

    assert told(changes) == [("a", Effect.CHANGED), ("b", Effect.REMOVED)]
    assert changes[1].why.startswith("the cluster selector asks for region in (eu)")


def test_a_lost_cluster_is_left_alone_and_the_others_take_over():
    intent, clusters = deployment_intent(6), fleet("a", "b", "c")
    copies = {name: copy(intent, 2) for name in "abc"}

    changes = foresee(planned(intent, clusters, copies), planned(intent, fleet("a", "b", "c", offline=("c",)), copies))

    assert [(change.cluster, change.then["spec"]["replicas"]) for change in changes] == [("a", 3), ("b", 3)]


def test_an_object_that_is_deleted_goes_everywhere():
    intent, clusters = deployment_intent(6), fleet("a")

    assert told(foresee(planned(intent, clusters, {"a": copy(intent, 6)}), None)) == [("a", Effect.REMOVED)]
