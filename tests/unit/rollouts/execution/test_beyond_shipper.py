"""Pauses that end by themselves, waves, checks, deadlines: what strategies may say beyond Shipper's."""

from dataclasses import replace
from typing import ClassVar

import pytest

from hanse.kube.runtime import micro_timestamp
from hanse.kube.selectors import LabelSelector
from hanse.rollouts.environment import Check, Deadline, Remedy, Strategy, Wave
from hanse.rollouts.execution import Achieved, Answer, ClusterFacts, Outcome, carried_out, held
from tests.unit.rollouts.execution.builders import (
    FULL_ON,
    NOW,
    STAGING,
    VANGUARD,
    old,
    patched,
    release,
    run,
    target,
    told,
    waiting,
)


def after(execution, view, **changes):
    """The release as it is stored after an execution."""
    assert execution.strategy_status is not None
    return replace(
        view,
        progress=execution.progress,
        achieved=execution.achieved,
        conditions=tuple(execution.strategy_status["conditions"]),
        **changes,
    )


class TestPauses:
    paused = Strategy((replace(STAGING, pause_seconds=60.0), FULL_ON))
    view = release(at=(1, 0), strategy=paused)

    def test_a_step_goes_on_so_long_after_it_was_achieved(self):
        first = run(self.view)
        stored = after(first, self.view)

        soon = run(stored, now=NOW + 59)
        then = run(stored, now=NOW + 60)

        assert (first.advance, first.look_again) == (None, 60.0)
        assert (soon.advance, soon.look_again) == (None, pytest.approx(1.0))
        assert (then.advance, then.look_again) == (1, None)
        assert soon.progress == then.progress == first.progress

    def test_it_does_not_go_on_while_a_cluster_is_sick(self):
        stored = after(run(self.view), self.view, capacity=target(1, lacks="a"))

        assert run(stored, now=NOW + 100).advance is None

    def test_it_does_not_go_on_while_the_release_is_paused(self):
        stored = after(run(self.view), self.view, paused=True)

        assert run(stored, now=NOW + 100).advance is None

    def test_another_step_begins_with_an_empty_memory(self):
        stored = after(run(self.view), self.view, target_step=1)

        assert run(stored, now=NOW + 5).progress == {"step": 1, "since": micro_timestamp(NOW + 5)}

    def test_the_last_step_goes_nowhere(self):
        last = Strategy((replace(FULL_ON, pause_seconds=0.0),))

        assert run(release(at=(100, 100), strategy=last)).advance is None

    def test_a_time_that_lies_in_the_future_counts_as_now(self):
        stored = after(run(self.view, now=NOW + 3600), self.view)

        found = run(stored, now=NOW)

        assert found.look_again == 60.0
        assert found.progress["achievedAt"] == micro_timestamp(NOW)

    def test_a_time_that_cannot_be_read_counts_as_now(self):
        stored = replace(self.view, progress={"step": 0, "since": "yesterday", "achievedAt": 7})

        assert run(stored).progress == run(self.view).progress


