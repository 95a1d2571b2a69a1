"""An entrance of a federation behind a real HAProxy: requests follow what the host says of the clusters."""

import asyncio
import os
import shutil

import pytest

from hanse.api.global_ingresses import GLOBAL_INGRESSES
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.control_plane import prepare_host
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.services.balancing.follower import BalancerFollower
from hanse.services.balancing.haproxy.configuration import Terms
from hanse.services.balancing.haproxy.driver import HaproxyBalancer
from hanse.services.balancing.haproxy.process import HaproxyProcess
from hanse.services.ingress.entrance import Behind, Entrance, Reach, entrance_manifest, told_status
from hanse.services.ingress.manifest import Backend, Rule
from tests.kubernetes.real.ports import free_port
from tests.kubernetes.services.balanced import PATIENCE_SECONDS, Clients, LoopbackClusters, end_haproxies

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.skipif(
        shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None,
        reason="haproxy is not installed",
    ),
]


async def test_requests_for_a_host_follow_its_services_and_none_is_lost(tmp_path):
    runtime, clusters, clients = SystemRuntime(), LoopbackClusters(), Clients(free_port())
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    await prepare_host(host)
    await clusters.open("a", "b")
    behind = tuple(Behind(name, (clusters.address(name),)) for name in "ab")
    entrance = Entrance(
        Key("default", "front"),
        "web",
        behind,
        (Rule("shop.example.com", "/", Backend("web", "80")), Rule("shop.example.com", "/api", Backend("api", "80"))),
        reach=Reach(listen=clients.port, cluster_port=clusters.port),
    )
    balancer = HaproxyBalancer(HaproxyProcess(tmp_path, runtime), Terms(check_seconds=0.2), runtime)
    following = asyncio.create_task(BalancerFollower(host, balancer).run())

    async def lacking(**missing):
        present = await host.get(GLOBAL_INGRESSES, "front", "default")
        told = [Behind(each.cluster, each.addresses, missing.get(each.cluster, ())) for each in behind]
        await host.update(GLOBAL_INGRESSES, {**present, "status": told_status(told)}, subresource="status")

    try:
        await host.create(GLOBAL_INGRESSES, entrance_manifest(entrance))
        await _listening(clients.port)
        clients.request_each_time(4)
        await clients.settled("a", "b")
        await lacking(a=("api",))
        await clients.settled("b")
        await lacking(b=("web",))
        await clients.settled("a")
        await lacking(a=("web",), b=("api",))
        await clients.settled("a", "b")
    finally:
        await clients.stop()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        end_haproxies(tmp_path)
        clusters.close()
        await server.close()

    assert clients.errors == []


async def _listening(port):
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return
