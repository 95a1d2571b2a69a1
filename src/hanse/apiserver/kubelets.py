"""The way to kubelets elsewhere: logs and streams of pods on nodes that are not this process's own.

As a real API server does it: the Node says where its kubelet listens, a client certificate says who asks, and the
kubelet's own certificate is not checked unless an authority for it is given.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from hanse.api.admiralty.nodes import is_virtual
from hanse.apiserver import status
from hanse.apiserver.answers import SessionAnswer, StreamAnswer
from hanse.apiserver.core import Call
from hanse.apiserver.streaming.messages import Messages
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, dig

# Loaded with the first question: few servers have such nodes, and every one starts.
if TYPE_CHECKING:
    import aiohttp

_CONNECT_SECONDS = 30.0
_MESSAGE_LIMIT = 32 * 1024 * 1024
_ADDRESSES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
_PORT = 10250
_STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_LOG_OPTIONS = ("follow", "previous", "timestamps", "tailLines", "limitBytes", "sinceSeconds", "sinceTime")

Query = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class KubeletIdentity:
    """What an API server shows to kubelets: a client certificate and its key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)

    def tls_context(self) -> ssl.SSLContext:
        """Return the TLS of connections to kubelets."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        # The ssl module reads key pairs from files alone; this one is private and lives for a moment.
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(self.certificate + b"\n" + self.key)
            pem.flush()
            context.load_cert_chain(pem.name)
        return context


def leads_elsewhere(call: Call, pod: Obj) -> bool:
    """Tell whether a pod is on a node whose kubelet is to be asked over the network."""
    node = _node(call, pod)
    return node is not None and is_virtual(node)


async def log_from(call: Call, pod: Obj, container: str) -> StreamAnswer:
    """Have a kubelet tell what a container printed; raises ApiError with what it says."""
    query = [(name, call.options.text(name)) for name in _LOG_OPTIONS if call.options.given(name)]
    url = _url(call, pod, "containerLogs", container, query)
    session = _session(call)
    try:
        answer = await _asked(session, url)
    except BaseException:
        await session.close()
        raise
    return StreamAnswer(_body(session, answer), "text/plain")


async def session_with(call: Call, pod: Obj, container: str, protocols: tuple[str, ...]) -> SessionAnswer:
    """Have a kubelet run a command, attach or forward ports; raises ApiError with what it says."""
    if call.request.headers.get("upgrade", "").lower() != "websocket":
        raise status.bad_request("Upgrade request required")
    query = [(theirs, "1") for ours, theirs in _STREAMS.items() if call.options.flag(ours)]
    query += [("command", one) for one in call.options.all("command")]
    if ports := call.options.all("ports"):
        query.append(("port", ",".join(ports)))
    verb = {"portforward": "portForward"}.get(call.path.subresource, call.path.subresource)
    url = _url(call, pod, verb, container, query)
    given = (one.strip() for one in call.request.headers.get("sec-websocket-protocol", "").split(","))
    offered = [one for one in given if one]
    # Without a subprotocol a client speaks the oldest one that is understood.
    wanted = [one for one in offered if one in protocols] if offered else [protocols[-1]]
    if not wanted:
        raise status.bad_request(f"unable to upgrade: unknown protocol(s): {', '.join(offered)}")
    session = _session(call)
    try:
        socket = await _dialled(session, url, wanted)
    except BaseException:
        await session.close()
        raise

    async def converse(protocol: str, messages: Messages) -> None:  # noqa: ARG001 - the kubelet has agreed on it
        try:
            await _relay(messages, socket)
        finally:
            await session.close()

    return SessionAnswer((socket.protocol or wanted[0],), converse)


def _node(call: Call, pod: Obj) -> Obj | None:
    nodes = call.core.registry.find("", "v1", "nodes")
    name = dig(pod, "spec", "nodeName", default="")
    return call.core.read(nodes, "", name) if nodes is not None and name else None


def _url(call: Call, pod: Obj, verb: str, container: str, query: Query) -> str:
    node = _node(call, pod) or {}
    told: list[Obj] = dig(node, "status", "addresses", default=[])
    known = {one["type"]: str(one["address"]) for one in told}
    host = next((known[kind] for kind in _ADDRESSES if kind in known), "")
    if not host:
        raise status.internal(f"node {dig(pod, 'spec', 'nodeName')} does not say where its kubelet listens")
    port = dig(node, "status", "daemonEndpoints", "kubeletEndpoint", "Port", default=0) or _PORT
    host = f"[{host}]" if ":" in host else host
    parts = [verb, call.namespace, call.path.name, *([container] if container else [])]
    return f"https://{host}:{port}/{'/'.join(parts)}" + (f"?{urlencode(query)}" if query else "")


def _session(call: Call) -> aiohttp.ClientSession:
    import aiohttp

    identity = call.core.kubelets
    if identity is None:
        raise status.internal("this API server has no certificate that it could show to kubelets")
    connector = aiohttp.TCPConnector(ssl=identity.tls_context(), force_close=True)
    timeout = aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS)
    return aiohttp.ClientSession(connector=connector, timeout=timeout)


async def _asked(session: aiohttp.ClientSession, url: str) -> aiohttp.ClientResponse:
    import aiohttp
    from yarl import URL

    try:
        answer = await session.get(URL(url, encoded=True), allow_redirects=False)
        if answer.status != 200:
            raise _refusal(answer.status, await answer.text())
    except (aiohttp.ClientError, OSError) as error:
        raise status.internal(f'Get "{url}": {error}') from None
    return answer


async def _body(session: aiohttp.ClientSession, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    import aiohttp

    try:
        async for chunk in answer.content.iter_any():
            yield chunk
    except aiohttp.ClientError:
        # The kubelet hung up: what came is all there is.
        return
    finally:
        answer.close()
        await session.close()


async def _dialled(
    session: aiohttp.ClientSession, url: str, protocols: Sequence[str]
) -> aiohttp.ClientWebSocketResponse:
    import aiohttp
    from yarl import URL

    try:
        return await session.ws_connect(
            URL(url, encoded=True), protocols=protocols, max_msg_size=_MESSAGE_LIMIT, autoping=True
        )
    except aiohttp.WSServerHandshakeError as error:
        # Its words are lost with the handshake; the same question without one is refused for the same reason.
        answer = await session.get(URL(url, encoded=True), allow_redirects=False)
        told = await answer.text()
        same = answer.status == error.status
        raise _refusal(error.status, told if same else f"the kubelet answered with {error.status}") from None
    except (aiohttp.ClientError, OSError) as error:
        raise status.internal(f'error dialing backend: "{url}": {error}') from None


async def _relay(messages: Messages, socket: aiohttp.ClientWebSocketResponse) -> None:
    """Pass messages both ways until either side ends."""
    import aiohttp

    async def upwards() -> None:
        while (message := await messages.receive()) is not None:
            await socket.send_bytes(message)

    async def downwards() -> None:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.BINARY:
                await messages.send(message.data)
            elif message.type is aiohttp.WSMsgType.TEXT:
                await messages.send(message.data.encode())

    ways = [asyncio.create_task(upwards()), asyncio.create_task(downwards())]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        await socket.close()


def _refusal(code: int, message: str) -> ApiError:
    if code == 400:
        return status.bad_request(message)
    return status.internal(message) if code < 500 else status.failure(code, "ServiceUnavailable", message)
