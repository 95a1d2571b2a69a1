"""One API server of an embedded federation: its store, its keys, its port, and how others reach it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage, SqliteStorage
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.runtime import Runtime

ADMINISTRATOR = Identity("hanse-admin", ("system:masters",))
_KUBELET_CLIENT = Identity("kube-apiserver-kubelet-client", ("system:masters",))
STORE = "store.db"
_ADDRESS = "127.0.0.1"


class Server:
    """An API server on its folder."""

    def __init__(self, name: str, folder: Path, server: ApiServer, authority: CertificateAuthority) -> None:
        self.name = name
        self.api = server
        self._folder = folder
        self._authority = authority
        self._port = 0

    @classmethod
    async def open(
        cls, name: str, folder: Path, runtime: Runtime, *, in_memory: bool = False, cluster_ips: bool = True
    ) -> Server:
        """Open the server of a folder; what it held is there again, unless it is kept in memory only.

        Without `cluster_ips` its Services belong to no cluster, and have no address in one.
        """
        authority = CertificateAuthority.open(folder / "pki", runtime=runtime, name=name)
        api = await ApiServer.open(
            name=name,
            storage=MemoryStorage() if in_memory else SqliteStorage(folder / STORE),
            runtime=runtime,
            root_certificate=authority.certificate_pem,
            token_key=authority.token_key(),
            cluster_ips=cluster_ips,
        )
        api.show_kubelets(*authority.client(_KUBELET_CLIENT, runtime=runtime))
        return cls(name, folder, api, authority)

    @property
    def port(self) -> int:
        """The port it listens on, or will listen on again."""
        return self._port

    async def serve(self, port: int, runtime: Runtime, *, exactly: bool = False) -> None:
        """Listen, on the port it had before where that is free; one that must be `exactly` that may raise OSError."""
        wanted = port or self._port
        self._port = wanted if wanted and (exactly or _is_free(wanted)) else _free_port()
        credentials = self._authority.serving(runtime=runtime)
        await self.api.serve(host=_ADDRESS, port=self._port, credentials=credentials)

    def endpoint(self, runtime: Runtime) -> Endpoint:
        """Return how its administrator reaches it."""
        certificate, key = self._administrator(runtime)
        return Endpoint(
            server=f"https://{_ADDRESS}:{self._port}",
            ca=self._authority.certificate_pem,
            client_certificate=certificate,
            client_key=key,
        )

    def _administrator(self, runtime: Runtime) -> tuple[bytes, bytes]:
        """Return the administrator's certificate and key, made once: copies in users' files stay good."""
        certificate_file, key_file = self._folder / "pki" / "admin.crt", self._folder / "pki" / "admin.key"
        if certificate_file.exists() and key_file.exists():
            return certificate_file.read_bytes(), key_file.read_bytes()
        certificate, key = self._authority.client(ADMINISTRATOR, runtime=runtime)
        handle = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(key)
        certificate_file.write_bytes(certificate)
        return certificate, key


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_ADDRESS, port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_ADDRESS, 0))
        return int(probe.getsockname()[1])
