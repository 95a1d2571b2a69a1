"""Watch events as they come off the wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import orjson

from hanse.kube.errors import error_from_status
from hanse.kube.manifest import Obj
from hanse.kube.transport import Stream, Unreachable


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One line of a watch: ADDED, MODIFIED, DELETED or BOOKMARK, and the object."""

    type: str
    object: Obj


async def read_lines(stream: Stream) -> AsyncGenerator[bytes, None]:
    """Yield the complete lines of a stream; a line cut short by its end is dropped, never guessed at."""
    rest = b""
    async for chunk in stream.chunks():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


async def read_events(stream: Stream, address: str) -> AsyncGenerator[WatchEvent, None]:
    """Yield watch events; an ERROR event is raised as the error it carries (410 as Gone)."""
    async for line in read_lines(stream):
        try:
            event = orjson.loads(line)
            kind, obj = event["type"], event["object"]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise Unreachable(address, "its watch stream is not Kubernetes watch events") from error
        if kind == "ERROR":
            raise error_from_status(int(obj.get("code") or 500), obj)
        yield WatchEvent(kind, obj)
