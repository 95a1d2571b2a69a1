"""What a Release's status says after a look, and which events tell of it."""

from hanse.rollouts.blocks.standing import Blocked
from hanse.rollouts.execution import Achieved, Execution
from hanse.rollouts.releases.choosing import Unscheduled
from hanse.rollouts.releases.status import Findings, happenings, means_the_same, next_status

NOW, LATER = "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"
STATE = {"waitingForInstallation": "True"}


def release(**status):
    return {"metadata": {"name": "app-0", "namespace": "ns"}, "status": status}


def conditions(status):
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in status["conditions"]}


DONE = Execution(
    strategy_status={"conditions": [], "state": STATE}, achieved=Achieved(1, "full on"), complete=True, waits_for="x"
)


def test_what_the_executor_found_is_said_in_order_of_type():
    status = next_status(release(), Findings(None, True, DONE), NOW)

    assert [each["type"] for each in status["conditions"]] == ["Blocked", "Complete", "Scheduled", "StrategyExecuted"]
    assert conditions(status)["Blocked"] == ("False", "", "")
    assert (status["achievedStep"], status["progress"]) == ({"step": 1, "name": "full on"}, {"waitsFor": "x"})
    assert status["strategy"]["state"] == STATE


def test_nothing_new_is_the_same_status_at_any_time():
    status = next_status(release(), Findings(None, True, DONE), NOW)

    assert next_status(release(**status), Findings(None, True, DONE), LATER) == status
    assert happenings(release(**status), status) == []


def test_what_was_not_looked_at_stays():
    status = next_status(release(), Findings(None, True, DONE), NOW)
    blocked = next_status(release(**status), Findings(Blocked("b exists")), LATER)
    unscheduled = next_status(release(**status), Findings(None, Unscheduled("R", "why")), LATER)

    assert conditions(blocked)["Blocked"] == ("True", "RolloutsBlocked", "b exists")
    assert conditions(blocked)["Complete"] == conditions(unscheduled)["Complete"] == ("True", "", "")
    assert conditions(unscheduled)["Scheduled"] == ("False", "R", "why")
    assert blocked["achievedStep"] == unscheduled["achievedStep"] == status["achievedStep"]


def test_a_strategy_that_cannot_be_executed_is_said_and_complete_stays():
    status = next_status(release(), Findings(None, True, DONE), NOW)
    failed = Execution(problem=("StrategyExecutionFailed", "no step 2"), complete=True, progress={"step": 1})
    then = next_status(release(**status), Findings(None, True, failed), LATER)

    assert conditions(then)["StrategyExecuted"] == ("False", "StrategyExecutionFailed", "no step 2")
    assert conditions(then)["Complete"] == ("True", "", "")
    assert (then["progress"], then["strategy"]) == ({"step": 1}, status["strategy"])


def test_words_alone_are_told_apart_from_what_they_are_about():
    def said(message="a", status="False", waits_for="b", step=0):
        stage = {"type": "ContenderAchievedCapacity", "status": status, "message": message}
        progress = {"waitsFor": waits_for, "step": step}
        return {"conditions": [], "strategy": {"conditions": [stage], "state": {}}, "progress": progress}

    assert means_the_same(said(), said(message="c", waits_for="d"))
    assert not any(means_the_same(said(), other) for other in (said(status="True"), said(step=1), {}))


def test_events_tell_of_steps_states_and_conditions():
    status = next_status(release(), Findings(None, True, DONE), NOW)
    told = happenings(release(), status)
    blocked = happenings(release(**status), next_status(release(**status), Findings(Blocked("b exists")), LATER))
    failed = happenings(release(**status), next_status(release(**status), Findings(None, Unscheduled("R", "w")), LATER))

    assert [(each.reason, each.message) for each in told] == [
        ("StrategyApplied", "step [1] finished"),
        (
            "ReleaseStateTransitioned",
            'Release "ns/app-0" had its state transitioned: "waitingForInstallation" to "True"',
        ),
        (
            "ReleaseConditionChanged",
            "[] -> [Complete True], [] -> [Scheduled True], [] -> [StrategyExecuted True]",
        ),
    ]
    assert [(each.reason, each.message, each.warning) for each in blocked] == [("RolloutBlocked", "b exists", True)]
    assert [(each.message, each.warning) for each in failed] == [("[Scheduled True] -> [Scheduled False R w]", True)]
