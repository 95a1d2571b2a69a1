"""A Job's status is its target's, in steps that API servers accept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.pods.jobs.status import mirrored, vanished, waiting
from tests.unit.pods.jobs.job_rules import broken_rules, is_true

few = settings() if settings().max_examples > 100 else settings(max_examples=30)

NOW, EARLIER, LATER = "2026-01-01T00:10:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:20:00Z"


def job(status=None, **spec):
    return {"metadata": {"name": "sum", "generation": 1}, "spec": {"parallelism": 2, **spec}, "status": status or {}}


def ended(*kinds):
    return [
        {"type": kind, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": NOW} for kind in kinds
    ]


def kinds(status):
    return [each["type"] for each in status["conditions"]]


def shown(told, old=None, *, current=True, **spec):
    return mirrored(job(old, **spec), {"status": told}, "eu", NOW, current=current)


def test_counts_and_times_are_those_of_the_target():
    told = {"active": 2, "ready": 1, "succeeded": 3, "failed": 1, "startTime": EARLIER, "uncountedTerminatedPods": {}}
    found = shown(told)
    assert {name: found.get(name) for name in told} == {**told, "uncountedTerminatedPods": None}
    assert found["conditions"][-1]["type"] == "Propagated"
    assert found["conditions"][-1]["message"] == "in eu"


def test_what_is_told_twice_changes_nothing():
    told = {"active": 2, "ready": 1, "startTime": EARLIER}
    first = shown(told)
    assert mirrored(job(first), {"status": told}, "eu", LATER, current=True) == first


def test_counters_never_fall():
    found = shown({"succeeded": 1}, {"succeeded": 3, "failed": 2})
    assert (found["succeeded"], found["failed"]) == (3, 2)


def test_an_elastic_job_may_have_fewer_successes_after_it_was_scaled_down():
    elastic = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    assert shown({"succeeded": 1}, {"succeeded": 3}, **elastic)["succeeded"] == 1


def test_a_start_stands_until_the_job_is_suspended():
    assert shown({"startTime": LATER}, {"startTime": EARLIER})["startTime"] == EARLIER
    assert "startTime" not in shown({}, {"startTime": EARLIER}, suspend=True)
    assert shown({"startTime": LATER}, {})["startTime"] == LATER


def test_indexes_are_told_when_the_target_has_the_present_spec():
    told = {"completedIndexes": "0-4", "failedIndexes": "5"}
    assert shown(told)["completedIndexes"] == "0-4"
    assert "completedIndexes" not in shown(told, current=False)
    assert shown(told, {"completedIndexes": "0"}, current=False)["completedIndexes"] == "0"


def test_a_job_completes_with_the_word_before_it():
    found = shown({"succeeded": 1, "startTime": EARLIER, "completionTime": NOW, "conditions": ended("Complete")})
    assert kinds(found) == ["SuccessCriteriaMet", "Complete", "Propagated"]
    assert found["completionTime"] == NOW


def test_a_job_fails_with_the_word_before_it_and_its_targets_reason():
    found = shown({"startTime": EARLIER, "conditions": ended("Failed")})
    assert kinds(found) == ["FailureTarget", "Failed", "Propagated"]
    assert found["conditions"][0]["reason"] == "R"


def test_an_end_waits_for_the_pods_that_still_end():
    told = {"active": 0, "terminating": 1, "startTime": EARLIER, "conditions": ended("FailureTarget", "Failed")}
    assert kinds(shown(told)) == ["FailureTarget", "Propagated"]


def test_a_job_that_has_ended_stays_as_it_is():
    old = {"succeeded": 1, "conditions": ended("SuccessCriteriaMet", "Complete")}
    assert shown({"active": 3}, old) == old
    assert vanished(job(old), "it is gone", NOW) == old
    assert waiting(job(old), "Waiting", "why", NOW) == old


def test_a_job_that_vanished_has_failed_and_says_that_it_runs_once():
    found = vanished(job({"active": 2, "ready": 1, "failed": 1, "startTime": EARLIER}), "it was deleted in eu", NOW)
    assert kinds(found) == ["FailureTarget", "Failed", "Propagated"]
    told = "it was deleted in eu; it is not begun again, since it may have run"
    assert found["conditions"][1]["message"] == told
    assert "active" not in found
    assert found["failed"] == 1


def test_a_job_that_vanished_after_its_success_was_certain_is_complete():
    old = {"startTime": EARLIER, "conditions": ended("SuccessCriteriaMet")}
    found = vanished(job(old), "it was deleted in eu", NOW)
    assert kinds(found) == ["SuccessCriteriaMet", "Complete", "Propagated"]
    assert found["completionTime"] == NOW


def test_a_job_without_a_place_says_what_it_waits_for():
    found = waiting(job(), "NoClusterChosen", "no target has room", NOW)
    assert found["conditions"][0]["message"] == "no target has room"
    assert waiting(job(found), "NoClusterChosen", "no target has room", LATER) == found


CONDITIONS = st.lists(
    st.sampled_from(["Suspended", "SuccessCriteriaMet", "Complete", "FailureTarget", "Failed"]), unique=True, max_size=2
).filter(lambda kinds: not ({"SuccessCriteriaMet", "Complete"} & {*kinds} and {"FailureTarget", "Failed"} & {*kinds}))
TOLD = st.fixed_dictionaries(
    {},
    optional={
        "active": st.integers(0, 3),
        "ready": st.integers(0, 3),
        "terminating": st.integers(0, 2),
        "succeeded": st.integers(0, 5),
        "failed": st.integers(0, 5),
        "startTime": st.sampled_from([EARLIER, NOW]),
        "completionTime": st.sampled_from([NOW, LATER]),
        "uncountedTerminatedPods": st.just({"succeeded": ["u"]}),
        "conditions": CONDITIONS.map(lambda kinds: ended(*kinds)),
    },
)


@few
@given(steps=st.lists(st.tuples(TOLD, st.booleans()), max_size=5), gone=st.booleans())
def test_whatever_a_target_shows_every_step_is_one_that_api_servers_accept(steps, gone):
    """A Job has one copy, whose certain end stands; everything else may be shown in any order."""
    status, certain = {}, []
    for told, suspended in steps:
        here = [each for each in told.get("conditions", []) if not certain or each["type"] in certain]
        certain = certain or _certain(here)
        now = {
            **told,
            "conditions": [*here, *ended(*(kind for kind in certain[:1] if not is_true({"conditions": here}, kind)))],
        }
        before = job(status, suspend=suspended)
        status = mirrored(before, {"status": now}, "eu", LATER, current=True)
        assert broken_rules(before, status) == []
    if gone:
        before = job(status)
        assert broken_rules(before, vanished(before, "it is gone", LATER)) == []


def _certain(conditions):
    for pair in (["SuccessCriteriaMet", "Complete"], ["FailureTarget", "Failed"]):
        if any(each["type"] in pair for each in conditions):
            return pair
    return []


@pytest.mark.parametrize("broken", [{"ready": 1}, {"conditions": ended("Complete")}, {"completionTime": NOW}])
def test_the_rules_refuse_what_api_servers_refuse(broken):
    assert broken_rules(job(), broken)
