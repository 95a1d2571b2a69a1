"""The way to one member: several addresses of which one is in use, and credentials that can be changed under way.

Nothing is sent twice. The probe decides which address is in use: it tries them in turn, and only when none of them
answers is the member said not to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hanse.kube.kubeconfig import Endpoint
from hanse.kube.transport import Request, Response, Stream, Transport
from hanse.kube.upgrades import Upgraded, upgrade_over

Connect = Callable[[Endpoint], Transport]


class MemberTransport:
    """Carries requests over the address in use; raises KubeconfigError for credentials that cannot be used."""

    def __init__(self, connect: Connect, endpoints: Sequence[Endpoint]) -> None:
        self._connect = connect
        self._ways = [connect(endpoint) for endpoint in endpoints]
        self._retired: list[Transport] = []
        self._in_use = 0

    @property
    def address(self) -> str:
        """The address in use."""
        return self._ways[self._in_use].address

    @property
    def ways(self) -> Sequence[Transport]:
        """Every way, the one in use first and the others in their order after it."""
        return [*self._ways[self._in_use :], *self._ways[: self._in_use]]

    def use(self, way: Transport) -> None:
        """Send everything this way from now on."""
        self._in_use = self._ways.index(way)

    def renew(self, endpoints: Sequence[Endpoint]) -> None:
        """Show other credentials at the same addresses; what is under way ends with those it began with.

        Raises KubeconfigError, and changes nothing then.
        """
        fresh = [self._connect(endpoint) for endpoint in endpoints]
        self._retired += self._ways
        self._ways = fresh

    async def close_retired(self) -> None:
        """Close what was used before the last change of credentials; its watches go on with the new ones."""
        retired, self._retired = self._retired, []
        for way in retired:
            if not any(way is current for current in self._ways):
                await way.close()

    async def send(self, request: Request, timeout: float) -> Response:
        """Send a request and wait for the whole answer; raises Unreachable."""
        return await self._ways[self._in_use].send(request, timeout)

    async def stream(self, request: Request, timeout: float) -> Stream:
        """Send a request and return once the answer begins."""
        return await self._ways[self._in_use].stream(request, timeout)

    async def upgrade(self, request: Request, timeout: float) -> Upgraded:
        """Open a connection of its own over the address in use; raises Unreachable."""
        return await upgrade_over(self._ways[self._in_use], request, timeout)

    async def close(self) -> None:
        """Close every connection."""
        await self.close_retired()
        for way in self._ways:
            await way.close()
