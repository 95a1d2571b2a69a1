"""HTTP for charts: reading only, verified TLS, bounded in time and size, redirects followed with care."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import aiohttp

from hanse.kube.callable_addresses import is_callable
from hanse.rollouts.sources.settings import MEGABYTE, Limits

_REDIRECTS = {301, 302, 303, 307, 308}
_MOST_REDIRECTS = 5
_CHUNK = 64 * 1024


class DownloadProblem(Exception):
    """Why there is no answer, or too much of one; a part of a sentence."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said; header names are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Downloads:
    """Asks servers of charts."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._session: aiohttp.ClientSession | None = None

    async def get(self, url: str, *, most_bytes: int, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the answer to a GET, whatever its status, after redirects; raises DownloadProblem."""
        try:
            async with asyncio.timeout(self._limits.request_seconds):
                return await self._follow(url, dict(headers or {}), most_bytes)
        except aiohttp.ConnectionTimeoutError as error:
            raise DownloadProblem(f"no connection within {self._limits.connect_seconds:g} s") from error
        except TimeoutError as error:
            raise DownloadProblem(f"no answer within {self._limits.request_seconds:g} s") from error
        except aiohttp.ClientError as error:
            told = "its address is not valid" if isinstance(error, aiohttp.InvalidURL) else _said(error)
            raise DownloadProblem(told) from error
        except ValueError as error:
            # Where a redirect leads is what a server says, and need not be an address at all.
            raise DownloadProblem("its address is not valid") from error

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _follow(self, url: str, headers: dict[str, str], most_bytes: int) -> Answer:
        for _ in range(_MOST_REDIRECTS + 1):
            _refuse_link_local(url)
            async with self._opened().get(url, headers=headers, allow_redirects=False) as response:
                location = response.headers.get("location", "")
                if response.status not in _REDIRECTS or not location:
                    return await _answer(response, most_bytes)
            following = urljoin(url, location)
            _refuse_downgrade(url, following)
            if urlsplit(following).netloc != urlsplit(url).netloc:
                # What was meant for one host is not shown to another.
                headers.pop("authorization", None)
            url = following
        raise DownloadProblem(f"more than {_MOST_REDIRECTS} redirects")

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._limits.connect_seconds),
                # Unpacked here, within the limit of size.
                auto_decompress=False,
                headers={"accept-encoding": "identity", "user-agent": "hanse"},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


async def _answer(response: aiohttp.ClientResponse, most_bytes: int) -> Answer:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > most_bytes:
            raise _too_large(most_bytes)
    headers = {name.lower(): value for name, value in response.headers.items()}
    packed = headers.get("content-encoding", "") == "gzip"
    return Answer(response.status, headers, _gunzip(bytes(body), most_bytes) if packed else bytes(body))


def _gunzip(body: bytes, most_bytes: int) -> bytes:
    unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        unpacked = unzip.decompress(body, most_bytes + 1)
    except zlib.error as error:
        raise DownloadProblem("the answer is not packed as it says") from error
    if len(unpacked) > most_bytes:
        raise _too_large(most_bytes)
    return unpacked


def _too_large(most_bytes: int) -> DownloadProblem:
    return DownloadProblem(f"the answer is larger than {most_bytes / MEGABYTE:g} MB")


def _refuse_link_local(url: str) -> None:
    """Refuse addresses at which clouds hand out credentials; whoever writes an Application chooses the address."""
    if not is_callable(urlsplit(url).hostname or "", loopback=True):
        raise DownloadProblem("a link-local address is not asked")


def _refuse_downgrade(before: str, after: str) -> None:
    schemes = urlsplit(before).scheme, urlsplit(after).scheme
    if schemes[1] not in ("http", "https") or schemes == ("https", "http"):
        raise DownloadProblem(f"it redirects from {schemes[0]} to {schemes[1]}, which is not followed")


def _said(error: aiohttp.ClientError) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not trusted"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection ({error.os_error.strerror or error.os_error})"
    return "the connection broke"