class TestWaves:
    waves = (
        Wave("canary", selector=LabelSelector.from_labels({"tier": "canary"}), pause_seconds=30.0),
        Wave("south", regions=("south",)),
    )
    facts: ClassVar = {
        "a": ClusterFacts("north", {"tier": "canary"}),
        "b": ClusterFacts("south"),
        "c": ClusterFacts("north"),
    }
    view = release(clusters="abc", strategy=replace(VANGUARD, waves=waves), target_step=2)

    def run(self, view=None, incumbent=None, now=NOW):
        return run(view or self.view, previous=incumbent or old(clusters="abc"), cluster_facts=self.facts, now=now)

    def at(self, capacity, traffic, **changes):
        return replace(self.view, capacity=target(capacity), traffic=target(traffic), **changes)

    def test_the_first_wave_goes_through_all_stages_alone(self):
        first = {"a": 100, "b": 0, "c": 0}
        everything = dict.fromkeys("abc", 100)

        assert patched(self.run()) == [("new", "capacity", first)]
        assert patched(self.run(self.at(first, dict.fromkeys("abc", 0)))) == [("new", "traffic", first)]
        given = self.at(first, first)
        assert patched(self.run(given)) == [("old", "traffic", {**everything, "a": 0})]
        lowered = old(clusters="abc", traffic=target({**everything, "a": 0}))
        assert patched(self.run(given, lowered)) == [("old", "capacity", {**everything, "a": 0})]

    def done(self, count):
        """A world in which the first waves are through."""
        new = {name: 100 if index < count else 0 for index, name in enumerate("abc")}
        rest = {name: 100 - value for name, value in new.items()}
        return self.at(new, new), old(clusters="abc", capacity=target(rest), traffic=target(rest))

    def test_the_next_wave_begins_when_the_one_before_has_been_well_for_its_pause(self):
        view, incumbent = self.done(1)

        first = self.run(view, incumbent)
        stored = after(first, view)
        then = self.run(stored, incumbent, NOW + 30)

        assert patched(first) == []
        assert first.look_again == 30.0
        assert first.waits_for == 'wave "south" begins when wave "canary" has been well for 30 seconds'
        assert waiting(first) == {"Capacity"}
        assert "[b c]" in told(first)["ContenderAchievedCapacity"]
        assert first.achieved is None
        assert patched(then) == [("new", "capacity", {"a": 100, "b": 100, "c": 0})]

    def test_a_wave_that_gets_sick_stops_the_next_one_and_its_time_begins_anew(self):
        view, incumbent = self.done(1)
        stored = after(self.run(view, incumbent), view)
        sick = replace(stored, capacity=target(dict(stored.capacity.wanted), lacks="a"))

        ill = self.run(sick, incumbent, NOW + 31)
        well = self.run(after(ill, view), incumbent, NOW + 40)

        assert patched(ill) == patched(well) == []
        assert ill.waits_for == 'wave "canary": waiting for the capacity of release new in a'
        assert well.look_again == 30.0

    def test_a_wave_whose_status_is_yet_to_be_told_anew_keeps_its_time(self):
        view, incumbent = self.done(1)
        stored = after(self.run(view, incumbent), view)
        moved = replace(stored, capacity=target({"a": 100, "b": 100, "c": 0}, current=False))

        meanwhile = self.run(moved, incumbent, NOW + 31)
        told_anew = after(meanwhile, replace(moved, capacity=target({"a": 100, "b": 100, "c": 0})))

        assert patched(meanwhile) == []
        assert patched(self.run(told_anew, incumbent, NOW + 32)) == [("new", "traffic", {"a": 100, "b": 100, "c": 0})]

    def test_clusters_that_no_wave_names_come_last(self):
        view, incumbent = self.done(2)
        stored = after(self.run(view, incumbent), view)

        found = self.run(stored, incumbent, NOW + 30)

        assert patched(found) == [("new", "capacity", {"a": 100, "b": 100, "c": 100})]

    def test_a_cluster_of_a_later_wave_that_is_not_installed_does_not_hold_up_the_first(self):
        found = self.run(replace(self.view, installation=target(0, "abc", lacks="c")))

        assert patched(found) == [("new", "capacity", {"a": 100, "b": 0, "c": 0})]

    def test_the_step_is_achieved_when_all_waves_are_through_without_waiting_once_more(self):
        found = self.run(*self.done(3))

        assert found.achieved == Achieved(2, "full on")
        assert found.complete

    def test_going_back_begins_with_the_last_wave_and_does_not_pause(self):
        view, incumbent = self.done(3)
        back = replace(view, target_step=0, achieved=Achieved(2, "full on"))

        first = self.run(back, incumbent)
        second = self.run(
            replace(back, capacity=target({"a": 100, "b": 100, "c": 1}), traffic=target({"a": 100, "b": 100, "c": 0})),
            old(
                clusters="abc", capacity=target({"a": 0, "b": 0, "c": 100}), traffic=target({"a": 0, "b": 0, "c": 100})
            ),
        )

        assert patched(first) == [("old", "capacity", {"a": 0, "b": 0, "c": 100})]
        assert patched(second) == [("old", "capacity", {"a": 0, "b": 100, "c": 100})]

    def test_a_wave_that_says_nothing_takes_the_rest_in_its_place(self):
        strategy = replace(VANGUARD, waves=(Wave("most"), Wave("last", clusters=("a",))))

        found = self.run(replace(self.view, strategy=strategy))

        assert patched(found) == [("new", "capacity", {"a": 0, "b": 100, "c": 100})]


