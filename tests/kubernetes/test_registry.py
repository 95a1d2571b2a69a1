"""The registry on real API servers with RBAC on: joining, health, new tokens, leaving; told within the stated time."""

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml

from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.http import HttpTransport
from tests.kubernetes.proxy import Proxy, proxy_to
from tests.kubernetes.real import HOST, MEMBER, RealCluster, real_clusters, wait_until

kubernetes = pytest.importorskip("kubernetes", reason="the group `clients` is not installed: make test-kubernetes does")

# The registry promises ten seconds, which is held to the letter on virtual time; here the machine may be busy.
PATIENCE_SECONDS = 120.0

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "web:1"}]},
        },
    },
}


class Federation:
    """A real host with its control plane, and a real member that has not joined."""

    def __init__(self, host: RealCluster, member: RealCluster) -> None:
        self.host = host
        self.member = member

    async def hanse(self, *arguments: str) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hanse", *arguments, f"--host-kubeconfig={self.host.kubeconfig}"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        return process.returncode or 0, output.decode()

    async def done(self, *arguments: str) -> str:
        code, output = await self.hanse(*arguments)
        assert code == 0, output
        return output

    async def join(self) -> str:
        return await self.done("join", "east", f"--kubeconfig={self.member.kubeconfig}", "--wait=60")

    async def condition(self, kind: str) -> dict[str, str]:
        cluster = await asyncio.to_thread(self.host.get, "cluster", "east")
        found = [each for each in cluster.get("status", {}).get("conditions", []) if each["type"] == kind]
        return found[0] if found else {"status": "", "reason": ""}

    async def until_condition(self, kind: str, status: str, reason: str) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                found = await self.condition(kind)
                if (found["status"], found["reason"]) == (status, reason):
                    return
                await asyncio.sleep(0.1)

    async def until_image(self, image: str) -> None:
        await asyncio.to_thread(
            wait_until, lambda: _image(self.member) == image, seconds=60, what=f"the member runs {image}"
        )

    async def address(self, *servers: str) -> None:
        endpoints = [{"clientCIDR": "0.0.0.0/0", "serverAddress": server} for server in servers]
        patch = {"spec": {"kubernetesApiEndpoints": {"serverEndpoints": endpoints}}}
        await asyncio.to_thread(
            self.host.kubectl, "patch", "cluster", "east", "--type=merge", f"--patch={json.dumps(patch)}"
        )

    @asynccontextmanager
    async def behind_a_proxy(self, *, beside: tuple[str, ...] = ()) -> AsyncIterator[Proxy]:
        """Let the control plane reach the member through a network that can be broken."""
        async with proxy_to(self.member.server) as proxy:
            await self.address(proxy.url, *beside)
            await self.until_condition("Ready", "True", "ClusterReady")
            await asyncio.to_thread(wait_until, lambda: proxy.connections > 0, seconds=60, what="the proxy is used")
            try:
                yield proxy
            finally:
                await self.address(self.member.server)
                await self.until_condition("Ready", "True", "ClusterReady")


@pytest.fixture(scope="module")
def federation() -> Iterator[Federation]:
    with real_clusters({"federation": HOST, "east": MEMBER}) as clusters:
        host, member = clusters["federation"], clusters["east"]
        host.run("controller", [sys.executable, "-m", "hanse", "controller", f"--kubeconfig={host.kubeconfig}"])
        wait_until(lambda: _leads(host), seconds=60, what="the control plane leads")
        yield Federation(host, member)


@pytest.fixture
async def joined(federation: Federation) -> Federation:
    federation.host.kubectl("apply", "--filename=-", input=json.dumps(DEPLOYMENT))
    if not federation.host.get("clusters")["items"]:
        await federation.join()
    await federation.until_image("web:1")
    return federation


def _leads(host: RealCluster) -> bool:
    leases = host.get("leases", "--namespace=hanse-system")["items"]
    return any(lease["spec"].get("holderIdentity") for lease in leases)


def _kubeconfig(host: RealCluster) -> str:
    secret = host.get("secret", "cluster-east", "--namespace=hanse-system")
    return base64.b64decode(secret["data"]["kubeconfig"]).decode()


def _token(host: RealCluster) -> str:
    return str(yaml.safe_load(_kubeconfig(host))["users"][0]["user"]["token"])


async def _may(client: Client, attributes: dict[str, str]) -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.create(await client.resource_of(review), review)
    return bool(answer["status"]["allowed"])


