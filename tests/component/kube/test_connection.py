"""Every way to be known to an API server, over real TLS; connections are shared, bounded and closed."""

import asyncio
import contextlib

import orjson
import pytest
from aiohttp import web

from hanse.kube.auth.endpoint import Impersonation
from hanse.kube.http import REQUESTS_IN_FLIGHT, HttpTransport
from hanse.kube.kubeconfig import KubeconfigError
from hanse.kube.transport import Request, Unreachable
from tests.component.kube.servers import Authority, MovableRuntime, knows, ok, proxying, serving

GET = Request("GET", "/api/v1/namespaces")


@contextlib.asynccontextmanager
async def connection(endpoint, **options):
    transport = HttpTransport(endpoint, **options)
    try:
        yield transport
    finally:
        await transport.close()


async def test_a_client_certificate_is_shown():
    async def whoami(request):
        return web.json_response({"subject": request.get_extra_info("peercert")["subject"][0][0][1]})

    async with serving(whoami, demands_certificate=True) as server:
        mine = server.authority.issue("anna")
        endpoint = server.endpoint(client_certificate=mine.certificate, client_key=mine.key)
        async with connection(endpoint) as transport:
            answer = await transport.send(GET, 10)

    assert orjson.loads(answer.body) == {"subject": "anna"}


@pytest.mark.parametrize(
    ("user", "shown"),
    [
        ({}, None),
        ({"token": "t0ken"}, "Bearer t0ken"),
        ({"username": "anna", "password": "s:ä"}, "Basic YW5uYTpzOsOk"),
        ({"token": "t0ken", "username": "anna"}, "Bearer t0ken"),
    ],
)
async def test_a_token_or_a_password_is_shown(user, shown):
    async with serving() as server, connection(server.endpoint(**user)) as transport:
        await transport.send(GET, 10)

    assert server.shown == [shown]


async def test_no_credentials_travel_in_the_clear():
    async with serving(tls=False) as server, connection(server.endpoint(token="t0ken")) as transport:
        answer = await transport.send(GET, 10)

    assert (answer.status, server.shown) == (200, [None])


