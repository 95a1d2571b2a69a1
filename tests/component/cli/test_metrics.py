"""What a process tells Prometheus of its hooks, and what it says where it cannot."""

import socket

import aiohttp
import pytest
from click.testing import CliRunner

from hanse.cli.failures import Failure
from hanse.cli.main import main
from hanse.cli.metrics import served_metrics
from hanse.composite.hosting.measuring import HookMetrics
from hanse.composite.hosting.opened import OpenedHooks
from hanse.composite.reading import read_controller
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import SystemRuntime
from tests.simulation.composite.stage import child, composite

WHOSE = 'cluster="east",controller_name="things",controller_type="CompositeController",url="http://hook/sync"'


class Answering:
    async def call(self, body, root):
        return {"children": []}

    async def close(self):
        return None


async def told(address):
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        return answer.headers["content-type"], (await answer.text()).splitlines()


async def test_58_calls_and_who_waits_are_told_by_the_names_that_metacontroller_gave_them():
    spec = read_controller(
        composite("things", {"sync": {"webhook": {"url": "http://user:secret@hook/sync?token=x"}}}, child(CONFIGMAPS))
    )
    metrics = HookMetrics(SystemRuntime())
    hooks = metrics.measured(OpenedHooks(sync=Answering()), spec, "east")
    uncount = metrics.count_waiting(spec, "east", lambda: 3)
    async with served_metrics(metrics.registry, ("127.0.0.1", 0)) as address:
        await hooks.sync.call({}, {})
        kind, lines = await told(address)
        uncount()
        _, later = await told(address)

    assert kind.startswith("text/plain")
    calls = WHOSE.replace('controller_name="', 'code="200",controller_name="').replace(',url="', ',method="post",url="')
    assert f"metacontroller_sync_requests_total{{{calls}}} 1.0" in lines
    assert f"metacontroller_sync_in_flight_requests{{{WHOSE}}} 0.0" in lines
    assert f"metacontroller_sync_request_duration_histogram_seconds_count{{{WHOSE}}} 1.0" in lines
    assert 'workqueue_depth{cluster="east",name="CompositeController-things"} 3.0' in lines
    assert [line for line in later if line.startswith("workqueue_depth{")] == []
    assert any(line.startswith("process_resident_memory_bytes ") for line in lines)
    assert "secret" not in "".join(lines)


async def test_nothing_is_served_where_nobody_asked_for_it_and_a_taken_port_is_a_sentence():
    metrics = HookMetrics(SystemRuntime())
    async with served_metrics(metrics.registry, None) as address:
        assert address == ""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Failure, match=f"--metrics-listen: cannot listen on 127.0.0.1:{port}: "):
            async with served_metrics(metrics.registry, ("127.0.0.1", port)):
                pass


@pytest.mark.parametrize("command", [["composite", "serve"], ["controller", "--kubeconfig", "none.yaml"]])
def test_an_address_that_is_none_is_a_misuse(command):
    found = CliRunner().invoke(main, [*command, "--metrics-listen", "everywhere"])

    assert found.exit_code == 2
    assert "--metrics-listen: 'everywhere' must be an IP address and a port" in found.output
