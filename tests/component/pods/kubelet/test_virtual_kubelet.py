"""Logs, exec, attach and port-forward through a source's API server reach the pod that really runs."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import orjson
import pytest
import pytest_asyncio
from yarl import URL

from hanse.api.admiralty.names import child_name
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.resources import CONFIGMAPS, NODES, PODS, Resource
from hanse.kube.transport import Transport
from hanse.kube.upgrades import Head, open_upgraded, parse_head
from hanse.pods.kubelet.kubelet import VirtualKubelet
from tests.component.pods.kubelet.stage import NAMESPACE, TARGET, Stage, stage

POD = "/api/v1/namespaces/default/pods/web"
CHILD = child_name("here", NAMESPACE, "web")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)


# One stage for all: nothing that a test leaves behind matters to another, but for the pod.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def staged(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("stage")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def here(staged: Stage) -> AsyncIterator[Stage]:
    yield staged
    await staged.clear()


def tls(identity: tuple[bytes, bytes] | None, folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if identity is not None:
        pem = folder / "client.pem"
        pem.write_bytes(identity[0] + identity[1])
        context.load_cert_chain(pem)
    return context


async def ask(here: Stage, path: str, identity: tuple[bytes, bytes] | None, folder: Path) -> tuple[int, str]:
    """Ask the kubelet itself."""
    connector = aiohttp.TCPConnector(ssl=tls(identity, folder))
    async with aiohttp.ClientSession(connector=connector) as session, session.get(here.url + path) as answer:
        return answer.status, await answer.text()


LOGS = [
    ("", "container=app"),
    ("?tailLines=0", "container=app&tailLines=0"),
    ("?previous=true&timestamps=true&limitBytes=9", "container=app&limitBytes=9&previous=true&timestamps=true"),
    ("?sinceSeconds=5", "container=app&sinceSeconds=5"),
    ("?sinceTime=2026-01-01T00:00:00Z", "container=app&sinceTime=2026-01-01T00:00:00Z"),
]


async def test_logs_are_those_of_the_pod_that_runs_and_every_option_arrives(here: Stage) -> None:
    await here.place()
    told = []
    async with here.source.session() as session:
        for query, _ in LOGS:
            async with session.get(f"{POD}/log{query}") as answer:
                told.append(await answer.text())

    assert told == [f"default/{CHILD} {asked}" for _, asked in LOGS]


async def test_a_followed_log_arrives_as_it_is_printed_and_is_let_go_with_its_follower(here: Stage) -> None:
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    let_go = asyncio.Event()

    async def printed() -> AsyncIterator[bytes]:
        try:
            while True:
                yield await lines.get()
        finally:
            let_go.set()

    async def logs(namespace: str, name: str, asked: object) -> AsyncIterator[bytes]:
        return printed()

    here.target.server.pod_logs = logs
    await here.place()
    async with here.source.session() as session, asyncio.timeout(60):
        async with session.get(f"{POD}/log?follow=true") as answer:
            for line in (b"first\n", b"second\n"):
                lines.put_nowait(line)
                assert await answer.content.readline() == line
            answer.close()
        # Nothing is printed any more: only who hung up can be noticed.
        await let_go.wait()


async def test_a_command_runs_where_the_pod_does_and_so_it_ends(here: Stage) -> None:
    await here.place()
    received = {command: await run(here, command) for command in ("echo", "fail")}

    for command, ended in (("echo", "Success"), ("fail", "Failure")):
        assert received[command][0] == f"\x01{CHILD}/app {command}\n".encode()
        assert b"\x01HELLO" in received[command]
        assert orjson.loads(received[command][-1][1:])["status"] == ended


async def run(here: Stage, command: str) -> list[bytes]:
    """Run a command through the source's API server, and return what comes over its channels."""
    path = f"{POD}/exec?command={command}&stdin=true&stdout=true&stderr=true"
    async with here.source.session() as session, asyncio.timeout(60):
        socket = await session.ws_connect(path, protocols=["v5.channel.k8s.io"])
        await socket.send_bytes(b"\x00hello")
        await socket.send_bytes(b"\xff\x00")
        received = [message.data async for message in socket if len(message.data) > 1]
        await socket.close()
    return received


async def test_who_attaches_is_led_there_too(here: Stage) -> None:
    await here.place()
    async with here.source.session() as session, asyncio.timeout(60):
        socket = await session.ws_connect(f"{POD}/attach?stdout=true", protocols=["v4.channel.k8s.io"])
        received = [message.data async for message in socket if len(message.data) > 1]
        await socket.close()

    assert received[0] == f"\x01{CHILD}/app \n".encode()


