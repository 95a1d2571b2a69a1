"""The one way to talk to a Kubernetes API: verbs over plain manifests.

A `Client` adds Kubernetes to a transport: paths, patch types, paging, typed errors, patience with a server that asks
for it (429 and Retry-After). It does not retry anything else: the work queue does, with the whole picture in view.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
import orjson

from hanse.kube.discovery import Discovery
from hanse.kube.errors import NotFound, error_from_body
from hanse.kube.manifest import Obj, name_of, namespace_of
from hanse.kube.resources import Resource, gvk
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Query, Request, Response, Transport, Unreachable
from hanse.kube.watch import WatchEvent, read_events

FIELD_MANAGER = "hanse"
PAGE_SIZE = 500
_JSON = "application/json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_PATIENCE_ATTEMPTS = 5
_LONGEST_PATIENCE_SECONDS = 30.0


class PatchType(StrEnum):
    """The content types of the four patches."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class ObjList:
    """A complete list and the version at which it was true."""

    items: list[Obj]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a write is to be taken: only tried out, and what happens to unknown fields (Strict, Warn, Ignore)."""

    dry_run: bool = False
    field_validation: str = ""


PLAIN = WriteOptions()


class PageHead(msgspec.Struct, gc=False):
    """What a page says of the whole list: its version, and how to ask for the next page."""

    version: str = msgspec.field(default="", name="resourceVersion")
    token: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct):
    """A part of a list whose objects are still JSON: decoding a whole page at once would hold up the event loop."""

    metadata: PageHead = msgspec.field(default_factory=PageHead)
    items: list[msgspec.Raw] | None = None


_page_decoder = msgspec.json.Decoder(Page)


class Client:
    """Talks to one API server as one user."""

    def __init__(
        self, transport: Transport, runtime: Runtime, *, timeout: float = 30.0, manager: str = FIELD_MANAGER
    ) -> None:
        self.transport = transport
        self.runtime = runtime
        self.discovery = Discovery(self.get_raw)
        self._timeout = timeout
        self._manager = manager

    @property
    def address(self) -> str:
        """Where this client talks to, for messages to people."""
        return self.transport.address

    async def close(self) -> None:
        """Close every connection."""
        await self.transport.close()

    async def resource_of(self, obj: Obj) -> Resource:
        """Find how the server serves a manifest's kind; raises NotFound with the server's view of it."""
        group, version, kind = gvk(obj)
        return await self.discovery.resource(group, version, kind)

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Obj:
        """Read one object."""
        return await self._json("GET", resource.path(namespace, name, subresource))

    async def find(self, resource: Resource, name: str, namespace: str = "") -> Obj | None:
        """Read one object; None where there is none."""
        try:
            return await self.get(resource, name, namespace)
        except NotFound:
            return None

    async def pages(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> AsyncGenerator[Page, None]:
        """List in pages of objects that are still encoded; every page carries the version of the whole list.

        The next page is on its way while the caller works on the one it got.
        """
        path = resource.path(namespace)
        headers = {"accept": _METADATA_LIST if metadata_only else _JSON}

        def fetch(token: str) -> asyncio.Task[Response]:
            query = _query(limit=str(PAGE_SIZE), labelSelector=labels, fieldSelector=fields)
            if token:
                query += (("continue", token),)
            return asyncio.ensure_future(self._send(Request("GET", path, query, headers), self._timeout))

        coming: asyncio.Task[Response] | None = fetch("")
        try:
            while coming is not None:
                body = (await coming).body
                coming = None
                page = _decode_page(body, self.address)
                if page.metadata.token:
                    coming = fetch(page.metadata.token)
                yield page
        finally:
            if coming is not None:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> ObjList:
        """List completely."""
        items: list[Obj] = []
        version = ""
        async with aclosing(self.pages(resource, namespace, labels=labels, fields=fields)) as pages:
            async for page in pages:
                items += [resource.name_kind(orjson.loads(memoryview(item))) for item in page.items or ()]
                version = page.metadata.version
        return ObjList(items, version)

    async def create(
        self, resource: Resource, obj: Obj, *, subresource: str = "", options: WriteOptions = PLAIN
    ) -> Obj:
        """Create an object, or post to a subresource of the named one; raises AlreadyExists."""
        path = resource.path(namespace_of(obj), name_of(obj) if subresource else "", subresource)
        return await self._json("POST", path, self._write_query(options), obj)

    async def update(
        self, resource: Resource, obj: Obj, *, subresource: str = "", options: WriteOptions = PLAIN
    ) -> Obj:
        """Replace an object; raises Conflict when its resourceVersion is no longer the newest."""
        path = resource.path(namespace_of(obj), name_of(obj), subresource)
        return await self._json("PUT", path, self._write_query(options), obj)

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
        options: WriteOptions = PLAIN,
    ) -> Obj:
        """Change part of an object."""
        path = resource.path(namespace, name, subresource)
        return await self._json("PATCH", path, self._write_query(options), patch, content_type=patch_type)

    async def apply(
        self,
        resource: Resource,
        obj: Obj,
        *,
        force: bool = True,
        subresource: str = "",
        options: WriteOptions = PLAIN,
    ) -> Obj:
        """Say which fields are ours and what they shall be (server-side apply)."""
        path = resource.path(namespace_of(obj), name_of(obj), subresource)
        query = self._write_query(options) + _query(force="true" if force else "")
        return await self._json("PATCH", path, query, obj, content_type=PatchType.APPLY)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "Background",
        grace_seconds: int | None = None,
    ) -> Obj | None:
        """Ask for an object's deletion, of exactly that uid and version where given; raises NotFound, Conflict.

        Returns None where the object is gone; otherwise the object, which stays until its finalizers or its grace end.
        """
        options: Obj = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        if uid or version:
            wanted = {"uid": uid, "resourceVersion": version}
            options["preconditions"] = {name: value for name, value in wanted.items() if value}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        answer = await self._json("DELETE", resource.path(namespace, name), body=options)
        return None if answer.get("kind") == "Status" else answer

    async def delete_collection(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        propagation: str = "Background",
    ) -> None:
        """Ask for the deletion of every object that the selectors choose."""
        options: Obj = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        query = _query(labelSelector=labels, fieldSelector=fields)
        await self._json("DELETE", resource.path(namespace), query, options)

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        version: str,
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
        timeout_seconds: int = 300,
        opened: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yield changes after `version` until the server ends the stream; raises Gone when it is too old.

        Without a version the stream begins with everything there is, up to a bookmark that says so (a streaming
        list); not every server offers that. `opened` is called once the server has begun to answer.
        """
        query = _query(
            watch="true",
            resourceVersion=version,
            allowWatchBookmarks="true",
            timeoutSeconds=str(timeout_seconds),
            labelSelector=labels,
            fieldSelector=fields,
        )
        if not version:
            query += (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))
        accept = _METADATA if metadata_only else _JSON
        request = Request("GET", resource.path(namespace), query, {"accept": accept})
        stream = await self.transport.stream(request, self._timeout)
        try:
            if stream.status != 200:
                body = b"".join([chunk async for chunk in stream.chunks()])
                raise error_from_body(stream.status, body)
            if opened is not None:
                opened()
            async with aclosing(read_events(stream, self.address)) as events:
                async for event in events:
                    yield event
        finally:
            await stream.close()

    async def get_raw(
        self, path: str, *, accept: str = "application/json", query: Query = (), timeout: float | None = None
    ) -> bytes:
        """Read any path of the server."""
        answer = await self._send(Request("GET", path, query, {"accept": accept}), timeout or self._timeout)
        return answer.body

    async def version(self, *, timeout: float | None = None) -> str:
        """Return the server's version, as `v1.36.3`."""
        return str(_decode(await self.get_raw("/version", timeout=timeout), self.address).get("gitVersion") or "")

    def _write_query(self, options: WriteOptions) -> Query:
        return _query(
            fieldManager=self._manager,
            dryRun="All" if options.dry_run else "",
            fieldValidation=options.field_validation,
        )

    async def _json(
        self,
        method: str,
        path: str,
        query: Query = (),
        body: Any = None,
        *,
        content_type: str = _JSON,
        accept: str = _JSON,
    ) -> Obj:
        headers = {"accept": accept}
        data = b""
        if body is not None:
            headers["content-type"] = content_type
            data = orjson.dumps(body)
        answer = await self._send(Request(method, path, query, headers, data), self._timeout)
        return _decode(answer.body, self.address)

    async def _send(self, request: Request, timeout: float) -> Response:
        """Send, waiting where the server asks for it; every refusal is raised as its error."""
        for attempt in range(1, _PATIENCE_ATTEMPTS + 1):
            answer = await self.transport.send(request, timeout)
            if answer.status < 400:
                return answer
            wait = _retry_after(answer)
            if wait is None or attempt == _PATIENCE_ATTEMPTS:
                break
            await self.runtime.sleep(min(wait, _LONGEST_PATIENCE_SECONDS) * self.runtime.uniform(1.0, 1.2))
        raise error_from_body(answer.status, answer.body)


def _retry_after(answer: Response) -> float | None:
    """Return how long the server asks us to wait before the same request may be sent again."""
    if answer.status != 429 and not (answer.status == 503 and "retry-after" in answer.headers):
        return None
    try:
        return max(0.0, float(answer.headers.get("retry-after", "1")))
    except ValueError:
        return 1.0


def _query(**parameters: str) -> Query:
    return tuple((name, value) for name, value in parameters.items() if value)


def _decode_page(body: bytes, address: str) -> Page:
    try:
        return _page_decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise Unreachable(address, "it answers, but not as a Kubernetes API server does") from error


def _decode(body: bytes, address: str) -> Obj:
    try:
        obj = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unreachable(address, "it answers, but not as a Kubernetes API server does") from error
    if not isinstance(obj, dict):
        raise Unreachable(address, "it answers, but not as a Kubernetes API server does")
    return obj
