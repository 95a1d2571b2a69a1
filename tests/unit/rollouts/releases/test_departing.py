"""When a deleted release may go, and what its heir is given until then."""

from dataclasses import replace

import pytest

from hanse.kube.manifest import Key
from hanse.rollouts.environment import Pair, Step, Strategy
from hanse.rollouts.execution import Achieved, Patch, ReleaseView, TargetView
from hanse.rollouts.releases.departing import GOES, farewell

STRATEGY = Strategy(
    steps=(
        Step("staging", Pair(100, 1), Pair(100, 0)),
        Step("half", Pair(50, 50), Pair(50, 50)),
        Step("full on", Pair(0, 100), Pair(0, 100)),
    )
)
REACHABLE = {"a", "b"}


def numbers(a, b=None, *, ready="ab", current=True):
    wanted = {"a": a, "b": a if b is None else b}
    return TargetView(wanted, current, {name: name in ready for name in wanted})


def view(name, capacity, traffic, *, step=2, achieved=2, complete=True, conditions=()):
    at = None if achieved is None else Achieved(achieved, STRATEGY.steps[achieved].name)
    return ReleaseView(
        key=Key("ns", name),
        strategy=STRATEGY,
        target_step=step,
        achieved=at,
        complete=complete,
        clusters=("a", "b"),
        capacity=capacity,
        traffic=traffic,
        conditions=conditions,
    )


LEAVING = view("new", numbers(50), numbers(50), step=1, achieved=1, complete=False)
HALF = numbers(50)
FULL = numbers(100)


def decide(heir, *, head=None, leaving=LEAVING, reachable=REACHABLE, frozen=False):
    return farewell(leaving, head=head or heir, heir=heir, reachable=reachable, frozen=frozen)


def test_the_heir_gets_its_capacity_then_its_traffic_and_then_the_other_goes():
    first, second = decide(view("old", HALF, HALF)), decide(view("old", FULL, HALF))

    assert first.patches == (Patch(Key("ns", "old"), "capacity", {"a": 100, "b": 100}),)
    assert first.waits_for == "it goes once release old has its capacity and traffic back in a, b"
    assert second.patches == (Patch(Key("ns", "old"), "traffic", {"a": 100, "b": 100}),)
    assert not first.goes | second.goes
    assert decide(view("old", FULL, FULL)) == GOES


@pytest.mark.parametrize(
    ("capacity", "traffic"),
    [
        (numbers(100, current=False), FULL),
        (numbers(100, ready="a"), FULL),
        (FULL, numbers(100, current=False)),
        (FULL, numbers(100, ready="b")),
        (numbers(100, 99), FULL),
    ],
)
def test_numbers_that_nobody_has_confirmed_do_not_count(capacity, traffic):
    assert not decide(view("old", capacity, traffic)).goes


def test_traffic_is_given_only_where_the_capacity_is_there_and_the_cluster_answers():
    sick = decide(view("old", numbers(100, ready="a"), HALF))
    away = decide(view("old", FULL, HALF), reachable={"b"})

    assert sick.patches == (Patch(Key("ns", "old"), "traffic", {"a": 100, "b": 50}),)
    assert away.patches == (Patch(Key("ns", "old"), "traffic", {"a": 50, "b": 100}),)


def test_a_cluster_that_does_not_answer_is_not_waited_for_unless_no_other_could_take_over():
    old = view("old", numbers(100, ready="a"), numbers(100, ready="a"))
    lost = view("old", HALF, HALF)

    assert decide(old, reachable={"a"}).goes
    assert decide(lost, reachable=set()).goes
    assert not farewell(LEAVING, head=lost, heir=_elsewhere(lost), reachable=REACHABLE).goes


def _elsewhere(release):
    capacity = TargetView({"c": 50}, True, {"c": True})
    return ReleaseView(
        key=release.key,
        strategy=STRATEGY,
        target_step=2,
        complete=True,
        clusters=("c",),
        capacity=capacity,
        traffic=capacity,
    )


@pytest.mark.parametrize(
    ("heir", "leaving"),
    [
        (None, LEAVING),
        (view("old", HALF, HALF, complete=False), LEAVING),
        (view("old", HALF, HALF), view("new", numbers(0), numbers(0))),
        (view("old", HALF, HALF), view("new", None, None)),
    ],
)
def test_without_anything_to_give_or_anybody_to_take_it_nothing_is_held(heir, leaving):
    head = heir or view("head", HALF, HALF)

    assert farewell(leaving, head=head, heir=heir, reachable=REACHABLE) == GOES


SERVING = view("first", HALF, numbers(50, 0), step=1, achieved=1, complete=False)


