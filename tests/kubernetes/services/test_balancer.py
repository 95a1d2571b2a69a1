"""A real HAProxy under a steady load of real connections: whatever is changed, nobody notices."""

import asyncio
import os
import shutil
import signal
import socket

import pytest

from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.services.balancing.haproxy.configuration import Terms
from hanse.services.balancing.haproxy.driver import HaproxyBalancer
from hanse.services.balancing.haproxy.process import HaproxyProcess
from hanse.services.balancing.lines import Line, Target
from hanse.services.balancing.wishes import Mode
from tests.kubernetes.real.ports import free_port
from tests.kubernetes.services.balanced import (
    PATIENCE_SECONDS,
    Clients,
    Conversation,
    LoopbackClusters,
    end_haproxies,
    haproxies,
)

pytestmark = pytest.mark.skipif(
    shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None, reason="haproxy is not installed"
)
# A round trip on loopback, so that a check that fails was not merely late.
TERMS = Terms(check_seconds=0.2)


def balancer_in(folder):
    runtime = SystemRuntime()
    return HaproxyBalancer(HaproxyProcess(folder, runtime), TERMS, runtime)


@pytest.fixture
def balancer(tmp_path):
    yield balancer_in(tmp_path)
    end_haproxies(tmp_path)


@pytest.fixture
async def clusters():
    opened = LoopbackClusters()
    await opened.open("a", "b", "c")
    yield opened
    opened.close()


@pytest.fixture
async def clients():
    asking = Clients(free_port())
    yield asking
    await asking.stop()


async def test_connections_survive_every_change_and_new_ones_follow_it(balancer, clusters, clients, tmp_path):
    def line(**weights):
        return clusters.line(weights, listen=clients.port)

    await balancer.apply([line(a=256)])
    (process,) = haproxies(tmp_path)
    clients.connect_each_time(8)
    await clients.settled("a")
    long = await Conversation.open(clients.port)

    await balancer.apply([line(a=256, b=256)])
    await clients.settled("a", "b")
    await balancer.apply([line(a=64, b=256)])
    await clients.until(lambda served: served.total() >= 300, "the load goes on")
    await balancer.apply([line(a=0, b=256)])
    await clients.settled("b")
    assert await long.ask() == "a", "a drained cluster keeps the connections that it has"
    assert haproxies(tmp_path) == [process], "none of this needs another process"

    other = clusters.line({"c": 256}, listen=free_port(), name="other")
    await balancer.apply([line(a=0, b=256), other])
    assert await (await Conversation.open(other.listen)).ask() == "c"
    await clients.settled("b")
    assert await long.ask() == "a", "a process that was replaced keeps the connections that it has"
    await balancer.apply([line(b=256, c=256), other])
    await clients.settled("b", "c")
    assert await long.ask() == "a", "a cluster that was removed keeps the connections that it has"
    await balancer.apply([line(a=256, c=256)])
    await clients.settled("a", "c")
    long.close()

    assert clients.errors == []


async def test_weights_divide_new_connections(balancer, clusters, clients):
    await balancer.apply([clusters.line({"a": 256, "b": 64}, listen=clients.port)])
    clients.connect_each_time(4)
    await clients.until(lambda served: served.total() >= 500, "the load goes on")

    assert 0.15 < clients.served["b"] / clients.served.total() < 0.25
    assert clients.errors == []


async def test_requests_of_http_survive_every_change(balancer, clusters, clients):
    def line(**weights):
        return clusters.line(weights, listen=clients.port, mode=Mode.HTTP)

    await balancer.apply([line(a=256)])
    clients.request_each_time(8)
    await clients.settled("a")
    await balancer.apply([line(a=256, b=256)])
    await clients.settled("a", "b")
    await balancer.apply([line(a=0, b=256)])
    await clients.settled("b")
    for turn in range(3):
        more = [clusters.line({"c": 256}, listen=free_port(), name=f"other{index}") for index in range(turn)]
        await balancer.apply([line(b=256, c=256), *more])
        await clients.settled("b", "c")
    await balancer.apply([line(c=256)])
    await clients.settled("c")

    assert clients.errors == []


async def test_a_cluster_that_dies_costs_no_new_connection(balancer, clusters, clients):
    await balancer.apply([clusters.line({"a": 256, "b": 256}, listen=clients.port, mode=Mode.HTTP)])
    clients.request_each_time(8)
    await clients.settled("a", "b")
    clusters.close("a")
    await clients.settled("b")

    assert clients.errors == [], "requests that only read are asked again elsewhere"


