"""Cutting TLS connections in whatever state they are."""

import asyncio
import ssl
from pathlib import Path

import pytest

from hanse.apiserver import ApiServer
from hanse.apiserver.credentials import CertificateAuthority
from hanse.apiserver.cutting import cut, unread_bytes
from hanse.kube.runtime import SystemRuntime


@pytest.mark.parametrize("closings", [0, 1, 2])
async def test_a_connection_is_cut_however_often_it_was_closed_before(
    server: ApiServer, tmp_path: Path, closings: int
) -> None:
    authority = CertificateAuthority.open(tmp_path, runtime=SystemRuntime())
    await server.serve(credentials=authority.serving(runtime=SystemRuntime()))
    trust = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    port = int(server.url.rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
    for _ in range(closings):
        writer.transport.close()

    assert unread_bytes(writer.transport) == 0
    cut(writer.transport)

    assert writer.transport.is_closing()


def test_nothing_is_cut_where_nothing_is_connected() -> None:
    assert cut(None) is None  # type: ignore[func-returns-value]
