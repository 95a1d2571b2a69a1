"""When waiting for a rollout ends, and how."""

import pytest

from hanse.cli.failures import Failure, Misuse
from hanse.cli.rollout_abort import abortable
from hanse.cli.rollout_diff import chosen
from hanse.cli.rollout_stepping import next_step, step_named
from hanse.cli.rollout_undo import earlier_release
from hanse.cli.rollout_waiting import Goal, Stopped, ending, parse_timeout, stoppable
from hanse.rollouts.reading import read_rollout
from tests.unit.cli.rollout_cases import application, condition, release

OLD = release(generation=0, step=1, achieved=1, complete=True)
BLOCKED = condition("Blocked", "True", "", "a block")
FAILED = {"step": 0, "failure": {"message": "check smoke failed"}}
PAUSED = {"hanse.dev/rollout-paused": "true"}


def rollout(*releases, version="0.0.2", conditions=()):
    return read_rollout(application(version=version, conditions=list(conditions)), releases, {})


def new(**more):
    return release(generation=1, version="0.0.2", **more)


@pytest.mark.parametrize(
    ("goal", "read", "reached", "says"),
    [
        (Goal(), rollout(OLD), None, ""),
        (Goal(), rollout(OLD, new()), None, ""),
        (Goal(), rollout(OLD, new(achieved=0)), True, "release web-1 has achieved step 1 of 2 (staging)"),
        (Goal(), rollout(OLD, new(achieved=0, annotations=PAUSED)), True, "achieved step 1"),
        (Goal(), rollout(OLD, new(annotations=PAUSED)), None, ""),
        (Goal(), rollout(OLD, new(step=1, achieved=1, complete=True)), True, "step 2 of 2"),
        (Goal(step=1), rollout(OLD, new(achieved=0)), None, ""),
        (Goal(step=0), rollout(OLD, new(step=1, achieved=0)), True, "step 1 of 2"),
        (Goal(step=1), rollout(OLD, new(step=0, achieved=1)), None, ""),
        (Goal(complete=True), rollout(OLD, new(achieved=0)), None, ""),
        (Goal(complete=True), rollout(OLD, new(step=1, achieved=1, complete=True)), True, "is complete"),
        (Goal(), None, False, "the application is gone"),
        (Goal(), rollout(OLD, conditions=[BLOCKED]), False, "a block; delete"),
        (Goal(), rollout(OLD, new(), conditions=[BLOCKED]), False, "a block; delete"),
        (Goal(), rollout(OLD, new(achieved=0), conditions=[BLOCKED]), True, "has achieved step 1 of 2 (staging)"),
        (Goal(), rollout(OLD, new(achieved=0, progress=FAILED), conditions=[BLOCKED]), False, "a block; delete"),
        (Goal(complete=True), rollout(OLD, new(achieved=0), conditions=[BLOCKED]), False, "a block; delete"),
        (Goal(complete=True), rollout(OLD, version="0.0.1", conditions=[BLOCKED]), True, "is complete"),
        (
            Goal(),
            rollout(OLD, new(progress=FAILED)),
            False,
            "check smoke failed",
        ),
    ],
)
def test_waiting_ends_when_the_goal_is_reached_or_out_of_reach(goal, read, reached, says):
    end = ending(goal, read, "")

    assert (None if end is None else end.reached) is reached
    assert end is None or says in end.sentence


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (rollout(OLD, version="0.0.1"), "release web-1 was aborted"),
        (rollout(OLD, new(deleting=True)), "release web-1 was aborted"),
        (rollout(OLD, new(), release(generation=2, version="0.0.3"), version="0.0.3"), "was replaced by web-2"),
    ],
)
def test_a_release_that_was_waited_for_and_is_no_longer_rolled_out_ends_the_waiting(read, says):
    end = ending(Goal(), read, "web-1")

    assert end is not None
    assert not end.reached
    assert says in end.sentence


