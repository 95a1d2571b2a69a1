"""What is done next for a chaperon, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.api.admiralty.keys import CHAPERON_FINALIZER, POD_MISSING_SINCE, UNRECORDED_FINALIZER
from hanse.kube.manifest import Obj
from hanse.kube.runtime import timestamp
from hanse.pods.chaperons.life import Hold, Make, Mark, Recorded, Release, Report, Scene, Step, Stop, next_step

NOW = 1_700_000_000.0
MARK = POD_MISSING_SINCE
DELETION: Obj = {"deletionTimestamp": timestamp(NOW), "deletionGracePeriodSeconds": 30}
RUNNING: Obj = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]}
DONE = {"phase": "Succeeded"}


def chaperon(*, policy: str = "Always", fence: Obj | None = None, status: Obj | None = None, **metadata: Any) -> Obj:
    labels = {"multicluster.admiralty.io/parent-uid": "parent", "multicluster.admiralty.io/parent-cluster-name": "home"}
    names = {"name": "web", "namespace": "default", "uid": "chaperon", "labels": labels}
    made: Obj = {
        "apiVersion": "multicluster.admiralty.io/v1alpha1",
        "kind": "PodChaperon",
        "metadata": {**names, "finalizers": [CHAPERON_FINALIZER], **metadata},
        "spec": {"restartPolicy": policy, "containers": []},
        "fence": {"attempt": 2} if fence is None else fence,
    }
    return {**made, "status": status} if status is not None else made


def pod(status: Obj | None = None, *, node: str = "n1", **metadata: Any) -> Obj:
    names = {"name": "web", "namespace": "default", "uid": "pod"}
    spec = {"nodeName": node} if node else {}
    return {"metadata": {**names, **metadata}, "spec": spec, "status": RUNNING if status is None else status}


def recorded(phase: str = "Bound", **fence: Any) -> Obj:
    return {"phase": "Running", "fence": {"phase": phase, "attempt": 2, "message": "", "podUid": "pod", **fence}}


def done(step: Step) -> list[Any]:
    """What a step does, with what it reports as phase and message alone."""
    return [_short(action) for action in step.actions]


def _short(action: Any) -> Any:
    match action:
        case Report(status):
            return f"{status['fence']['phase']}: {status['fence']['message']}".removesuffix(": ")
        case Make():
            return Make
        case _:
            return action


SUPERSEDED = "Refused: attempt 2 to place the pod is over: this cluster has been given attempt 3 since"
SILENT = "Lost: its source has given no sign for 61 s, so the pod was stopped"
GONE = "Lost: its pod was deleted or evicted in its cluster"
EXPIRING = {"attempt": 2, "expirySeconds": 60}


@pytest.mark.parametrize(
    ("given", "scene", "expected", "again"),
    [
        pytest.param(chaperon(), Scene(None, NOW), [Make], None, id="new"),
        pytest.param(chaperon(finalizers=[]), Scene(None, NOW), [Hold(), Make], None, id="new and not held"),
        pytest.param(chaperon(), Scene(None, NOW, late=9.0), [Make], None, id="tried before by this keeper"),
        pytest.param(chaperon(), Scene(None, NOW, late=9.0, another=True), [], 9.0, id="announced by another keeper"),
        pytest.param(chaperon(), Scene(None, NOW, another=True), [Make], None, id="announced long ago by another"),
        pytest.param(chaperon(**DELETION), Scene(None, NOW, late=9.0), [], 9.0, id="leaving, a pod may come late"),
        pytest.param(chaperon(**DELETION), Scene(None, NOW), [Release()], None, id="leaving, no pod can come"),
        pytest.param(chaperon(), Scene(None, NOW, newest=3), [SUPERSEDED], None, id="superseded"),
        pytest.param(chaperon(), Scene(None, NOW, newest=2), [Make], None, id="the newest itself"),
        pytest.param(chaperon(fence={}), Scene(None, NOW, newest=3), [Make], None, id="no fence"),
        pytest.param(chaperon(fence=EXPIRING), Scene(None, NOW, silent=61.0), [], 5.0, id="new, source silent"),
        pytest.param(chaperon(), Scene(pod(), NOW), ["Bound"], None, id="runs"),
        pytest.param(chaperon(), Scene(pod({}, node=""), NOW), ["Offered"], None, id="looks for a node"),
        pytest.param(
            chaperon(policy="Never"),
            Scene(pod(finalizers=[UNRECORDED_FINALIZER]), NOW),
            ["Bound", Recorded("pod")],
            None,
            id="runs, first seen",
        ),
        pytest.param(
            chaperon(annotations={MARK: timestamp(NOW)}, status=recorded("Lost", podUid="before")),
            Scene(pod(), NOW),
            ["Bound", Mark(None)],
            None,
            id="made again",
        ),
        pytest.param(chaperon(policy="Never"), Scene(pod(DONE), NOW), ["Ended"], None, id="ended"),
        pytest.param(
            chaperon(fence=EXPIRING), Scene(pod(), NOW, silent=20.0), ["Bound"], 40.0, id="source heard lately"
        ),
        pytest.param(chaperon(fence=EXPIRING), Scene(pod(), NOW), ["Bound"], None, id="nobody listens for it"),
        pytest.param(
            chaperon(fence=EXPIRING), Scene(pod(), NOW, silent=61.0), [SILENT, Stop("pod")], None, id="source silent"
        ),
        pytest.param(
            chaperon(policy="Never", fence=EXPIRING),
            Scene(pod(DONE), NOW, silent=61.0),
            ["Ended"],
            None,
            id="source silent, nothing left to stop",
        ),
        pytest.param(
            chaperon(fence=EXPIRING, status=recorded("Lost", expired=True, message="told")),
            Scene(pod(), NOW, silent=0.0),
            ["Lost: told", Stop("pod")],
            None,
            id="source heard again, its pod was given up",
        ),
        pytest.param(
            chaperon(status=recorded()),
            Scene(None, NOW),
            [GONE, Mark(timestamp(NOW))],
            60.0,
            id="vanished",
        ),
        pytest.param(
            chaperon(policy="Never", status=recorded()),
            Scene(None, NOW),
            [GONE, Mark(timestamp(NOW))],
            None,
            id="vanished and must not run again",
        ),
        pytest.param(
            chaperon(status=recorded("Lost", missingSince=timestamp(NOW - 20))),
            Scene(None, NOW),
            [Mark(timestamp(NOW - 20))],
            40.0,
            id="vanished, not marked yet",
        ),
        pytest.param(
            chaperon(status=recorded("Lost"), annotations={MARK: timestamp(NOW - 60)}),
            Scene(None, NOW),
            [Make],
            None,
            id="vanished a minute ago",
        ),
        pytest.param(
            chaperon(status=recorded("Lost"), annotations={MARK: timestamp(NOW - 60)}),
            Scene(None, NOW, newest=3),
            [f"Lost: its pod is gone and cannot be made again: {SUPERSEDED.removeprefix('Refused: ')}"],
            None,
            id="vanished a minute ago, superseded",
        ),
        pytest.param(
            chaperon(policy="OnFailure", status=recorded("Lost"), annotations={MARK: timestamp(NOW - 6000)}),
            Scene(None, NOW),
            [],
            None,
            id="vanished long ago and must not run again",
        ),
        pytest.param(
            chaperon(status=recorded("Lost", expired=True), annotations={MARK: timestamp(NOW - 6000)}),
            Scene(None, NOW),
            [],
            None,
            id="stopped since its source was silent",
        ),
        pytest.param(chaperon(status=recorded("Ended")), Scene(None, NOW), [], None, id="ended and vanished"),
        pytest.param(
            chaperon(fence={}, status={"phase": "Failed"}), Scene(None, NOW), [], None, id="ended under Admiralty"
        ),
        pytest.param(chaperon(**DELETION), Scene(None, NOW), [Release()], None, id="withdrawn, no pod"),
        pytest.param(chaperon(finalizers=["x"], **DELETION), Scene(None, NOW), [], None, id="withdrawn and let go"),
        pytest.param(chaperon(**DELETION), Scene(pod(), NOW), ["Bound", Stop("pod")], None, id="withdrawn"),
        pytest.param(
            chaperon(**DELETION),
            Scene(pod(**DELETION), NOW),
            ["Bound: it is being deleted in its cluster"],
            None,
            id="withdrawn, its pod ends",
        ),
        pytest.param(
            chaperon(policy="Never", **DELETION),
            Scene(pod(finalizers=[UNRECORDED_FINALIZER], **DELETION), NOW),
            ["Bound: it is being deleted in its cluster", Recorded("pod")],
            None,
            id="withdrawn, its pod ends and was never recorded",
        ),
    ],
)
def test_the_next_step(given: Obj, scene: Scene, expected: list[Any], again: float | None) -> None:
    step = next_step(given, scene)
    assert (done(step), step.again) == (expected, again)


@pytest.mark.parametrize(
    ("policy", "finished", "phase"),
    [
        pytest.param("Never", NOW - 60, "Ended", id="ended and is then deleted"),
        pytest.param("Never", NOW - 20, "Bound", id="ends since it is deleted"),
        pytest.param("Never", NOW - 30, "Bound", id="ended in the second in which it was deleted"),
        pytest.param("Always", NOW - 60, "Bound", id="would have been started again"),
    ],
)
def test_a_pod_that_ends_since_it_is_deleted_has_not_ended_by_itself(policy: str, finished: float, phase: str) -> None:
    state = {"terminated": {"exitCode": 0, "finishedAt": timestamp(finished)}}
    ended = pod({"phase": "Succeeded", "containerStatuses": [{"name": "main", "state": state}]}, **DELETION)
    [report] = next_step(chaperon(policy=policy), Scene(ended, NOW)).actions
    assert isinstance(report, Report)
    assert report.status["fence"]["phase"] == phase


def test_a_pod_that_was_seen_to_end_stays_so_when_it_is_deleted() -> None:
    deleted = pod({"phase": "Succeeded"}, **DELETION)
    [report] = next_step(chaperon(policy="Never", status=recorded("Ended")), Scene(deleted, NOW)).actions
    assert isinstance(report, Report)
    assert report.status["fence"]["phase"] == "Ended"


def test_what_was_reported_is_not_reported_otherwise_the_next_time() -> None:
    """A second look at the same pod changes nothing."""
    given, scene = chaperon(), Scene(pod(), NOW)
    [first] = next_step(given, scene).actions
    assert isinstance(first, Report)
    [second] = next_step({**given, "status": first.status}, scene).actions
    assert second == first


def test_a_pod_made_again_is_counted() -> None:
    [report, _] = next_step(
        chaperon(status=recorded("Lost", podUid="before", pods=2), annotations={MARK: timestamp(NOW)}),
        Scene(pod(), NOW),
    ).actions
    assert isinstance(report, Report)
    assert report.status["fence"] == {
        "phase": "Bound",
        "attempt": 2,
        "message": "",
        "podUid": "pod",
        "nodeName": "n1",
        "pods": 3,
    }