class TestChecks:
    check = Check("errors", http="http://shop/healthz", interval_seconds=10.0, count=2)
    step = replace(STAGING, checks=(check,), pause_seconds=0.0)
    strategy = Strategy((step, FULL_ON), on_failure=Remedy.ABORT)
    view = release(at=(1, 0), strategy=strategy)

    def ask(self, *outcomes, view=None, **changes):
        """Answer the check so often, each time when it is due."""
        stored = replace(view or self.view, **changes)
        now, found = NOW, run(stored)
        for outcome in outcomes:
            found = run(stored, now=now, answers={"errors": Answer(outcome, now, "HTTP status 200")})
            stored, now = after(found, stored), now + 10.0
        return found, stored, now

    def test_they_are_asked_once_the_step_is_achieved(self):
        on_the_way = run(replace(self.view, capacity=target(0)))
        there = run(self.view)

        assert on_the_way.ask == ()
        assert there.ask == (self.check,)
        assert there.achieved == Achieved(0, "staging")
        assert there.advance is None
        assert waiting(there) == set()
        assert there.waits_for == 'waiting for the checks of this step: "errors" (0 of 2 answers)'

    def test_the_step_goes_on_when_all_of_them_have_succeeded(self):
        once, _, _ = self.ask(Outcome.SUCCESS)
        twice, _, _ = self.ask(Outcome.SUCCESS, Outcome.SUCCESS)

        assert (once.advance, once.ask, once.look_again) == (None, (), 10.0)
        assert twice.advance == 1
        assert twice.progress["checks"] == {
            "errors": {
                "asked": 2,
                "failed": 0,
                "inconclusive": 0,
                "at": micro_timestamp(NOW + 10),
                "outcome": "Success",
                "value": "HTTP status 200",
            }
        }

    def test_they_are_asked_again_when_the_interval_is_over(self):
        _, stored, now = self.ask(Outcome.SUCCESS)

        assert run(stored, now=now - 0.1).ask == ()
        assert run(stored, now=now).ask == (self.check,)

    def test_an_answer_counts_once(self):
        answers = {"errors": Answer(Outcome.FAILURE, NOW)}
        lenient = replace(self.check, failure_limit=1)
        view = replace(self.view, strategy=Strategy((replace(self.step, checks=(lenient,)), FULL_ON)))
        stored = after(run(view, answers=answers), view)

        again = run(stored, answers=answers, now=NOW + 1)

        assert again.progress["checks"]["errors"]["failed"] == 1
        assert again.remedy is None

    def test_a_failure_asks_for_the_remedy_and_holds_everything(self):
        found, stored, now = self.ask(Outcome.FAILURE)
        again = run(replace(stored, capacity=target(0)), now=now)

        assert (found.remedy, found.advance, found.ask) == (Remedy.ABORT, None, ())
        assert found.waits_for == 'check "errors" failed once: HTTP status 200'
        assert (again.remedy, again.patches) == (Remedy.ABORT, ()), "until it is carried out, and nothing moves"

    def test_answers_that_are_neither_leave_it_to_a_person(self):
        found, _, _ = self.ask(Outcome.INCONCLUSIVE)

        assert found.remedy is Remedy.PAUSE
        assert found.waits_for.startswith('check "errors" found no answer once')

    def test_limits_allow_for_some_failures(self):
        lenient = replace(self.check, count=3, failure_limit=1, inconclusive_limit=1)
        view = replace(self.view, strategy=Strategy((replace(self.step, checks=(lenient,)), FULL_ON)))

        fine, _, _ = self.ask(Outcome.FAILURE, Outcome.INCONCLUSIVE, Outcome.SUCCESS, view=view)
        failed, _, _ = self.ask(Outcome.FAILURE, Outcome.FAILURE, view=view)

        assert (fine.remedy, fine.advance) == (None, 1)
        assert failed.remedy is Remedy.PAUSE

    def test_a_remedy_is_asked_for_until_the_pause_is_seen_and_a_person_who_resumes_overrides_it(self):
        _, stored, now = self.ask(Outcome.INCONCLUSIVE)

        seen = run(replace(stored, paused=True), now=now)
        waiting_on = after(seen, stored, paused=True)
        resumed = run(replace(waiting_on, paused=False), now=now + 5)

        assert run(stored, now=now).remedy is Remedy.PAUSE
        assert (seen.remedy, seen.advance) == (None, None)
        assert seen.waits_for.endswith("; a person decides")
        assert (resumed.remedy, resumed.advance) == (None, 1)

    def test_a_person_who_resumes_before_the_pause_was_seen_overrides_it_too(self):
        found, stored, now = self.ask(Outcome.INCONCLUSIVE)

        resumed = run(replace(stored, progress=carried_out(found.progress)), now=now)

        assert (resumed.remedy, resumed.advance) == (None, 1)

    def test_a_rollback_that_was_carried_out_is_asked_for_no_more(self):
        strategy = replace(self.strategy, on_failure=Remedy.ROLLBACK)
        found, stored, now = self.ask(Outcome.FAILURE, view=replace(self.view, strategy=strategy))

        done = run(replace(stored, progress=carried_out(found.progress)), now=now)

        assert found.remedy is Remedy.ROLLBACK
        assert (done.remedy, done.advance, done.patches) == (None, None, ())

    def test_another_target_step_leaves_a_failure_behind(self):
        _, stored, now = self.ask(Outcome.FAILURE)

        found = run(replace(stored, target_step=1), now=now)

        assert found.remedy is None
        assert patched(found) == [("new", "capacity", {"a": 100})]

    def test_nothing_is_asked_while_the_release_is_paused_or_sick(self):
        achieved = after(run(self.view), self.view)

        assert run(replace(achieved, paused=True)).ask == ()
        assert run(replace(achieved, capacity=target(1, lacks="a"))).ask == ()

    def test_the_last_step_completes_the_release_when_its_checks_have_succeeded(self):
        strategy = Strategy((replace(FULL_ON, checks=(replace(self.check, count=1),)),))
        view = release(at=(100, 100), strategy=strategy)

        before = run(view)
        then, _, _ = self.ask(Outcome.SUCCESS, view=view)

        assert (before.achieved, before.complete) == (Achieved(0, "full on"), False)
        assert then.complete


