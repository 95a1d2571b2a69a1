"""Whatever keeps an answer from coming, or makes it a refusal, is one sentence: address, cause, what to do."""

import asyncio
import socket
import ssl
from datetime import timedelta

import orjson
import pytest
from aiohttp import web

from hanse.kube.auth.endpoint import Endpoint
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, Unauthorized
from hanse.kube.http import HttpTransport
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import SystemRuntime
from hanse.kube.transport import Unreachable
from tests.component.kube.servers import ORIGIN, Authority, knows, ok, proxying, server_context, serving, shaking_hands

SERVER, USER = ORIGIN.cluster_field("server"), ORIGIN.user_field("client-certificate")


async def fault(endpoint, error=Unreachable, timeout=10.0):
    """Return what one request, and what one watch, says when it fails; both say the same."""
    client = Client(HttpTransport(endpoint), SystemRuntime(), timeout=timeout)
    try:
        with pytest.raises(error) as asked:
            await client.get(CONFIGMAPS, "a", "default")
        with pytest.raises(error) as watched:
            async for _ in client.watch(CONFIGMAPS, "default", version="1"):
                pass
    finally:
        await client.close()
    assert str(asked.value).replace('"a"', "") == str(watched.value).replace('"a"', "")
    return str(asked.value)


def unreachable(url, why):
    return f"{url} cannot be reached: {why}"


def unused_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


async def test_a_refused_port():
    async with serving() as server:
        for host in ("127.0.0.1", "localhost"):
            url = f"https://{host}:{unused_address().partition(':')[2]}"
            why = f"the connection was refused; check that an API server runs there, and {SERVER}"
            assert await fault(server.endpoint(server=url)) == unreachable(url, why)


async def test_a_host_name_that_nobody_knows():
    async with serving() as server:
        url = "https://nowhere.invalid:6443"

        said = await fault(server.endpoint(server=url))

    assert said == unreachable(url, f"the host name nowhere.invalid cannot be resolved; check {SERVER}")


async def test_a_server_that_never_answers():
    async def never(request):
        await asyncio.Event().wait()

    async with serving(never) as server:
        said = await fault(server.endpoint(), timeout=0.3)

    why = "no answer within 0.3 s; check that it runs and that no firewall is in between"
    assert said == unreachable(server.url, why)


async def test_a_server_that_hangs_up():
    async def hang_up(request):
        request.transport.abort()
        return await ok(request)

    async with serving(hang_up) as server:
        assert await fault(server.endpoint()) == unreachable(server.url, "the server hung up")


async def test_an_answer_that_breaks_off():
    async def break_off(request):
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"kind"')
        request.transport.close()
        return response

    async with serving(break_off) as server:
        assert await fault(server.endpoint()) == unreachable(server.url, "the answer broke off")


@pytest.mark.parametrize(
    ("hosts", "ends_in", "known", "why"),
    [
        (
            ("127.0.0.1",),
            timedelta(days=-1),
            True,
            "its certificate has expired; renew the serving certificate of the API server",
        ),
        (
            ("127.0.0.1",),
            timedelta(days=1),
            False,
            (
                "its certificate is not signed by the authority in "
                "kubeconfig x: clusters[c].certificate-authority-data; put the cluster's own authority there"
            ),
        ),
        (
            ("10.96.0.1",),
            timedelta(days=1),
            True,
            (
                "its certificate is not for 127.0.0.1; "
                "write a name that it is for into kubeconfig x: clusters[c].tls-server-name"
            ),
        ),
        (
            ("kubernetes.default.svc",),
            timedelta(days=1),
            True,
            (
                "its certificate is not for 127.0.0.1; "
                "write a name that it is for into kubeconfig x: clusters[c].tls-server-name"
            ),
        ),
    ],
    ids=["expired", "wrong authority", "wrong address", "wrong name"],
)
async def test_a_server_certificate_that_cannot_be_trusted(hosts, ends_in, known, why):
    authority = Authority()
    signer = authority if known else Authority()
    pair = signer.issue("server", hosts=hosts, ends_in=ends_in)
    async with serving(authority=authority, pair=pair) as server:
        assert await fault(server.endpoint()) == unreachable(server.url, why)
        assert server.asked == []


async def test_a_private_authority_that_was_not_given():
    async with serving() as server:
        said = await fault(server.endpoint(ca=None))

    assert said == unreachable(
        server.url,
        "its certificate is not signed by an authority that this machine trusts; "
        "put the cluster's into kubeconfig x: clusters[c].certificate-authority-data",
    )


@pytest.mark.parametrize(
    ("ends_in", "known", "why"),
    [
        (None, True, f"it demands a client certificate; give one in {USER}"),
        (timedelta(days=-1), True, f"it refuses our client certificate, which has expired; renew {USER}"),
        (
            timedelta(days=1),
            False,
            f"it does not know the authority that signed our client certificate; correct {USER}",
        ),
    ],
    ids=["none", "expired", "unknown"],
)
async def test_a_server_that_refuses_the_client_certificate_in_the_handshake(ends_in, known, why):
    authority = Authority()
    mine = (authority if known else Authority("another")).issue("anna", ends_in=ends_in or timedelta(days=1))
    shown = {"client_certificate": mine.certificate, "client_key": mine.key} if ends_in else {}
    with shaking_hands(authority) as url:
        assert await fault(Endpoint(url, authority.certificate, origin=ORIGIN, **shown)) == unreachable(url, why)


