"""Asks tablets and vtctld over gRPC. Needs the extra `hanse[vitess]`; nothing else imports this module."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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


_UNANSWERED = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)

# So many connections are kept: tablets get another address each time that their pods are made anew.
_MOST_CHANNELS = 1024


@dataclass(slots=True)
class _Kept:
    channel: grpc.aio.Channel
    questions: int = 0


class GrpcCaller:
    """Keeps one connection for each address that was asked of late."""

    def __init__(self, most: int = _MOST_CHANNELS) -> None:
        """Keep at most so many connections, beside those over which somebody asks just now."""
        self._channels: dict[str, _Kept] = {}
        self._most = most

    @property
    def connections(self) -> int:
        """How many connections are kept."""
        return len(self._channels)

    async def ask(self, tablet: Tablet, method: Method[Q, A], question: Q, timeout: float) -> A:
        """Return what a tablet manager answers; raises CallFailed."""
        who = f"tablet {tablet.alias}"
        return await self._ask(who, tablet.grpc_address, tablet_manager.SERVICE, method, question, timeout)

    async def ask_vtctld(self, address: str, method: Method[Q, A], question: Q, timeout: float) -> A:
        """Return what vtctld answers; raises CallFailed."""
        return await self._ask(f"vtctld at {address}", address, vtctld.SERVICE, method, question, timeout)

    async def close(self) -> None:
        """Close every connection."""
        for kept in self._channels.values():
            await kept.channel.close()
        self._channels.clear()

    async def _ask(self, who: str, address: str, service: str, method: Method[Q, A], question: Q, timeout: float) -> A:
        kept = self._kept(address)
        call: Callable[..., Awaitable[bytes]] = kept.channel.unary_unary(
            f"/{service}/{method.name}", request_serializer=encode
        )
        kept.questions += 1
        try:
            # Not by gRPC, which says None of what it cannot read.
            return decode(method.answer, await call(question, timeout=timeout))
        except grpc.aio.AioRpcError as error:
            answered = error.code() not in _UNANSWERED
            raise failure(who, method.name, error.details() or error.code().name, answered=answered) from error
        except ValueError as error:
            raise failure(who, method.name, f"its answer cannot be read: {error}") from error
        finally:
            kept.questions -= 1
            await self._close_oldest()

    async def _close_oldest(self) -> None:
        idle = [address for address, kept in self._channels.items() if not kept.questions]
        # All are taken out before one is waited for: meanwhile others ask.
        gone = [self._channels.pop(address) for address in idle[: max(len(self._channels) - self._most, 0)]]
        for kept in gone:
            await kept.channel.close()

    def _kept(self, address: str) -> _Kept:
        kept = self._channels.pop(address, None)
        if kept is None:
            # One who was restarted is asked again at once, not after the minutes that gRPC would wait in the end.
            options: list[tuple[str, Any]] = [
                ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
                ("grpc.max_reconnect_backoff_ms", 1000),
            ]
            kept = _Kept(grpc.aio.insecure_channel(address, options=options))
        # The one that was asked last is the last to go.
        self._channels[address] = kept
        return kept