async def test_a_joined_cluster_is_ready_and_its_object_holds_no_credentials(federation: Federation) -> None:
    if federation.host.get("clusters")["items"]:
        await federation.done("unjoin", "east", "--delete")

    told = await federation.join()

    cluster = federation.host.get("cluster", "east")
    assert told == "cluster east joined\n"
    assert [(each["type"], each["status"]) for each in cluster["status"]["conditions"]] == [
        ("Joined", "True"),
        ("Ready", "True"),
        ("Offline", "False"),
    ]
    assert cluster["status"]["version"].startswith("v1.")
    assert _token(federation.host) not in json.dumps(cluster)
    assert cluster["spec"]["authInfo"]["controller"] == {
        "kind": "Secret",
        "name": "cluster-east",
        "namespace": "hanse-system",
    }


async def test_a_tool_that_knows_only_the_cluster_registry_reads_and_watches_it(joined: Federation) -> None:
    def read() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        configuration = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(str(joined.host.kubeconfig), client_configuration=configuration)
        with kubernetes.client.ApiClient(configuration) as api:
            registry = kubernetes.client.CustomObjectsApi(api)
            listed: Any = registry.list_cluster_custom_object("clusterregistry.k8s.io", "v1alpha1", "clusters")
            watch = kubernetes.watch.Watch()
            events: list[dict[str, Any]] = []
            for event in watch.stream(
                registry.list_cluster_custom_object,
                "clusterregistry.k8s.io",
                "v1alpha1",
                "clusters",
                resource_version=listed["metadata"]["resourceVersion"],
                timeout_seconds=60,
            ):
                events.append(dict(event))
                watch.stop()
            return listed["items"], events

    reading = asyncio.create_task(asyncio.to_thread(read))
    label = 0
    while not reading.done():
        label += 1
        await asyncio.to_thread(joined.host.kubectl, "label", "cluster", "east", f"turn=n{label}", "--overwrite")
    (cluster,), events = await reading

    endpoint = cluster["spec"]["kubernetesApiEndpoints"]["serverEndpoints"][0]
    assert endpoint == {"clientCIDR": "0.0.0.0/0", "serverAddress": joined.member.server}
    assert base64.b64decode(cluster["spec"]["kubernetesApiEndpoints"]["caBundle"]).startswith(b"-----BEGIN")
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [("MODIFIED", "east")]


RBAC = {"group": "rbac.authorization.k8s.io"}
TOKENS = {"verb": "create", "resource": "serviceaccounts", "subresource": "token"}

ALLOWED: tuple[dict[str, str], ...] = (
    {"verb": "create", "resource": "namespaces"},
    {"verb": "patch", "group": "apps", "resource": "deployments", "namespace": "shop"},
    {"verb": "list", "resource": "nodes"},
    {"verb": "list", "resource": "pods"},
    {**TOKENS, "namespace": "hanse-system", "name": "hanse-east"},
    {"verb": "delete", "resource": "clusterroles", "name": "hanse:east", **RBAC},
)
FORBIDDEN: tuple[dict[str, str], ...] = (
    {"verb": "*", "group": "*", "resource": "*"},
    {"verb": "create", "resource": "pods"},
    {"verb": "create", "resource": "pods", "subresource": "exec"},
    {"verb": "delete", "resource": "nodes"},
    {"verb": "patch", "resource": "nodes"},
    {**TOKENS, "namespace": "kube-system", "name": "namespace-controller"},
    {**TOKENS, "namespace": "hanse-system"},
    {"verb": "create", "resource": "rolebindings", **RBAC},
    {"verb": "create", "resource": "clusterrolebindings", **RBAC},
    {"verb": "patch", "resource": "clusterroles", "name": "hanse:east", **RBAC},
    {"verb": "delete", "resource": "clusterroles", "name": "admin", **RBAC},
    {"verb": "escalate", "resource": "clusterroles", **RBAC},
    {"verb": "bind", "resource": "clusterroles", **RBAC},
    {"verb": "impersonate", "resource": "users"},
    {"verb": "create", "group": "certificates.k8s.io", "resource": "certificatesigningrequests"},
    {"verb": "create", "group": "apiextensions.k8s.io", "resource": "customresourcedefinitions"},
    {"verb": "create", "group": "admissionregistration.k8s.io", "resource": "validatingwebhookconfigurations"},
)


async def test_the_service_account_may_do_what_federation_needs_and_no_more(joined: Federation) -> None:
    endpoint = Kubeconfig.parse(_kubeconfig(joined.host)).endpoint()
    client = Client(HttpTransport(endpoint), SystemRuntime(), timeout=20.0)
    try:
        missing = [asked for asked in ALLOWED if not await _may(client, asked)]
        too_much = [asked for asked in FORBIDDEN if await _may(client, asked)]
    finally:
        await client.close()

    assert (missing, too_much) == ([], [])