class TestDeadlines:
    strategy = replace(VANGUARD, deadline=Deadline(100.0, Remedy.ROLLBACK))
    view = release(capacity=target(1, lacks="a"), strategy=strategy)

    def test_a_step_that_takes_too_long_asks_for_the_remedy(self):
        first = run(self.view)
        stored = after(first, self.view)

        soon, late = run(stored, now=NOW + 99), run(stored, now=NOW + 100)

        assert (first.remedy, first.look_again) == (None, 100.0)
        assert (soon.remedy, soon.look_again) == (None, pytest.approx(1.0))
        assert late.remedy is Remedy.ROLLBACK
        assert late.waits_for == "step 0 was not achieved within 100 seconds"

    def test_a_step_that_was_achieved_in_time_has_no_deadline_any_more(self):
        done = after(run(replace(self.view, capacity=target(1))), self.view)

        assert run(done, now=NOW + 1000).remedy is None

    @pytest.mark.parametrize("how", ["paused", "blocked"])
    def test_time_in_which_it_may_not_move_does_not_count(self, how):
        stored = after(run(self.view), self.view)
        if how == "paused":
            stood = run(replace(stored, paused=True), now=NOW + 10)
            assert (stood.remedy, run(after(stood, stored, paused=True), now=NOW + 500).remedy) == (None, None)
            memory = stood.progress
        else:
            memory = held(stored, NOW + 10)
        resumed = run(replace(stored, progress=memory), now=NOW + 510)
        again = replace(stored, progress=resumed.progress)

        assert resumed.look_again == 90.0
        assert run(again, now=NOW + 599).remedy is None
        assert run(again, now=NOW + 600).remedy is Remedy.ROLLBACK

    def test_a_person_who_resumes_gives_it_all_the_time(self):
        late = run(after(run(self.view), self.view), now=NOW + 100)
        seen = run(after(late, self.view, paused=True), now=NOW + 101)
        resumed = run(after(seen, self.view), now=NOW + 5000)

        assert (seen.remedy, resumed.remedy) == (None, None)
        assert resumed.progress["failure"]["overridden"]

    def test_strategies_of_shipper_remember_nothing(self):
        assert held(release(), NOW) == {}
        assert run(release()).progress == {}


def test_a_release_that_stands_still_is_told_so_once_and_not_at_every_look():
    blocked = release(strategy=Strategy((STAGING,), deadline=Deadline(900.0)))

    first = held(blocked, NOW)

    assert first["heldSince"]
    assert held(replace(blocked, progress=first), NOW + 0.01) == first
    assert held(replace(blocked, progress=first), NOW + 60) == first
