"""Asks what the checks of a step want to know: HTTP addresses and Prometheus servers, within narrow bounds.

Whoever writes an Application chooses the address, so nothing near the control plane is asked: neither loopback
addresses nor link-local ones, where clouds hand out credentials. Redirects are answers, certificates are verified, and
no more than a little of an answer is read.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from hanse.kube.callable_addresses import guarded_resolver, is_callable
from hanse.kube.runtime import Runtime
from hanse.rollouts.environment import Check
from hanse.rollouts.execution.judging import Found, judge
from hanse.rollouts.execution.views import Answer, Outcome

if TYPE_CHECKING:
    import aiohttp

TIMEOUT_SECONDS = 10.0
ANSWER_LIMIT_BYTES = 1024 * 1024
NEAR = "the name leads to a loopback or link-local address"


class Asker(Protocol):
    """Whoever can find out what a check wants to know."""

    async def ask(self, check: Check) -> Answer:
        """Ask once; what goes wrong is an answer too, an inconclusive one."""


class _Unanswered(Exception):
    """Why no answer came, without the address."""


class HttpAsker:
    """Asks over HTTP and keeps connections open between questions; `close` ends them.

    `near` allows loopback and link-local addresses, for tests.
    """

    def __init__(self, runtime: Runtime, *, near: bool = False, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._runtime = runtime
        self._near = near
        self._timeout_seconds = timeout_seconds
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, check: Check) -> Answer:
        """Ask a check's question once."""
        try:
            verdict = judge(check, await self._get(check))
        except _Unanswered as error:
            return Answer(Outcome.INCONCLUSIVE, self._runtime.now(), str(error))
        return Answer(verdict.outcome, self._runtime.now(), verdict.value)

    async def close(self) -> None:
        """Close every connection; safe to call twice."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _get(self, check: Check) -> Found:
        import aiohttp

        url = f"{check.prometheus.rstrip('/')}/api/v1/query" if check.prometheus else check.http
        query = {"query": check.query} if check.prometheus else None
        try:
            if not self._near and not is_callable(urlsplit(url).hostname or "", loopback=False):
                raise _Unanswered("the host is a loopback or link-local address and is not asked")
            async with self._opened().get(url, params=query, allow_redirects=False) as answer:
                return Found(answer.status, await _read(answer.content))
        except TimeoutError:
            raise _Unanswered(f"no answer within {self._timeout_seconds:g} seconds") from None
        except (aiohttp.ClientError, ssl.SSLError, OSError, ValueError) as error:
            raise _Unanswered(_why(error)) from None

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            resolver = None if self._near else guarded_resolver(loopback=False, refusal=NEAR)
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=self._timeout_seconds),
                connector=aiohttp.TCPConnector(resolver=resolver, limit=32, limit_per_host=4),
                headers={"accept": "application/json, */*", "user-agent": "hanse"},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


async def _read(content: aiohttp.StreamReader) -> bytes:
    body = bytearray()
    async for part in content.iter_chunked(65536):
        body += part
        if len(body) > ANSWER_LIMIT_BYTES:
            raise _Unanswered("the answer is larger than 1 MiB")
    return bytes(body)


def _why(error: Exception) -> str:
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError):
        return "the certificate is not trusted"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the host's name is not known"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "nobody answers at the address"
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError | asyncio.IncompleteReadError):
        return "the connection broke off"
    if isinstance(error, aiohttp.InvalidURL):
        return "the address is not a URL"
    return "the question could not be asked"