async def test_what_it_may_do_is_enough_and_a_new_token_is_taken_up_without_a_restart(joined: Federation) -> None:
    before = _token(joined.host)

    told = await joined.done("join", "east", "--rotate")
    joined.host.kubectl("set", "image", "deployment/web", "main=web:2")
    await joined.until_image("web:2")

    assert told == "cluster east has a new token\n"
    assert _token(joined.host) != before
    assert (await joined.condition("Ready"))["status"] == "True"


def _image(member: RealCluster) -> str:
    found = member.get("deployments", "--namespace=default")["items"]
    return str(found[0]["spec"]["template"]["spec"]["containers"][0]["image"]) if found else ""


async def test_a_member_that_hangs_or_dies_is_offline_for_that_reason_and_its_return_is_shown(
    joined: Federation,
) -> None:
    async with joined.behind_a_proxy() as proxy:
        proxy.swallow()
        await joined.until_condition("Offline", "True", "ClusterNotResponding")
        proxy.refuse()
        await joined.until_condition("Offline", "True", "ClusterNotReachable")
        proxy.clear()
        await joined.until_condition("Ready", "True", "ClusterReady")

    assert (await joined.condition("Offline"))["status"] == "False"


async def test_a_member_with_a_second_address_outlives_the_loss_of_the_first(joined: Federation) -> None:
    async with joined.behind_a_proxy(beside=(joined.member.server,)) as proxy:
        proxy.refuse()
        await asyncio.to_thread(joined.host.kubectl, "set", "image", "deployment/web", "main=web:3")
        await joined.until_image("web:3")
        found = await joined.condition("Ready")

    assert (found["status"], found["reason"]) == ("True", "ClusterReady")


async def test_a_member_that_rejects_our_credentials_says_so_and_new_ones_heal_it(joined: Federation) -> None:
    good = _kubeconfig(joined.host)
    forged = good.replace(_token(joined.host), "forged")
    await _write_kubeconfig(joined.host, forged)
    await joined.until_condition("Ready", "False", "CredentialsRejected")
    rejected = await joined.condition("Joined")
    await _write_kubeconfig(joined.host, good)
    await joined.until_condition("Ready", "True", "ClusterReady")

    assert (rejected["status"], rejected["reason"]) == ("False", "CredentialsRejected")
    assert "forged" not in rejected["message"]
    assert (await joined.condition("Joined"))["status"] == "True"


async def _write_kubeconfig(host: RealCluster, text: str) -> None:
    patch = json.dumps({"data": {"kubeconfig": base64.b64encode(text.encode()).decode()}})
    arguments = ("patch", "secret", "cluster-east", "--namespace=hanse-system", f"--patch={patch}")
    await asyncio.to_thread(host.kubectl, *arguments)


async def test_a_server_with_another_authority_is_not_spoken_to(joined: Federation) -> None:
    await joined.address(joined.host.server)
    await joined.until_condition("Offline", "True", "CertificateNotTrusted")
    told = (await joined.condition("Ready"))["message"]
    await joined.address(joined.member.server)
    await joined.until_condition("Ready", "True", "ClusterReady")

    assert "its certificate is not signed by the authority in" in told


async def test_nobody_leaves_by_surprise_and_a_cluster_that_has_left_is_clean(joined: Federation) -> None:
    refusal = await joined.hanse("unjoin", "east")
    rehearsal = await joined.done("unjoin", "east", "--delete", "--dry-run")
    present = joined.host.get("clusters")["items"]

    told = await joined.done("unjoin", "east", "--delete")

    sentence = (
        "error: cluster east has 1 (1 deployments.apps) copies of federated objects: "
        "say --keep to leave them there or --delete to remove them\n"
    )
    assert refusal == (1, sentence)
    assert rehearsal.splitlines() == [
        "delete deployments.apps/default/web in cluster east",
        "delete clusterrole hanse:east in cluster east, and all that it owns there",
        "delete cluster east and its credentials in the federation",
    ]
    assert len(present) == 1
    assert told == "cluster east has left the federation\n"
    assert joined.host.get("clusters")["items"] == []
    assert joined.host.get("secrets", "--namespace=hanse-system")["items"] == []
    assert _image(joined.member) == ""
    left = joined.member.get("clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts", "--all-namespaces")
    assert [each["metadata"]["name"] for each in left["items"] if "hanse" in each["metadata"]["name"]] == []
    await asyncio.to_thread(
        wait_until, lambda: _no_room(joined.member), seconds=60, what="Hanse's namespace is gone from the member"
    )


def _no_room(member: RealCluster) -> bool:
    return all(each["metadata"]["name"] != "hanse-system" for each in member.get("namespaces")["items"])
