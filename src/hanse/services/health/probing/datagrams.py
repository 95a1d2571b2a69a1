"""UDP: a datagram is sent, and an answer, silence or a refusal comes back.

UDP has no connections: silence is what a healthy server that was sent nonsense says as well as what a dead machine
says. Without an expected answer only a refusal (an ICMP message that nobody listens there) tells that it is dead;
whoever needs more says what to send and what comes back.
"""

from __future__ import annotations

import asyncio

from hanse.services.health.checks import Check
from hanse.services.health.standing import Finding

# What is sent where the check does not say: event loops send no empty datagrams.
_ANYTHING = b"\n"


class _Answers(asyncio.DatagramProtocol):
    """Hands on the first thing that comes back."""

    def __init__(self) -> None:
        self.first: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, _address: object) -> None:
        if not self.first.done():
            self.first.set_result(data)

    def error_received(self, error: Exception) -> None:
        if not self.first.done():
            self.first.set_exception(error)


async def probe(check: Check, address: str) -> Finding:
    """Send the check's text and wait for what comes back; raises OSError on a refusal."""
    loop = asyncio.get_running_loop()
    transport, answers = await loop.create_datagram_endpoint(_Answers, remote_addr=(address, check.port))
    try:
        transport.sendto(check.send.encode() or _ANYTHING)
        answer = await answers.first
    finally:
        # Nobody asks any more for what a late refusal would have said.
        answers.first.cancel()
        transport.close()
    if check.expect and check.expect.encode() not in answer:
        return Finding(alive=False, why=f"the answer does not contain {check.expect!r}")
    return Finding(alive=True)
