"""An embedded API server for each test, and a small client that shows answers as they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.apiserver.inprocess import InProcessStream, InProcessTransport
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SystemRuntime
from hanse.kube.transport import Request

ADMIN = Identity("admin", ("system:masters",))
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclass(frozen=True, slots=True)
class Answered:
    """A status code with the decoded body and the warnings."""

    code: int
    body: Any
    warnings: str = ""


class Api:
    """Sends requests in process and decodes answers."""

    def __init__(self, transport: InProcessTransport) -> None:
        self.transport = transport

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answered:
        path, _, query = path.partition("?")
        pairs = tuple((name, value) for name, _, value in (part.partition("=") for part in query.split("&") if part))
        sent = {"content-type": "application/json", "user-agent": "test/1", **headers}
        raw = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        answer = await self.transport.send(Request(method, path, pairs, sent, raw), 5)
        plain = answer.headers["content-type"].startswith("text/")
        told = answer.body.decode() if plain else orjson.loads(answer.body or b"null")
        return Answered(answer.status, told, answer.headers.get("warning", ""))

    async def get(self, path: str, **headers: str) -> Answered:
        return await self.call("GET", path, **headers)

    async def create(self, path: str, body: Any) -> Answered:
        return await self.call("POST", path, body)

    async def update(self, path: str, body: Any) -> Answered:
        return await self.call("PUT", path, body)

    async def patch(self, path: str, body: Any, kind: str = "merge") -> Answered:
        return await self.call("PATCH", path, body, **{"content-type": PATCHES[kind]})

    async def delete(self, path: str, options: Obj | None = None) -> Answered:
        return await self.call("DELETE", path, options)

    async def watch(self, path: str) -> Events:
        path, _, query = path.partition("?")
        pairs = [(name, value) for name, _, value in (part.partition("=") for part in query.split("&") if part)]
        request = Request("GET", path, (("watch", "true"), *pairs))
        return Events(await self.transport.stream(request, 5))

    async def until(self, path: str, code: int, seconds: float = 5) -> Answered:
        """Ask again until the answer has a code; every request lets the server's loops run."""
        async with asyncio.timeout(seconds):
            while (answered := await self.get(path)).code != code:
                continue
        return answered

    async def until_gone(self, path: str) -> None:
        """Wait until an object is no longer there."""
        await self.until(path, 404)


class Events:
    """A watch, read event by event."""

    def __init__(self, stream: InProcessStream) -> None:
        self.stream = stream
        self._chunks = stream.chunks()

    async def next(self) -> tuple[str, Obj]:
        async with asyncio.timeout(5):
            event = orjson.loads(await anext(self._chunks))
        return event["type"], event["object"]

    async def rest(self) -> list[tuple[str, Obj]]:
        """Return what comes until the server ends the stream."""
        async with asyncio.timeout(5):
            events = [orjson.loads(chunk) async for chunk in self._chunks]
        return [(event["type"], event["object"]) for event in events]


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    opened = await ApiServer.open(name="test", storage=MemoryStorage(), runtime=SystemRuntime())
    yield opened
    await opened.close()


@pytest.fixture
async def api(server: ApiServer) -> Api:
    return Api(server.connect(ADMIN))


def deployment(name: str = "web", **spec: Any) -> Obj:
    labels = {"app": name}
    container = {"name": "app", "image": "nginx:1.27"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


def config(name: str, **more: Any) -> Obj:
    data = more.pop("data", {"a": "1"})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}, "data": data}


def pod(name: str, **spec: Any) -> Obj:
    containers = [{"name": "app", "image": "nginx"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}
