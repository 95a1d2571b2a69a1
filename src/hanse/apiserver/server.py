"""The embedded Kubernetes API server: one object that can be opened, connected to, served over HTTPS and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from hanse.apiserver.api_services import API_SERVICES, api_services
from hanse.apiserver.bootstrap import bootstrap
from hanse.apiserver.computed import Compute, computed_kind
from hanse.apiserver.core import Core
from hanse.apiserver.credentials import ServingCredentials
from hanse.apiserver.gate import Gate
from hanse.apiserver.hooks import ServiceResolver
from hanse.apiserver.hub import Hub
from hanse.apiserver.identity import Identity
from hanse.apiserver.inprocess import InProcessTransport
from hanse.apiserver.loops import Loops
from hanse.apiserver.patience import PATIENT, Patience
from hanse.apiserver.pod_doors import PodDoors, PodLogs
from hanse.apiserver.registry import Registry
from hanse.apiserver.storage import Storage
from hanse.apiserver.tokens import TokenSigner
from hanse.kube.resources import Resource
from hanse.kube.runtime import Runtime, timestamp

if TYPE_CHECKING:
    from hanse.apiserver.http import Listener

VERSION = "v1.36.3+hanse"
_BOOKMARK_SECONDS = 60.0


def load_listener() -> type[Listener]:
    """Load what a server listens with; who will serve can begin with this while the store is opened."""
    from hanse.apiserver.http import Listener

    return Listener


class ApiServer:
    """A Kubernetes API server inside this process; make one with `open`."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._loops = Loops(core)
        self._listener: Listener | None = None
        self._port = 0
        self._stopped = False
        self._bookmarks: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        *,
        name: str,
        storage: Storage,
        runtime: Runtime,
        version: str = VERSION,
        tokens: Mapping[str, Identity] | None = None,
        service_network: str = "10.96.0.0/16",
        cluster_ips: bool = True,
        root_certificate: bytes = b"",
        token_key: EllipticCurvePrivateKey | None = None,
    ) -> ApiServer:
        """Open a server on its storage; what every cluster has is made where it is missing.

        `tokens` are bearer tokens to accept from the start, `service_network` is where cluster IPs come from (without
        `cluster_ips` Services get none, as in a federation, whose Services belong to no cluster),
        `root_certificate` is the authority that every namespace's `kube-root-ca.crt` holds, and `token_key` signs
        service accounts' tokens: without one those tokens end with this object.
        """
        hub = Hub(runtime)
        core = Core(
            name,
            version,
            runtime,
            storage,
            Registry(),
            hub,
            service_network,
            TokenSigner(runtime, token_key),
            root_certificate.decode(),
            tokens=dict(tokens or {}),
            cluster_ips=cluster_ips,
        )
        await storage.open(runtime, hub.publish)
        server = cls(core)
        core.computed[API_SERVICES] = api_services(core.registry, timestamp(runtime.now()))
        await bootstrap(core)
        await server._loops.start()
        server._bookmarks = asyncio.create_task(server._send_bookmarks())
        return server

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self._core.name

    @property
    def url(self) -> str:
        """Where the server listens, "" while it does not."""
        return self._listener.url if self._listener else ""

    @property
    def streams(self) -> int:
        """How many watches are open."""
        return self._core.hub.streams

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return self._listener.connections if self._listener else 0

    @property
    def tokens(self) -> Mapping[str, Identity]:
        """The bearer tokens that are accepted."""
        return self._core.tokens

    @property
    def pods(self) -> PodDoors:
        """The functions that answer for what happens inside of pods; whoever runs pods sets them."""
        return self._core.pods

    @property
    def pod_logs(self) -> PodLogs | None:
        """The function that answers for the logs of pods; the simulator sets it."""
        return self._core.pods.logs

    @pod_logs.setter
    def pod_logs(self, function: PodLogs | None) -> None:
        self._core.pods.logs = function

    def show_kubelets(self, certificate: bytes, key: bytes) -> None:
        """Have the server ask kubelets elsewhere with this client certificate, for pods on nodes that others run."""
        from hanse.apiserver.kubelets import KubeletIdentity

        self._core.kubelets = KubeletIdentity(certificate, key)

    @property
    def webhook_services(self) -> ServiceResolver | None:
        """Leads webhooks' calls from a Service to where it listens; whoever runs the pods behind it sets this."""
        return self._core.hooks.resolver

    @webhook_services.setter
    def webhook_services(self, resolver: ServiceResolver | None) -> None:
        self._core.hooks.resolver = resolver

    @property
    def revision(self) -> int:
        """The number of the newest write, which is the newest resourceVersion."""
        return self._core.storage.revision

    @property
    def gate(self) -> Gate | None:
        """What stands between the server and those outside; whoever simulates their network sets it."""
        return self._core.gate

    @gate.setter
    def gate(self, gate: Gate | None) -> None:
        self._core.gate = gate

    def compute(self, resource: Resource, function: Compute) -> None:
        """Serve a kind whose objects a function tells whenever they are asked for; nothing of it is stored."""
        served = computed_kind(resource)
        self._core.computed[served.bucket] = function
        self._core.registry.install([served])

    def count_quotas(self) -> None:
        """Have ResourceQuotas told what is used of them, from which on they bind; whoever runs pods asks for it."""
        self._loops.count_quotas()

    def token_for(self, identity: Identity) -> str:
        """Return a bearer token for an identity, made on first use."""
        for token, known in self._core.tokens.items():
            if known == identity:
                return token
        token = self._core.runtime.secret()
        self._core.tokens[token] = identity
        return token

    def connect(self, identity: Identity, *, as_remote: bool = False) -> InProcessTransport:
        """Return a transport without a socket; one `as_remote` fails while the server does not serve."""
        return InProcessTransport(self._core, identity, (lambda: not self._stopped) if as_remote else None)

    async def serve(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        credentials: ServingCredentials,
        patience: Patience = PATIENT,
    ) -> None:
        """Listen with TLS; after `stop_serving` the same port is used again unless another is named.

        `patience` says how long clients are waited for.
        """
        if self._listener is not None:
            await self._listener.close()
        # On another thread, since it takes as long as hundreds of requests to the servers of this process.
        listener = await self._core.runtime.in_thread(load_listener)
        self._listener = await listener.open(
            self._core, host=host, port=port or self._port, credentials=credentials, patience=patience
        )
        self._port = self._listener.port
        self._stopped = False

    def resume(self) -> None:
        """Let transports made `as_remote` through again where the server was never served over HTTPS."""
        self._stopped = False

    async def stop_serving(self) -> None:
        """Drop the listener and every connection, as a dead API server does; storage and loops stay."""
        self._stopped = True
        # Watches first: the listener waits for the requests that it still answers.
        self._core.hub.cut_remote()
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.close()

    async def close(self) -> None:
        """Stop serving, stop the loops and release the storage."""
        await self.stop_serving()
        if self._bookmarks is not None:
            self._bookmarks.cancel()
            await asyncio.gather(self._bookmarks, return_exceptions=True)
        await self._loops.stop()
        await self._core.hooks.client.close()
        await self._core.storage.close()

    async def _send_bookmarks(self) -> None:
        while True:
            await self._core.runtime.sleep(_BOOKMARK_SECONDS)
            self._core.hub.bookmark_all(self._core.storage.revision)
