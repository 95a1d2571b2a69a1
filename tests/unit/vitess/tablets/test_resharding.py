"""How far a reshard is (checklist 85 and 86)."""

import pytest

from hanse.vitess.tablets.resharding import Workflow, copy_progress, report_resharding


def workflow(*states, lag=0, name="split", rows=(None, None)):
    return Workflow(name, ("-",), ("-80", "80-"), states, lag, *rows)


@pytest.mark.parametrize(
    ("found", "active", "in_sync"),
    [
        ([], (False, "NoActiveReshardingWorkflows"), (False, "NoActiveReshardingWorkflows")),
        ([workflow("Running", lag=9)], (True, "ReshardingInProgress"), (True, "InSync")),
        ([workflow("Running", lag=10)], (True, "ReshardingInProgress"), (False, "Lagging")),
        ([workflow("Copying", "Running")], (True, "ReshardingInProgress"), (False, "NotRunning")),
        ([workflow("Running", "Error")], (True, "ReshardingInProgress"), (False, "WorkflowError")),
        ([workflow("Stopped")], (True, "ReshardingInProgress"), (False, "NotRunning")),
        (
            [workflow("Running"), workflow("Running", name="again")],
            (None, "MultipleActiveReshardingWorkflows"),
            (None, "MultipleActiveReshardingWorkflows"),
        ),
        (None, (None, "WorkflowsUnknown"), (None, "WorkflowsUnknown")),
    ],
)
def test_the_conditions_tell_whether_traffic_may_be_switched(found, active, in_sync):
    report = report_resharding(found)
    assert (report.active, report.in_sync) == (active, in_sync)


@pytest.mark.parametrize(
    ("state", "source", "target", "percent"),
    [
        ("Copying", 0, 0, 99),
        ("Copying", 200, 100, 50),
        ("Copying", 100, 100, 99),
        ("Copying", 100, 120, 99),
        ("Copying", None, 100, -1),
        ("Running", None, None, 100),
        ("Stopped", 100, 50, -1),
    ],
)
def test_the_progress_of_a_copy(state, source, target, percent):
    assert copy_progress(state, source, target) == percent


def test_what_cannot_be_counted_is_told():
    report = report_resharding([workflow("Copying")])
    assert report.status["copyProgress"] == -1
    assert [told.reason for told in report.told] == ["CopyProgressUnknown"]
    assert report_resharding([workflow("Copying", rows=(10, 5))]).status == {
        "workflow": "split",
        "state": "Copying",
        "sourceShards": ["-"],
        "targetShards": ["-80", "80-"],
        "copyProgress": 50,
    }