async def test_another_user_is_acted_for():
    other = Impersonation("bob", "7", ("dev", "ops"), (("acme.com/team%", ("a", "b")), ("scopes", ("x",))))
    async with serving() as server, connection(server.endpoint(token="t", impersonation=other)) as transport:
        await transport.send(GET, 10)

    asked = [(name, value) for name, value in server.asked[0].headers.items() if name.startswith("Impersonate")]
    assert asked == [
        ("Impersonate-User", "bob"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-acme.com%2Fteam%25", "a"),
        ("Impersonate-Extra-acme.com%2Fteam%25", "b"),
        ("Impersonate-Extra-scopes", "x"),
    ]


async def test_a_path_reaches_the_server_as_it_is():
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a?b#c d"
    async with (
        serving() as server,
        connection(server.endpoint(server=server.url + "/k8s/clusters/c-1")) as transport,
    ):
        await transport.send(Request("GET", path, (("labelSelector", "a in (b,c)"), ("x", "%"))), 10)

    (asked,) = server.asked
    assert asked.path == "/k8s/clusters/c-1" + path
    assert dict(asked.query) == {"labelSelector": "a in (b,c)", "x": "%"}


async def test_a_token_file_is_read_again_after_a_while(tmp_path):
    (tmp_path / "token").write_text("first\n")
    runtime = MovableRuntime()
    async with (
        serving() as server,
        connection(server.endpoint(token_file=str(tmp_path / "token")), runtime=runtime) as transport,
    ):
        await transport.send(GET, 10)
        (tmp_path / "token").write_text("second\n")
        await transport.send(GET, 10)
        runtime.moved += 15
        await transport.send(GET, 10)

    assert server.shown == ["Bearer first", "Bearer first", "Bearer second"]


async def test_a_token_that_was_replaced_is_shown_at_once_when_the_old_one_is_refused(tmp_path):
    (tmp_path / "token").write_text("old")
    valid = ["old"]
    async with (
        serving(knows(valid)) as server,
        connection(server.endpoint(token_file=str(tmp_path / "token"))) as transport,
    ):
        await transport.send(GET, 10)
        (tmp_path / "token").write_text("new")
        valid[:] = ["new"]
        answers = await asyncio.gather(*(transport.send(GET, 10) for _ in range(5)))
        watch = await transport.stream(GET, 10)
        await watch.close()

    assert [answer.status for answer in answers] == [200] * 5
    assert watch.status == 200
    assert server.shown.count("Bearer old") <= 6


async def test_a_watch_is_refused_and_begins_again_with_the_new_token(tmp_path):
    (tmp_path / "token").write_text("old")
    async with (
        serving(knows(["new"])) as server,
        connection(server.endpoint(token_file=str(tmp_path / "token"), token="older")) as transport,
    ):
        refused = await transport.stream(GET, 10)
        body = b"".join([chunk async for chunk in refused.chunks()])
        await refused.close()
        (tmp_path / "token").write_text("new")
        accepted = await transport.stream(GET, 10)
        await accepted.close()

    assert (refused.status, accepted.status) == (401, 200)
    assert orjson.loads(body)["message"].startswith(f"{server.url} does not accept the token in ")
    assert server.shown == ["Bearer old", "Bearer old", "Bearer new"]


async def test_the_last_token_holds_while_its_file_is_away(tmp_path):
    (tmp_path / "token").write_text("kept")
    runtime = MovableRuntime()
    async with (
        serving() as server,
        connection(server.endpoint(token_file=str(tmp_path / "token")), runtime=runtime) as transport,
    ):
        await transport.send(GET, 10)
        (tmp_path / "token").unlink()
        runtime.moved += 15
        await transport.send(GET, 10)

    assert server.shown == ["Bearer kept", "Bearer kept"]


class SlowDisk(MovableRuntime):
    """A machine whose files cannot be read until the test says so."""

    def __init__(self):
        super().__init__()
        self.stuck, self.looks = asyncio.Event(), 0
        self.stuck.set()

    async def in_thread(self, function):
        self.looks += 1
        await self.stuck.wait()
        return function()


async def test_one_request_alone_waits_for_a_disk_that_does_not_answer(tmp_path):
    path = tmp_path / "token"
    path.write_text("kept")
    runtime = SlowDisk()
    async with (
        serving() as server,
        connection(server.endpoint(token_file=str(path)), runtime=runtime) as transport,
    ):
        await transport.send(GET, 10)
        runtime.moved += 15
        runtime.stuck.clear()
        with pytest.raises(Unreachable) as fault:
            await transport.send(GET, 0.3)
        answers = [await transport.send(GET, 10) for _ in range(3)]

    assert fault.value.why == f"kubeconfig x: users[u].tokenFile: {path} cannot be read: its disk does not answer"
    assert [answer.status for answer in answers] == [200] * 3
    assert runtime.looks == 2


async def test_who_waits_for_credentials_is_told_when_the_transport_closes(tmp_path):
    runtime = SlowDisk()
    runtime.stuck.clear()
    async with serving() as server:
        transport = HttpTransport(server.endpoint(token_file=str(tmp_path / "token")), runtime=runtime)
        waiting = [asyncio.create_task(transport.send(GET, 30)) for _ in range(2)]
        await asyncio.wait(waiting, timeout=0)
        await transport.close()
        faults = await asyncio.gather(*waiting, return_exceptions=True)

    said = f"{server.url} cannot be reached: the connection to it was closed here"
    assert [str(fault) for fault in faults] == [said] * 2


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read: No such file or directory; write a token there"),
        (b"  \n", "is empty; write a token there"),
        (b"a\nb", "does not hold a token; write a token there"),
        (b"\xff\xfe", "does not hold a token; write a token there"),
    ],
)
async def test_a_token_file_without_a_token_is_named(tmp_path, content, why):
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    async with serving() as server, connection(server.endpoint(token_file=str(path))) as transport:
        with pytest.raises(Unreachable) as fault:
            await transport.send(GET, 10)

    assert fault.value.why == f"kubeconfig x: users[u].tokenFile: {path} {why}"
    assert server.asked == []


async def test_a_fixed_token_that_is_refused_is_shown_once_only():
    async with serving(knows([])) as server, connection(server.endpoint(token="t0ken")) as transport:
        answer = await transport.send(GET, 10)

    assert (answer.status, len(server.asked)) == (401, 1)


