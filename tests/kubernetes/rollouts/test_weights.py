"""A real HAProxy before two releases of one application: requests follow the weights of their TrafficTargets."""

import os
import shutil

import pytest

from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.rollouts.weights.mixing import mix
from hanse.rollouts.weights.shares import Name, Share
from hanse.services.addresses import parse_addresses
from hanse.services.balancing.haproxy.configuration import Terms
from hanse.services.balancing.haproxy.driver import HaproxyBalancer
from hanse.services.balancing.haproxy.process import HaproxyProcess
from hanse.services.balancing.lines import Asking, draw_lines
from tests.kubernetes.real.ports import free_port
from tests.kubernetes.services.balanced import Clients, Conversation, LoopbackClusters, end_haproxies

pytestmark = pytest.mark.skipif(
    shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None, reason="haproxy is not installed"
)
WEB = Key("shop", "web")


@pytest.fixture
async def releases():
    """Two releases, a and b, that answer with their names."""
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
def balancer(tmp_path):
    runtime = SystemRuntime()
    yield HaproxyBalancer(HaproxyProcess(tmp_path, runtime), Terms(check_seconds=0.2), runtime)
    end_haproxies(tmp_path)


def lines(releases, clients, **weights):
    """What a balancer is told of one cluster in which both releases have an address."""

    def share(release, weight):
        entry = {"name": "eu", "addresses": [releases.address(release)], "backends": 3, "serving": True}
        ports = [{"name": "web", "protocol": "TCP", "port": releases.port}]
        return Share(release, {"eu": weight}, {"ttlSeconds": 60, "ports": ports, "clusters": [entry]})

    spec = mix([share(release, weight) for release, weight in weights.items()], Name(WEB), None)
    service = parse_addresses({"metadata": {"name": WEB.name, "namespace": WEB.namespace}, "spec": spec})
    return draw_lines([Asking(service, f'{{"listen": {{"web": {clients.port}}}}}')]).lines


async def test_connections_are_shared_by_the_weights_of_the_releases(balancer, releases, clients):
    await balancer.apply(lines(releases, clients, a=90, b=10))
    clients.connect_each_time(4)
    await clients.settled("a", "b")
    await clients.until(lambda served: served.total() >= 600, "the load goes on")
    assert 0.06 < clients.served["b"] / clients.served.total() < 0.15

    long = await Conversation.open(clients.port)
    first = await long.ask()
    await balancer.apply(lines(releases, clients, a=0, b=100))
    await clients.settled("b")
    assert await long.ask() == first, "a release without weight keeps the connections that it has"
    long.close()
    await balancer.apply(lines(releases, clients, a=100, b=0))
    await clients.settled("a")
    assert clients.errors == []
