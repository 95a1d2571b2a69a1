"""Which addresses may be called that strangers chose: never link-local ones, where clouds hand out credentials, and
loopback ones only if allowed.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver, ResolveResult

FORBIDDEN = "its address is a link-local or loopback one, which is not called"


def is_callable(host: str, *, loopback: bool) -> bool:
    """Tell whether an address may be called; a name may, since what it leads to is looked at later."""
    if host.rstrip(".").lower() == "localhost":
        return loopback
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return True
    real = getattr(address, "ipv4_mapped", None) or address
    if real.is_link_local:
        return False
    return loopback or not (real.is_loopback or real.is_unspecified)


def guarded_resolver(*, loopback: bool, refusal: str = FORBIDDEN) -> AbstractResolver:
    """Make a resolver that knows no name for an address that may not be called, whatever DNS says about it.

    What it raises for such a name says the `refusal`.
    """
    import aiohttp

    class GuardedResolver(aiohttp.ThreadedResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> list[ResolveResult]:
            found = await super().resolve(host, port, family)
            allowed = [each for each in found if is_callable(each["host"], loopback=loopback)]
            if not allowed:
                raise OSError(None, refusal)
            return allowed

    return GuardedResolver()
