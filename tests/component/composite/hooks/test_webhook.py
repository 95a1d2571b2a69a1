"""Webhooks over real sockets: what is sent, which answers count, and what is said of those that do not."""

import asyncio
import ssl
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from hanse.apiserver import CertificateAuthority, Identity
from hanse.composite.hooks.calling import HookBusy, HookFailed, HookParts
from hanse.composite.hooks.opening import open_hook
from hanse.composite.spec import Endpoint, ETags, HookSpec, WebhookSpec
from hanse.kube.runtime import SystemRuntime
from tests.unit.composite.hooks.stored import Stored, key

ROOT = {"kind": "CatSet", "metadata": {"namespace": "shop", "name": "web"}}
OTHER = {"kind": "CatSet", "metadata": {"namespace": "shop", "name": "db"}}


class Server:
    """A webhook server that gives the answers of a script, in order, and takes down what it is asked."""

    def __init__(self):
        self.script = []
        self.asked = []
        self.called = asyncio.Event()
        self.end = asyncio.Event()
        self.port = 0

    def url(self, path="/sync", scheme="http"):
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    async def answer(self, request):
        self.asked.append((request.method, request.path, dict(request.headers), await request.read()))
        answer = self.script.pop(0)
        if answer == "hang":
            self.called.set()
            await self.end.wait()
        if answer == "break off":
            request.transport.close()
        return answer if isinstance(answer, web.StreamResponse) else web.Response()


@asynccontextmanager
async def serving(tls=None):
    server = Server()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        server.end.set()
        await runner.cleanup()


@pytest.fixture
async def server():
    async with serving() as made:
        yield made


@pytest.fixture
async def opened():
    hooks = []

    async def made(url, stored=None, *, trusted=True, **spec):
        spec = WebhookSpec(url, **{"timeout": 60.0, **spec})
        hooks.append(await open_hook(HookSpec(spec), HookParts(SystemRuntime(), stored or Stored(), trusted=trusted)))
        return hooks[-1]

    yield made
    for hook in hooks:
        await hook.close()


async def failure(hook, root=ROOT):
    with pytest.raises(HookFailed) as failed:
        await hook.call({}, root)
    return str(failed.value), failed.value.status


async def test_the_request_is_posted_as_json_and_the_object_comes_back(server, opened):
    hook = await opened(server.url("/hooks/sync?v=1"))
    server.script = [web.json_response({"children": []})]

    assert await hook.call({"parent": {"ü": 1}}, ROOT) == {"children": []}

    ((method, path, headers, body),) = server.asked
    assert (method, path, body) == ("POST", "/hooks/sync", '{"parent":{"ü":1}}'.encode())
    assert headers["Content-Type"] == "application/json"
    assert not {"Authorization", "If-None-Match"} & set(headers)


@pytest.mark.parametrize(
    ("answer", "reason", "status"),
    [
        (web.Response(status=500), "answered with status 500", 500),
        (web.json_response({"children": []}, status=503), 'answered with status 503: {"children": []}', 503),
        (web.Response(status=204), "answered with status 204", 204),
        (web.Response(status=304), "answered with status 304, though no earlier answer was named to it", 304),
        (
            web.Response(status=302, headers={"location": "/other"}),
            "answered with status 302, and redirects are not followed: give the final URL",
            302,
        ),
        (web.Response(), "answered nothing", 200),
        (web.json_response([]), "answered a list where a JSON object is wanted", 200),
        (web.Response(body=b"x" * (16 * 1024 * 1024 + 1)), "answered with more than 16 MB", 0),
        ("break off", "broke off before its answer was complete", 0),
    ],
)
async def test_whatever_is_no_answer_is_a_failure_and_never_an_empty_answer(server, opened, answer, reason, status):
    hook = await opened(server.url("/sync?token=opensesame"))
    server.script = [answer]

    assert await failure(hook) == (f"the webhook http://127.0.0.1:{server.port}/sync {reason}", status)
    assert len(server.asked) == 1


async def test_who_hangs_fails_and_who_is_gone_too(server, opened, unused_tcp_port):
    server.script = ["hang"]
    told, _ = await failure(await opened(server.url(), timeout=0.05))
    assert told.endswith("/sync gave no answer within 0.05 s")

    told, _ = await failure(await opened(f"http://127.0.0.1:{unused_tcp_port}/"))
    assert told.endswith("/ cannot be reached: nobody answers at its address")


async def test_who_asks_for_patience_gets_it(server, opened):
    hook = await opened(server.url())
    server.script = [web.Response(status=429, headers={"retry-after": "10"}), web.Response(status=429)]

    for seconds in (10, 0):
        with pytest.raises(HookBusy) as busy:
            await hook.call({}, ROOT)
        assert busy.value.seconds == seconds


async def test_strict_answers_have_no_field_twice(server, opened):
    server.script = [web.Response(text='{"status": {"a": 1, "a": 2}}') for _ in range(2)]

    assert await (await opened(server.url())).call({}, ROOT) == {"status": {"a": 2}}
    told, _ = await failure(await opened(server.url(), strict=True))
    assert told.endswith('answered an object in which the field "a" is there twice')


def tagged(number, tag):
    return web.json_response({"n": number}, headers={"ETag": tag})


