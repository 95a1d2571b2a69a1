"""What is written down beside federated objects; numbers are lines of KubeFed's checklist."""

from dataclasses import replace

import pytest

from hanse.api.kubefed.config import CONFIGS
from hanse.api.kubefed.preferences import PREFERENCES
from hanse.federated.door import FederatedDoor
from hanse.federated.keeper import type_status
from hanse.federated.knowledge import Knowledge
from hanse.federated.records import preference_status, records_of
from hanse.kube.manifest import key_of
from hanse.placement.decision import Decision, Verdict
from hanse.propagation.intent import Problem
from hanse.propagation.report import Report, Row
from tests.unit.federated.cases import federated, part, preference
from tests.unit.propagation.builders import copy, deployment_intent

NOW, LATER = "2026-11-16T10:00:00Z", "2026-11-16T11:00:00Z"
COPY = copy(deployment_intent(), 3, generation=2)
OLD = copy(deployment_intent(image="web:2"), 3)
KUBEFED = {
    "apiVersion": CONFIGS.api_version,
    "kind": CONFIGS.kind,
    "metadata": {"name": "kubefed", "namespace": "kube-federation-system"},
    "spec": {"scope": "Namespaced"},
}


def report(unplaced=0, **observed):
    verdicts = [Verdict(name, True, 3, ("why",)) for name in observed]
    rows = tuple(Row(name, COPY, each, live=True) for name, each in observed.items())
    return Report(Decision(verdicts, unplaced=unplaced), rows)


def recorded(source, made, *inputs, **changes):
    objects = {}
    for resource, obj in inputs:
        objects.setdefault(resource, {})[key_of(obj)] = obj
    known = Knowledge().informed(objects)
    served = known.types.of(source)
    if changes:
        served = replace(served, **changes)
    return list(records_of(source, made, served, known, NOW))


def test_versions_are_written_down_where_somebody_configured_a_kubefed():
    """Line 60."""
    assert recorded(federated(), report(a=COPY)) == []
    (version,) = recorded(federated(), report(b=COPY, a=COPY, c=OLD, d=None), (CONFIGS, KUBEFED))
    assert version.resource.kind == "PropagatedVersion"
    assert version.create
    assert version.obj["status"]["clusterVersions"] == [
        {"clusterName": "a", "version": "gen:2"},
        {"clusterName": "b", "version": "gen:2"},
    ]


def test_the_status_of_services_is_written_down_where_it_is_collected_and_not_shown_in_the_object():
    config = (CONFIGS, KUBEFED)
    source = federated("Service", template={})
    kinds = [each.resource.kind for each in recorded(source, report(a=COPY), config, collects_status=True)]
    assert kinds == ["PropagatedVersion", "FederatedServiceStatus"]
    gates = [{"name": "RawResourceStatusCollection", "configuration": "Enabled"}]
    shown = (CONFIGS, {**KUBEFED, "spec": {"scope": "Namespaced", "featureGates": gates}})
    assert len(recorded(source, report(a=COPY), shown, collects_status=True)) == 1
    assert len(recorded(source, report(a=COPY), config)) == 1


def test_a_preference_is_told_what_it_decided_and_only_once():
    rsp = preference(6)
    (told,) = recorded(federated(), report(b=COPY, a=COPY), (PREFERENCES[0], rsp))
    assert not told.create
    status = told.obj["status"]
    assert status["clusters"] == {"a": 3, "b": 3}
    assert status["observedGeneration"] == 1
    (condition,) = status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Scheduled", "True", "Divided")
    assert recorded(federated(), report(b=COPY, a=COPY), (PREFERENCES[0], {**rsp, "status": status})) == []


def test_a_preference_is_told_what_finds_no_place():
    status = preference_status(preference(9), report(3, a=COPY), NOW)
    assert "3 replicas find no place" in status["message"]
    assert status["conditions"][0]["status"] == "False"


def test_a_preference_for_another_kind_is_left_alone():
    """Line 96."""
    assert recorded(federated(), report(a=COPY), (PREFERENCES[0], preference(6, kind="Deployment"))) == []


@pytest.mark.parametrize(
    ("spec", "metadata", "status"),
    [
        ({"propagation": "Enabled"}, {}, {"propagationController": "Running"}),
        pytest.param({"propagation": "Disabled"}, {}, {"propagationController": "NotRunning"}, id="109"),
        ({"propagation": "Enabled"}, {"deletionTimestamp": NOW}, {"propagationController": "NotRunning"}),
        (
            {"propagation": "Enabled", "statusCollection": "Enabled"},
            {},
            {"propagationController": "Running", "statusController": "Running"},
        ),
    ],
)
def test_a_type_config_says_whether_its_type_is_looked_after(spec, metadata, status):
    target = {"group": "apps", "version": "v1", "kind": "Deployment"}
    config = {
        "metadata": {"name": "deployments.apps", "generation": 4, **metadata},
        "spec": {"targetType": target, **spec},
    }
    assert type_status(config) == {"observedGeneration": 4, **status}


def test_the_door_puts_reports_and_refusals_into_the_status_and_leaves_what_says_it_already():
    door, source = FederatedDoor(), federated()
    told = door.reported(source, report(a=COPY), NOW)
    assert told["status"]["clusters"] == [{"name": "a"}]
    assert door.reported(told, report(a=COPY), LATER) is told
    refused = door.refused(told, Problem("ComputePlacementFailed", "no"), LATER)
    assert refused["status"]["conditions"][0]["reason"] == "ComputePlacementFailed"
    assert door.refused(refused, Problem("ComputePlacementFailed", "no"), LATER) is refused


def test_a_placement_without_a_status_is_told_in_an_annotation():
    door = FederatedDoor()
    source = part("Namespace", "Placement", {"clusterNames": ["ghost"]}, name="shop")
    nobody = Report(Decision([Verdict("a", False, None, ("only ghost may be used",))]), (Row("a", None, None, True),))
    told = door.reported(source, nobody, NOW)
    assert "no cluster is chosen" in told["metadata"]["annotations"]["hanse.dev/status"]
    assert door.reported(told, nobody, LATER) is told
    assert "annotations" not in door.reported(told, report(a=COPY), NOW)["metadata"]
    assert "status" not in door.refused(source, Problem("InvalidName", "no"), NOW)
