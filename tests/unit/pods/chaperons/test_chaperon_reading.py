"""What others read off a chaperon, kept by Hanse or by Admiralty."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.api.admiralty.keys import POD_MISSING_SINCE
from hanse.kube.manifest import Obj
from hanse.pods.chaperons.attempts import Attempts
from hanse.pods.chaperons.reading import (
    Phase,
    attempt_of,
    expiry_of,
    is_scheduled,
    missing_since,
    phase_of,
    trouble_of,
    unschedulable_why,
)

NO_NODE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}
GATED = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
HAS_NODE = {"type": "PodScheduled", "status": "True"}


def chaperon(status: Any = None, *, fence: Any = None, **annotations: str) -> Obj:
    return {"metadata": {"name": "web", "annotations": annotations}, "status": status, "fence": fence}


@pytest.mark.parametrize(
    ("given", "phase", "why"),
    [
        pytest.param(chaperon(), Phase.OFFERED, "", id="nothing said"),
        pytest.param(chaperon({"fence": "nonsense"}), Phase.OFFERED, "", id="nonsense"),
        pytest.param(chaperon({"fence": {"phase": ["Lost"]}}), Phase.OFFERED, "", id="no phase"),
        pytest.param(chaperon({"fence": {"phase": "Bound", "message": "x"}}), Phase.BOUND, "", id="bound"),
        pytest.param(
            chaperon({"fence": {"phase": "Refused", "message": "quota"}}), Phase.REFUSED, "quota", id="refused"
        ),
        pytest.param(
            chaperon({"fence": {"phase": "Unschedulable", "message": "full"}}), Phase.UNSCHEDULABLE, "full", id="full"
        ),
        pytest.param(chaperon({"phase": "Running", "conditions": [HAS_NODE]}), Phase.BOUND, "", id="Admiralty: runs"),
        pytest.param(
            chaperon({"phase": "Pending", "conditions": [NO_NODE]}),
            Phase.UNSCHEDULABLE,
            "0/3 nodes are available",
            id="Admiralty: no node",
        ),
        pytest.param(
            chaperon({"phase": "Pending", "conditions": [GATED]}),
            Phase.UNSCHEDULABLE,
            "a scheduling gate holds the pod",
            id="Admiralty: gated",
        ),
        pytest.param(chaperon({"phase": "Failed"}), Phase.ENDED, "", id="Admiralty: ended"),
        pytest.param(
            chaperon({"phase": "Running"}, **{POD_MISSING_SINCE: "2026-01-01T00:00:00Z"}),
            Phase.LOST,
            "",
            id="Admiralty: missing",
        ),
    ],
)
def test_how_far_a_pod_has_come_and_what_troubles_it(given: Obj, phase: Phase, why: str) -> None:
    assert (phase_of(given), trouble_of(given)) == (phase, why)
    assert unschedulable_why(given) == (why if phase is Phase.UNSCHEDULABLE else "")


def test_a_pod_is_scheduled_when_its_condition_says_so() -> None:
    assert is_scheduled(chaperon({"conditions": [HAS_NODE]}))
    assert not is_scheduled(chaperon({"conditions": [NO_NODE], "fence": {"phase": "Bound"}}))
    assert not is_scheduled(chaperon())


@pytest.mark.parametrize(
    ("given", "since"),
    [
        (chaperon(), None),
        (chaperon(**{POD_MISSING_SINCE: "yesterday"}), None),
        (chaperon(**{POD_MISSING_SINCE: "1970-01-01T00:01:00Z"}), 60.0),
        (chaperon({"fence": {"missingSince": "1970-01-01T00:02:00Z"}}), 120.0),
    ],
)
def test_since_when_a_pod_is_missing(given: Obj, since: float | None) -> None:
    assert missing_since(given) == since


@pytest.mark.parametrize(
    ("fence", "attempt", "expiry"),
    [
        (None, 0, None),
        ("three", 0, None),
        ({"attempt": "3"}, 0, None),
        ({"attempt": True, "expirySeconds": True}, 0, None),
        ({"attempt": 3, "expirySeconds": 60}, 3, 60.0),
    ],
)
def test_a_fence_that_says_nothing_sensible_says_nothing(fence: Any, attempt: int, expiry: float | None) -> None:
    assert (attempt_of(chaperon(fence=fence)), expiry_of(chaperon(fence=fence))) == (attempt, expiry)


def test_the_highest_attempt_for_a_pod_counts_and_the_oldest_pods_are_forgotten() -> None:
    def of(uid: str, attempt: int) -> Obj:
        labels = {"multicluster.admiralty.io/parent-uid": uid, "multicluster.admiralty.io/parent-cluster-name": "home"}
        return {"metadata": {"name": "web", "labels": labels}, "fence": {"attempt": attempt}}

    seen = Attempts(remembered=2)
    assert [seen.note(of("a", number)) for number in (1, 3, 2)] == [1, 3, 3]
    assert (seen.note(of("b", 1)), seen.note(of("c", 1))) == (1, 1)
    assert seen.note(of("a", 1)) == 1
    assert seen.note({"metadata": {"name": "by hand"}}) == 0
