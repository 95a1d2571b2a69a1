"""A client on an embedded API server, in process, on virtual time."""

import pytest

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.runtime import SeededRuntime

ADMINISTRATOR = Identity("admin", ("system:masters",))


@pytest.fixture
def runtime():
    return SeededRuntime(1)


@pytest.fixture
async def server(runtime):
    opened = await ApiServer.open(name="test", storage=MemoryStorage(), runtime=runtime)
    yield opened
    await opened.close()


@pytest.fixture
def connect(server, runtime):
    def connect(**options):
        return Client(server.connect(ADMINISTRATOR, as_remote=True), runtime, **options)

    return connect


@pytest.fixture
def client(connect):
    return connect()
