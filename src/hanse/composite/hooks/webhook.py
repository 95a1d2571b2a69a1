"""Hooks behind a URL: the request is POSTed as JSON, and only a complete and well-formed answer counts."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import orjson

from hanse.composite.hooks.answers import UnreadableAnswer, read_answer
from hanse.composite.hooks.calling import CLOSED, MEGABYTE, MOST_ANSWER_BYTES, HookFailed, HookParts
from hanse.composite.hooks.endpoints import Access, open_endpoint
from hanse.composite.hooks.etags import Tagged, TaggedAnswers, root_of
from hanse.composite.hooks.statuses import BadStatus, HttpAnswer, counting_body
from hanse.composite.spec import WebhookSpec
from hanse.kube.callable_addresses import FORBIDDEN, guarded_resolver, is_callable
from hanse.kube.manifest import Obj
from hanse.kube.runtime import Runtime

if TYPE_CHECKING:
    import aiohttp

_CHUNK = 64 * 1024
_MOST_CONNECTIONS = 32


async def open_webhook(spec: WebhookSpec, parts: HookParts) -> Webhook:
    """Make a hook of a URL, with the credentials that it names; raises HookUnusable. Nothing is called yet."""
    return Webhook(spec, await open_endpoint(spec.url, spec.endpoint, parts), parts.runtime, near=parts.trusted)


class _Unanswered(Exception):
    """Why no complete answer came; the end of a sentence that begins with the webhook."""


class Webhook:
    """A hook behind a URL; connections are kept between calls."""

    def __init__(self, spec: WebhookSpec, access: Access, runtime: Runtime, *, near: bool) -> None:
        self._spec = spec
        self._access = access
        self._runtime = runtime
        self._near = near
        self._tagged = TaggedAnswers(spec.etags) if spec.etags is not None else None
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def call(self, body: Obj, root: Obj) -> Obj:
        """Return the webhook's answer to a request; raises HookFailed or HookBusy."""
        now = self._runtime.now()
        # The answer whose tag is sent is held on to: another call for the same root may put its own in its place.
        sent = self._tagged.get(root_of(root), now) if self._tagged is not None else None
        status = 0
        try:
            answer = await self._post(orjson.dumps(body), sent)
            status = answer.status
            counting = counting_body(answer, sent, self._runtime.now())
            read = read_answer(counting, strict=self._spec.strict)
        except (_Unanswered, BadStatus, UnreadableAnswer) as error:
            told = self._access.without_secrets(str(error))
            raise HookFailed(f"the webhook {_title(self._spec.url)} {told}", status=status) from None
        if self._tagged is not None and status == 200:
            self._tagged.put(root_of(root), answer.headers.get("etag", ""), counting, self._runtime.now())
        return read

    async def close(self) -> None:
        """Close every connection; a call that is under way fails."""
        self._closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _post(self, body: bytes, sent: Tagged | None) -> HttpAnswer:
        import aiohttp

        if self._closed:
            raise _Unanswered(CLOSED)
        if not is_callable(urlsplit(self._spec.url).hostname or "", loopback=self._near):
            raise _Unanswered(f"is not called: {FORBIDDEN}")
        headers = {"if-none-match": sent.tag} if sent is not None else {}
        try:
            async with self._opened().post(self._spec.url, data=body, headers=headers, allow_redirects=False) as answer:
                found = {name.lower(): value for name, value in answer.headers.items()}
                return HttpAnswer(answer.status, found, await _read(answer.content))
        except TimeoutError:
            raise _Unanswered(f"gave no answer within {self._spec.timeout:g} s") from None
        except (aiohttp.ClientError, ssl.SSLError, OSError, ValueError) as error:
            if self._closed:
                raise _Unanswered(CLOSED) from None
            raise _Unanswered(_why(error, encrypted=self._spec.url.lower().startswith("https:"))) from None

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "hanse"}
            if self._access.authorization:
                headers["authorization"] = self._access.authorization
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=self._spec.timeout),
                connector=aiohttp.TCPConnector(
                    ssl=self._access.tls or True,
                    resolver=guarded_resolver(loopback=self._near),
                    limit=_MOST_CONNECTIONS,
                ),
                # A small answer that unpacks into a large one would be read before anybody counts.
                headers={**headers, "accept-encoding": "identity"},
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


async def _read(content: aiohttp.StreamReader) -> bytes:
    body = bytearray()
    async for part in content.iter_chunked(_CHUNK):
        body += part
        if len(body) > MOST_ANSWER_BYTES:
            raise _Unanswered(f"answered with more than {MOST_ANSWER_BYTES // MEGABYTE} MB")
    return bytes(body)


def _title(url: str) -> str:
    """Return a URL without what may be secret in it: the user and the query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _why(error: Exception, *, encrypted: bool) -> str:
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"shows a certificate that is not trusted: {getattr(error.certificate_error, 'verify_message', '')}"
    if isinstance(error, aiohttp.ClientConnectorSSLError | ssl.SSLError):
        return "did not agree on TLS: see that it speaks TLS 1.2 or newer and takes the client's certificate"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        forbidden = FORBIDDEN in str(error)
        return f"is not called: {FORBIDDEN}" if forbidden else "has a name that DNS does not know"
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error.os_error, ConnectionResetError):
        return "cannot be reached: nobody answers at its address"
    if isinstance(error, aiohttp.InvalidURL):
        return "has an address that is not a URL"
    # Whoever wants a certificate mostly says so by hanging up.
    hint = "; if it wants a client certificate, clientTLS is where to name one" if encrypted else ""
    return f"broke off before its answer was complete{hint}"
