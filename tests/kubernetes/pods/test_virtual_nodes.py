"""Virtual nodes in a real cluster: its controllers leave them alone, and kubectl logs and exec reach elsewhere."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hanse.api.admiralty.keys import PARENT_UID
from hanse.api.admiralty.names import child_name
from hanse.api.clusters import Cluster
from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.manifest import dig, uid_of
from hanse.kube.resources import NODES, PODS
from hanse.kube.runtime import SystemRuntime
from hanse.pods.kubelet.kubelet import VirtualKubelet
from hanse.pods.nodes.keeper import NodeKeeper
from hanse.simulator import ClusterSettings, SimulatedCluster
from tests.kubernetes.real import MEMBER, KubectlError, RealCluster, real_clusters
from tests.kubernetes.real.components import components_folder

ADMIN = Identity("admin", ("system:masters",))
NODE = "admiralty-eu"
SPEC = {"containers": [{"name": "app", "image": "nginx:1"}]}


class Roster:
    """The one target."""

    def __init__(self, member: Member) -> None:
        self._member = member

    def attach(self, work: Any) -> None:
        return

    def subscribe(self, listener: Any) -> None:
        return

    def clusters(self) -> list[Cluster]:
        return [Cluster("eu", ready=True, version="v1.36.3", capacity={"cpu": "24", "memory": "96Gi", "pods": "330"})]

    def troubles(self) -> dict[str, str]:
        return {}

    async def wait_synced(self) -> None:
        return

    def member(self, name: str) -> Member | None:
        return self._member if name == "eu" else None


@dataclass
class Stage:
    """A real source, and a simulated target in which its pod runs."""

    cluster: RealCluster
    source: Client
    target: Client
    kubelet: tuple[str, int]

    async def kubectl(self, *arguments: str) -> str:
        return await asyncio.to_thread(self.cluster.kubectl, *arguments)

    async def node(self, holds: Any) -> Any:
        async with asyncio.timeout(120):
            while not holds(found := await self.source.find(NODES, NODE) or {"metadata": {}, "spec": {}}):
                await SystemRuntime().sleep(0.2)
        return found


@asynccontextmanager
async def target(folder: Path) -> AsyncIterator[Client]:
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(folder, runtime=runtime)
    server = await ApiServer.open(name="eu", storage=MemoryStorage(), runtime=runtime)
    inside = SimulatedCluster(
        Client(server.connect(ADMIN), runtime), ClusterSettings(name="eu", nodes=1, index=61), runtime
    )
    inside.serve_through(server)
    await server.serve(credentials=authority.serving(runtime=runtime))
    running = asyncio.create_task(inside.run())
    endpoint = Endpoint(server.url, ca=authority.certificate_pem, token=server.token_for(ADMIN))
    client = Client(HttpTransport(endpoint), runtime)
    try:
        async with asyncio.timeout(60):
            await inside.ready()
        yield client
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await client.close()
        await server.close()


@asynccontextmanager
async def stage(cluster: RealCluster, folder: Path) -> AsyncIterator[Stage]:
    source = Client(HttpTransport(Kubeconfig.load(cluster.kubeconfig).endpoint()), SystemRuntime())
    async with target(folder) as there:
        roster = Roster(Member("eu", there))
        kubelet = VirtualKubelet("source", source, roster, host="127.0.0.1", port=0)
        tasks = [asyncio.create_task(kubelet.run())]
        try:
            async with asyncio.timeout(60):
                address = await kubelet.address()
            assert address is not None
            tasks.append(asyncio.create_task(NodeKeeper(source, roster, address).run()))
            yield Stage(cluster, source, there, address)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await source.close()


async def place(here: Stage) -> None:
    """Make a placeholder on the virtual node, and the pod that runs for it."""
    metadata: dict[str, Any] = {"name": "web", "namespace": "default"}
    spec = {**SPEC, "schedulerName": "admiralty-proxy", "nodeName": NODE}
    made = await here.source.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    child = child_name("source", "default", "web")
    metadata = {"name": child, "namespace": "default", "labels": {PARENT_UID: uid_of(made)}}
    await here.target.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": SPEC})
    async with asyncio.timeout(60):
        while dig(await here.target.get(PODS, child, "default"), "status", "phase") != "Running":
            await SystemRuntime().sleep(0.1)


def answer_of(address: tuple[str, int], trust: Path) -> int:
    """Ask the kubelet without showing who asks, and check its certificate."""
    context = ssl.create_default_context(cafile=str(trust))
    try:
        with urllib.request.urlopen(
            f"https://{address[0]}:{address[1]}/containerLogs/default/web/app", timeout=10, context=context
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def is_settled(node: Any) -> bool:
    """Tell whether a node is ready, and all that its registration brought about has been lifted."""
    return is_true(dig(node, "status", "conditions"), "Ready") and len(node["spec"].get("taints") or ()) == 1


async def check_node(here: Stage) -> None:
    node = await here.node(is_settled)
    assert node["status"]["capacity"] == {"cpu": "24", "memory": "96Gi", "pods": "330"}
    assert node["status"]["declaredFeatures"] == ["ExtendWebSocketsToKubelet"]
    await here.kubectl("label", "node", NODE, "price=low")
    await here.kubectl("cordon", NODE)
    await here.node(lambda obj: len(obj["spec"].get("taints") or ()) == 2)
    await here.kubectl("uncordon", NODE)
    assert (await here.node(is_settled))["metadata"]["labels"]["price"] == "low"
    await here.kubectl("delete", "node", NODE)
    again = await here.node(lambda obj: is_settled(obj) and uid_of(obj) != uid_of(node))
    assert again["metadata"]["labels"]["virtual-kubelet.io/provider"] == "admiralty"


async def check_signature(here: Stage) -> None:
    """The certificate is signed by the cluster, and who shows none is refused."""
    trust = here.cluster.folder / "ca.crt"
    async with asyncio.timeout(120):
        while True:
            try:
                code = await asyncio.to_thread(answer_of, here.kubelet, trust)
                break
            except urllib.error.URLError:
                await SystemRuntime().sleep(0.2)
    assert code == 401


async def check_streams(here: Stage) -> None:
    log = await here.kubectl("logs", "web")
    assert "started nginx:1 on node eu-node-1 of cluster eu" in log
    assert await here.kubectl("logs", "web", "--tail=0") == ""
    assert (await here.kubectl("logs", "web", "--tail=1", "--timestamps")).count("\n") == 1
    assert await here.kubectl("exec", "web", "--", "echo", "hello", "there") == "hello there\n"
    assert await here.kubectl("exec", "web", "--", "hostname") == f"{child_name('source', 'default', 'web')}\n"
    with pytest.raises(KubectlError, match="exit code 3"):
        await here.kubectl("exec", "web", "--", "sh", "-c", "exit 3")


async def check_spdy(here: Stage) -> None:
    """What older clients and API servers speak is led to the target as it is; this one answers that it does not."""
    kubectl = [
        str(components_folder() / "kubectl"),
        f"--kubeconfig={here.cluster.kubeconfig}",
        "exec",
        "web",
        "--",
        "ls",
    ]
    spdy = {"HOME": str(here.cluster.folder), "PATH": "/usr/bin:/bin", "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"}
    done = await asyncio.to_thread(
        subprocess.run, kubectl, env=spdy, capture_output=True, text=True, timeout=60, check=False
    )
    assert "SPDY is not spoken here" in done.stderr


async def check_daemons(here: Stage) -> None:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": SPEC}
    spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
    daemons = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": spec}
    await asyncio.to_thread(here.cluster.kubectl, "apply", "-f", "-", input=json.dumps(daemons))
    await here.kubectl("wait", "daemonset/d", "--for=jsonpath={.status.observedGeneration}=1", "--timeout=60s")
    found = json.loads(await here.kubectl("get", "daemonset", "d", "--output=json"))
    assert found["status"]["desiredNumberScheduled"] == 0


async def check_lost_child(here: Stage) -> None:
    child = child_name("source", "default", "web")
    await here.target.delete(PODS, child, "default", grace_seconds=0)
    with pytest.raises(KubectlError, match="pod default/web has no pod in the cluster of target eu"):
        await here.kubectl("logs", "web")
    with pytest.raises(KubectlError, match="has no pod in the cluster of target eu"):
        await here.kubectl("exec", "web", "--", "true")


async def test_kubectl_reaches_a_pod_that_runs_elsewhere_over_a_virtual_node(tmp_path: Path) -> None:
    with real_clusters({"source": MEMBER}) as clusters:
        async with stage(clusters["source"], tmp_path) as here:
            await check_node(here)
            await check_signature(here)
            await place(here)
            await check_streams(here)
            await check_spdy(here)
            await check_daemons(here)
            await check_lost_child(here)
