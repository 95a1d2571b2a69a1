"""The status of a target: conditions, times, and when it is worth writing at once."""

import pytest

from hanse.kube.conditions import find_condition
from hanse.rollouts.targets.pacing import Pace
from hanse.rollouts.targets.statuses import AS_WANTED, Told, is_urgent, not_operational, not_ready, target_status

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def status(before=None, now=NOW, generation=None, problem="", **verdicts):
    told = {name: Told(verdict) for name, verdict in verdicts.items()}
    return target_status(before or {}, told, now, generation=generation, problem=problem)


def said(found, kind="Ready"):
    condition = find_condition(found["conditions"], kind)
    return condition["status"], condition["reason"], condition["message"]


def test_a_target_repeats_what_each_cluster_says_in_order_of_name():
    found = status(b=not_ready("InProgress"), a=not_ready("PodsNotReady", "1/3"), c=AS_WANTED)

    assert said(found) == ("False", "ClustersNotReady", "a: PodsNotReady 1/3; b: InProgress")
    assert said(found, "Operational") == ("True", "", "")
    assert [entry["name"] for entry in found["clusters"]] == ["a", "b", "c"]
    assert said(found["clusters"][2]) == ("True", "", "")


def test_a_cluster_that_cannot_be_asked_is_unknown_and_surfaces():
    found = status(a=not_operational("it is offline"))

    assert said(found) == ("False", "ClustersNotReady", "a: InternalError it is offline")
    assert said(found["clusters"][0], "Operational") == ("False", "InternalError", "it is offline")
    assert said(found["clusters"][0])[0] == "Unknown"


def test_a_problem_of_the_target_itself_is_said_of_it():
    found = status(problem="two of them")

    assert said(found, "Operational") == ("False", "InternalError", "two of them")
    assert said(found)[0] == "Unknown"


def test_everything_ready_is_said_without_a_word():
    assert said(status(a=AS_WANTED, b=AS_WANTED)) == ("True", "", "")


def test_times_move_only_with_the_status_and_the_same_is_the_same():
    first = status(a=not_ready("InProgress"), generation=1)
    reworded = status(first, LATER, a=not_ready("PodsNotReady", "1/3"), generation=1)
    done = status(reworded, LATER, a=AS_WANTED, generation=1)

    def since(found):
        return [
            find_condition(part["conditions"], "Ready")["lastTransitionTime"] for part in (found, *found["clusters"])
        ]

    assert since(reworded) == [NOW, NOW]
    assert since(done) == [LATER, LATER]
    assert status(done, "2027-01-01T00:00:00Z", a=AS_WANTED, generation=1) == done
    assert [entry["type"] for entry in done["conditions"]] == ["Operational", "Ready"]


def test_clusters_that_are_no_longer_in_the_spec_are_forgotten():
    assert [entry["name"] for entry in status(status(a=AS_WANTED, b=AS_WANTED), b=AS_WANTED)["clusters"]] == ["b"]


URGENT = {
    "ready": (status(a=not_ready("InProgress")), status(a=AS_WANTED), True),
    "no longer ready": (status(a=AS_WANTED), status(a=not_ready("InProgress")), True),
    "lost": (status(a=not_ready("InProgress")), status(a=not_operational("away")), True),
    "one of two": (
        status(a=not_ready("InProgress"), b=not_ready("InProgress")),
        status(a=AS_WANTED, b=not_ready("InProgress")),
        True,
    ),
    "another reason": (status(a=not_ready("InProgress")), status(a=not_ready("PodsNotReady")), False),
    "a new spec that is not carried out": (
        status(a=AS_WANTED, generation=1),
        status(a=not_ready("InProgress"), generation=2),
        False,
    ),
    "a new spec that is": (status(a=AS_WANTED, generation=1), status(a=AS_WANTED, generation=2), True),
    "first words": ({}, status(a=not_ready("InProgress")), False),
    "first words of a ready one": ({}, status(a=AS_WANTED), True),
}


@pytest.mark.parametrize(("before", "after", "urgent"), URGENT.values(), ids=URGENT)
def test_what_somebody_waits_for_is_written_at_once(before, after, urgent):
    assert is_urgent(before, after) is urgent


def test_numbers_are_written_in_steps():
    pace = Pace()

    assert pace.wait("a", 10.0, urgent=False) == pytest.approx(0.3)
    assert pace.wait("a", 10.2, urgent=False) == pytest.approx(0.1)
    assert pace.wait("b", 10.2, urgent=True) == 0
    assert pace.wait("a", 10.4, urgent=False) == 0
    assert pace.wait("a", 10.5, urgent=False) == pytest.approx(0.3)
    assert pace.wait("a", 10.6, urgent=True) == 0
    assert pace.wait("a", 10.7, urgent=False) == pytest.approx(0.3)
