"""WebSockets of one server: the upgrade, and messages over it."""

from __future__ import annotations

import asyncio

from aiohttp import WSMsgType, web

from hanse.apiserver import status
from hanse.apiserver.streaming.messages import Converse

_MESSAGE_LIMIT = 32 * 1024 * 1024


async def hold_session(request: web.BaseRequest, protocols: tuple[str, ...], converse: Converse) -> web.StreamResponse:
    """Upgrade a request to a WebSocket and talk over it until either side is done; raises BadRequest."""
    upgrade = request.headers.get("Upgrade", "").lower()
    if upgrade.startswith("spdy"):
        raise status.bad_request(
            "SPDY is not spoken here: use a client that streams over WebSockets, as kubectl does from v1.31 on"
        )
    if upgrade != "websocket":
        raise status.bad_request("Upgrade request required")
    offered = [one.strip() for one in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if one.strip()]
    if offered and not set(offered) & set(protocols):
        raise status.bad_request(f"unable to upgrade: unknown protocol(s): {', '.join(offered)}")
    socket = web.WebSocketResponse(protocols=protocols, max_msg_size=_MESSAGE_LIMIT, compress=False)
    await socket.prepare(request)
    # Without a subprotocol a client speaks the oldest one that is understood.
    await converse(socket.ws_protocol or protocols[-1], _SocketMessages(socket))
    await socket.close()
    return socket


class _SocketMessages:
    """Messages over one WebSocket."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        # Output, error and close messages come from different tasks.
        self._sending = asyncio.Lock()

    async def receive(self) -> bytes | None:
        message = await self._socket.receive()
        if message.type is WSMsgType.BINARY:
            return bytes(message.data)
        if message.type is WSMsgType.TEXT:
            return str(message.data).encode()
        return None

    async def send(self, message: bytes) -> None:
        async with self._sending:
            if not self._socket.closed:
                try:
                    await self._socket.send_bytes(message)
                except ConnectionError:
                    return
