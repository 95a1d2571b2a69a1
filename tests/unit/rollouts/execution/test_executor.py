"""What a release does next in Shipper's own strategies: order, waiting, completion, and the sentences."""

from dataclasses import replace

import pytest

from hanse.rollouts.environment import Strategy
from hanse.rollouts.execution import Achieved, ClusterFacts
from tests.unit.rollouts.execution.builders import NOW, VANGUARD, old, patched, release, run, target, told, waiting

A, B = "a", "b"
FORWARD = (
    # contender (percent, weight), incumbent (percent, weight), what is patched next
    ((0, 0), (100, 100), ("new", "capacity", 100)),
    ((100, 0), (100, 100), ("new", "traffic", 100)),
    ((100, 100), (100, 100), ("old", "traffic", 0)),
    ((100, 100), (100, 0), ("old", "capacity", 0)),
    ((100, 100), (0, 0), None),
)
BACKWARD = (
    ((100, 100), (0, 0), ("old", "capacity", 100)),
    ((100, 100), (100, 0), ("old", "traffic", 100)),
    ((100, 100), (100, 100), ("new", "traffic", 0)),
    ((100, 0), (100, 100), ("new", "capacity", 1)),
    ((1, 0), (100, 100), None),
)


@pytest.mark.parametrize(("new", "incumbent", "expected"), FORWARD)
def test_forward_the_contender_gets_everything_before_the_incumbent_gives_up_anything(new, incumbent, expected):
    found = run(release(at=new, target_step=2, achieved=Achieved(0, "staging")), previous=old(incumbent))

    assert [(name, kind, values[A]) for name, kind, values in patched(found)] == ([expected] if expected else [])


@pytest.mark.parametrize(("new", "incumbent", "expected"), BACKWARD)
def test_backward_the_incumbent_is_raised_before_the_contender_is_lowered(new, incumbent, expected):
    found = run(release(at=new, target_step=0, achieved=Achieved(2, "full on")), previous=old(incumbent))

    assert [(name, kind, values[A]) for name, kind, values in patched(found)] == ([expected] if expected else [])


@pytest.mark.parametrize("achieved", [None, Achieved(0, "staging")], ids=("nothing yet", "step 0"))
@pytest.mark.parametrize(("new", "incumbent", "expected"), BACKWARD)
def test_who_changes_their_mind_in_the_middle_of_a_step_goes_back_as_safely(new, incumbent, expected, achieved):
    """Shipper goes by the achieved step alone, takes this for going forward and lowers the contender first."""
    found = run(release(at=new, target_step=0, achieved=achieved), previous=old(incumbent))

    assert [(name, kind, values[A]) for name, kind, values in patched(found)] == ([expected] if expected else [])


@pytest.mark.parametrize(("new", "incumbent", "expected"), FORWARD)
def test_who_turns_round_on_the_way_back_goes_forward_as_safely(new, incumbent, expected):
    found = run(release(at=new, target_step=2, achieved=Achieved(2, "full on")), previous=old(incumbent))

    assert [(name, kind, values[A]) for name, kind, values in patched(found)] == ([expected] if expected else [])


def test_a_first_release_gets_capacity_then_traffic_and_loses_them_in_the_opposite_order():
    assert patched(run(release(target_step=2))) == [("new", "capacity", {A: 100})]
    assert patched(run(release(at=(100, 0), target_step=2))) == [("new", "traffic", {A: 100})]
    assert patched(run(release(at=(100, 100), achieved=Achieved(2, "")))) == [("new", "traffic", {A: 0})]
    assert patched(run(release(at=(100, 0), achieved=Achieved(2, "")))) == [("new", "capacity", {A: 1})]


@pytest.mark.parametrize("kind", ["capacity", "traffic"])
@pytest.mark.parametrize("fault", [{"lacks": "b"}, {"current": False}], ids=("one cluster lacks", "old status"))
def test_the_incumbent_is_not_touched_while_the_contender_is_not_ready_everywhere(kind, fault):
    ready = release(at=(100, 100), clusters="ab", target_step=2)
    subject = replace(ready, **{kind: target(100, "ab", **fault)})

    found = run(subject, previous=old(clusters="ab"))

    assert patched(found) == []
    assert waiting(found) == {kind.capitalize()}
    assert found.achieved is None


