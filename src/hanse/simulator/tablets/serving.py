"""A simulated tablet on a port: Vitess' own programs speak to it as to a vttablet. Needs the extra `hanse[vitess]`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from hanse.api.vitess_records.tablet_manager import METHODS, SERVICE, Method
from hanse.api.vitess_records.wire import Message, decode, encode
from hanse.simulator.tablets.tablet import SimulatedTablet, TabletRefuses


class TabletServer:
    """Serves one tablet on a loopback address until it is stopped."""

    def __init__(self, tablet: SimulatedTablet, address: str) -> None:
        self._server = grpc.aio.server()
        handlers = {method.name: _handler(tablet, method) for method in METHODS}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        if not self._server.add_insecure_port(address):
            raise OSError(f"no tablet can listen on {address}")

    async def start(self) -> None:
        """Begin to answer."""
        await self._server.start()

    async def stop(self) -> None:
        """Answer nobody any more, at once."""
        await self._server.stop(None)


def _handler(tablet: SimulatedTablet, method: Method[Any, Any]) -> Any:
    async def answer(question: Message, context: grpc.aio.ServicerContext[Any, Any]) -> Message:
        try:
            return await tablet.answer(method.name, question)
        except TabletRefuses as refusal:
            await context.abort(grpc.StatusCode.UNKNOWN, str(refusal))
            raise

    handle: Callable[[Any, Any], Awaitable[Message]] = answer
    return grpc.unary_unary_rpc_method_handler(
        handle,
        request_deserializer=lambda data: decode(method.question, data),
        response_serializer=encode,
    )
