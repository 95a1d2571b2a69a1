"""A placeholder shows what its pod shows (lines 37 to 39 of the checklist)."""

from __future__ import annotations

from hanse.kube.manifest import Obj
from hanse.pods.placeholder.shapes import readable
from hanse.pods.placeholder.status import mirrored, status_patch


def _placeholder(**status: object) -> Obj:
    return {
        "metadata": {"name": "web-1", "namespace": "shop", "uid": "u1"},
        "spec": {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}]},
        "status": {"qosClass": "Burstable", **status},
    }


def test_phase_addresses_and_container_states_are_those_of_the_pod() -> None:
    shown = {
        "phase": "Running",
        "podIP": "10.1.0.7",
        "hostIP": "192.0.2.1",
        "qosClass": "BestEffort",
        "fence": {"phase": "Bound"},
        "observedGeneration": 3,
        "containerStatuses": [{"name": "a", "state": {"running": {}}}, {"name": "sidecar", "state": {}}],
        "initContainerStatuses": [{"name": "i"}, {"name": "injected"}],
    }
    assert mirrored(_placeholder(), readable({"status": shown})) == {
        "phase": "Running",
        "podIP": "10.1.0.7",
        "hostIP": "192.0.2.1",
        "qosClass": "Burstable",
        "containerStatuses": [{"name": "a", "state": {"running": {}}}],
        "initContainerStatuses": [{"name": "i"}],
        "conditions": [],
    }


def test_conditions_that_only_the_placeholder_has_stay() -> None:
    own = {"type": "example.com/ready", "status": "True"}
    stale = {"type": "Ready", "status": "False"}
    ready = {"type": "Ready", "status": "True", "observedGeneration": 2}
    status = mirrored(_placeholder(conditions=[own, stale]), readable({"status": {"conditions": [ready]}}))
    assert status["conditions"] == [{"type": "Ready", "status": "True"}, own]


def test_only_what_differs_is_written_and_nothing_where_nothing_does() -> None:
    placeholder = _placeholder(phase="Pending", message="old", conditions=[])
    status = {"qosClass": "Burstable", "phase": "Running", "conditions": []}
    assert status_patch(placeholder, status) == {"status": {"phase": "Running", "message": None}}
    assert status_patch(_placeholder(phase="Running", conditions=[]), status) is None


def test_what_the_api_server_leaves_open_is_no_difference() -> None:
    told = {"type": "Ready", "status": "True"}
    placeholder = _placeholder(conditions=[{**told, "lastProbeTime": None}])
    assert status_patch(placeholder, mirrored(placeholder, {"status": {"conditions": [told]}})) is None
