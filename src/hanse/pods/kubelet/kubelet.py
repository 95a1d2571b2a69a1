"""The kubelet of one cluster's virtual nodes, put together."""

from __future__ import annotations

import asyncio

from hanse.kube.client import Client
from hanse.pods.kubelet.authorization import Authorizer
from hanse.pods.kubelet.finding import MemberRoster, PodFinder
from hanse.pods.kubelet.keys import ClientAuthority, KeyRing
from hanse.pods.kubelet.server import KubeletServer
from hanse.pods.kubelet.signing import KUBELET_SIGNER, Signature, own_certificate


class VirtualKubelet:
    """Listens for a cluster's API server and answers for the pods of its virtual nodes.

    `host` is where that API server reaches it: its certificate is made out to it. With `csr` the cluster signs that
    certificate; without, it is self-made, and so it is until it is signed.
    """

    def __init__(
        self,
        source_name: str,
        source_client: Client,
        roster: MemberRoster,
        *,
        host: str,
        address: str = "",
        port: int = 10250,
        csr: bool = True,
        signer: str = KUBELET_SIGNER,
    ) -> None:
        self._host = host
        ring = KeyRing(own_certificate(source_client, host))
        self._authority = ClientAuthority(source_client, ring)
        self._signature = Signature(source_client, host, ring, signer if csr else "")
        find = PodFinder(source_name, source_client, roster)
        self._server = KubeletServer(address or host, port, ring, find, Authorizer(source_client))

    async def address(self) -> tuple[str, int] | None:
        """Return where it is reached, for the Nodes that say so; None where it could not listen."""
        return (self._host, self._server.port) if await self._server.wait_tried() else None

    async def wait_known(self, authority: bytes = b"") -> None:
        """Wait until client certificates of the cluster are believed, of exactly this authority where one is given."""
        await self._server.wait_listening(
            lambda keys: keys.authority == authority if authority else bool(keys.authority)
        )

    async def run(self) -> None:
        """Answer until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._authority.run())
            tasks.create_task(self._signature.run())
            tasks.create_task(self._server.run())