async def test_ports_are_forwarded_to_where_the_pod_is(here: Stage) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello " + await reader.readexactly(3))
        await writer.drain()

    listener = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]

    async def dial(namespace: str, name: str, asked: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        assert (name, asked) == (CHILD, 80)
        return await asyncio.open_connection("127.0.0.1", port)

    here.target.server.pods.dial = dial
    await here.place()
    async with here.source.session() as session, asyncio.timeout(60):
        socket = await session.ws_connect(f"{POD}/portforward?ports=80", protocols=["v4.channel.k8s.io"])
        opened = [(await socket.receive_bytes())[0] for _ in range(2)]
        await socket.send_bytes(b"\x00you")
        said = await socket.receive_bytes()
        await socket.close()
    listener.close()

    assert (opened, said) == ([0, 1], b"\x00hello you")


async def test_what_is_not_http_any_more_passes_as_bytes_whatever_it_is(here: Stage, tmp_path: Path) -> None:
    asked: list[Head] = []

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(parse_head(await reader.readuntil(b"\r\n\r\n")))
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\nfirst")
        writer.write(b"<" + await reader.readexactly(5) + b">")
        await writer.drain()
        writer.close()

    await here.place()
    context = here.target.authority.serving(runtime=here.target.runtime).tls_context()
    other = await asyncio.start_server(speak, "127.0.0.1", 0, ssl=context)
    port = other.sockets[0].getsockname()[1]
    # Everything but the stream is asked of the real one.
    transport = here.target.client.transport
    endpoint = Endpoint(f"https://127.0.0.1:{port}", ca=here.target.authority.certificate_pem, token="t")
    here.roster.members["eu"] = Member("eu", Client(Forked(transport, HttpTransport(endpoint)), here.target.runtime))
    head = (
        "POST /exec/default/web/app?command=x&output=1 HTTP/1.1\r\nHost: k\r\nConnection: Upgrade\r\n"
        "Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n"
        "X-Stream-Protocol-Version: v3.channel.k8s.io\r\nAuthorization: Bearer stolen\r\n\r\n"
    )
    identity = here.source.identity("apiserver", "system:masters")
    async with asyncio.timeout(60):
        answer = await open_upgraded(URL(here.url), tls(identity, tmp_path), head.encode())
        answer.writer.write(b"hello")
        said = await answer.reader.read()
    answer.close()
    other.close()

    (seen,) = asked
    assert (answer.status, said) == (101, b"first<hello>")
    assert seen.line[:2] == (
        "POST",
        f"/api/v1/namespaces/default/pods/{CHILD}/exec?stdout=true&container=app&command=x",
    )
    assert seen.headers["x-stream-protocol-version"] == "v4.channel.k8s.io, v3.channel.k8s.io"
    assert seen.headers["authorization"] == "Bearer t"


class Forked:
    """A transport whose streams lead elsewhere than its requests."""

    def __init__(self, requests: Transport, streams: HttpTransport) -> None:
        self.send, self.stream, self.close = requests.send, requests.stream, requests.close
        self.address, self.upgrade = requests.address, streams.upgrade


REFUSED = [
    ("nobody", "", 401, "a client certificate that this cluster's authority has signed is required"),
    ("user", "jane", 403, "user 'jane' cannot get resource 'nodes' with subresource 'proxy' of node 'admiralty-eu'"),
    ("admin", "admin", 200, f"default/{CHILD} container=app"),
]


async def test_only_those_whom_the_cluster_lets_use_its_nodes_may_ask(here: Stage, tmp_path: Path) -> None:
    await here.place()
    for who, user, code, told in REFUSED:
        groups = ["system:masters"] if who == "admin" else []
        identity = here.source.identity(user, *groups) if user else None
        answered = await ask(here, "/containerLogs/default/web/app", identity, tmp_path)
        assert (answered[0], answered[1].partition(";")[0]) == (code, told)


async def test_a_certificate_of_another_authority_is_not_believed(here: Stage, tmp_path: Path) -> None:
    await here.place()
    with pytest.raises((aiohttp.ClientError, OSError)):
        await ask(here, "/containerLogs/default/web/app", here.target.identity("x", "system:masters"), tmp_path)


async def test_a_user_who_is_bound_to_the_kubelets_role_may_ask_and_others_learn_nothing(
    here: Stage, tmp_path: Path
) -> None:
    await here.place()
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kubelets"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:kubelet-api-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "kube-apiserver"}],
    }
    await here.source.client.create(BINDINGS, binding)
    bound, other = here.source.identity("kube-apiserver"), here.source.identity("jane")

    assert (await ask(here, "/containerLogs/default/web/app", bound, tmp_path))[0] == 200
    # Not even which pods there are.
    assert (await ask(here, "/containerLogs/default/nobody/app", other, tmp_path))[0] == 403
    assert (await ask(here, "/containerLogs/default/nobody/app", bound, tmp_path))[0] == 404
    assert (await ask(here, "/pods", bound, tmp_path))[0] == 404
    assert (await ask(here, "/containerLogs/default/..%2Fsecrets/app", bound, tmp_path))[0] == 404
    assert await ask(here, "/healthz", None, tmp_path) == (200, "ok")


