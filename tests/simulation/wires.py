"""Ways to a server that are not as they should be, and a control plane that is led to take one of them."""

from __future__ import annotations

from hanse.kube.transport import Request, Response, Stream, Transport
from tests.simulation.world import World


class Passing:
    """A transport that passes everything on; a test overrides what shall be different."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner

    @property
    def address(self) -> str:
        return self.inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        return await self.inner.send(request, timeout)

    async def stream(self, request: Request, timeout: float) -> Stream:
        return await self.inner.stream(request, timeout)

    async def close(self) -> None:
        await self.inner.close()


async def restart_through(world: World, name: str, transport: Transport) -> None:
    """Start the control plane anew with another way to one server."""
    await world.kill_control_plane()
    world.lead_through(name, transport)
    world.start_control_plane()