@pytest.mark.parametrize("kind", ["capacity", "traffic"])
@pytest.mark.parametrize("fault", [{"lacks": "b"}, {"current": False}], ids=("one cluster lacks", "old status"))
def test_the_contender_is_not_lowered_while_the_incumbent_is_not_ready_everywhere(kind, fault):
    incumbent = replace(old(clusters="ab"), **{kind: target(100, "ab", **fault)})

    found = run(release(at=(100, 100), clusters="ab", achieved=Achieved(2, "full on")), previous=incumbent)

    assert patched(found) == []
    assert told(found)[f"IncumbentAchieved{kind.capitalize()}"]


def test_a_release_that_is_not_installed_gets_nothing():
    found = run(release(installation=target(0, "ab", lacks="b"), clusters="ab"), previous=old(clusters="ab"))

    assert patched(found) == []
    assert waiting(found) == {"Installation"}
    assert told(found) == {
        "ContenderAchievedInstallation": (
            "clusters pending installation: [b]. for more details try `kubectl describe it new`"
        )
    }


def test_a_percent_that_is_right_is_not_written_again():
    found = run(release(capacity=target(1, lacks="a", message="a: PodsNotReady 1/1")))

    assert patched(found) == []
    assert told(found)["ContenderAchievedCapacity"] == (
        'release "new" hasn\'t achieved capacity in clusters: a: PodsNotReady 1/1. '
        "for more details try `kubectl describe ct new`"
    )


def test_right_after_a_patch_the_message_lists_the_clusters():
    found = run(release(clusters="ab"))

    assert told(found)["ContenderAchievedCapacity"] == (
        'release "new" hasn\'t achieved capacity in clusters: [a b]. for more details try `kubectl describe ct new`'
    )


def test_clusters_that_cannot_be_reached_are_named():
    found = run(
        release(capacity=target(1, "ab", lacks="b", message="b: "), clusters="ab"),
        cluster_facts={B: ClusterFacts(unreachable="no answer")},
    )

    assert "b: ; cannot be reached: [b]." in told(found)["ContenderAchievedCapacity"]
    assert found.waits_for == "waiting for the capacity of release new in b"


@pytest.mark.parametrize("lacking", ["installation", "capacity", "traffic"])
def test_a_target_that_does_not_exist_yet_is_waited_for(lacking):
    found = run(replace(release(at=(1, 0)), **{lacking: None}), previous=old())

    assert patched(found) == []
    assert waiting(found) == {lacking.capitalize()}


def test_a_step_that_is_done_waits_for_a_person():
    found = run(release(at=(1, 0)), previous=old())

    assert found.achieved == Achieved(0, "staging")
    assert not found.complete
    assert waiting(found) == {"Command"}
    assert set(told(found).values()) == {""}
    assert found.waits_for == "step 0 (staging) is done and waits for a person to set spec.targetStep"
    assert (found.advance, found.look_again, found.progress) == (None, None, {})


def test_the_last_step_completes_a_release_and_waits_for_nobody():
    found = run(release(at=(100, 100), target_step=2), previous=old((0, 0)))

    assert found.achieved == Achieved(2, "full on")
    assert found.complete
    assert waiting(found) == set()
    assert found.waits_for == ""


def test_steps_may_be_skipped_and_the_one_between_is_never_reported():
    midway = run(release(at=(100, 0), target_step=2, achieved=Achieved(0, "staging")), previous=old())

    assert midway.achieved == Achieved(0, "staging")


def test_a_complete_release_that_is_stepped_back_stays_complete():
    found = run(release(at=(1, 0), achieved=Achieved(2, "full on"), complete=True), previous=old())

    assert found.achieved == Achieved(0, "staging")
    assert found.complete


@pytest.mark.parametrize("steps", [0, 2])
def test_a_step_that_the_strategy_does_not_have_is_a_problem(steps):
    short = Strategy(VANGUARD.steps[:steps])
    lead = release(strategy=short, target_step=steps)
    problem = ("StrategyExecutionFailed", f'no step {steps} in strategy for Release "shop/new"')

    found = run(lead, previous=old())
    following = run(old(), successor=lead)

    assert (found.problem, found.patches, found.strategy_status) == (problem, (), None)
    assert following.problem == (problem[0], problem[1].replace("new", "old"))


