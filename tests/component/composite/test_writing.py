"""What hooks return, written to the embedded API server: once, and then never again."""

import pytest
import pytest_asyncio

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.runtime import SystemRuntime
from tests.behaviour.composite_writing import CHILDREN, differences_after_applying, differences_after_merging

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster():
    runtime = SystemRuntime()
    server = await ApiServer.open(name="cluster", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    yield client
    await client.close()
    await server.close()


@pytest.mark.parametrize("child", CHILDREN.values(), ids=list(CHILDREN))
async def test_a_child_that_was_written_is_as_desired(cluster, child):
    assert await differences_after_merging(cluster, child) == []


@pytest.mark.parametrize("child", CHILDREN.values(), ids=list(CHILDREN))
async def test_a_child_that_the_server_applied_is_not_applied_again(cluster, child):
    assert await differences_after_applying(cluster, child) == []