def test_waiting_that_is_stopped_says_that_the_rollout_goes_on():
    with pytest.raises(Stopped, match="stopped waiting; the rollout goes on") as stopped, stoppable():
        raise KeyboardInterrupt

    assert stopped.value.exit_code == 130


@pytest.mark.parametrize(("text", "seconds"), [("", None), ("0", None), ("90", 90.0), ("90s", 90.0), ("1h30m", 5400.0)])
def test_how_long_to_wait_is_read(text, seconds):
    assert parse_timeout(text) == seconds


def test_how_long_to_wait_must_be_a_duration():
    with pytest.raises(Misuse, match="--timeout: 'soon' is not a duration"):
        parse_timeout("soon")


def contender(**more):
    found = rollout(OLD, new(**more)).contender
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("read", "to", "full", "step"),
    [
        (contender(achieved=0), "", False, 1),
        (contender(), "", True, 1),
        (contender(), "full on", False, 1),
        (contender(step=1, achieved=1), "0", False, 0),
        (contender(annotations=PAUSED, progress={"step": 0, "failure": {"message": "x"}}, achieved=0), "", False, 1),
    ],
)
def test_the_step_to_go_to_is_the_next_or_the_one_named(read, to, full, step):
    assert next_step(read, to, full=full) == step


@pytest.mark.parametrize(
    ("read", "sentence"),
    [
        (contender(), "release web-1 has yet to achieve step 1 of 2 (staging): wait with `hanse rollout status`"),
        (contender(step=1, achieved=1), "release web-1 is at its last step, 2 of 2 (full on)"),
        (contender(annotations=PAUSED, achieved=0), "release web-1 is paused; `hanse rollout resume` it first"),
    ],
)
def test_a_release_is_not_promoted_past_what_a_person_should_look_at(read, sentence):
    with pytest.raises(Failure) as refused:
        next_step(read, "", full=False)

    assert sentence in str(refused.value)


def test_an_unknown_step_is_answered_with_those_there_are():
    with pytest.raises(
        Misuse, match=r"--to: release web-1 has no step '2'; its steps are 0 \(staging\), 1 \(full on\)"
    ):
        step_named(contender(), "2", "--to")


DONE = rollout(OLD, new(step=1, achieved=1, complete=True))


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: abortable(DONE), "release web-1 is complete; `hanse rollout undo web` goes back from it"),
        (lambda: abortable(rollout(new())), "release web-1 has none before it to go back to; change the template"),
        (lambda: abortable(rollout()), "application web has no release yet"),
        (
            lambda: earlier_release(rollout(release(), new()), ""),
            "release web-1 has no complete one before it; name one with --to",
        ),
        (
            lambda: earlier_release(rollout(new()), ""),
            "release web-1 is the only one of application web; change its template instead",
        ),
        (lambda: earlier_release(DONE, "web-9"), "application web has no release web-9; it has web-1, web-0"),
        (lambda: earlier_release(rollout(OLD, new(deleting=True)), "web-1"), "release web-1 is being deleted"),
        (lambda: earlier_release(DONE, "web-1"), "the template of application web is that of release web-1"),
        (lambda: chosen(rollout(release(), new()), ()), "before it to be compared with; name two releases"),
    ],
)
def test_what_cannot_be_gone_back_to_is_said_with_what_can_be_done(act, sentence):
    with pytest.raises(Failure) as refused:
        act()

    assert sentence in str(refused.value)


def test_who_has_one_release_is_not_told_to_name_two():
    with pytest.raises(Failure, match=r"no complete one before it to be compared with$"):
        chosen(rollout(new()), ())


def test_releases_are_compared_with_the_contender_unless_two_are_named():
    assert [each.name for each in chosen(DONE, ())] == ["web-0", "web-1"]
    assert [each.name for each in chosen(DONE, ("web-1", "web-0"))] == ["web-1", "web-0"]
    assert abortable(rollout(OLD, new()))[1].name == "web-0"
    assert earlier_release(DONE, "").name == "web-0"
