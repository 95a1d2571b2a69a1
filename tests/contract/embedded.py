"""The embedded server as the contract meets it: over HTTPS, with an administrator's token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage
from hanse.kube.runtime import SystemRuntime
from tests.contract.playing import Server


@asynccontextmanager
async def embedded_server(folder: Path) -> AsyncIterator[Server]:
    """Serve an empty server for the length of a block."""
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(folder, runtime=runtime)
    server = await ApiServer.open(
        name="contract", storage=MemoryStorage(), runtime=runtime, root_certificate=authority.certificate_pem
    )
    await server.serve(credentials=authority.serving(runtime=runtime))
    token = server.token_for(Identity("admin", ("system:masters",)))
    try:
        yield Server(server.url, authority.certificate_pem.decode(), token)
    finally:
        await server.close()
