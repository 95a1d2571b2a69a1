"""TLS as probes speak it: certificates are checked unless the check says otherwise."""

from __future__ import annotations

import ssl
from functools import lru_cache

from hanse.services.health.checks import Check
from hanse.services.health.standing import Finding

# Contexts take milliseconds to make and there are few different ones.
_REMEMBERED = 64


def context_for(check: Check, *protocols: str) -> ssl.SSLContext:
    """Return how to speak TLS for a check; `protocols` are what is offered to be spoken inside."""
    return _context(check.ca, check.verify, protocols)


def distrust(error: ssl.SSLError) -> Finding:
    """Say what is wrong with a server's TLS."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Finding(alive=False, why=f"its certificate is not trusted: {error.verify_message}")
    return Finding(alive=False, why=f"it does not speak TLS as it should: {error.reason or 'no reason given'}")


@lru_cache(maxsize=_REMEMBERED)
def _context(ca: str, verify: bool, protocols: tuple[str, ...]) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=ca or None)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context
