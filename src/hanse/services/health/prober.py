"""Who asks an address whether it is well: the network, or in a simulation whatever that makes up."""

from __future__ import annotations

import asyncio
from typing import Protocol

from hanse.services.health.checks import GRPC, GRPCS, HTTP, HTTPS, TCP, UDP, Check
from hanse.services.health.standing import Finding


class Prober(Protocol):
    """Asks one address once; an answer that does not come is a finding too, never an exception."""

    async def probe(self, check: Check, address: str) -> Finding:
        """Return what was found, within the time that the check allows."""


class NetworkProber:
    """Asks over the network, from where this process runs."""

    async def probe(self, check: Check, address: str) -> Finding:
        # What only HTTP needs takes long to load, and most federations' checks are plain connections.
        from hanse.services.health.probing import connecting, datagrams, grpc, http

        asking = {
            TCP: connecting.probe,
            UDP: datagrams.probe,
            HTTP: http.probe,
            HTTPS: http.probe,
            GRPC: grpc.probe,
            GRPCS: grpc.probe,
        }[check.kind]
        # A probe of datagrams takes all of its time to hear nothing; the others have none beyond it.
        try:
            async with asyncio.timeout(check.terms.timeout_seconds):
                return await asking(check, address)
        except TimeoutError:
            if check.kind == UDP and not check.expect:
                return Finding(alive=True)
            return Finding(alive=False, why=f"no answer within {check.terms.timeout_seconds:g} s")
        except OSError as error:
            return Finding(alive=False, why=_sentence(error))


def _sentence(error: OSError) -> str:
    """Say what is wrong without the address and numbers, which would make every report a different one."""
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    if isinstance(error, ConnectionResetError):
        return "the connection was closed before an answer"
    return (error.strerror or str(error) or type(error).__name__).splitlines()[0]