def test_an_incumbent_whose_target_step_was_edited_is_a_problem():
    found = run(old((0, 0), target_step=1), successor=release(at=(1, 0), achieved=Achieved(0, "staging")))

    told_of = "Release shop/old target step is inconsistent: unexpected value 1 (expected: 2)"
    assert found.problem == ("StrategyExecutionFailed", told_of)
    assert found.patches == ()


def test_conditions_keep_their_time_until_their_status_changes():
    first = run(release(at=(1, 0)), previous=old(), now=NOW)
    assert first.strategy_status is not None
    stored = tuple(first.strategy_status["conditions"])

    again = run(release(at=(1, 0), conditions=stored, achieved=first.achieved), previous=old(), now=NOW + 60)
    later = run(release(at=(1, 0), conditions=stored, capacity=target(1, lacks="a")), previous=old(), now=NOW + 60)

    assert again.strategy_status == first.strategy_status
    assert later.strategy_status is not None
    times = {each["type"]: each["lastTransitionTime"] for each in later.strategy_status["conditions"]}
    assert times.pop("ContenderAchievedCapacity") != times["ContenderAchievedTraffic"]
    assert set(times.values()) == {stored[0]["lastTransitionTime"]}
    assert [each["type"] for each in stored] == sorted(each["type"] for each in stored)
    assert {each["step"] for each in stored} == {0}


class TestFollowing:
    """A release that another one follows."""

    lead = release(at=(1, 0), achieved=Achieved(0, "staging"))
    done = release(at=(100, 100), target_step=2, achieved=Achieved(2, "full on"), complete=True)

    def test_it_does_nothing_while_its_successor_is_on_the_way(self):
        found = run(old((50, 50)), successor=replace(self.done, target_step=1))

        assert (found.patches, found.strategy_status) == ((), None)
        assert found.achieved == Achieved(2, "full on")

    def test_it_is_driven_to_what_its_successor_leaves_it(self):
        assert patched(run(old((100, 100)), successor=self.done)) == [("old", "traffic", {A: 0})]
        assert patched(run(old((100, 0)), successor=self.done)) == [("old", "capacity", {A: 0})]
        assert patched(run(old((0, 0)), successor=self.done)) == []
        assert patched(run(old((0, 0)), successor=self.lead)) == [("old", "capacity", {A: 100})]

    def test_it_does_not_trust_a_step_that_was_achieved_before_somebody_stepped_back_and_forth(self):
        turned = replace(self.done, traffic=target(0))

        assert patched(run(old((100, 100)), successor=turned)) == []

    def test_an_old_one_follows_once_the_newest_one_is_where_it_wants_to_be(self):
        between = replace(old((0, 0)), key=old().key._replace(name="between"))

        driven = run(old((100, 0)), successor=between, head=self.done)
        held = run(old((100, 0)), successor=between, head=replace(self.done, target_step=1))

        assert patched(driven) == [("old", "capacity", {A: 0})]
        assert patched(held) == []

    def test_an_old_one_goes_even_if_somebody_had_stepped_its_successor_back_and_then_replaced_it(self):
        back = replace(old((0, 0)), key=old().key._replace(name="between"), target_step=0, achieved=None)

        assert patched(run(old((100, 0)), successor=back, head=self.done)) == [("old", "capacity", {A: 0})]
        assert patched(run(old((100, 0)), successor=back, head=replace(self.done, traffic=target(0)))) == []

    def test_it_reports_as_a_contender_and_keeps_its_own_last_step(self):
        stale = ({"type": "IncumbentAchievedCapacity", "status": "True", "step": 0},)

        found = run(old((0, 0), conditions=stale), successor=self.done)

        assert found.achieved == Achieved(2, "full on")
        assert set(told(found)) == {
            "ContenderAchievedInstallation",
            "ContenderAchievedCapacity",
            "ContenderAchievedTraffic",
        }
        assert waiting(found) == set()

    @pytest.mark.parametrize("frozen", ["old", "new"])
    def test_it_stands_still_while_either_is_paused(self, frozen):
        found = run(old((100, 0), paused=frozen == "old"), successor=replace(self.done, paused=frozen == "new"))

        assert patched(found) == []
        assert "is paused" in found.waits_for


def test_a_paused_release_is_not_moved_and_says_so():
    found = run(release(paused=True), previous=old())

    assert patched(found) == []
    assert found.waits_for.startswith("the release is paused: hanse rollout resume")
