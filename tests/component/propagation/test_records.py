"""Records beside sources, on an API server in memory."""

import pytest

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.propagation.intent import Ref
from hanse.propagation.records import Record, Records
from tests.simulation.world import Wire, config, deployment

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
SOURCE = Ref(DEPLOYMENTS, Key("default", "web"))
UNKNOWN = Resource("nobody.example.com", "v1", "things", "Thing")


@pytest.fixture
async def host():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    yield Client(Wire(server.connect(Identity("admin", ("system:masters",))), runtime), runtime)
    await server.close()


async def test_a_record_is_made_changed_and_then_left_alone(host):
    records, writes = Records(host), host.transport.writes
    await records.keep(SOURCE, [Record(CONFIGMAPS, config(a="1"))])
    assert (await host.get(CONFIGMAPS, "settings", "default"))["data"] == {"a": "1"}
    await records.keep(SOURCE, [Record(CONFIGMAPS, config(a="2"))])
    assert (await host.get(CONFIGMAPS, "settings", "default"))["data"] == {"a": "2"}
    del writes[:]
    await records.keep(SOURCE, [Record(CONFIGMAPS, config(a="2"))])
    await Records(host).keep(SOURCE, [Record(CONFIGMAPS, config(a="2"))])
    assert writes == []


async def test_a_record_that_somebody_deletes_comes_back_with_the_next_change(host):
    """Line 61 of KubeFed's checklist."""
    records = Records(host)
    await records.keep(SOURCE, [Record(CONFIGMAPS, config(a="1"))])
    await host.delete(CONFIGMAPS, "settings", "default")
    await records.keep(SOURCE, [Record(CONFIGMAPS, config(a="1"))])
    assert await host.find(CONFIGMAPS, "settings", "default") is None
    await records.keep(SOURCE, [Record(CONFIGMAPS, config(a="2"))])
    assert await host.find(CONFIGMAPS, "settings", "default") is not None


async def test_a_status_is_written_where_the_object_is_and_nowhere_else(host):
    records = Records(host)
    told = Record(DEPLOYMENTS, {**deployment(), "status": {"replicas": 7}}, create=False)
    await records.keep(SOURCE, [told])
    assert await host.find(DEPLOYMENTS, "web", "default") is None
    await host.create(DEPLOYMENTS, deployment())
    records.forget(SOURCE)
    await records.keep(SOURCE, [Record(DEPLOYMENTS, {"metadata": told.obj["metadata"], "status": {"replicas": 7}})])
    assert (await host.get(DEPLOYMENTS, "web", "default"))["status"]["replicas"] == 7


async def test_a_kind_that_the_host_does_not_serve_is_done_without(host):
    thing = {"apiVersion": "nobody.example.com/v1", "kind": "Thing", "metadata": {"name": "x", "namespace": "default"}}
    await Records(host).keep(SOURCE, [Record(UNKNOWN, thing)])
    assert host.transport.writes == [("POST", UNKNOWN.path("default"))]