async def test_requests_pass_through_a_proxy_with_another_server_name():
    authority = Authority()
    pair = authority.issue("server", hosts=("kubernetes.example",))
    async with serving(authority=authority, pair=pair) as server, proxying() as (proxy, asked):
        endpoint = server.endpoint(
            proxy_url=f"http://anna:pw@{proxy}", tls_server_name="kubernetes.example", token="t0ken"
        )
        async with connection(endpoint) as transport:
            answer = await transport.send(GET, 10)

    (head,) = asked
    assert answer.status == 200
    assert head.startswith(f"CONNECT {server.url.removeprefix('https://')} HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic YW5uYTpwdw==" in head
    assert "t0ken" not in head


async def test_only_the_endpoint_that_says_so_skips_verification():
    async with serving(pair=Authority("other").issue("x", hosts=("elsewhere",))) as server:
        async with connection(server.endpoint(ca=None, insecure=True)) as trusting:
            answer = await trusting.send(GET, 10)
        async with connection(server.endpoint()) as careful:
            with pytest.raises(Unreachable, match="its certificate is not"):
                await careful.send(GET, 10)

    assert answer.status == 200


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ca": b"nonsense"}, "the certificate authority for https://x is not a PEM certificate"),
        (
            {"client_certificate": b"a", "client_key": b"b"},
            "the client certificate for https://x and its key are not a PEM certificate and key",
        ),
        (
            {"client_certificate": b"a", "client_key": b"-----BEGIN ENCRYPTED PRIVATE KEY-----"},
            "the client certificate for https://x has a key with a passphrase; store the key without one",
        ),
    ],
)
async def test_keys_that_are_none_are_refused_before_anything_is_sent(changes, sentence):
    async with serving() as server:
        with pytest.raises(KubeconfigError) as refusal:
            HttpTransport(server.endpoint(**changes, server="https://x"))

    assert str(refusal.value) == sentence


async def test_requests_in_flight_are_bounded_and_watches_are_not_counted():
    inside, most = 0, 0
    full, go = asyncio.Event(), asyncio.Event()

    async def handle(request):
        nonlocal inside, most
        if request.query.get("watch"):
            return await ok(request)
        inside, most = inside + 1, max(most, inside + 1)
        if inside == REQUESTS_IN_FLIGHT:
            full.set()
        await go.wait()
        inside -= 1
        return await ok(request)

    async with serving(handle) as server, connection(server.endpoint()) as transport:
        requests = [asyncio.create_task(transport.send(GET, 30)) for _ in range(3 * REQUESTS_IN_FLIGHT)]
        await asyncio.wait_for(full.wait(), 30)
        watch = await transport.stream(Request("GET", "/", (("watch", "true"),)), 10)
        await watch.close()
        go.set()
        answers = await asyncio.gather(*requests)

    assert watch.status == 200
    assert {answer.status for answer in answers} == {200}
    assert most == REQUESTS_IN_FLIGHT


async def test_a_closed_transport_leaves_no_connection_and_sends_nothing_more():
    gone = asyncio.Event()

    async def endless(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{}\n")
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    async with serving(endless) as server:
        transport = HttpTransport(server.endpoint())
        watch = await transport.stream(GET, 10)
        async for chunk in watch.chunks():
            assert chunk == b"{}\n"
            break
        await transport.close()
        await asyncio.wait_for(gone.wait(), 10)
        with pytest.raises(Unreachable, match="the connection to it was closed here"):
            await transport.send(GET, 10)

    assert len(server.asked) == 1


async def test_whoever_waits_for_more_of_an_answer_hears_that_the_transport_was_closed():
    async def endless(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{}\n")
        await asyncio.Event().wait()

    async def follow(watch):
        async for _chunk in watch.chunks():
            begun.set()

    begun = asyncio.Event()
    async with serving(endless) as server:
        transport = HttpTransport(server.endpoint())
        waiting = asyncio.create_task(follow(await transport.stream(GET, 10)))
        await asyncio.wait_for(begun.wait(), 10)
        await transport.close()
        with pytest.raises(Unreachable):
            await asyncio.wait_for(waiting, 10)
