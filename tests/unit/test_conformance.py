"""The judge's paperwork: which upstream tests are chosen, how reports are read, what the page records."""

from __future__ import annotations

import pytest

from tests.conformance.choice import Choice, choose, extra_seconds, is_serial, names_of
from tests.conformance.page import Record, read_page, write_page
from tests.conformance.reports import Outcome, Verdict, outcome_in

LISTING = """The following spec names can be used with 'ginkgo run --focus/skip':
    k8s.io/kubernetes/test/e2e/apps/job.go:10: [sig-apps] Job should delete a job [Conformance]
    k8s.io/kubernetes/test/e2e/apps/job.go:90: [sig-apps] Job should be odd
    k8s.io/kubernetes/test/e2e/apps/cronjob.go:7: [sig-apps] CronJob should wait [Slow] [Conformance]
    k8s.io/kubernetes/test/e2e/network/dns.go:7: [sig-network] DNS should provide DNS for services [Conformance]
    k8s.io/kubernetes/test/e2e/node/pods.go:7: [sig-node] Pods should be [NodeConformance] [Conformance]
"""
JOB = "[sig-apps] Job should delete a job [Conformance]"
SET = "[sig-apps] Daemon set [Serial] should run [Conformance]"
REPORT = '<testsuites><testsuite><testcase name="[It] {name} [sig-apps, Conformance]" time="1.5">{inside}</testcase>'
END = "</testsuite></testsuites>"


def test_the_conformance_tests_of_our_groups_are_chosen_and_the_others_have_a_reason() -> None:
    choice = choose(names_of(LISTING))
    assert choice.chosen == (JOB,)
    assert {reason: len(names) for reason, names in choice.left_out.items() if names} == {
        "Packets go between pods, or to and from them": 1,
        "It waits for many minutes by design": 1,
    }


def test_a_serial_test_has_the_cluster_to_itself() -> None:
    assert [is_serial(name) for name in (JOB, SET)] == [False, True]


def test_a_test_that_waits_by_itself_has_more_time() -> None:
    preemption = "[sig-scheduling] SchedulerPreemption [Serial] validates basic preemption works [Conformance]"
    assert [extra_seconds(name) for name in (JOB, preemption)] == [0.0, 60.0]


@pytest.mark.parametrize(
    ("inside", "outcome"),
    [
        ("", Outcome(Verdict.PASSED, 1.5)),
        ('<failure message="[FAILED] timed out"/>', Outcome(Verdict.FAILED, 1.5, "[FAILED] timed out")),
        ("<error>interrupted</error>", Outcome(Verdict.FAILED, 1.5, "interrupted")),
        ('<skipped message="needs two nodes"/>', Outcome(Verdict.SKIPPED, 1.5, "needs two nodes")),
    ],
)
def test_a_report_says_how_a_test_ended(inside: str, outcome: Outcome) -> None:
    assert outcome_in(REPORT.format(name=JOB, inside=inside) + END, JOB) == outcome


def test_a_test_that_a_report_does_not_name_has_failed() -> None:
    assert outcome_in(REPORT.format(name=SET, inside="") + END, JOB).verdict == Verdict.FAILED


def test_a_page_is_read_as_it_was_written() -> None:
    record = Record({JOB: "passed", SET: "passed"}, {JOB: "passed"})
    page = write_page(record, Choice((JOB, SET), {"It is slow": ("[sig-apps] other",)}), date="2026-11-18")
    assert read_page(page) == record
    assert "passes 2. Of these, 1 were played on the simulated cluster, which passes 1:\n100.0%." in page
    assert "| It is slow | 1 |" in page


def test_a_part_changes_only_its_own_lines() -> None:
    record = Record({JOB: "passed", SET: "failed"}, {JOB: "failed"}).with_verdicts("embedded", {JOB: "passed"})
    assert record == Record({JOB: "passed", SET: "failed"}, {JOB: "passed"})
    assert (record.is_open(JOB), record.is_open(SET)) == (False, True)


def test_too_few_passed_and_failures_without_a_cause_are_problems() -> None:
    problems = Record({JOB: "passed", SET: "passed"}, {JOB: "passed", SET: "failed"}).problems()
    assert problems[0] == "1 of 2 are less than 90%"
    assert SET in problems[1]


def test_what_was_not_played_is_a_problem_and_no_failure() -> None:
    record = Record({JOB: "passed", SET: "passed"}, {JOB: "passed"})
    assert (record.rest, record.unplayed, record.share) == ([], [SET], 1.0)
    assert record.problems() == ["1 that the real control plane passes were not played on the simulated cluster"]


def test_what_only_the_simulated_cluster_passes_does_not_count() -> None:
    record = Record({JOB: "passed", SET: "failed"}, {JOB: "passed", SET: "passed"})
    assert (record.bar, record.reached, record.problems()) == ([JOB], [JOB], [])
