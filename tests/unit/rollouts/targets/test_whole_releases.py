"""Labels where weights decide before clients come: of a release with any weight all pods receive traffic, else none."""

import pytest

from hanse.rollouts.targets.traffic import Endpoints, TrafficPod, judged, shift

OLD = [TrafficPod(f"old-{number}", "old", "enabled") for number in range(3)]
NEW = [TrafficPod("new-0", "new")]
READY = Endpoints(frozenset({"web"}), frozenset(pod.name for pod in OLD))


@pytest.mark.parametrize("weights", [{"old": 90, "new": 10}, {"old": 1, "new": 1}, {"old": 1, "new": 1000}])
def test_every_pod_of_a_release_with_any_weight_is_enabled(weights):
    moved = shift([*OLD, *NEW], weights, READY, sizes={}, whole=True)
    assert ([move.pod for move in moved.enable], moved.disable) == (["new-0"], ())


def test_no_pod_of_a_release_without_weight_is_enabled_once_others_serve():
    new = [TrafficPod(f"new-{number}", "new", "enabled") for number in range(3)]
    pods, weights = [*OLD, *new], {"old": 0, "new": 100}
    waiting = shift(pods, weights, READY, sizes={}, whole=True)
    assert (waiting.disable, judged(waiting.shares["old"]).ready) == ((), False)
    both = Endpoints(READY.services, frozenset(pod.name for pod in pods))
    moved = shift(pods, weights, both, sizes={}, whole=True)
    assert [move.pod for move in moved.disable] == ["old-0", "old-1", "old-2"]


def test_pods_that_are_told_of_late_are_waited_for():
    late = shift(OLD, {"old": 0, "new": 100}, READY, sizes={"old": 3, "new": 3}, whole=True)
    assert (late.disable, late.shares["new"].target, judged(late.shares["new"]).ready) == ((), 3, False)
