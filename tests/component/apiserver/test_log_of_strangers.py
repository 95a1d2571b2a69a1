"""Bytes that are no HTTP get their 400 and leave nothing in the log: anybody could fill it otherwise."""

import asyncio
import logging
import ssl

import pytest

from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage
from hanse.kube.runtime import SystemRuntime


@pytest.mark.parametrize(
    "sent",
    [
        b"GET ${HOME}/api HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /version HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone",
    ],
)
async def test_what_is_no_http_is_answered_and_not_logged(tmp_path, caplog, sent):
    answer = await answered(tmp_path, caplog, lambda _token: sent)
    assert (b" 400 " in answer, caplog.records) == (True, [])


@pytest.mark.parametrize(
    "header", [b"Impersonate-Uid: \xff", b"Impersonate-Extra-\xff: 1", b"Accept: \xff", b"User-Agent: \xff"]
)
async def test_a_header_that_is_no_text_is_not_the_servers_fault(tmp_path, caplog, header):
    def request(token):
        start = b"POST /api/v1/namespaces/default/configmaps?x=%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        return start + b"Authorization: Bearer %b\r\n%b\r\nContent-Length: 2\r\n\r\n{}" % (token.encode(), header)

    answer = await answered(tmp_path, caplog, request)
    assert (answer[9:10], caplog.records) == (b"4", [])


async def answered(tmp_path, caplog, request):
    """Return all that a server says to some bytes, its log in `caplog`."""
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(tmp_path, runtime=runtime)
    server = await ApiServer.open(name="logging", storage=MemoryStorage(), runtime=runtime)
    await server.serve(credentials=authority.serving(runtime=runtime))
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with caplog.at_level(logging.WARNING):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]), ssl=trusting)
        writer.write(request(server.token_for(Identity("admin", ("system:masters",)))))
        answer = await reader.read()
        writer.transport.abort()
        await server.close()
    return answer
