"""The little of etcd that publishing needs, over its JSON gateway: a range at one revision, and transactions."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from hanse.services.providers.interface import ProviderError

_PAGE = 1000
# etcd's default for the operations and for the comparisons of one transaction.
LARGEST_TRANSACTION = 128


@dataclass(frozen=True, slots=True)
class EtcdAccess:
    """How to sign in: a name and a password, a client certificate, or neither."""

    username: str = ""
    password: str = ""
    tls: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """One key: what it must hold now, None for nothing, and what it shall hold, None for nothing.

    With a `vacant` prefix it is demanded that no key begins so, in place of what the key itself must hold.
    """

    key: str
    before: bytes | None
    after: bytes | None
    vacant: str = ""


class EtcdGateway:
    """Talks to the members of one etcd; the one that answered last is asked first."""

    def __init__(self, endpoints: Sequence[str], access: EtcdAccess, timeout: float) -> None:
        self._endpoints = tuple(endpoints)
        self._access = access
        # All members together take no longer than one may.
        self._timeout = aiohttp.ClientTimeout(total=timeout / max(len(self._endpoints), 1))
        self._session: aiohttp.ClientSession | None = None
        self._token = ""

    async def range(self, prefix: str) -> dict[str, bytes]:
        """Return every key that begins so, as of one revision."""
        found: dict[str, bytes] = {}
        start, revision, end = prefix.encode(), 0, _after_all(prefix.encode())
        while True:
            body = {"key": _b64(start), "range_end": _b64(end), "limit": str(_PAGE), "revision": str(revision)}
            answer = await self.post("/v3/kv/range", body)
            entries = answer.get("kvs") or []
            for entry in entries:
                found[_text(entry["key"]).decode()] = _text(entry.get("value", ""))
            if not answer.get("more"):
                return found
            revision = int(answer["header"]["revision"])
            start = _text(entries[-1]["key"]) + b"\0"

    async def transact(self, writes: Sequence[Write]) -> bool:
        """Make all writes or, where a key does not hold what it must, none; says which."""
        vacant = {each.vacant for each in writes if each.vacant}
        demands = [*map(_no_key, sorted(vacant)), *(_compare(each) for each in writes if not each.vacant)]
        body = {"compare": demands, "success": [_operation(each) for each in writes]}
        return bool((await self.post("/v3/kv/txn", body)).get("succeeded"))

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Ask anything of the gateway; raises ProviderError where no member answers, or one refuses."""
        if self._access.username and not self._token:
            await self._sign_in()
        try:
            return await self._ask(path, body)
        except _SignedOut:
            await self._sign_in()
            return await self._ask(path, body)

    async def _sign_in(self) -> None:
        self._token = ""
        wanted = {"name": self._access.username, "password": self._access.password}
        try:
            self._token = str((await self._ask("/v3/auth/authenticate", wanted)).get("token") or "")
        except _SignedOut as error:
            raise ProviderError(f"etcd does not let {self._access.username!r} in: check the Secret") from error

    async def _ask(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        failures: list[str] = []
        for _ in self._endpoints:
            endpoint = self._endpoints[0]
            try:
                return await self._ask_one(endpoint, path, body)
            except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError) as error:
                failures.append(f"{endpoint}: {str(error) or 'no answer in time'}")
                self._put_last(endpoint)
            except asyncio.CancelledError:
                # Whoever asked may have run out of patience: next time somebody else is asked first.
                self._put_last(endpoint)
                raise
        raise ProviderError(f"no member of etcd answers ({'; '.join(failures)})")

    def _put_last(self, endpoint: str) -> None:
        """Ask a member last from now on: one that is silent costs its whole time only once."""
        if self._endpoints[0] == endpoint:
            self._endpoints = (*self._endpoints[1:], endpoint)

    async def _ask_one(self, endpoint: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        session = self._opened()
        headers = {"authorization": self._token} if self._token else {}
        tls = self._access.tls if self._access.tls is not None else True
        async with session.post(endpoint + path, json=body, headers=headers, ssl=tls) as answer:
            told: dict[str, Any] = await answer.json(content_type=None)
            if answer.status == 401:
                raise _SignedOut
            if answer.status != 200:
                message = str(told.get("message") or told.get("error") or f"HTTP {answer.status}")
                # A member without a leader, or one that goes, says so with 503; the others may answer.
                if answer.status == 503:
                    raise aiohttp.ClientError(message)
                raise ProviderError(f"etcd at {endpoint} refuses: {message}")
            return told

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=self._timeout)
        return self._session


class _SignedOut(Exception):
    """The token has expired, or the password is wrong."""


def _compare(write: Write) -> dict[str, Any]:
    if write.before is None:
        return {"key": _b64(write.key.encode()), "target": "CREATE", "result": "EQUAL", "create_revision": "0"}
    return {"key": _b64(write.key.encode()), "target": "VALUE", "result": "EQUAL", "value": _b64(write.before)}


def _no_key(prefix: str) -> dict[str, Any]:
    start = prefix.encode()
    wanted = {"target": "CREATE", "result": "EQUAL", "create_revision": "0"}
    return {"key": _b64(start), "range_end": _b64(_after_all(start)), **wanted}


def _operation(write: Write) -> dict[str, Any]:
    key = _b64(write.key.encode())
    if write.after is None:
        return {"request_delete_range": {"key": key}}
    return {"request_put": {"key": key, "value": _b64(write.after)}}


def _after_all(prefix: bytes) -> bytes:
    """Return the first key after all that begin with a prefix."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _text(data: str) -> bytes:
    return base64.b64decode(data)
