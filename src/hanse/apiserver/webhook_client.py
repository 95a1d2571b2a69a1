"""Calls to admission webhooks: HTTPS with the configured authority, and failures in the words of Go's client."""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

# Loaded with the first call: few servers have webhooks, and every one starts.
if TYPE_CHECKING:
    import aiohttp

_ANSWER_LIMIT = 3 * 1024 * 1024
_STATUS_TEXTS: Mapping[int, str] = {
    401: "the server has asked for the client to provide credentials",
    403: "forbidden: unknown",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
}


@dataclass(frozen=True, slots=True)
class Target:
    """Where a webhook is: the URL that messages show, the address behind it, and whom its certificate must name."""

    url: str
    ca_bundle: str = ""
    address: str = ""
    server_name: str = ""


class CallFailed(Exception):
    """No usable answer came."""


class WebhookClient:
    """Keeps connections to webhooks open between calls; `close` ends them."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def post(self, target: Target, body: bytes, seconds: float) -> bytes:
        """Send a review and return the answer's body; raises CallFailed with Go's sentence."""
        import aiohttp

        shown = f"{target.url}?timeout={seconds:g}s"
        try:
            async with self._opened().post(
                _address(target),
                data=body,
                params={"timeout": f"{seconds:g}s"},
                headers={"content-type": "application/json", "accept": "application/json, */*"},
                ssl=_context(target.ca_bundle),
                server_hostname=target.server_name or None,
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,
            ) as answer:
                text = await answer.content.read(_ANSWER_LIMIT)
                if answer.status >= 300:
                    raise CallFailed(_refused(answer.status, text))
                return text
        except TimeoutError:
            raise CallFailed(f'Post "{shown}": context deadline exceeded') from None
        except (aiohttp.ClientError, ssl.SSLError, OSError, ValueError) as error:
            raise CallFailed(f'Post "{shown}": {_why(error)}') from None

    async def close(self) -> None:
        """Close every connection; safe to call twice."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession()
        return self._session


def _address(target: Target) -> str:
    if not target.address:
        return target.url
    scheme, _, rest = target.url.partition("://")
    _, slash, path = rest.partition("/")
    return f"{scheme}://{target.address}{slash}{path}"


@lru_cache(maxsize=64)
def _context(ca_bundle: str) -> ssl.SSLContext:
    if not ca_bundle:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=base64.b64decode(ca_bundle).decode())
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("unable to load root certificates: unable to parse bytes as PEM block") from None


def _refused(code: int, body: bytes) -> str:
    told = _STATUS_TEXTS.get(code)
    if told:
        return told
    if code >= 500:
        text = body[:2048].decode(errors="replace").strip()
        return f'an error on the server ("{text or "unknown"}") has prevented the request from succeeding'
    return f"the server responded with the status code {code} but did not return more information"


def _why(error: Exception) -> str:
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _certificate_fault(error.certificate_error)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        if isinstance(error.os_error, ConnectionRefusedError):
            return f"dial tcp {error.host}:{error.port}: connect: connection refused"
        return f"dial tcp {error.host}:{error.port}: connect: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ServerDisconnectedError | asyncio.IncompleteReadError):
        return "EOF"
    return str(error)


def _certificate_fault(error: Exception) -> str:
    told = getattr(error, "verify_message", "") or str(error)
    if "self-signed" in told or "unable to get" in told:
        return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    if "expired" in told:
        return "tls: failed to verify certificate: x509: certificate has expired or is not yet valid"
    return f"tls: failed to verify certificate: x509: {told}"