async def test_haproxy_is_started_again_at_once_as_it_was(balancer, clusters, clients, tmp_path):
    await balancer.apply([clusters.line({"a": 256, "b": 256}, listen=clients.port)])
    keeping = asyncio.create_task(balancer.run())
    await balancer.apply([clusters.line({"a": 0, "b": 256}, listen=clients.port)])
    clients.connect_each_time(4)
    await clients.settled("b")
    (killed,) = haproxies(tmp_path)
    os.kill(killed, signal.SIGKILL)
    await asyncio.wait_for(HaproxyProcess(tmp_path, SystemRuntime()).ended(killed), PATIENCE_SECONDS)
    await clients.settled("b")
    before = len(clients.errors)
    await clients.settled("b")
    keeping.cancel()

    assert len(clients.errors) == before
    assert not clients.served["a"]


async def test_who_comes_after_a_killed_hanse_takes_over_the_running_haproxy(balancer, clusters, clients, tmp_path):
    first = clusters.line({"a": 256}, listen=clients.port)
    await balancer.apply([first])
    clients.connect_each_time(4)
    await clients.settled("a")
    process = haproxies(tmp_path)

    await balancer_in(tmp_path).apply([first])
    await balancer_in(tmp_path).apply([clusters.line({"a": 0, "b": 256}, listen=clients.port)])
    await clients.settled("b")

    assert haproxies(tmp_path) == process
    assert clients.errors == []


async def test_without_a_word_from_the_host_haproxy_comes_back_as_it_was_left(balancer, clusters, clients, tmp_path):
    await balancer.apply([clusters.line({"a": 256}, listen=clients.port)])
    end_haproxies(tmp_path)
    keeping = asyncio.create_task(balancer_in(tmp_path).run())
    clients.connect_each_time(2)
    await clients.settled("a")
    keeping.cancel()

    assert len(haproxies(tmp_path)) == 1


async def test_a_port_of_somebody_else_is_told_and_holds_up_nobody(balancer, clusters, clients):
    mine = clusters.line({"a": 256}, listen=clients.port)
    await balancer.apply([mine])
    clients.connect_each_time(8)
    await clients.settled("a")
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        taken = clusters.line({"b": 256}, listen=stranger.getsockname()[1], name="taken")
        troubles = await balancer.apply([mine, taken])
        await clients.settled("a")

    assert [trouble.service.name for trouble in troubles] == ["taken"]
    assert f"port {taken.listen}: address already in use" in troubles[0].why
    assert clients.errors == []
    assert await balancer.apply([mine, taken]) == [], "it is opened once it is free"
    assert await (await Conversation.open(taken.listen)).ask() == "b"


async def test_a_process_that_was_not_told_to_finish_is_told_by_the_next(balancer, clusters, clients, tmp_path):
    """Hanse was killed after the start of a new process and before its word to the old one."""
    process = HaproxyProcess(tmp_path, SystemRuntime())
    port = free_port()
    await balancer.apply([clusters.line({"a": 256}, listen=port)])
    old = await process.observe()
    text = (tmp_path / "haproxy.cfg").read_text().replace(str(old.socket), str(process.free_socket(old)))
    await process.start(text.replace(f":{port}", f":{free_port()}"))
    assert len(haproxies(tmp_path)) == 2

    await balancer.apply([clusters.line({"b": 256}, listen=clients.port)])
    await asyncio.wait_for(process.ended(old.pid), PATIENCE_SECONDS)
    clients.connect_each_time(2)
    await clients.settled("b")

    assert clients.errors == []


async def test_servers_may_have_addresses_of_ipv6(balancer, tmp_path):
    def line(*addresses):
        return Line(Key("shop", "web"), 80, port, targets=tuple(Target("a", each, 80, 256) for each in addresses))

    port = free_port()
    await balancer.apply([line("2001:db8::1")])
    await balancer.apply([line("2001:db8::1", "2001:db8::2")])
    running = await HaproxyProcess(tmp_path, SystemRuntime()).observe()

    assert [slot.address for slot in running.slots["shop.web.80"] if slot.open] == ["2001:db8::1", "2001:db8::2"]
    assert len(haproxies(tmp_path)) == 1
