"""API servers over HTTPS on a thread of their own, for tests that type commands against them.

A command runs its own event loop, so that the servers need another thread. Nothing but what a test asks for runs here:
no control plane, no controllers.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import yaml
from click.testing import CliRunner, Result

from hanse.api.clusters import CLUSTERS
from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage
from hanse.apiserver.credentials import kubeconfig_cluster, kubeconfig_user
from hanse.cli.control_plane import prepare_host
from hanse.cli.main import main
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.client import Client
from hanse.kube.conditions import condition
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.runtime import SystemRuntime

T = TypeVar("T")
HOST = "host"
PATIENCE_SECONDS = 60.0
ADMINISTRATOR = Identity("admin", ("system:masters",))


class ServedFederation:
    """A federation's host, and clusters beside it that have not joined; `config` has a context for each."""

    def __init__(self, folder: Path, *clusters: str) -> None:
        self.folder = folder
        self.config = folder / "config"
        self.clients: dict[str, Client] = {}
        self.endpoints: dict[str, Endpoint] = {}
        self._servers: list[ApiServer] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.ask(self._open(CertificateAuthority.open(folder / "pki", runtime=SystemRuntime()), clusters))

    @property
    def host(self) -> Client:
        """The federation's own API, asked as its administrator."""
        return self.clients[HOST]

    def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine where the servers are and return what it returns."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_SECONDS)

    def type(self, *words: object) -> Result:
        """Type a command of `hanse` for this federation."""
        host = ["--host-kubeconfig", str(self.config), "--host-context", HOST]
        return CliRunner().invoke(main, [*map(str, words), *host])

    def say(self, *words: object) -> tuple[int, str]:
        """Type a command; return its exit code and everything that it printed."""
        done = self.type(*words)
        return done.exit_code, done.output

    def join(self, name: str, **labels: str) -> None:
        """Have a cluster join, and say that it is ready, as a control plane would once it has probed it."""
        self.ask(self._join(name, labels))

    def close(self) -> None:
        """End the servers and their thread."""
        for server in self._servers:
            self.ask(server.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self, authority: CertificateAuthority, clusters: tuple[str, ...]) -> None:
        runtime, names = SystemRuntime(), (HOST, *clusters)
        for name in names:
            server = await ApiServer.open(name=name, storage=MemoryStorage(), runtime=runtime)
            await server.serve(credentials=authority.serving(runtime=runtime))
            self._servers.append(server)
            self.clients[name] = Client(server.connect(ADMINISTRATOR), runtime)
            token = server.token_for(ADMINISTRATOR)
            self.endpoints[name] = Endpoint(server.url, ca=authority.certificate_pem, token=token)
        await prepare_host(self.host)
        self.config.write_text(yaml.safe_dump(self._kubeconfig(authority)))

    def _kubeconfig(self, authority: CertificateAuthority) -> dict[str, Any]:
        clusters = {name: kubeconfig_cluster(each.server, authority.certificate_pem) for name, each in self._each()}
        users = {name: kubeconfig_user(token=each.token) for name, each in self._each()}
        return {
            "current-context": HOST,
            "clusters": [{"name": name, "cluster": cluster} for name, cluster in clusters.items()],
            "users": [{"name": name, "user": user} for name, user in users.items()],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in clusters],
        }

    def _each(self) -> list[tuple[str, Endpoint]]:
        return list(self.endpoints.items())

    async def _join(self, name: str, labels: dict[str, str]) -> None:
        await join(self.host, joining_manifests(name, self.endpoints[name], labels))
        ready = {**condition("Ready", True, "Answers", ""), "lastTransitionTime": "2026-01-01T00:00:00Z"}
        await self.host.patch(CLUSTERS, name, {"status": {"conditions": [ready]}}, subresource="status")
