"""A transport over HTTP: one pool of connections to one API server as one user.

It shows the present credentials with each request, and once more with fresh ones after a 401. Nothing else is sent
twice. Whatever keeps an answer from coming is raised as `Unreachable`, with its cause and what to do about it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any
from weakref import WeakSet

import aiohttp
from yarl import URL

from hanse.kube.auth.certificates import tls_context
from hanse.kube.auth.credentials import (
    Credential,
    Credentials,
    CredentialsError,
    FixedCredentials,
    TokenFileCredentials,
    anonymous_credential,
    fixed_credential,
    impersonation_headers,
    with_credential,
)
from hanse.kube.auth.endpoint import Endpoint
from hanse.kube.auth.faults import cause
from hanse.kube.auth.plugins import PluginCredentials
from hanse.kube.auth.refusals import explained, not_kubernetes
from hanse.kube.auth.shared_run import RunEnded
from hanse.kube.runtime import Runtime, SystemRuntime
from hanse.kube.transport import Request, Response, Unreachable
from hanse.kube.upgrades import Upgraded, open_upgraded, request_head

# Sixteen requests in flight give nearly all of an API server's throughput; watches are not counted.
REQUESTS_IN_FLIGHT = 16

# A quiet watch has nothing to send by which it would notice that its peer is gone: the kernel asks for it.
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}

_FAULTS = (aiohttp.ClientError, CredentialsError, RunEnded, TimeoutError, OSError)
_CLOSED = "the connection to it was closed here"


class HttpTransport:
    """Carries requests to an API server over HTTP or HTTPS; raises KubeconfigError for keys that are none."""

    def __init__(self, endpoint: Endpoint, *, user_agent: str = "hanse", runtime: Runtime | None = None) -> None:
        self._endpoint = endpoint
        self._user_agent = user_agent
        self._runtime = runtime or SystemRuntime()
        self._url = URL(endpoint.server)
        self._credentials = _credentials(endpoint, self._runtime)
        self._impersonation = impersonation_headers(endpoint.impersonation)
        self._certificate = endpoint.client_certificate
        self._tls = self._tls_with(endpoint.client_certificate, endpoint.client_key)
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._slots = asyncio.Semaphore(REQUESTS_IN_FLIGHT)
        self._streams: WeakSet[HttpStream] = WeakSet()

    @property
    def address(self) -> str:
        """The server's URL."""
        return self._endpoint.server

    async def send(self, request: Request, timeout: float) -> Response:
        """Send a request and wait for the whole answer; raises Unreachable."""
        async with self._slots:
            try:
                async with asyncio.timeout(timeout):
                    answer, shown = await self._ask(request)
                    async with answer:
                        body = await answer.read()
            except _FAULTS as error:
                raise self._unreachable(error, timeout) from error
        return self._judged(request, answer, body, shown)

    async def stream(self, request: Request, timeout: float) -> HttpStream | CompleteStream:
        """Send a request and return once the answer begins; `timeout` bounds the wait for that."""
        try:
            async with asyncio.timeout(timeout):
                answer, shown = await self._ask(request)
                if answer.status == 200 and not _is_page(answer):
                    stream = HttpStream(self._endpoint, answer)
                    self._streams.add(stream)
                    return stream
                async with answer:
                    body = await answer.read()
        except _FAULTS as error:
            raise self._unreachable(error, timeout) from error
        return CompleteStream(self._judged(request, answer, body, shown))

    async def upgrade(self, request: Request, timeout: float) -> Upgraded:
        """Open a connection of its own that stops being HTTP once the server agrees; raises Unreachable.

        It outlives `close`: whoever asked for it hangs up.
        """
        try:
            async with asyncio.timeout(timeout):
                shown = await self._credentials.current()
                answer = await self._switch(request, shown)
                fresh = await self._credentials.renewed(shown) if answer.status == 401 else None
                if fresh is not None:
                    answer.close()
                    answer = await self._switch(request, fresh)
                return answer
        except _FAULTS as error:
            raise self._unreachable(error, timeout) from error

    async def close(self) -> None:
        """Close every connection, for good."""
        self._closed = True
        # A session that closes tells nobody who waits for more of an answer: whoever watches would wait for ever.
        for stream in list(self._streams):
            await stream.close()
        await self._credentials.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(self, request: Request) -> tuple[aiohttp.ClientResponse, Credential]:
        """Begin an exchange with the present credentials, or with fresh ones where the server refuses those."""
        shown = await self._credentials.current()
        answer = await self._begin(request, shown)
        if answer.status != 401:
            return answer, shown
        # Reading to the end gives the connection back; what was read stays readable.
        await answer.read()
        fresh = await self._credentials.renewed(shown)
        if fresh is None:
            return answer, shown
        return await self._begin(request, fresh), fresh

    async def _begin(self, request: Request, shown: Credential) -> aiohttp.ClientResponse:
        return await self._open_session().request(
            request.method,
            self._url.with_path(self._url.path.rstrip("/") + request.path).with_query(request.query),
            data=request.body or None,
            headers=with_credential(request.headers, shown, self._impersonation),
            allow_redirects=False,
            # Connections are pooled by context: a new certificate is never shown on a connection of the old one.
            ssl=self._tls_for(shown),
            server_hostname=self._endpoint.tls_server_name or None,
            proxy=self._endpoint.proxy_url or None,
        )

    async def _switch(self, request: Request, shown: Credential) -> Upgraded:
        if self._closed:
            raise aiohttp.ClientError(_CLOSED)
        told = {"user-agent": self._user_agent, **request.headers}
        head = request_head(self._url, request, with_credential(told, shown, self._impersonation))
        tls = self._tls_for(shown)
        return await open_upgraded(
            self._url,
            tls if isinstance(tls, ssl.SSLContext) else None,
            head,
            server_name=self._endpoint.tls_server_name,
            proxy=self._endpoint.proxy_url,
        )

    def _open_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise aiohttp.ClientError(_CLOSED)
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, socket_factory=_socket),
                headers={"User-Agent": self._user_agent},
                # Deadlines are ours: one covers credentials, connection and answer together.
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=True,
                read_bufsize=2**18,
            )
        return self._session

    def _tls_for(self, shown: Credential) -> ssl.SSLContext | bool:
        if shown.certificate != self._certificate:
            self._tls = self._tls_with(shown.certificate, shown.key)
            self._certificate = shown.certificate
        return self._tls

    def _tls_with(self, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext | bool:
        return tls_context(self._endpoint, certificate, key) if self._url.scheme == "https" else True

    def _judged(self, request: Request, answer: aiohttp.ClientResponse, body: bytes, shown: Credential) -> Response:
        headers = _lower(answer.headers)
        # Behind an API server's own proxy anything may answer.
        if "/proxy" not in request.path and (why := not_kubernetes(answer.status, headers, body, self._endpoint)):
            raise Unreachable(self.address, why)
        if answer.status in (401, 403):
            body = explained(answer.status, body, self._endpoint, shown, self._runtime.now())
        return Response(answer.status, headers, body)

    def _unreachable(self, error: Exception, timeout: float) -> Unreachable:
        if isinstance(error, CredentialsError):
            return Unreachable(self.address, str(error))
        if isinstance(error, RunEnded):
            return Unreachable(self.address, _CLOSED)
        waited_for = self._credentials.pending() if isinstance(error, TimeoutError) else ""
        return Unreachable(self.address, waited_for or cause(error, self._endpoint, timeout))


class HttpStream:
    """The body of a long answer, as it arrives."""

    def __init__(self, endpoint: Endpoint, answer: aiohttp.ClientResponse) -> None:
        self._endpoint = endpoint
        self._answer = answer

    @property
    def status(self) -> int:
        """The answer's status code."""
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The answer's headers, names in lower case."""
        return _lower(self._answer.headers)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; raises Unreachable when it breaks."""
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unreachable(self._endpoint.server, cause(error, self._endpoint, 0)) from error

    async def close(self) -> None:
        """Hang up."""
        self._answer.close()


class CompleteStream:
    """A refusal in place of a long answer: all of it is here already."""

    def __init__(self, response: Response) -> None:
        self._response = response

    @property
    def status(self) -> int:
        """The answer's status code."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The answer's headers, names in lower case."""
        return self._response.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body."""
        yield self._response.body

    async def close(self) -> None:
        """Do nothing: the connection is free again."""


def _credentials(endpoint: Endpoint, runtime: Runtime) -> Credentials:
    """Choose as kubectl does: a plugin counts only where nothing else is given, and nothing is shown in the clear."""
    if endpoint.server.startswith("http://"):
        return FixedCredentials(anonymous_credential(endpoint))
    if endpoint.token_file:
        return TokenFileCredentials(endpoint, runtime)
    if (fixed := fixed_credential(endpoint)) is not None:
        return FixedCredentials(fixed)
    if endpoint.exec_plugin is not None:
        return PluginCredentials(endpoint, endpoint.exec_plugin, runtime)
    return FixedCredentials(anonymous_credential(endpoint))


def _is_page(answer: aiohttp.ClientResponse) -> bool:
    return answer.content_type == "text/html"


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        # Not every system has all of them.
        if (option := getattr(socket, name, None)) is not None:
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made