@pytest.mark.parametrize(
    ("head", "lacking"),
    [
        (view("head", numbers(1), numbers(0)), "a"),
        (view("head", None, None), "a"),
        (view("head", HALF, numbers(50, ready="b")), "a"),
        (view("head", HALF, numbers(50, current=False)), "a"),
        (view("head", numbers(50, ready="b"), HALF), "a"),
        (view("head", numbers(50, ready="a"), numbers(50, ready="a")), None),
    ],
)
def test_what_serves_is_kept_until_the_release_that_replaces_it_does_there(head, lacking):
    decided = farewell(SERVING, head=head, heir=None, reachable=REACHABLE, replaced=True)
    told = f"it goes once release head has traffic in {lacking}"

    assert (decided.goes, decided.waits_for) == ((True, "") if lacking is None else (False, told))
    assert decided.patches == ()


def test_what_does_not_serve_is_not_kept_nor_what_is_not_replaced():
    staged = view("head", numbers(1), numbers(0), step=0, achieved=0, complete=False)
    dark = view("first", HALF, numbers(0), step=0, achieved=0, complete=False)

    assert farewell(dark, head=staged, heir=None, reachable=REACHABLE, replaced=True).goes
    assert farewell(SERVING, head=staged, heir=None, reachable=REACHABLE, replaced=False).goes


@pytest.mark.parametrize("heir", [view("old", FULL, numbers(0, 100)), None], ids=["heir", "no heir"])
def test_what_a_newer_version_replaced_is_kept_while_a_cluster_that_it_serves_is_away(heir):
    head = view("head", numbers(0), numbers(0), step=1, achieved=None, complete=False)

    decided = farewell(SERVING, head=head, heir=heir, reachable={"b"}, replaced=True)

    assert not decided.goes
    assert decided.waits_for.endswith(" in a")


def test_what_a_newer_version_replaced_goes_though_a_cluster_is_away_that_it_does_not_serve_or_that_has_its_heir():
    head = view("head", numbers(0), numbers(0), step=1, achieved=None, complete=False)
    elsewhere, everywhere = view("old", FULL, numbers(100, ready="a")), view("old", FULL, FULL)

    assert farewell(SERVING, head=head, heir=elsewhere, reachable={"a"}, replaced=True).goes
    assert farewell(SERVING, head=head, heir=everywhere, reachable={"b"}, replaced=True).goes


def test_a_release_in_other_clusters_replaces_one_that_serves_when_it_serves_there():
    unchosen = replace(view("head", None, None), clusters=())
    dark, led = _elsewhere(LEAVING), _elsewhere(LEAVING)
    dark = replace(dark, traffic=TargetView({"c": 0}, True, {"c": True}))
    decided = [
        farewell(SERVING, head=head, heir=None, reachable={"a", "c"}, replaced=True) for head in (unchosen, dark, led)
    ]

    assert [each.goes for each in decided] == [False, False, True]
    assert not farewell(SERVING, head=led, heir=None, reachable={"a"}, replaced=True).goes


def test_a_frozen_heir_is_given_nothing_and_still_waited_for():
    decided = decide(view("old", HALF, HALF), frozen=True)

    assert (decided.goes, decided.patches) == (False, ())
    assert decided.waits_for.endswith("in a, b; that is paused or blocked")


@pytest.mark.parametrize(
    ("step", "capacity"), [(0, {"a": 100, "b": 100}), (1, None), (2, None)], ids=["staging", "half", "full on"]
)
def test_beside_a_newer_release_the_heir_gets_what_its_step_leaves_to_it_and_no_more(step, capacity):
    head = view("head", numbers(0), numbers(0), step=step, achieved=None, complete=False)
    decided = decide(view("old", HALF, HALF), head=head)

    assert [patch.values for patch in decided.patches] == ([] if capacity is None else [capacity])
    assert not decided.goes


def test_beside_a_newer_release_at_its_step_it_goes_and_not_while_that_one_lacks_something():
    old = view("old", HALF, HALF)
    lacking = ({"type": "IncumbentAchievedCapacity", "status": "False"},)

    assert decide(old, head=view("head", HALF, HALF, step=1, achieved=1)).goes
    assert not decide(old, head=view("head", HALF, HALF, step=1, achieved=1, conditions=lacking)).goes
    assert not decide(old, head=view("head", HALF, HALF, step=2, achieved=1)).goes


def test_a_heir_that_somebody_stepped_back_is_given_what_its_step_says_and_no_more():
    stepped_back = view("old", HALF, HALF, step=1, achieved=1)

    assert decide(stepped_back) == GOES
    assert decide(view("old", numbers(25), HALF, step=1, achieved=1)).patches == (
        Patch(Key("ns", "old"), "capacity", {"a": 50, "b": 50}),
    )
