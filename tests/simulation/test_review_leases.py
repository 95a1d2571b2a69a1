"""A leader that need not step down does not; on virtual time."""

import asyncio

import pytest

from hanse.apiserver import ApiServer, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.leases import Leadership
from hanse.kube.manifest import Key
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Unreachable
from tests.simulation.wires import Passing
from tests.simulation.world import ADMINISTRATOR

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


class LosesOneAnswer(Passing):
    """A transport that carries one renewal and loses the answer to it."""

    def __init__(self, inner):
        super().__init__(inner)
        self.lost = False

    async def send(self, request, timeout):
        answer = await self.inner.send(request, timeout)
        if request.method == "PUT" and not self.lost:
            self.lost = True
            raise Unreachable(self.address, "the server hung up")
        return answer


async def test_a_renewal_whose_answer_was_lost_does_not_end_leadership():
    """Guards against this: the next renewal meets one's own write as a Conflict and takes it for somebody else's."""
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    transport = LosesOneAnswer(server.connect(ADMINISTRATOR))
    leadership = Leadership(Client(transport, runtime), Key("default", "leader"), "one")
    ended = asyncio.Event()

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    leading = asyncio.create_task(leadership.lead(work))
    await runtime.sleep(30)
    stepped_down = ended.is_set()
    leading.cancel()
    await asyncio.gather(leading, return_exceptions=True)
    await server.close()

    assert transport.lost
    assert not stepped_down
