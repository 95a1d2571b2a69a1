"""A transport over HTTP: one pool of connections to one API server as one user."""

from __future__ import annotations

import asyncio
import base64
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import aiohttp
from yarl import URL

from hanse.kube.kubeconfig import Endpoint, KubeconfigError
from hanse.kube.transport import Request, Response, Unreachable

# Sixteen requests in flight give nearly all of an API server's throughput; watches are not counted.
REQUESTS_IN_FLIGHT = 16


class HttpTransport:
    """Carries requests to an API server over HTTP or HTTPS."""

    def __init__(self, endpoint: Endpoint, *, user_agent: str = "hanse") -> None:
        self._endpoint = endpoint
        self._user_agent = user_agent
        self._tls = _tls_context(endpoint)
        self._session: aiohttp.ClientSession | None = None
        self._slots = asyncio.Semaphore(REQUESTS_IN_FLIGHT)

    @property
    def address(self) -> str:
        return self._endpoint.server

    async def send(self, request: Request, timeout: float) -> Response:
        async with self._slots:
            try:
                async with self._begin(request, aiohttp.ClientTimeout(total=timeout)) as answer:
                    body = await answer.read()
                    return Response(answer.status, _lower(answer.headers), body)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise Unreachable(self.address, _why(error, timeout)) from error

    async def stream(self, request: Request, timeout: float) -> HttpStream:
        context = self._begin(request, aiohttp.ClientTimeout(total=None, sock_connect=timeout))
        try:
            async with asyncio.timeout(timeout):
                answer = await context
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unreachable(self.address, _why(error, timeout)) from error
        return HttpStream(self.address, answer)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _begin(self, request: Request, timeout: aiohttp.ClientTimeout) -> aiohttp.client._RequestContextManager:
        url = URL(self._endpoint.server + request.path).with_query(request.query)
        headers = {**request.headers, **self._authorization()}
        return self._open_session().request(
            request.method,
            url,
            data=request.body or None,
            headers=headers,
            timeout=timeout,
            allow_redirects=False,
            server_hostname=self._endpoint.tls_server_name or None,
            proxy=self._endpoint.proxy_url or None,
        )

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._tls),
                headers={"User-Agent": self._user_agent},
                auto_decompress=True,
                read_bufsize=2**18,
            )
        return self._session

    def _authorization(self) -> dict[str, str]:
        token = self._endpoint.token
        if self._endpoint.token_file:
            # Read each time: projected tokens are replaced on disk while we run.
            token = Path(self._endpoint.token_file).read_text(encoding="utf-8").strip()
        if token:
            return {"Authorization": f"Bearer {token}"}
        if self._endpoint.username:
            pair = f"{self._endpoint.username}:{self._endpoint.password}".encode()
            return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        return {}


class HttpStream:
    """The body of a long answer, as it arrives."""

    def __init__(self, address: str, answer: aiohttp.ClientResponse) -> None:
        self._address = address
        self._answer = answer

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return _lower(self._answer.headers)

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unreachable(self._address, _why(error, 0)) from error

    async def close(self) -> None:
        self._answer.close()


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _why(error: Exception, timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout:g} s"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted ({error.certificate_error})"
    if isinstance(error, aiohttp.ClientConnectorError):
        return str(error.os_error.strerror or error.os_error or "the connection was refused")
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server hung up"
    return str(error) or type(error).__name__


def _tls_context(endpoint: Endpoint) -> ssl.SSLContext | bool:
    if not endpoint.server.startswith("https://"):
        return True
    try:
        context = ssl.create_default_context(cadata=endpoint.ca.decode() if endpoint.ca else None)
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise KubeconfigError(f"the certificate authority for {endpoint.server} is not a PEM certificate") from error
    if endpoint.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if endpoint.client_certificate and endpoint.client_key:
        _load_client_certificate(context, endpoint.client_certificate, endpoint.client_key, endpoint.server)
    return context


def _load_client_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes, server: str) -> None:
    # The ssl module reads key pairs from files alone; this one is private and lives for a moment.
    with tempfile.NamedTemporaryFile() as pem:
        pem.write(certificate + b"\n" + key)
        pem.flush()
        try:
            context.load_cert_chain(pem.name)
        except ssl.SSLError as error:
            raise KubeconfigError(f"the client certificate for {server} does not fit its key") from error
