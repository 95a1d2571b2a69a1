"""A real cluster serves, refuses strangers, schedules, and survives the loss of its API server."""

import json
import ssl
import urllib.error
import urllib.request

import pytest

from tests.kubernetes.real import KubectlError, RealCluster

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-1", "labels": {"kubernetes.io/hostname": "node-1"}},
}
NODE_STATUS = {
    "status": {
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "simulated"}],
    }
}


def test_a_started_cluster_is_ready(member: RealCluster) -> None:
    assert member.kubectl("get", "--raw", "/readyz") == "ok"


@pytest.mark.parametrize("context", ["member", "member-token"])
def test_certificate_and_token_both_make_an_administrator(member: RealCluster, context: str) -> None:
    who = json.loads(member.kubectl("auth", "whoami", "--context", context, "--output=json"))

    assert who["status"]["userInfo"]["username"] == "admin"
    assert member.kubectl("auth", "can-i", "*", "*", "--context", context) == "yes\n"


@pytest.mark.parametrize(
    ("headers", "code", "message"),
    [
        ({}, 403, 'secrets is forbidden: User "system:anonymous" cannot list resource "secrets"'),
        ({"Authorization": "Bearer forged"}, 401, "Unauthorized"),
    ],
    ids=["anonymous", "forged token"],
)
def test_nobody_reads_secrets_without_a_known_name(
    member: RealCluster, headers: dict[str, str], code: int, message: str
) -> None:
    request = urllib.request.Request(f"{member.server}/api/v1/secrets", headers=headers)
    trusting = ssl.create_default_context(cafile=str(member.folder / "ca.crt"))

    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, context=trusting)

    with refused.value as answer:
        assert answer.code == code
        assert message in json.load(answer)["message"]


def test_a_user_without_a_role_is_denied(member: RealCluster) -> None:
    with pytest.raises(KubectlError, match='User "stranger" cannot list resource "secrets"'):
        member.kubectl("get", "secrets", "--as", "stranger")


def test_a_client_that_does_not_know_the_authority_refuses_to_connect(member: RealCluster) -> None:
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(f"{member.server}/readyz", context=ssl.create_default_context())


def test_a_pod_waits_for_a_node_and_is_then_scheduled(member: RealCluster) -> None:
    member.kubectl("create", "deployment", "web", "--image=nginx")
    member.kubectl("wait", "pod", "--selector=app=web", "--for=create", "--timeout=120s")
    member.kubectl("wait", "pod", "--selector=app=web", "--for=condition=PodScheduled=False", "--timeout=120s")
    (pending,) = member.get("pods", "--selector=app=web")["items"]

    member.kubectl("create", "--filename=-", input=json.dumps(NODE))
    member.kubectl("patch", "node", "node-1", "--subresource=status", "--type=merge", "-p", json.dumps(NODE_STATUS))
    member.kubectl("wait", "pod", "--selector=app=web", "--for=condition=PodScheduled", "--timeout=180s")
    (scheduled,) = member.get("pods", "--selector=app=web")["items"]

    assert pending["status"]["phase"] == "Pending"
    assert "nodeName" not in pending["spec"]
    assert scheduled["metadata"]["uid"] == pending["metadata"]["uid"]
    assert scheduled["spec"]["nodeName"] == "node-1"


def test_a_killed_cluster_refuses_connections_and_heals_with_its_data(member: RealCluster) -> None:
    member.kubectl("create", "configmap", "kept", "--from-literal=answer=42")
    address = member.server
    member.kill()
    with pytest.raises(KubectlError, match="refused"):
        member.kubectl("get", "configmap", "kept")

    member.heal()

    assert member.server == address
    assert member.get("configmap", "kept")["data"] == {"answer": "42"}


def test_a_frozen_cluster_answers_nobody_and_heals_with_its_data(member: RealCluster) -> None:
    member.kubectl("create", "configmap", "frozen", "--from-literal=answer=43")
    member.freeze()
    with pytest.raises(KubectlError, match=r"timeout|deadline|Timeout"):
        member.kubectl("get", "configmap", "frozen", "--request-timeout=1s")

    member.heal()

    assert member.get("configmap", "frozen")["data"] == {"answer": "43"}


def test_a_federation_host_ends_namespaces_but_leaves_workloads_alone(host: RealCluster) -> None:
    host.kubectl("create", "deployment", "web", "--image=nginx")
    host.kubectl("create", "namespace", "short-lived")
    host.kubectl("create", "configmap", "--namespace=short-lived", "content")
    # Its end takes several rounds of the namespace controller: time enough for a Deployment controller, were there one.
    host.kubectl("delete", "namespace", "short-lived", "--wait", "--timeout=50s")

    assert host.get("replicasets,pods", "--all-namespaces")["items"] == []
    assert "status" not in host.get("deployment", "web") or host.get("deployment", "web")["status"] == {}
