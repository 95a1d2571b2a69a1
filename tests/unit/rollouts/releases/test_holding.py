"""A release that stands still says so in a condition, and one that does not has none."""

from dataclasses import replace

import pytest

from hanse.rollouts.blocks.standing import Blocked
from hanse.rollouts.environment import Check, Deadline, Remedy, Strategy
from hanse.rollouts.execution import Answer, Outcome, held
from hanse.rollouts.releases.status import Findings, happenings, means_the_same, next_status
from tests.unit.rollouts.execution.builders import FULL_ON, NOW, STAGING, old, release, run, target

THEN, LATER = "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"
PLAIN = release(at=(1, 0), strategy=Strategy((STAGING, FULL_ON)))
ERRORS = (Check("errors", http="https://shop/"),)
CHECKED = replace(PLAIN, strategy=Strategy((replace(STAGING, checks=ERRORS), FULL_ON)))
LAST = release(at=(100, 100), strategy=Strategy((replace(FULL_ON, checks=ERRORS),)))
LATE = replace(
    PLAIN, capacity=target(1, lacks="a"), strategy=Strategy((STAGING, FULL_ON), deadline=Deadline(60.0, Remedy.PAUSE))
)


def stored(status=None, *, paused=False, **metadata):
    annotations = {"hanse.dev/rollout-paused": "true"} if paused else {}
    return {"metadata": {"name": "new", "namespace": "shop", "annotations": annotations, **metadata}, "status": status}


def answered(outcome, value):
    return run(CHECKED, answers={"errors": Answer(outcome, NOW, value)})


def missed():
    return run(replace(LATE, progress=run(LATE).progress), now=NOW + 61)


def said(status):
    """What Held says: its status, reason and message; None where it is not there."""
    found = [each for each in status["conditions"] if each["type"] == "Held"]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None


def told(execution, **release_is):
    return next_status(stored(**release_is), Findings(None, True, execution), THEN)


PAUSED = "the release is paused: hanse rollout resume, or taking away its annotation hanse.dev/rollout-paused, goes on"
TOLD = 'check "errors" failed once: 500'
FAILED = answered(Outcome.FAILURE, "500")
AGAIN = replace(CHECKED, progress=FAILED.progress, paused=True)

STANDSTILLS = {
    "a check failed": (FAILED, False, "CheckFailed", TOLD),
    "a check failed and paused it": (run(AGAIN), True, "CheckFailed", f"{TOLD}; a person decides"),
    "nobody knows": (
        answered(Outcome.INCONCLUSIVE, "failed"),
        False,
        "Inconclusive",
        'check "errors" found no answer once: failed',
    ),
    "a deadline": (missed(), False, "DeadlineExceeded", "step 0 was not achieved within 60 seconds"),
    "a person": (run(replace(PLAIN, paused=True)), True, "Paused", PAUSED),
    "a person, before the checks of the last step": (run(replace(LAST, paused=True)), True, "Paused", PAUSED),
}


@pytest.mark.parametrize(("execution", "paused", "reason", "message"), STANDSTILLS.values(), ids=STANDSTILLS)
def test_what_a_release_stands_still_for_is_said_in_order_of_type(execution, paused, reason, message):
    status = told(execution, paused=paused)

    assert said(status) == ("True", reason, message)
    assert [each["type"] for each in status["conditions"]] == ["Blocked", "Held", "Scheduled", "StrategyExecuted"]


MOVING = {
    "waits for a person to promote it": (run(PLAIN), False),
    "waits for pods": (run(replace(PLAIN, capacity=target(1, lacks="a"))), False),
    "asks its checks": (run(CHECKED), False),
    "is done, paused or not": (run(release(at=(100, 100), strategy=Strategy((FULL_ON,)), paused=True)), True),
    "was let go on by a person": (run(replace(AGAIN, paused=False, progress=run(AGAIN).progress)), False),
    "has a strategy that cannot be executed": (run(replace(PLAIN, target_step=7, paused=True)), True),
    "follows another": (
        replace(run(old(progress=FAILED.progress), successor=release(at=(1, 0), target_step=0)), waits_for=""),
        False,
    ),
}


@pytest.mark.parametrize(("execution", "paused"), MOVING.values(), ids=MOVING)
def test_a_release_that_does_not_stand_still_has_shippers_conditions_and_no_more(execution, paused):
    before = told(FAILED)
    status = told(execution, status=before, paused=paused)

    assert (said(before) is not None, said(status)) == (True, None)
    assert {each["type"] for each in status["conditions"]} <= {"Blocked", "Complete", "Scheduled", "StrategyExecuted"}


def test_the_same_standstill_is_the_same_status_at_any_time_and_no_event():
    status = told(FAILED)
    nothing_held = {**status, "conditions": [each for each in status["conditions"] if each["type"] != "Held"]}

    assert next_status(stored(status), Findings(None, True, FAILED), LATER) == status
    assert happenings(stored(nothing_held), status) == []
    assert not means_the_same(nothing_held, status)


def test_under_a_block_it_stays_as_long_as_it_is_true():
    block = Findings(Blocked("b exists"))
    paused = told(run(replace(PLAIN, paused=True)), paused=True)
    failed = told(run(AGAIN), paused=True)
    resumed = replace(block, progress=held(replace(AGAIN, progress=run(AGAIN).progress, paused=False), NOW))

    assert said(next_status(stored(paused, paused=True), block, LATER)) == said(paused)
    assert said(next_status(stored(failed, paused=True), block, LATER)) == said(failed)
    assert said(next_status(stored(paused), block, LATER)) is None
    assert said(next_status(stored(failed), resumed, LATER)) is None


def test_what_is_deleted_goes_and_does_not_stand_still():
    leaving = stored(told(FAILED), deletionTimestamp=LATER)

    assert said(next_status(leaving, Findings(waits_for="it goes once its heir has its pods"), LATER)) is None
    assert said(next_status(leaving, Findings(), LATER)) is None
