"""What is read of a status that anybody may have written."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.kube.manifest import Obj
from hanse.pods.chaperons.reading import is_scheduled, phase_of, trouble_of
from hanse.pods.placeholder.shapes import TEXT_LENGTH, readable
from hanse.pods.placeholder.status import mirrored, status_patch

SINCE = "2026-01-01T00:00:00Z"
ORDINARY: Obj = {
    "phase": "Running",
    "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": SINCE},
        {"type": "example.com/gate", "status": "False", "reason": "NotYet", "message": "soon"},
    ],
    "hostIP": "192.0.2.1",
    "hostIPs": [{"ip": "192.0.2.1"}],
    "podIP": "10.1.0.7",
    "podIPs": [{"ip": "10.1.0.7"}, {"ip": "fd00::7"}],
    "startTime": SINCE,
    "containerStatuses": [
        {
            "name": "main",
            "ready": True,
            "started": True,
            "restartCount": 2,
            "image": "busybox",
            "imageID": "sha256:1",
            "containerID": "containerd://1",
            "state": {"running": {"startedAt": SINCE}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": SINCE}},
            "resources": {"requests": {"cpu": "100m"}},
        }
    ],
    "fence": {"phase": "Bound", "attempt": 1, "podUid": "u", "nodeName": "n1"},
}


def _read(status: Any) -> Any:
    return readable({"metadata": {"name": "a"}, "status": status})["status"]


def test_an_ordinary_status_is_read_as_it_is() -> None:
    assert _read(ORDINARY) == ORDINARY


@pytest.mark.parametrize("status", [None, "Running", 7, ["a"], True])
def test_what_is_no_status_is_an_empty_one(status: Any) -> None:
    assert _read(status) == {}


@pytest.mark.parametrize(
    "field",
    [
        {"phase": "Levitating"},
        {"phase": {"a": "b"}},
        {"phase": ["Running"]},
        {"message": {"a": "b"}},
        {"reason": 7},
        {"podIP": "nowhere"},
        {"hostIP": 7},
        {"startTime": "yesterday"},
        {"startTime": "2026-01-01"},
        {"conditions": "Ready"},
        {"conditions": {"type": "Ready"}},
        {"containerStatuses": {"name": "main"}},
        {"unheardOf": {"a": "b"}},
        {"qosClass": "Guaranteed"},
        {"resourceClaimStatuses": [{"name": "gpu"}]},
    ],
    ids=str,
)
def test_a_field_of_another_type_or_of_no_pod_is_left_out_alone(field: Obj) -> None:
    assert _read({**ORDINARY, **field}) == {name: each for name, each in ORDINARY.items() if name not in field}


@pytest.mark.parametrize(
    ("name", "entries", "left"),
    [
        ("conditions", ["Ready", None, 7, {}, {"type": "Ready"}, {"type": 7, "status": "True"}], []),
        ("conditions", [{"type": "Ready", "status": True}, {"type": "not a name", "status": "True"}], []),
        ("conditions", [{"type": "A", "status": "True", "message": 7}], [{"type": "A", "status": "True"}]),
        (
            "conditions",
            [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}],
            [{"type": "A", "status": "True"}],
        ),
        ("podIPs", [{"ip": "x"}, "10.0.0.1", {"ip": "10.0.0.1"}], [{"ip": "10.0.0.1"}]),
        ("containerStatuses", [{"ready": True}, {"name": ["main"]}, "main"], []),
        (
            "containerStatuses",
            [{"name": "main", "ready": "yes", "restartCount": 2**40, "state": {"running": {"startedAt": 7}}}],
            [{"name": "main", "state": {"running": {}}}],
        ),
        (
            "containerStatuses",
            [{"name": "main", "resources": {"limits": {"cpu": "lots", "memory": "1Gi", "": "1"}}}],
            [{"name": "main", "resources": {"limits": {"memory": "1Gi"}}}],
        ),
    ],
    ids=str,
)
def test_of_a_list_what_fits_is_left(name: str, entries: list[Any], left: list[Any]) -> None:
    assert _read({name: entries}) == {name: left}


def test_nothing_is_larger_than_a_kubelet_would_have_it() -> None:
    condition = {"status": "True", "message": "m" * 100_000}
    read = _read({"message": "m" * 1_000_000, "conditions": [{**condition, "type": f"c{n}"} for n in range(1000)]})
    assert read["message"] == "m" * TEXT_LENGTH
    assert len(read["conditions"]) == 64
    assert {len(each["message"]) for each in read["conditions"]} == {TEXT_LENGTH}


@pytest.mark.parametrize(
    "status",
    [
        {"fence": "Bound"},
        {"fence": {"phase": ["Bound"], "message": {"a": "b"}, "attempt": "1"}},
        {"fence": {"phase": "Refused", "message": ["x"]}},
        {"fence": {"phase": "Unschedulable", "message": 7}},
        {"fence": {"phase": "Levitating"}, "conditions": [7, "x", {"type": "PodScheduled"}]},
        {"conditions": [{"type": "PodScheduled", "status": "False", "reason": {"a": 1}, "message": [2]}]},
    ],
    ids=str,
)
def test_whatever_a_target_says_of_a_pod_is_understood_or_passed_over(status: Obj) -> None:
    chaperon = readable({"metadata": {"name": "a", "namespace": "b"}, "status": status})
    assert isinstance(trouble_of(chaperon), str)
    assert isinstance(phase_of(chaperon).value, str)
    assert not is_scheduled(chaperon)


def test_what_stays_the_same_is_written_once_whatever_else_is_said() -> None:
    placeholder: Obj = {"spec": {"containers": [{"name": "main"}]}, "status": {}}
    hostile = {**ORDINARY, "phase": "Levitating", "unheardOf": 1, "message": "m" * 100_000}
    chaperon = readable({"metadata": {"name": "a"}, "status": hostile})
    patch = status_patch(placeholder, mirrored(placeholder, chaperon))
    assert patch is not None
    assert status_patch({**placeholder, **patch}, mirrored(placeholder, chaperon)) is None