async def test_plain_http_where_tls_was_expected():
    async with serving(tls=False) as server:
        url = server.url.replace("http:", "https:")

        said = await fault(server.endpoint(server=url))

    why = f"it does not speak TLS, so it is no API server; check scheme and port in {SERVER}"
    assert said == unreachable(url, why)


async def test_tls_where_plain_http_was_expected():
    # Go's server, which is what an API server has, says so in the clear.
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with serving() as server:
        said = await fault(server.endpoint(server=url))
    listener.close()

    assert said == unreachable(url, f"it speaks TLS only; write https:// in {SERVER}")


@pytest.mark.parametrize("status", [200, 404, 503])
async def test_a_web_page_is_never_taken_for_an_api_servers_answer(status):
    async def page(request):
        return web.Response(status=status, text="<html>Welcome</html>", content_type="text/html")

    async with serving(page) as server:
        said = await fault(server.endpoint())

    why = f"it answers with a web page (HTTP {status}), not as an API server does; check {SERVER}"
    assert said == unreachable(server.url, why)


async def test_a_redirect_is_not_followed():
    async def login(request):
        raise web.HTTPFound("https://login.example/")

    async with serving(login) as server:
        said = await fault(server.endpoint())

    why = f"it redirects to https://login.example/, which no API server does; check {SERVER}"
    assert said == unreachable(server.url, why)


async def test_something_that_does_not_speak_http():
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.example ESMTP\r\n")
        writer.close()

    authority = Authority()
    context = server_context(authority.issue(hosts=("127.0.0.1",)), authority, demands_certificate=False)
    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with serving(authority=authority) as server:
        said = await fault(server.endpoint(server=url))
    listener.close()

    assert said == unreachable(url, f"it does not speak HTTP; check {SERVER}")


async def test_a_proxy_that_is_not_there_or_refuses():
    nobody = unused_address()
    async with serving() as server, proxying("407 Proxy Authentication Required") as (proxy, _):
        absent = await fault(server.endpoint(proxy_url=f"http://anna:secret@{nobody}"))
        refusing = await fault(server.endpoint(proxy_url=f"http://anna:secret@{proxy}"))

    assert absent == unreachable(
        server.url, f"the proxy http://{nobody} does not answer (the connection was refused); check its address in "
        "kubeconfig x: clusters[c].proxy-url"
    )  # fmt: skip
    assert refusing == unreachable(
        server.url, f"the proxy http://{proxy} refuses to connect us (HTTP 407 Proxy Authentication Required); check "
        "its rules and kubeconfig x: clusters[c].proxy-url"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("user", "why"),
    [
        (
            {"token": "s3cret"},
            "the token in kubeconfig x: users[u].token; put one there that is valid for this cluster (Unauthorized)",
        ),
        (
            {"username": "anna", "password": "s3cret"},
            (
                "the user name and password in kubeconfig x: users[u].username; "
                "use a token or a client certificate, since Kubernetes itself knows no passwords (Unauthorized)"
            ),
        ),
        ({}, "a request without credentials; put one into kubeconfig x: users[u].token (Unauthorized)"),
    ],
    ids=["token", "password", "nothing"],
)
async def test_unauthorized_names_what_was_shown(user, why):
    async with serving(knows([])) as server:
        said = await fault(server.endpoint(**user), Unauthorized)

    assert said == f"{server.url} does not accept {why}"


async def test_unauthorized_tells_that_the_client_certificate_has_expired():
    async with serving(knows([])) as server:
        # The API server itself only asks for a certificate; that it has expired is found later, with a 401.
        mine = server.authority.issue("anna", ends_in=timedelta(days=-1))
        server.context.verify_mode = ssl.CERT_NONE
        said = await fault(server.endpoint(client_certificate=mine.certificate, client_key=mine.key), Unauthorized)

    assert said.startswith(f"{server.url} does not accept the client certificate in {USER}, which expired on 20")
    assert said.endswith("; renew it (Unauthorized)")


FORBIDDEN = (
    'configmaps "a" is forbidden: User "{}" cannot get resource "configmaps" in API group "" in the namespace "default"'
)


@pytest.mark.parametrize(
    ("message", "more"),
    [
        (FORBIDDEN.format("anna"), "; bind a role that allows it to this user on {url}"),
        (
            FORBIDDEN.format("system:anonymous"),
            "; {url} does not accept a request without credentials; put one into kubeconfig x: users[u].token",
        ),
        ('pods "a" is forbidden: exceeded quota: compute', ""),
    ],
    ids=["no role", "nobody", "quota"],
)
async def test_forbidden_says_what_to_do_where_that_is_known(message, more):
    status = {"kind": "Status", "apiVersion": "v1", "reason": "Forbidden", "message": message, "code": 403}

    async def refuse(request):
        return web.Response(status=403, body=orjson.dumps(status), content_type="application/json")

    async with serving(refuse) as server:
        said = await fault(server.endpoint(), Forbidden)

    assert said == message + more.format(url=server.url)
