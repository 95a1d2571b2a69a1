"""`hanse balancer run` as a process: killed and started again in front of clients that never stop asking."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.cli.main import main
from hanse.kube.manifest import Key
from hanse.kube.resources import SERVICES
from hanse.services.addresses import addresses_manifest
from hanse.services.presence import FederatedService, Port, Presence
from tests.component.served_federation import HOST, ServedFederation
from tests.kubernetes.real.ports import free_port
from tests.kubernetes.services.balanced import Clients, LoopbackClusters, end_haproxies, haproxies

pytestmark = pytest.mark.skipif(
    shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None, reason="haproxy is not installed"
)


class Federation:
    """A host whose one Service asks to be balanced, and the balancer beside it."""

    def __init__(self, folder, clusters, listen):
        self.folder = folder / "b"
        self._clusters = clusters
        self._served = ServedFederation(folder)
        wish = json.dumps({"listen": {str(clusters.port): listen}})
        ports = [{"port": clusters.port, "protocol": "TCP"}]
        metadata = {"name": "web", "namespace": "default", "annotations": {"hanse.dev/balancer": wish}}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}
        self._served.ask(self._served.host.create(SERVICES, service))
        self._log = (folder / "balancer.log").open("ab")
        self._process = None

    def serve(self, *clusters):
        """Say in which clusters the Service serves, as the control plane does."""
        presences = tuple(Presence(each, (self._clusters.address(each),)) for each in clusters)
        service = FederatedService(Key("default", "web"), (Port("", "TCP", self._clusters.port),), presences)
        self._served.ask(self._served.host.apply(SERVICE_ADDRESSES, addresses_manifest(service)))

    def start(self):
        command = [sys.executable, "-m", "hanse", "balancer", "run", "--kubeconfig", str(self._served.config)]
        command += ["--context", HOST, "--folder", str(self.folder)]
        self._process = subprocess.Popen(command, stderr=self._log)

    def end(self, number):
        self._process.send_signal(number)
        return self._process.wait(timeout=60)

    def type(self, *words):
        return CliRunner().invoke(main, ["balancer", *words, "--folder", str(self.folder)])

    def close(self):
        if self._process is not None and self._process.poll() is None:
            self.end(signal.SIGKILL)
        self._served.close()
        self._log.close()


@pytest.fixture
async def clusters():
    opened = LoopbackClusters()
    await opened.open("a", "b")
    yield opened
    opened.close()


@pytest.fixture
async def clients():
    asking = Clients(free_port())
    yield asking
    await asking.stop()


@pytest.fixture
def federation(tmp_path, clusters, clients):
    made = Federation(tmp_path, clusters, clients.port)
    yield made
    made.close()
    end_haproxies(made.folder)


async def test_haproxy_outlives_hanse_and_hanse_finds_it_again(federation, clients):
    in_thread = asyncio.to_thread
    await in_thread(federation.serve, "a")
    federation.start()
    clients.connect_each_time(4)
    await clients.settled("a")
    clients.errors.clear()
    process = haproxies(federation.folder)

    await in_thread(federation.end, signal.SIGKILL)
    await clients.settled("a")
    await in_thread(federation.serve, "b")
    federation.start()
    await clients.settled("b")
    shown = json.loads((await in_thread(federation.type, "status", "-o", "json")).stdout)
    assert await in_thread(federation.end, signal.SIGTERM) == 0
    await clients.settled("b")

    assert haproxies(federation.folder) == process
    assert clients.errors == []
    assert shown["running"]
    assert [(each["cluster"], each["state"], each["listen"]) for each in shown["servers"]] == [
        ("b", "Up", clients.port)
    ]
    assert shown["servers"][0]["total"] >= 50
    assert (await in_thread(federation.type, "stop")).exit_code == 0
