"""Conditions change their transition time with their status and with nothing else."""

from hanse.kube.conditions import condition, find_condition, is_true, merge_conditions

OLD, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def test_a_new_condition_begins_now():
    (made,) = merge_conditions(None, [condition("Ready", True, "Fine")], NOW)

    assert (made["status"], made["lastTransitionTime"]) == ("True", NOW)


def test_another_reason_keeps_the_transition_time():
    before = [{**condition("Ready", False, "Slow", "a"), "lastTransitionTime": OLD}]

    (after,) = merge_conditions(before, [condition("Ready", False, "Dead", "b")], NOW)

    assert (after["reason"], after["lastTransitionTime"]) == ("Dead", OLD)


def test_another_status_moves_it():
    before = [{**condition("Ready", False, "Slow"), "lastTransitionTime": OLD}]

    (after,) = merge_conditions(before, [condition("Ready", None, "Lost")], NOW)

    assert (after["status"], after["lastTransitionTime"]) == ("Unknown", NOW)


def test_conditions_of_other_types_stay_in_place_and_inputs_are_not_changed():
    before = [{"type": "Theirs", "status": "True"}, {**condition("Ready", True, "Fine"), "lastTransitionTime": OLD}]

    after = merge_conditions(before, [condition("Ready", False, "Bad")], NOW)

    assert [entry["type"] for entry in after] == ["Theirs", "Ready"]
    assert is_true(before, "Ready")
    assert find_condition(after, "Missing") is None