async def log_of(here: Stage, folder: Path, name: str = "web") -> tuple[int, str]:
    admin = here.source.identity("admin", "system:masters")
    return await ask(here, f"/containerLogs/default/{name}/app", admin, folder)


async def test_a_pod_that_runs_nowhere_is_said_to(here: Stage, tmp_path: Path) -> None:
    await here.place("waiting", bound=False, child=False)
    await here.place("namesake", child=False)
    await here.run_for("another-uid", "namesake")
    spec = {"containers": [{"name": "app", "image": "i"}], "nodeName": TARGET.node}
    metadata = {"name": "ordinary", "namespace": NAMESPACE}
    await here.source.client.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    assert [await log_of(here, tmp_path, name) for name in ("waiting", "namesake", "ordinary")] == [
        (400, "pod default/waiting has not been given a cluster to run in yet; wait until it has a node"),
        (400, "pod default/namesake has no pod in the cluster of target eu"),
        (400, "pod default/ordinary does not run elsewhere, so nothing is known of it"),
    ]


async def test_a_target_that_is_away_is_named_in_the_answer(here: Stage, tmp_path: Path) -> None:
    await here.place()
    here.roster.members.clear()
    no_way = await log_of(here, tmp_path)
    here.roster.known = []
    unknown = await log_of(here, tmp_path)

    assert no_way == (500, "there is no way to the cluster of target eu, in which pod default/web runs")
    assert unknown == (500, "node admiralty-eu of pod default/web stands for no target that is known")


async def test_what_the_kubelet_says_comes_back_through_the_api_server(here: Stage) -> None:
    await here.place(child=False)
    async with here.source.session() as session:
        async with session.get(f"{POD}/log") as answer:
            of_log = (await answer.json())["message"]
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{POD}/exec?command=x&stdout=true", protocols=["v5.channel.k8s.io"])

    assert of_log == "pod default/web has no pod in the cluster of target eu"
    assert refused.value.status == 400


async def test_a_node_that_says_nothing_of_a_kubelet_is_told_so(here: Stage) -> None:
    await here.place()
    await here.source.client.patch(NODES, TARGET.node, {"status": {"addresses": None}}, subresource="status")
    async with here.source.session() as session, session.get(f"{POD}/log") as answer:
        told = (await answer.json())["message"]

    assert told == "Internal error occurred: node admiralty-eu does not say where its kubelet listens"


async def test_a_new_certificate_and_another_authority_count_at_once_and_conversations_go_on(
    here: Stage, tmp_path: Path
) -> None:
    await here.place()
    async with here.source.session() as session, asyncio.timeout(60):
        path = f"{POD}/exec?command=x&stdin=true&stdout=true"
        socket = await session.ws_connect(path, protocols=["v5.channel.k8s.io"])
        rotated = {"data": {"client-ca-file": here.target.authority.certificate_pem.decode()}}
        await here.source.client.patch(CONFIGMAPS, "extension-apiserver-authentication", rotated, "kube-system")
        trusted = here.target.identity("admin", "system:masters")
        while True:
            try:
                code, _ = await ask(here, "/containerLogs/default/web/app", trusted, tmp_path)
                break
            except (aiohttp.ClientError, OSError):
                await here.source.runtime.sleep(0.01)
        await socket.send_bytes(b"\x00still here")
        said = [await socket.receive_bytes() for _ in range(5)]
        await socket.close()

    assert (code, said[-1]) == (200, b"\x01STILL HERE")


async def test_a_kubelet_that_cannot_listen_says_so_and_harms_nobody(here: Stage) -> None:
    taken = VirtualKubelet("here", here.source.client, here.roster, host="127.0.0.1", port=here.kubelet[1])
    running = asyncio.create_task(taken.run())
    async with asyncio.timeout(60):
        address = await taken.address()
    still = not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert (address, still) == (None, True)