async def test_tagged_answers_are_kept_for_each_root(server, opened):
    hook = await opened(server.url(), etags=ETags())
    unchanged = [web.Response(status=304), web.Response(status=412)]
    server.script = [tagged(1, '"a"'), *unchanged, tagged(2, '"b"'), web.Response(status=304), tagged(3, '"c"')]

    found = [(await hook.call({}, root))["n"] for root in (*[ROOT] * 5, OTHER)]

    assert found == [1, 1, 1, 2, 2, 3]
    sent = [headers.get("If-None-Match") for _, _, headers, _ in server.asked]
    assert sent == [None, '"a"', '"a"', '"a"', '"b"', None]


async def test_an_error_keeps_the_tagged_answer_and_is_still_an_error(server, opened):
    hook = await opened(server.url(), etags=ETags())
    server.script = [
        tagged(1, '"a"'),
        web.Response(status=500, headers={"ETag": '"x"'}),
        web.Response(text="nonsense", headers={"ETag": '"y"'}),
        web.Response(status=304),
    ]

    assert await hook.call({}, ROOT) == {"n": 1}
    assert (await failure(hook))[0].endswith("answered with status 500")
    assert "answered what is not JSON" in (await failure(hook))[0]
    assert await hook.call({}, ROOT) == {"n": 1}
    assert server.asked[-1][2]["If-None-Match"] == '"a"'


async def test_without_the_cache_no_tag_is_sent(server, opened):
    hook = await opened(server.url())
    server.script = [tagged(1, '"a"'), web.Response(status=304)]

    assert await hook.call({}, ROOT) == {"n": 1}
    assert (await failure(hook))[0].endswith("though no earlier answer was named to it")
    assert "If-None-Match" not in server.asked[-1][2]


@pytest.mark.parametrize(
    ("endpoint", "header"),
    [
        (Endpoint(authorization=key("login", "token")), "Bearer t0k3n"),
        (Endpoint(username=key("login", "user"), password=key("login", "word")), "Basic bWU6b3BlbnNlc2FtZQ=="),
    ],
)
async def test_we_are_introduced_and_nothing_that_is_said_back_is_told(server, opened, endpoint, header):
    stored = Stored()
    stored.put_secret("login", token="t0k3n", user="me", word="opensesame")
    hook = await opened(server.url(), stored, endpoint=endpoint)
    reads = list(stored.read)
    server.script = [web.Response(status=403, text=f"not with {header}"), web.json_response({})]

    told, _ = await failure(hook)
    await hook.call({}, ROOT)

    assert [headers["Authorization"] for _, _, headers, _ in server.asked] == [header] * 2
    assert told.endswith(f"answered with status 403: not with {header.partition(' ')[0]} [hidden]")
    assert stored.read == reads


@pytest.mark.parametrize(
    ("url", "trusted"),
    [
        ("http://127.0.0.1:1/", False),
        ("http://localhost:1/", False),
        ("http://169.254.169.254/latest", True),
        ("http://[fe80::1]/", True),
    ],
)
async def test_addresses_near_the_control_plane_are_not_called(opened, url, trusted):
    told, _ = await failure(await opened(url, trusted=trusted))

    assert told.endswith("is not called: its address is a link-local or loopback one, which is not called")


async def test_a_closed_hook_is_not_called(server, opened):
    hook = await opened(server.url())
    server.script = [web.json_response({})]
    await hook.call({}, ROOT)
    server.script = ["hang"]
    under_way = asyncio.create_task(failure(hook))
    await server.called.wait()
    await hook.close()

    for told in (await under_way, await failure(hook)):
        assert told[0].endswith("is not called any more, since its controller has ended")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return CertificateAuthority.open(tmp_path_factory.mktemp("pki"), runtime=SystemRuntime(), name="shop")


async def test_the_server_is_known_by_its_authority_and_knows_us_by_our_certificate(authority, opened):
    runtime = SystemRuntime()
    tls = authority.serving(runtime=runtime).tls_context()
    tls.load_verify_locations(cadata=authority.certificate_pem.decode())
    tls.verify_mode = ssl.CERT_REQUIRED
    certificate, private = authority.client(Identity("hanse"), runtime=runtime)
    stored = Stored()
    stored.put("ConfigMap", "trust", {"ca.crt": authority.certificate_pem.decode()})
    stored.put_secret("pair", crt=certificate.decode(), key=private.decode(), ca=authority.certificate_pem.decode())
    shown = {"certificate": key("pair", "crt"), "private_key": key("pair", "key")}

    async with serving(tls) as server:
        url = server.url(scheme="https")
        for trust in (
            {"ca_config_map": key("trust", "ca.crt")},
            {"ca_secret": key("pair", "ca")},
            {"ca_inline": authority.certificate_pem.decode()},
        ):
            server.script = [web.json_response({})]
            assert await (await opened(url, stored, endpoint=Endpoint(**trust, **shown))).call({}, ROOT) == {}

        told, _ = await failure(await opened(url, stored))
        assert "/sync shows a certificate that is not trusted: " in told
        told, _ = await failure(await opened(url, stored, endpoint=Endpoint(ca_config_map=key("trust", "ca.crt"))))
        assert told.partition("/sync ")[2] == (
            "broke off before its answer was complete; if it wants a client certificate, clientTLS is where to name one"
        )
