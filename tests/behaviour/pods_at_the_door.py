"""The door through which pods run elsewhere: nobody admits them for a while, and it is closed for good."""

from __future__ import annotations

from typing import Any

from hanse.api.admiralty.keys import PREFIX
from hanse.kube.manifest import name_of
from hanse.pods.admission.policies import chaperon_policies
from tests.behaviour.pods_elsewhere import (
    ELSEWHERE,
    TIMEOUT,
    Source,
    apply,
    are_available,
    children,
    deployment,
    get,
    pods,
    uids,
    until,
    until_nothing_is_left,
    virtual_nodes,
)

HERE = f"--namespace={ELSEWHERE}"
_OURS = ("pods.hanse.dev", PREFIX)
_HELD_KINDS = "pods,services,configmaps,secrets,jobs,ingresses"
_CALLS = "mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings"


def a_deployment_waits_for_an_admission_that_does_not_answer(source: Source) -> None:
    """Its pods are refused and it says so, others do not notice, and it goes on when somebody answers again."""
    apply(source, ELSEWHERE, deployment("patient", 1))
    source.kubectl("rollout", "status", "deployment/patient", HERE, TIMEOUT)
    source.lose_admission()
    try:
        source.kubectl("scale", "deployment/patient", "--replicas=3", HERE)
        source.kubectl("wait", "deployment/patient", "--for=condition=ReplicaFailure", HERE, TIMEOUT)
        told = [each["message"] for each in get(source, "deployment", "patient")["status"]["conditions"]]
        assert any('failed calling webhook "elected.pods.hanse.dev"' in each for each in told)
        assert len(pods(source, "patient")) == 1
        source.kubectl("run", "bystander", "--image=nginx:1", HERE)
        source.kubectl("wait", "pod/bystander", "--for=condition=Ready", HERE, TIMEOUT)
    finally:
        source.return_admission()
    source.kubectl("rollout", "status", "deployment/patient", HERE, TIMEOUT)
    source.kubectl("delete", "deployment/patient", "pod/bystander", HERE)
    until_nothing_is_left(source, "patient")


def a_closed_door_leaves_nothing_behind(source: Source) -> None:
    """What ran elsewhere runs at home, and nothing of Hanse's holds or concerns its pods any more."""
    apply(source, ELSEWHERE, deployment("last", 3))
    source.kubectl("rollout", "status", "deployment/last", HERE, TIMEOUT)
    assert source.home in source.hanse("doors", "status")
    before = uids(pods(source, "last"))
    source.close_door()

    until("its pods run at home", lambda: are_available(source, "last", 3, without=before))
    for obj in get(source, _HELD_KINDS, "--all-namespaces")["items"]:
        held = [*obj["metadata"].get("finalizers", []), *_gates(obj)]
        assert not [each for each in held if each.startswith(_OURS)], obj["metadata"]["name"]
    callers = [each["metadata"]["name"] for each in get(source, _CALLS)["items"]]
    # The cluster may still run pods of others, which nobody else may touch.
    protection = {name_of(policy) for policy in chaperon_policies()}
    assert {name for name in callers if "hanse" in name} <= protection
    assert get(source, "clustertargets")["items"] == []
    assert virtual_nodes(source) == []
    until("nothing runs elsewhere", lambda: not any(children(source, "last").values()))
    source.kubectl("delete", "deployment/last", HERE)
    until("its pods go", lambda: not pods(source, "last"))


def _gates(obj: dict[str, Any]) -> list[str]:
    return [gate["name"] for gate in obj.get("spec", {}).get("schedulingGates", [])]
