"""Asks tablets and vtctld over gRPC. Needs the extra `hanse[vitess]`; nothing else imports this module."""

from __future__ import annotations

from typing import Any, TypeVar

import grpc
import grpc.aio

from hanse.api.vitess_records import tablet_manager, vtctld
from hanse.api.vitess_records.tablet_manager import Method
from hanse.api.vitess_records.topology import Tablet
from hanse.api.vitess_records.wire import Message, decode, encode
from hanse.vitess.tablets.calling import failure

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)

# Vitess' own limit; a schema of many tables is longer than gRPC's default.
_LARGEST_MESSAGE = 64 * 1024 * 1024


class GrpcCaller:
    """Keeps one connection for each address that was asked."""

    def __init__(self) -> None:
        self._channels: dict[str, grpc.aio.Channel] = {}

    async def ask(self, tablet: Tablet, method: Method[Q, A], question: Q, timeout: float) -> A:
        """Return what a tablet manager answers; raises CallFailed."""
        who = f"tablet {tablet.alias}"
        return await self._ask(who, tablet.grpc_address, tablet_manager.SERVICE, method, question, timeout)

    async def ask_vtctld(self, address: str, method: Method[Q, A], question: Q, timeout: float) -> A:
        """Return what vtctld answers; raises CallFailed."""
        return await self._ask(f"vtctld at {address}", address, vtctld.SERVICE, method, question, timeout)

    async def close(self) -> None:
        """Close every connection."""
        for channel in self._channels.values():
            await channel.close()
        self._channels.clear()

    async def _ask(self, who: str, address: str, service: str, method: Method[Q, A], question: Q, timeout: float) -> A:
        call = self._channel(address).unary_unary(
            f"/{service}/{method.name}",
            request_serializer=encode,
            response_deserializer=lambda data: decode(method.answer, data),
        )
        try:
            answer: A = await call(question, timeout=timeout)
        except grpc.aio.AioRpcError as error:
            raise failure(who, method.name, error.details() or error.code().name) from error
        return answer

    def _channel(self, address: str) -> grpc.aio.Channel:
        channel = self._channels.get(address)
        if channel is None:
            # One who was restarted is asked again at once, not after the minutes that gRPC would wait in the end.
            options: list[tuple[str, Any]] = [
                ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
                ("grpc.max_reconnect_backoff_ms", 1000),
            ]
            channel = self._channels[address] = grpc.aio.insecure_channel(address, options=options)
        return channel
