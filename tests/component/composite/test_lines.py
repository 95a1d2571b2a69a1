"""Each line of Metacontroller's list on the embedded API server, with hooks behind real HTTP."""

import pytest

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.runtime import SystemRuntime
from tests.behaviour.composite_lines import all_lines, lines

pytestmark = pytest.mark.timeout(120)


async def test_each_line_holds_on_the_embedded_api_server():
    server = await ApiServer.open(name="cluster", storage=MemoryStorage(), runtime=SystemRuntime())
    people, controllers = (server.connect(Identity(name, ("system:masters",))) for name in ("admin", "hanse"))
    try:
        async with lines(people, controllers) as on:
            failed = await all_lines(on)
    finally:
        await server.close()

    assert failed == {}
