"""Plays the script against a server over HTTPS and keeps the answers as they came."""

from __future__ import annotations

import asyncio
import io
import re
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
import yaml
from yarl import URL

from tests.contract.step import YAML, Step

_UNTIL_SECONDS = 60.0
_ANSWER_SECONDS = 30.0
_LARGE = 2**20
_HEADERS = ("content-type", "warning", "cache-control", "retry-after", "allow", "location")
_VARIABLE = re.compile(r"<<([\w-]+)>>")


@dataclass(frozen=True, slots=True)
class Played:
    """An answer: code, the headers that clients look at, and the body (of a watch the list of its events)."""

    code: int
    headers: dict[str, Any]
    body: Any


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is, whom it trusts, and its administrator's token."""

    url: str
    authority: str
    token: str


class Player:
    """Sends steps one after the other, with what earlier ones saved."""

    def __init__(self, server: Server, session: aiohttp.ClientSession) -> None:
        self._server = server
        self._session = session
        self._saved: dict[str, str] = {}
        self._streams: dict[str, aiohttp.ClientResponse] = {}

    async def play(self, step: Step) -> Played:
        """Send one step and return its answer."""
        try:
            async with asyncio.timeout(_UNTIL_SECONDS):
                if step.reads:
                    played = await self._read_stream(step, self._streams[step.reads])
                elif step.watch:
                    played = await self._watch(step)
                else:
                    played = await self._send(step)
        except TimeoutError:
            return Played(0, {}, f"no answer within {_UNTIL_SECONDS:g} s")
        for name, path in step.save.items():
            self._saved[name] = str(_found(played.body, path))
        return played

    def close(self) -> None:
        """Hang up the watches that are still open."""
        for stream in self._streams.values():
            stream.close()

    async def _send(self, step: Step) -> Played:
        while True:
            async with self._request(step) as answer:
                raw = await answer.read()
                played = Played(answer.status, _headers(answer), _decoded(raw, answer.headers.get("content-type", "")))
            if not step.until or (played.code == step.until and step.until_shows in raw.decode(errors="replace")):
                return played
            await asyncio.sleep(0.02)

    async def _watch(self, step: Step) -> Played:
        answer = await self._request(step)
        if answer.status != 200:
            raw = await answer.read()
            return Played(answer.status, _headers(answer), _decoded(raw, answer.headers.get("content-type", "")))
        if step.opens:
            self._streams[step.opens] = answer
            return Played(answer.status, _headers(answer), [])
        return await self._read_stream(step, answer)

    async def _read_stream(self, step: Step, answer: aiohttp.ClientResponse) -> Played:
        events: list[Any] = []
        while not step.events or len(events) < step.events:
            line = await answer.content.readline()
            if not line:
                break
            events.append(orjson.loads(line))
        if not step.reads:
            answer.close()
        return Played(answer.status, _headers(answer), events)

    def _request(self, step: Step) -> Any:
        headers = {
            "Authorization": f"Bearer {self._server.token}",
            "Accept": step.accept,
            "User-Agent": "contract/1",
            **{name: self._filled(value) for name, value in step.headers.items()},
        }
        headers = {name: value for name, value in headers.items() if value}
        body = self._body(step.body)
        if body is not None and step.content:
            headers["Content-Type"] = step.content
        url = URL(self._server.url + self._filled(step.path), encoded=True)
        # A large body must be handed over as a file.
        data = io.BytesIO(body) if body and len(body) > _LARGE else body
        return self._session.request(step.method, url, data=data, headers=headers)

    def _body(self, body: Any) -> bytes | None:
        if body is None or isinstance(body, bytes):
            return body
        text = body if isinstance(body, str) else orjson.dumps(body).decode()
        return self._filled(text).encode()

    def _filled(self, text: str) -> str:
        return _VARIABLE.sub(lambda match: self._saved.get(match[1], match[0]), text)


async def play_all(server: Server, steps: Iterable[Step]) -> dict[str, Played]:
    """Play a whole script."""
    tls = ssl.create_default_context(cadata=server.authority)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_ANSWER_SECONDS)
    connector = aiohttp.TCPConnector(ssl=tls)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, read_bufsize=2**22, skip_auto_headers=("Content-Type",)
    ) as session:
        player = Player(server, session)
        played = {step.name: await player.play(step) for step in steps}
        player.close()
    return played


def _headers(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name in _HEADERS:
        values = answer.headers.getall(name, [])
        if values:
            shown[name] = sorted(values) if name == "warning" else values[0]
    return shown


def _decoded(raw: bytes, content: str) -> Any:
    if content.startswith("application/json"):
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            return raw.decode(errors="replace")
    if content.startswith(YAML):
        return yaml.safe_load(raw)
    return raw.decode(errors="replace")


def _found(body: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(body, list):
            body = body[int(part)] if int(part) < len(body) else None
        elif isinstance(body, dict):
            body = body.get(part)
    return body
