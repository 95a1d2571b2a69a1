"""A process in a pod finds its cluster by itself, or is told in one sentence what is missing."""

import pytest

from hanse.kube.auth.service_account import in_cluster_endpoint
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import KubeconfigError
from hanse.kube.transport import Request
from tests.component.kube.servers import Authority, MovableRuntime, serving

GET = Request("GET", "/api")


@pytest.fixture
def account(tmp_path):
    folder = tmp_path / "var/run/secrets/kubernetes.io/serviceaccount"
    folder.mkdir(parents=True)
    (folder / "token").write_text("first")
    (folder / "namespace").write_text("hanse-system")
    (folder / "ca.crt").write_bytes(Authority().certificate)
    return folder


def environment(host="10.96.0.1", port="443"):
    return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}


@pytest.mark.parametrize(
    ("host", "server"), [("10.96.0.1", "https://10.96.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_host_port_authority_and_namespace_are_found(account, tmp_path, host, server):
    endpoint = in_cluster_endpoint(environment(host), root=tmp_path)

    assert (endpoint.server, endpoint.namespace) == (server, "hanse-system")
    assert endpoint.ca == (account / "ca.crt").read_bytes()


async def test_the_token_is_shown_and_followed_when_the_kubelet_replaces_it(account, tmp_path):
    runtime = MovableRuntime()
    async with serving() as server:
        (account / "ca.crt").write_bytes(server.authority.certificate)
        host, _, port = server.url.removeprefix("https://").partition(":")
        transport = HttpTransport(in_cluster_endpoint(environment(host, port), root=tmp_path), runtime=runtime)
        await transport.send(GET, 10)
        (account / "next").write_text("second")
        (account / "next").replace(account / "token")
        runtime.moved += 15
        await transport.send(GET, 10)
        await transport.close()

    assert server.shown == ["Bearer first", "Bearer second"]


@pytest.mark.parametrize("absent", ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"])
def test_outside_a_pod_a_kubeconfig_is_asked_for(account, tmp_path, absent):
    with pytest.raises(KubeconfigError) as refusal:
        in_cluster_endpoint({**environment(), absent: ""}, root=tmp_path)

    assert str(refusal.value) == f"this process is not in a pod: {absent} is not set; give a kubeconfig instead"


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        (
            "token",
            None,
            "cannot be read: No such file or directory; does the pod's spec set automountServiceAccountToken: false?",
        ),
        ("token", "\n", "is empty"),
        ("ca.crt", "nonsense", "is not a PEM certificate"),
    ],
)
def test_a_service_account_file_that_cannot_be_used_is_named(account, tmp_path, file, content, why):
    (account / file).unlink()
    if content is not None:
        (account / file).write_text(content)

    with pytest.raises(KubeconfigError) as refusal:
        in_cluster_endpoint(environment(), root=tmp_path)

    assert str(refusal.value) == f"service account file {account / file} {why}"
