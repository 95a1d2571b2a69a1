"""Bytes that are no HTTP get their 400 and leave nothing in the log: anybody could fill it otherwise."""

import asyncio
import logging
import ssl

import pytest

from hanse.apiserver import ApiServer, CertificateAuthority, MemoryStorage
from hanse.kube.runtime import SystemRuntime


@pytest.mark.parametrize(
    "sent",
    [
        b"GET ${HOME}/api HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /version HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_answered_and_not_logged(tmp_path, caplog, sent):
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(tmp_path, runtime=runtime)
    server = await ApiServer.open(name="logging", storage=MemoryStorage(), runtime=runtime)
    await server.serve(credentials=authority.serving(runtime=runtime))
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with caplog.at_level(logging.WARNING):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]), ssl=trusting)
        writer.write(sent)
        answer = await reader.read()
        writer.transport.abort()
        await server.close()
    assert (b" 400 " in answer, caplog.records) == (True, [])
