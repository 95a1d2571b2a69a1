"""Telling secondaries that a zone has changed (NOTIFY, RFC 1996), until they say that they heard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hanse.kube.log import Log
from hanse.kube.runtime import Runtime
from hanse.services.dns.query import HEADER
from hanse.services.dns.replies import HEADER_BYTES, QUESTION_NAME
from hanse.services.dns.types import AA, IN, OPCODE_MASK, OPCODE_SHIFT, QR, Opcode, Type
from hanse.services.dns.zone import Zone
from hanse.services.dns.zones import Zones

log = Log("hanse")

# How long each word is waited for; a secondary that is down asks by itself when it is back.
_PATIENCE_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0)

Secondary = tuple[str, int]
Exchange = Callable[[Secondary, bytes], Awaitable[None]]


class Notifier:
    """Tells each secondary of the newest serial of each zone."""

    def __init__(
        self, zones: Zones, secondaries: Sequence[Secondary], runtime: Runtime, *, exchange: Exchange | None = None
    ) -> None:
        """`exchange` sends a message and waits for its answer; by UDP where nothing else is said."""
        self._runtime = runtime
        self._exchange = exchange or _exchange
        self._waiting: dict[Secondary, dict[bytes, Zone]] = {secondary: {} for secondary in secondaries}
        self._heard = {secondary: asyncio.Event() for secondary in secondaries}
        zones.subscribe(self._hear)
        for zone in zones:
            self._hear(zone)

    async def run(self) -> None:
        """Tell until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for secondary in self._waiting:
                tasks.create_task(self._tell_all(secondary))

    def _hear(self, zone: Zone) -> None:
        for secondary, waiting in self._waiting.items():
            waiting[zone.apex] = zone
            self._heard[secondary].set()

    async def _tell_all(self, secondary: Secondary) -> None:
        waiting, heard = self._waiting[secondary], self._heard[secondary]
        while True:
            await heard.wait()
            heard.clear()
            while waiting:
                await self._tell(secondary, waiting.pop(next(iter(waiting))))

    async def _tell(self, secondary: Secondary, zone: Zone) -> None:
        number = int(self._runtime.uniform(0, 0xFFFF))
        for patience in _PATIENCE_SECONDS:
            try:
                async with asyncio.timeout(patience):
                    await self._exchange(secondary, notification(number, zone))
            except TimeoutError:
                continue
            except OSError:
                await self._runtime.sleep(patience)
            else:
                return
        log.warning("A secondary does not answer", secondary=f"{secondary[0]}:{secondary[1]}", domain=zone.domain)


def notification(number: int, zone: Zone) -> bytes:
    """Write the message that tells of a zone's present serial."""
    header = HEADER.pack(number, Opcode.NOTIFY << OPCODE_SHIFT | AA, 1, 1, 0, 0)
    return header + zone.apex + Type.SOA.to_bytes(2) + IN.to_bytes(2) + QUESTION_NAME + zone.soa


def acknowledges(packet: bytes, message: bytes) -> bool:
    """Tell whether a packet is the answer to a notification, whatever it says."""
    if len(packet) < HEADER_BYTES or packet[:2] != message[:2]:
        return False
    flags = int.from_bytes(packet[2:4])
    return bool(flags & QR) and (flags & OPCODE_MASK) >> OPCODE_SHIFT == Opcode.NOTIFY


async def _exchange(secondary: Secondary, message: bytes) -> None:
    """Send a notification and wait for its answer; raises OSError where nobody is there."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[None] = loop.create_future()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Answer(message, answered), remote_addr=secondary)
    try:
        transport.sendto(message)
        await answered
    finally:
        transport.close()


class _Answer(asyncio.DatagramProtocol):
    def __init__(self, message: bytes, answered: asyncio.Future[None]) -> None:
        self._message = message
        self._answered = answered

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        if acknowledges(data, self._message) and not self._answered.done():
            self._answered.set_result(None)

    def error_received(self, exc: Exception) -> None:
        if not self._answered.done():
            self._answered.set_exception(exc)
