"""Which pods receive traffic, and what is told of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.rollouts.targets.traffic import Endpoints, TrafficPod, achieved_traffic, judged, pod_target, shift

ON, OFF = "enabled", "disabled"


def decided(found, weights, endpoints, **sizes):
    return shift(found, weights, endpoints, sizes=sizes)


def pods(release, count, *, on=0, first=0):
    return [
        TrafficPod(f"{release}-{number:02}", release, ON if number < on else None)
        for number in range(first, first + count)
    ]


def behind(found, *, unready=()):
    labelled = {pod.name for pod in found if pod.enabled}
    return Endpoints(frozenset({"web"}), frozenset(labelled - set(unready)), frozenset(unready))


def after(found, result):
    values = {move.pod: move.value for move in (*result.enable, *result.disable)}
    return [TrafficPod(pod.name, pod.release, values.get(pod.name, pod.label)) for pod in found]


def settle(found, weights, **sizes):
    """Move labels until nothing moves, with endpoints that follow at once."""
    for _ in range(20):
        result = decided(found, weights, behind(found), **sizes)
        if not result.enable and not result.disable:
            return found, result
        found = after(found, result)
    raise AssertionError("labels move for ever")


def enabled(found, release):
    return sum(pod.enabled for pod in found if pod.release == release)


@pytest.mark.parametrize(
    ("own", "weight", "every", "total", "target"),
    [
        (20, 55, 20, 100, 11),
        (25, 28, 25, 100, 7),
        (25, 56, 25, 100, 14),
        (5, 60, 10, 100, 5),
        (5, 40, 10, 100, 4),
        (10, 10, 20, 30, 7),
        (10, 20, 20, 30, 10),
        (3, 1, 3, 1, 3),
        (3, 0, 3, 100, 0),
        (3, 0, 3, 0, 0),
        (0, 100, 3, 100, 0),
        (1, 1, 100, 1000, 1),
    ],
)
def test_a_releases_share_of_pods_is_rounded_up_in_whole_numbers(own, weight, every, total, target):
    assert pod_target(own, weight, every, total) == target


@pytest.mark.parametrize(
    ("ready", "every", "total", "achieved"),
    [(5, 10, 100, 50), (4, 10, 100, 40), (1, 3, 100, 33), (2, 3, 100, 67), (1, 2, 1, 1), (1, 8, 4, 1), (0, 0, 100, 0)],
)
def test_the_achieved_weight_is_the_nearest_and_half_counts_up(ready, every, total, achieved):
    assert achieved_traffic(ready, every, total) == achieved


SETTLED = {
    "60/40 of 5+5": ({"a": 60, "b": 40}, {"a": 5, "b": 5}, {"a": (5, 50), "b": (4, 40)}),
    "full on": ({"a": 0, "b": 100}, {"a": 0, "b": 3}, {"a": (0, 0), "b": (3, 100)}),
    "full on after a release of no pods": ({"a": 0, "b": 100}, {"a": 0, "b": 2}, {"a": (0, 0), "b": (2, 100)}),
    "staging": ({"a": 100, "b": 0}, {"a": 3, "b": 1}, {"a": (3, 75), "b": (0, 0)}),
    "first deploy, staged": ({"a": 0}, {"a": 1}, {"a": (0, 0)}),
    "half": ({"a": 50, "b": 50}, {"a": 2, "b": 2}, {"a": (2, 50), "b": (2, 50)}),
    "nobody": ({"a": 0, "b": 0}, {"a": 2, "b": 2}, {"a": (0, 0), "b": (0, 0)}),
    "no pods at all": ({"a": 100}, {"a": 0}, {"a": (0, 0)}),
}


@pytest.mark.parametrize(("weights", "counts", "expected"), SETTLED.values(), ids=SETTLED)
@pytest.mark.parametrize("on", [0, 9], ids=["from none", "from all"])
def test_labels_come_to_what_the_weights_say(weights, counts, expected, on):
    found = [pod for release, count in counts.items() for pod in pods(release, count, on=on)]

    found, result = settle(found, weights, **counts)

    assert {name: (enabled(found, name), share.achieved) for name, share in result.shares.items()} == expected
    assert all(judged(share).ready for share in result.shares.values())


def test_of_ten_and_twenty_the_first_loses_three_the_lowest_names_first():
    found = [*pods("a", 10, on=10), *pods("b", 10, on=10)]

    result = decided(found, {"a": 10, "b": 20}, behind(found), a=10, b=10)

    assert [move.pod for move in result.disable] == ["a-00", "a-01", "a-02"]
    assert not result.enable
    assert judged(result.shares["a"]).reason == "InProgress"
    assert judged(result.shares["b"]).ready


def test_a_new_pod_gets_its_label_and_one_that_says_no_has_it_replaced():
    found = [TrafficPod("a-0", "a", ON), TrafficPod("a-1", "a", OFF), TrafficPod("a-2", "a")]

    result = decided(found, {"a": 1}, behind(found))

    assert [(move.pod, move.value) for move in result.enable] == [("a-1", ON), ("a-2", ON)]


def test_pods_of_releases_without_a_target_count_and_stay_as_they_are():
    found = [*pods("a", 2), *pods("old", 2, on=2)]

    result = decided(found, {"a": 1}, behind(found))

    assert {move.pod for move in (*result.enable, *result.disable)} == {"a-00", "a-01"}
    assert result.shares["a"].achieved == 0


def test_nobody_loses_traffic_before_others_serve():
    found = [*pods("a", 3, on=3), *pods("b", 3)]
    weights = {"a": 0, "b": 100}

    first = decided(found, weights, behind(found))
    found = after(found, first)
    waiting = decided(found, weights, behind(found, unready=["b-00", "b-01", "b-02"]))
    partly = decided(found, weights, behind(found, unready=["b-01", "b-02"]))
    served = decided(found, weights, behind(found))

    assert [move.pod for move in first.enable] == ["b-00", "b-01", "b-02"]
    assert not first.disable
    assert not waiting.disable
    assert judged(waiting.shares["a"]).message == "3 pods keep receiving traffic until enough others are ready to"
    assert [move.pod for move in partly.disable] == ["a-00"]
    assert [move.pod for move in served.disable] == ["a-00", "a-01", "a-02"]


def test_a_pod_that_is_not_ready_may_lose_its_label_at_any_time_and_does_so_before_one_that_serves():
    found = [*pods("a", 3, on=3), *pods("b", 3, on=3)]
    broken = ["b-01", "b-02"]

    back = decided(found, {"a": 100, "b": 0}, behind(found, unready=broken))
    fewer = decided(pods("a", 3, on=3), {"a": 1, "b": 0}, behind(pods("a", 3, on=3)))
    surplus = decided([*pods("a", 3, on=3), *pods("b", 6)], {"a": 1, "b": 8}, behind(found, unready=["a-02"]))

    assert [move.pod for move in back.disable] == ["b-00", "b-01", "b-02"]
    assert not fewer.disable
    assert "a-02" in [move.pod for move in surplus.disable]


UNREADY = {
    "not ready": (behind(pods("a", 3, on=3), unready=["a-00", "a-01"]), "PodsNotReady", "2/3"),
    "a selector that matches nothing": (Endpoints(frozenset({"web"})), "PodsNotInEndpoints", "3/3"),
    "one is missing": (Endpoints(frozenset({"web"}), frozenset({"a-00", "a-01"})), "PodsNotInEndpoints", "1/3"),
}


@pytest.mark.parametrize(("endpoints", "reason", "part"), UNREADY.values(), ids=UNREADY)
def test_what_keeps_a_release_from_its_traffic(endpoints, reason, part):
    verdict = judged(decided(pods("a", 3, on=3), {"a": 1}, endpoints).shares["a"])

    state = {"PodsNotReady": "not ready", "PodsNotInEndpoints": "not yet in endpoints"}[reason]
    assert (verdict.ready, verdict.reason) == (False, reason)
    assert verdict.message == f"{part} pods designated to receive traffic are {state}"


def test_pods_that_lost_their_label_are_waited_for_until_they_leave_the_endpoints():
    found = pods("a", 3)
    share = decided(found, {"a": 0}, Endpoints(frozenset({"web"}), frozenset({"a-01"}))).shares["a"]

    assert judged(share).reason == "InProgress"
    assert judged(share).message == "1 pods are yet to leave the endpoints"


@pytest.mark.parametrize("told", range(4))
def test_pods_that_are_told_of_late_take_nothing_from_others_and_their_release_waits_for_them(told):
    old, new = pods("a", 3, on=3), pods("b", told, on=3)

    result = decided([*old, *new], {"a": 0, "b": 100}, behind([*old, *new]), a=3, b=3)

    assert (len(result.disable), result.shares["b"].target) == (told, 3)
    verdict = judged(result.shares["b"])
    assert verdict.ready == (told == 3)
    assert told == 3 or verdict.message == f"{3 - told}/3 pods are not there yet"


SIZED = {
    "one that has all its pods": ({"a": 60, "b": 40}, {"a": 5, "b": 5}, {"a": (5, True), "b": (4, True)}),
    "one that becomes smaller has those that are still there": (
        {"a": 50, "b": 50},
        {"a": 1, "b": 5},
        {"a": (5, True), "b": (5, True)},
    ),
    "one that is asked to have none": ({"c": 100}, {"c": 0}, {"c": (0, True)}),
    "one that others leave room to": ({"a": 100, "c": 0}, {"a": 5, "c": 9}, {"a": (5, True), "c": (0, True)}),
    "one whose pods are yet to come": ({"a": 50, "c": 50}, {"a": 5, "c": 5}, {"a": (5, True), "c": (5, False)}),
}


@pytest.mark.parametrize(("weights", "sizes", "expected"), SIZED.values(), ids=SIZED)
def test_a_release_has_at_least_the_pods_that_it_is_asked_to_have(weights, sizes, expected):
    found = [pod for name in "ab" if name in weights for pod in pods(name, 5, on=expected[name][0])]

    shares = decided(found, weights, behind(found), **sizes).shares

    assert {name: (share.target, judged(share).ready) for name, share in shares.items()} == expected


SMALL = st.integers(0, 6)
RELEASES = st.dictionaries(st.sampled_from("abc"), st.tuples(SMALL, st.integers(0, 5)), min_size=1)


@settings(max_examples=30)
@given(RELEASES, st.data())
def test_traffic_never_dips_on_the_way_and_ends_the_same_whatever_was_labelled(releases, data):
    """No release, and not all together, get below the smaller of what serves and what they are meant to have."""
    weights = {name: weight for name, (_, weight) in releases.items()}
    found = [
        TrafficPod(f"{name}-{number}", name, data.draw(st.sampled_from([ON, OFF, None])))
        for name, (count, _) in releases.items()
        for number in range(count)
    ]
    unready = {pod.name for pod in found if data.draw(st.booleans())}
    for _ in range(12):
        endpoints = behind(found, unready={pod.name for pod in found if pod.enabled and pod.name in unready})
        result = decided(found, weights, endpoints)
        found = after(found, result)
        serving = {
            name: sum(pod.enabled and pod.name in endpoints.ready for pod in found if pod.release == name)
            for name in weights
        }
        before = {name: share.serving for name, share in result.shares.items()}
        promised = {name: share.target for name, share in result.shares.items()}
        assert all(serving[name] >= min(before[name], promised[name]) for name in weights)
        assert sum(serving.values()) >= min(sum(before.values()), sum(promised.values()))
        assert not {move.pod for move in result.enable} & {move.pod for move in result.disable}
        unready = {name for name in unready if data.draw(st.booleans())}
    found, result = settle(found, weights)
    assert {name: enabled(found, name) for name in weights} == {
        name: share.target for name, share in result.shares.items()
    }
