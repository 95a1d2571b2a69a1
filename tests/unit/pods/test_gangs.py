"""Pods of one controller are placed together or not at all."""

import pytest

from hanse.api.admiralty.keys import ANSWERS, GANG, TARGET
from hanse.pods.gangs import Gang, Orders, gathered, may_bind, ordered
from hanse.pods.wishes.neighbours import Neighbour
from hanse.propagation.intent import Problem
from tests.unit.pods.wishes.scenes import placeholder

TARGETS = ("eu", "us")
NO = '{"eu": {"at": "2026-01-01T00:00:00Z", "why": "0/3 nodes are available"}}'


def member(name, target="", *, gang="3", owner="job", kind="Job", said_no=False, bound=False, **fields):
    annotations = {GANG: gang} if gang else {}
    if said_no:
        annotations[ANSWERS] = NO
    if bound:
        annotations[TARGET] = target
    pod = placeholder(name, annotations=annotations, **fields)
    reference = {"apiVersion": "batch/v1", "kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    pod["metadata"]["ownerReferences"] = [reference] if owner else []
    return Neighbour(pod, target)


def orders(name, *members, targets=TARGETS, owner=None):
    own = next(each.pod for each in members if each.pod["metadata"]["name"] == name)
    gang = gathered(own, members, owner)
    assert gang is not None
    return ordered(own, gang, targets)


def job(parallelism=3, completions=None):
    spec = {"parallelism": parallelism, **({"completions": completions} if completions is not None else {})}
    return {"kind": "Job", "metadata": {"name": "job"}, "spec": spec}


def test_a_pod_without_the_annotation_belongs_to_no_gang():
    assert gathered(member("a", gang="").pod, []) is None


def test_a_gang_waits_for_its_pods():
    found = orders("a", member("a"), member("b"))
    assert found == Problem(
        "GangWaits", "waits for 1 of 3 pods of its gang, which Job job has yet to make", expected=True
    )


def test_pods_of_others_do_not_count():
    strangers = member("x", owner="other"), member("y", gang=""), member("z", namespace="team")
    gone = member("d", phase="Failed"), member("e", deleting=True)
    found = orders("a", member("a"), member("b"), *strangers, *gone)
    assert isinstance(found, Problem)
    assert "waits for 1 of 3" in found.message


def test_pods_that_have_succeeded_count():
    assert isinstance(orders("a", member("a"), member("b"), member("c", "eu", phase="Succeeded", bound=True)), Orders)


def test_the_first_by_name_is_placed_where_all_have_room():
    everybody = member("b"), member("a"), member("c")
    assert orders("a", *everybody) == Orders(TARGETS, 3)


def test_the_others_wait_for_the_first():
    found = orders("b", member("a"), member("b"), member("c"))
    assert isinstance(found, Problem)
    assert found.expected
    assert found.message == "waits for pod a, the first of its gang, to find a target with room for 3"


def test_the_others_go_only_where_the_first_is():
    everybody = member("a", "us"), member("b"), member("c")
    assert orders("b", *everybody) == Orders(("us",), 0)
    assert orders("a", *everybody) == Orders(("us",), 3)


def test_one_that_may_not_go_where_its_gang_is_says_so():
    found = orders("b", member("a", "us"), member("b"), member("c"), targets=("eu",))
    assert isinstance(found, Problem)
    assert found.message == "waits for its gang, which is in us, where it may not go"


def test_all_leave_a_target_that_cannot_run_one_of_them():
    everybody = member("a", "eu"), member("b", "eu"), member("c", "eu", said_no=True)
    assert orders("a", *everybody) == Orders(("us",), 3)
    assert orders("b", *everybody) == Orders((), 0, withdrawn=True)
    assert orders("c", *everybody, targets=("us",)) == Orders((), 0, withdrawn=True)


def test_the_others_follow_to_the_next_target():
    everybody = member("a", "us"), member("b", "eu"), member("c", said_no=True)
    assert orders("b", *everybody) == Orders(("us",), 0)
    assert orders("c", *everybody, targets=("us",)) == Orders(("us",), 0)


def test_nobody_goes_anywhere_where_no_target_could_run_all():
    everybody = member("a", "eu"), member("b", "eu"), member("c", "eu", said_no=True)
    assert orders("a", *everybody, targets=("eu",)) == Orders((), 3, withdrawn=True)


def test_whoever_comes_later_goes_home_although_the_target_said_no():
    everybody = member("a", "eu", bound=True), member("b", "eu", bound=True), member("aa", said_no=True)
    assert orders("aa", *everybody, targets=("us",)) == Orders(("eu",), 0)


def test_a_newcomer_that_is_first_by_name_does_not_lead_the_gang_elsewhere():
    everybody = member("a"), member("b", "eu"), member("c", "eu")
    assert orders("a", *everybody) == Orders(("eu",), 0)


def test_a_gang_that_has_a_home_does_not_wait_for_those_that_are_replaced():
    assert orders("b", member("a", "eu"), member("b", "eu")) == Orders(("eu",), 0)


@pytest.mark.parametrize(
    ("owner", "size"),
    [(job(4), 4), (job(4, 2), 2)],
)
def test_all_is_what_its_job_runs_at_a_time(owner, size):
    own = member("a", gang="all")
    found = gathered(own.pod, [own], owner)
    assert found is not None
    assert found.size == size


@pytest.mark.parametrize(
    ("own", "owner", "sentence"),
    [
        (member("a", gang="all", kind="Workflow"), None, "must be a number for pods of a Workflow"),
        (member("a", gang="all", kind="StatefulSet"), None, "must be a number for pods of a StatefulSet"),
        (member("a", gang="0"), None, 'must be "all" or a number from 1 to 999999'),
        (member("a", gang="many"), None, 'must be "all" or a number from 1 to 999999'),
        (member("a", owner=""), None, "means the pods of one controller, and this pod has none"),
    ],
)
def test_a_gang_whose_size_nobody_knows_is_told(own, owner, sentence):
    found = orders("a", own, owner=owner)
    assert isinstance(found, Problem)
    assert sentence in found.message
    assert not found.expected


def test_all_waits_until_the_owner_is_known():
    own = member("a", gang="all")
    sentence = "waits for Job job to say how many pods belong together"
    assert orders("a", own) == Problem("GangWaits", sentence, expected=True)


SCHEDULED = {"a", "b", "c"}
BINDING = {
    "all have a node": ((member("a", "eu"), member("b", "eu"), member("c", "eu")), SCHEDULED, True),
    "one has none": ((member("a", "eu"), member("b", "eu"), member("c", "eu")), {"a", "b"}, False),
    "one is elsewhere": ((member("a", "eu"), member("b", "us"), member("c", "eu")), SCHEDULED, False),
    "one is missing": ((member("a", "eu"), member("b", "eu")), SCHEDULED, False),
    "one is bound": ((member("a", "eu"), member("b", "eu", bound=True), member("c", "eu")), {"a"}, True),
    "one has ended": ((member("a", "eu"), member("b", "eu", phase="Succeeded"), member("c", "eu")), {"a", "c"}, True),
    "one was refused": ((member("a", "eu"), member("b", "eu"), member("c", "eu", said_no=True)), SCHEDULED, False),
}  # fmt: skip


@pytest.mark.parametrize(("members", "scheduled", "may"), BINDING.values(), ids=BINDING)
def test_one_is_bound_when_all_have_found_a_node(members, scheduled, may):
    own = members[0].pod
    gang = gathered(own, members)
    assert isinstance(gang, Gang)
    assert may_bind(own, gang, lambda each: each["metadata"]["name"] in scheduled) is may
