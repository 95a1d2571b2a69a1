"""Inside of pods: logs, exec, attach, port-forward and proxy, answered by functions that are registered."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from hanse.apiserver import ApiServer, CertificateAuthority, Identity
from hanse.apiserver.pod_doors import PodSession
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SystemRuntime
from hanse.kube.transport import Request, Response
from tests.component.apiserver.conftest import ADMIN, Api, pod

PODS = "/api/v1/namespaces/default/pods"
STATUS = 3


class Https:
    """A served API server and a way into it as its administrator."""

    def __init__(self, server: ApiServer, authority: CertificateAuthority) -> None:
        self.server = server
        self.trust = ssl.create_default_context(cadata=authority.certificate_pem.decode())

    def session(self, identity: Identity = ADMIN) -> aiohttp.ClientSession:
        headers = {"Authorization": f"Bearer {self.server.token_for(identity)}"}
        return aiohttp.ClientSession(self.server.url, headers=headers, connector=aiohttp.TCPConnector(ssl=self.trust))


@pytest.fixture
async def https(server: ApiServer, tmp_path: Path) -> Https:
    authority = CertificateAuthority.open(tmp_path, runtime=SystemRuntime())
    await server.serve(credentials=authority.serving(runtime=SystemRuntime()))
    return Https(server, authority)


@pytest.fixture
async def placed(api: Api) -> None:
    two = [{"name": "app", "image": "x", "ports": [{"containerPort": 8080}]}, {"name": "side", "image": "x"}]
    await api.create(PODS, pod("one", nodeName="n"))
    await api.create(PODS, pod("two", nodeName="n", containers=two, initContainers=[{"name": "init", "image": "x"}]))
    await api.create(PODS, pod("unplaced"))


LOGS = [
    ("two/log", 400, "a container name must be specified for pod two, choose one of: [init app side]"),
    ("two/log?container=no", 400, "container no is not valid for pod two"),
    ("one/log?tailLines=-1", 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
    ("one/log?limitBytes=0", 422, "limitBytes: Invalid value: 0: must be greater than 0"),
    ("one/log?sinceSeconds=0", 422, "sinceSeconds: Invalid value: 0: must be greater than 0"),
    ("one/log?sinceSeconds=5&sinceTime=2026-01-01T00:00:00Z", 422, "at most one of `sinceTime` or `sinceSeconds`"),
    ("none/log", 404, 'pods "none" not found'),
    ("one/exec?stdout=true", 400, "you must specify at least one command for the container"),
    ("one/exec?command=ls", 400, "you must specify at least 1 of stdin, stdout, stderr"),
    ("unplaced/exec?command=ls&stdout=true", 400, "pod unplaced does not have a host assigned"),
    ("two/exec?command=ls&stdout=true&container=no", 400, "container no is not valid for pod two"),
    ("unplaced/portforward", 400, "pod unplaced does not have a host assigned"),
    ("one/exec?command=ls&stdout=true", 400, "Upgrade request required"),
]


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize(("path", "code", "sentence"), LOGS)
async def test_what_cannot_be_shown_or_run_is_refused_in_words(
    server: ApiServer, api: Api, path: str, code: int, sentence: str
) -> None:
    server.pods.exec = echo
    answered = await api.get(f"{PODS}/{path}")
    assert answered.code == code
    assert sentence in answered.body["message"]


@pytest.mark.usefixtures("placed")
async def test_nothing_was_printed_by_a_pod_that_has_no_node(api: Api) -> None:
    answered = await api.get(f"{PODS}/unplaced/log")
    assert (answered.code, answered.body) == (200, "")


@pytest.mark.usefixtures("placed")
async def test_a_followed_log_arrives_as_it_is_printed(https: Https) -> None:
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def printed() -> AsyncIterator[bytes]:
        while line := await lines.get():
            yield line

    async def logs(namespace: str, name: str, asked: Mapping[str, str]) -> bytes | AsyncIterator[bytes]:
        return printed() if asked.get("follow") == "true" else f"{name} {asked['container']}".encode()

    https.server.pod_logs = logs
    async with https.session() as session:
        async with session.get(f"{PODS}/one/log") as answer:
            assert await answer.text() == "one app"
        async with session.get(f"{PODS}/one/log?follow=true&tailLines=3") as answer:
            assert answer.headers["Content-Type"] == "text/plain"
            for line in (b"first\n", b"second\n"):
                lines.put_nowait(line)
                assert await answer.content.readline() == line
            lines.put_nowait(b"")
            assert await answer.content.read() == b""


@pytest.mark.usefixtures("placed")
async def test_a_log_is_let_go_when_its_follower_has_gone(https: Https) -> None:
    let_go = asyncio.Event()

    async def printed() -> AsyncIterator[bytes]:
        try:
            yield b"first\n"
            await asyncio.Event().wait()
        finally:
            let_go.set()

    async def logs(namespace: str, name: str, asked: Mapping[str, str]) -> AsyncIterator[bytes]:
        return printed()

    https.server.pod_logs = logs
    async with https.session() as session:
        async with session.get(f"{PODS}/one/log?follow=true") as answer:
            assert await answer.content.readline() == b"first\n"
            answer.close()
        async with asyncio.timeout(60):
            await let_go.wait()


async def echo(session: PodSession) -> int:
    """Send every line back in capitals, and end with the number that the command names."""
    await session.write(f"{session.pod}/{session.container} {' '.join(session.command)}\n".encode())
    while data := await session.read():
        await session.write(data.upper())
    await session.write_error(b"done\n")
    return int(session.command[-1])


async def spoken(socket: aiohttp.ClientWebSocketResponse) -> tuple[dict[int, bytes], Obj]:
    """Return what came on each channel, and the Status at the end."""
    heard: dict[int, bytes] = {}
    async with asyncio.timeout(5):
        async for message in socket:
            heard[message.data[0]] = heard.get(message.data[0], b"") + message.data[1:]
    return heard, orjson.loads(heard.pop(STATUS))


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize(("code", "outcome"), [(0, "Success"), (7, "Failure")])
async def test_a_command_hears_speaks_and_ends_with_its_code(https: Https, code: int, outcome: str) -> None:
    https.server.pods.exec = echo
    query = f"command=run&command={code}&stdin=true&stdout=true&stderr=true&container=side"
    async with (
        https.session() as session,
        session.ws_connect(f"{PODS}/two/exec?{query}", protocols=("v5.channel.k8s.io", "v4.channel.k8s.io")) as socket,
    ):
        assert socket.protocol == "v5.channel.k8s.io"
        await socket.send_bytes(b"\x00hello\n")
        await socket.send_bytes(b"\xff\x00")
        heard, status = await spoken(socket)
    assert heard == {1: f"two/side run {code}\nHELLO\n".encode(), 2: b"done\n"}
    assert status["status"] == outcome
    if code:
        assert status["reason"] == "NonZeroExitCode"
        assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "7"}]
        assert status["message"] == "command terminated with non-zero exit code: exit status 7"


@pytest.mark.usefixtures("placed")
async def test_a_terminal_has_one_output_and_tells_its_size(https: Https) -> None:
    async def attached(session: PodSession) -> int:
        await session.read()
        await session.write_error(f"{session.tty} {session.terminal_size} {session.command}".encode())
        return 0

    https.server.pods.attach = attached
    query = "stdin=true&stdout=true&tty=true"
    async with (
        https.session() as session,
        session.ws_connect(f"{PODS}/one/attach?{query}", protocols=("v4.channel.k8s.io",)) as socket,
    ):
        await socket.send_bytes(b'\x04{"Width":80,"Height":24}')
        await socket.send_bytes(b"\x00x")
        heard, status = await spoken(socket)
    assert heard[1] == b"True (80, 24) ()"
    assert status == {"metadata": {}, "status": "Success"}


@pytest.mark.usefixtures("placed")
async def test_a_command_ends_when_its_client_goes(https: Https) -> None:
    ended = asyncio.Event()

    async def endless(session: PodSession) -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    https.server.pods.exec = endless
    async with https.session() as session:
        socket = await session.ws_connect(f"{PODS}/one/exec?command=x&stdout=true", protocols=("v4.channel.k8s.io",))
        await socket.close()
    async with asyncio.timeout(5):
        await ended.wait()
    assert ended.is_set()


@pytest.mark.usefixtures("placed")
async def test_a_failing_function_is_told_to_the_client(https: Https) -> None:
    async def broken(session: PodSession) -> int:
        raise RuntimeError("no such container runtime")

    https.server.pods.exec = broken
    async with (
        https.session() as session,
        session.ws_connect(f"{PODS}/one/exec?command=x&stdout=true", protocols=("v5.channel.k8s.io",)) as socket,
    ):
        _, status = await spoken(socket)
    assert (status["status"], status["reason"]) == ("Failure", "InternalError")
    assert "no such container runtime" in status["message"]


UPGRADES = [
    ({"Upgrade": "SPDY/3.1", "Connection": "Upgrade"}, "SPDY is not spoken here"),
    ({}, "Upgrade request required"),
    (
        {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Protocol": "v1.unknown"},
        "unable to upgrade: unknown protocol(s): v1.unknown",
    ),
]


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize(("headers", "sentence"), UPGRADES)
async def test_other_ways_of_streaming_are_refused_with_a_sentence(
    https: Https, headers: dict[str, str], sentence: str
) -> None:
    https.server.pods.exec = echo
    async with (
        https.session() as session,
        session.post(f"{PODS}/one/exec?command=x&stdout=true", headers=headers) as answer,
    ):
        assert answer.status == 400
        assert sentence in (await answer.json())["message"]


@pytest.mark.usefixtures("placed")
async def test_get_alone_does_not_allow_running_commands(https: Https, api: Api) -> None:
    https.server.pods.exec = echo
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"]}
    await api.create(f"/apis/{group}/v1/clusterroles", {"metadata": {"name": "r"}, "rules": [rule]})
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": "r"}
    bound = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [{"kind": "User", "name": "bob"}]}
    await api.create(f"/apis/{group}/v1/clusterrolebindings", bound)
    async with https.session(Identity("bob")) as session:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await session.ws_connect(f"{PODS}/one/exec?command=x&stdout=true", protocols=("v5.channel.k8s.io",))


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"hello " + await reader.readline())
    await writer.drain()
    writer.close()


@pytest.fixture
async def greeter(https: Https) -> AsyncIterator[Https]:
    """Port 80 of every pod greets; nothing listens on any other."""
    listener = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]

    async def dial(namespace: str, name: str, wanted: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if wanted != 80:
            raise ConnectionRefusedError(111, "Connection refused")
        return await asyncio.open_connection("127.0.0.1", port)

    https.server.pods.dial = dial
    yield https
    listener.close()


@pytest.mark.usefixtures("placed")
async def test_ports_are_forwarded_over_channels(greeter: Https) -> None:
    async with (
        greeter.session() as session,
        session.ws_connect(f"{PODS}/one/portforward?ports=80&ports=81", protocols=("v4.channel.k8s.io",)) as socket,
    ):
        heard: dict[int, bytes] = {}
        await socket.send_bytes(b"\x00bob\n")
        async with asyncio.timeout(5):
            while len(heard.get(0, b"")) < 12 or len(heard.get(3, b"")) < 3:
                message = await socket.receive_bytes()
                heard[message[0]] = heard.get(message[0], b"") + message[1:]
    assert heard[0] == b"\x50\x00hello bob\n"
    assert heard[1] == b"\x50\x00"
    assert heard[3] == b"\x51\x00failed to connect to localhost:81 inside namespace: Connection refused"


async def answer_http(namespace: str, name: str, port: str, request: Request) -> Response:
    if port == "9":
        raise ConnectionRefusedError(111, "Connection refused")
    told: dict[str, Any] = {"pod": name, "port": port, "path": request.path, "query": request.query}
    told |= {"method": request.method, "body": request.body.decode(), "secret": request.headers.get("authorization")}
    return Response(418, {"Content-Type": "application/json", "X-Own": "1"}, orjson.dumps(told))


PROXIED = [
    ("two/proxy/a/b?x=1", {"pod": "two", "port": "8080", "path": "/a/b", "query": [["x", "1"]]}),
    ("two:9090/proxy/", {"pod": "two", "port": "9090", "path": "/"}),
    ("http:two:web/proxy/a/", {"pod": "two", "port": "web", "path": "/a/"}),
]


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize(("path", "told"), PROXIED)
async def test_http_reaches_a_pod_through_the_server(https: Https, path: str, told: Obj) -> None:
    https.server.pods.http = answer_http
    async with https.session() as session, session.put(f"{PODS}/{path}", data=b"body") as answer:
        assert (answer.status, answer.headers["X-Own"]) == (418, "1")
        got = await answer.json()
    assert got == {**got, **told, "method": "PUT", "body": "body", "secret": None}


@pytest.mark.usefixtures("placed")
async def test_a_proxied_pod_that_does_not_answer_is_unavailable(server: ApiServer, api: Api) -> None:
    assert (await api.get(f"{PODS}/two/proxy/")).code == 503
    server.pods.http = answer_http
    refused = await api.get(f"{PODS}/two:9/proxy/")
    assert (refused.code, refused.body["message"]) == (503, "error trying to reach service: Connection refused")
    assert (await api.get(f"{PODS}/none/proxy/")).code == 404
    assert (await api.get(f"{PODS}/a:b:c:d/proxy/")).code == 400
    assert (await api.get(f"{PODS}/two/proxy")).code == 301


SERVICES = "/api/v1/namespaces/default/services"


async def service(api: Api, **more: Any) -> None:
    ports = [{"name": "web", "port": 80, "targetPort": 8080}]
    made = await api.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": ports, **more}})
    assert made.code == 201


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize("name", ["s", "s:80", "s:web", "http:s:web"])
async def test_http_reaches_a_pod_behind_a_service(server: ApiServer, api: Api, name: str) -> None:
    server.pods.http = answer_http
    await service(api)
    assert (await api.get(f"{SERVICES}/s/proxy/")).body["message"] == 'services "s" not found'
    endpoints = [{"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": "two", "namespace": "default"}}]
    labels = {"kubernetes.io/service-name": "s"}
    slice_ = {"metadata": {"name": "s-1", "labels": labels}, "addressType": "IPv4", "endpoints": endpoints}
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    assert (await api.create(path, {**slice_, "ports": [{"name": "web", "port": 8080}]})).code == 201
    assert (await api.get(f"{SERVICES}/s:no/proxy/")).body["message"] == 'no service port "no" found for service "s"'
    answered = await api.get(f"{SERVICES}/{name}/proxy/x")
    assert answered.code == 418
    assert (answered.body["pod"], answered.body["port"], answered.body["path"]) == ("two", "8080", "/x")


async def test_http_reaches_a_service_by_its_load_balancer(api: Api) -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\nX-Line: %b\r\n\r\nok" % line.strip()
        )
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(say, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    await service(api, type="LoadBalancer", ports=[{"name": "web", "port": port}])
    status = {"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}}
    assert (await api.patch(f"{SERVICES}/s/status", {"status": status})).code == 200
    request = Request("GET", f"{SERVICES}/s/proxy/a", (("q", "1"),))
    answer = await api.transport.send(request, 5)
    assert (answer.status, answer.body) == (200, b"ok")
    assert answer.headers["X-Line"] == "GET /a?q=1 HTTP/1.1"
    listener.close()
    await listener.wait_closed()
    assert (await api.get(f"{SERVICES}/s/proxy/a")).code == 503


async def test_ephemeral_containers_come_by_their_own_path_and_stay(api: Api) -> None:
    await api.create(PODS, pod("one"))
    path = f"{PODS}/one/ephemeralcontainers"
    debug = {"name": "debug", "image": "busybox", "targetContainerName": "app"}
    added = await api.patch(path, {"spec": {"ephemeralContainers": [debug]}}, "strategic")
    assert added.code == 200, added.body
    assert added.body["spec"]["ephemeralContainers"][0]["name"] == "debug"
    for changed in ([], [{**debug, "image": "other"}]):
        for where in (path, f"{PODS}/one"):
            assert (await api.patch(where, {"spec": {"ephemeralContainers": changed}}, "merge")).code == 422
    moved = {"spec": {"containers": [{"name": "app", "image": "other"}]}}
    assert (await api.patch(path, moved, "strategic")).body["spec"]["containers"][0]["image"] == "nginx"


RESIZES = [
    ("resize", {"requests": {"cpu": "2"}}, 200, ""),
    ("", {"requests": {"cpu": "2"}}, 422, "pod updates may not change fields other than"),
    (
        "resize",
        {"requests": None},
        422,
        "spec.containers[0].resources.requests: Forbidden: resource requests cannot be",
    ),
    ("resize", {"requests": None}, 422, "Pod QOS Class may not change as a result of resizing"),
]


@pytest.mark.parametrize(("part", "resources", "code", "sentence"), RESIZES)
async def test_sizes_change_by_their_own_path_only(
    api: Api, part: str, resources: Obj, code: int, sentence: str
) -> None:
    container = {"name": "app", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    await api.create(PODS, pod("one", containers=[container]))
    wanted = {"spec": {"containers": [{"name": "app", "resources": resources}]}}
    answered = await api.patch(f"{PODS}/one/{part}".rstrip("/"), wanted, "strategic")
    assert answered.code == code
    if code == 200:
        assert answered.body["spec"]["containers"][0]["resources"] == resources
    else:
        assert sentence in answered.body["message"]
