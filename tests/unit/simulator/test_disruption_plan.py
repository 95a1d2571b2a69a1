"""How many pods a budget lets go."""

import pytest

from hanse.kube.runtime import timestamp
from hanse.simulator.workloads.disruption_plan import budget_status, seconds_to_doubt, unknown_status
from tests.unit.simulator.workload_builders import NOW, pod, starting


def budget(status=None, **spec):
    return {"metadata": {"name": "web", "generation": 2}, "spec": spec, "status": status or {}}


def pods(ready, unready=0):
    return [pod(f"p{n}") for n in range(ready)] + [starting(f"u{n}") for n in range(unready)]


@pytest.mark.parametrize(
    ("spec", "covered", "scale", "allowed", "desired", "expected"),
    [
        pytest.param({"minAvailable": 2}, pods(3), 0, 1, 2, 3, id="a number to keep"),
        pytest.param({"minAvailable": 2}, pods(2, 1), 0, 0, 2, 3, id="none to spare"),
        pytest.param({"minAvailable": 2}, [], 0, 0, 2, 0, id="no pods"),
        pytest.param({"minAvailable": "50%"}, pods(5), 5, 2, 3, 5, id="a share to keep, rounded up"),
        pytest.param({"maxUnavailable": 1}, pods(4), 4, 1, 3, 4, id="a number to lose"),
        pytest.param({"maxUnavailable": 1}, pods(3, 1), 4, 0, 3, 4, id="already lost"),
        pytest.param({"maxUnavailable": "30%"}, pods(5), 5, 2, 3, 5, id="a share to lose, rounded up"),
        pytest.param({"maxUnavailable": "100%"}, pods(3), 3, 3, 0, 3, id="all"),
        pytest.param({"maxUnavailable": 9}, pods(3), 3, 3, 0, 3, id="more than there are"),
    ],
)
def test_a_budget_is_counted(spec, covered, scale, allowed, desired, expected):
    status = budget_status(budget(**spec), covered, {"uid": scale}, NOW)
    assert (status["disruptionsAllowed"], status["desiredHealthy"], status["expectedPods"]) == (
        allowed,
        desired,
        expected,
    )
    assert status["currentHealthy"] == sum(1 for one in covered if one.ready)
    [entry] = status["conditions"]
    assert entry["reason"] == ("SufficientPods" if allowed else "InsufficientPods")
    assert entry["observedGeneration"] == status["observedGeneration"] == 2


def test_a_pod_whose_eviction_was_granted_is_as_good_as_gone():
    noted = {"disruptedPods": {"p0": timestamp(NOW - 10), "p1": timestamp(NOW - 300), "gone": timestamp(NOW)}}
    owner = budget(status=noted, minAvailable=1)
    status = budget_status(owner, pods(3), {}, NOW)
    assert status["currentHealthy"] == 2
    # What was granted long ago and is still there was not evicted after all.
    assert status["disruptedPods"] == {"p0": timestamp(NOW - 10)}
    assert seconds_to_doubt(budget(status={"disruptedPods": {"p0": timestamp(NOW - 10)}}), NOW) == 110.0
    assert seconds_to_doubt(budget(), NOW) is None


def test_what_is_going_is_not_healthy():
    assert budget_status(budget(minAvailable=1), [pod("a"), pod("b", deleting=True)], {}, NOW)["currentHealthy"] == 1


def test_what_cannot_be_counted_may_not_be_disturbed():
    status = unknown_status(budget(status={"disruptionsAllowed": 3, "currentHealthy": 4}), "nobody knows", NOW)
    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (0, 4)
    assert [(entry["reason"], entry["message"]) for entry in status["conditions"]] == [("SyncFailed", "nobody knows")]
