"""Reads from the past: what an API server says whose store lags behind.

A list is asked for at exactly an old revision, which the server still has. A single object is found in such a list.
Where history no longer reaches that far the present is told, as a server that caught up would.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from hanse.apiserver.answers import Answer, AnyAnswer
from hanse.apiserver.gate import Onward
from hanse.apiserver.requests import parse_path
from hanse.kube.transport import Request

_JSON = "application/json"
_CHOOSING = ("continue", "resourceVersion", "resourceVersionMatch", "watch")


def may_be_stale(request: Request) -> bool:
    """Tell whether a request reads objects without saying of which moment."""
    path = parse_path(request.path)
    if request.method != "GET" or path is None or not path.plural or path.subresource:
        return False
    if path.name and _JSON not in request.headers.get("accept", _JSON).split(",")[0]:
        return False
    return not any(name in _CHOOSING and value not in ("", "0", "false") for name, value in request.query)


async def answer_from_the_past(request: Request, revision: int, onward: Onward) -> AnyAnswer:
    """Answer a read as of an earlier revision."""
    path = parse_path(request.path)
    query = [(name, value) for name, value in request.query if name not in _CHOOSING]
    query += [("resourceVersion", str(revision)), ("resourceVersionMatch", "Exact")]
    if path is None or not path.name:
        return await _else_now(await onward(replace(request, query=tuple(query))), request, onward)
    query.append(("fieldSelector", f"metadata.name={path.name}"))
    collection = request.path.removesuffix(f"/{path.name}")
    listed = await onward(replace(request, path=collection, query=tuple(query)))
    return await _else_now(_only_item(listed), request, onward)


async def _else_now(answer: AnyAnswer | None, request: Request, onward: Onward) -> AnyAnswer:
    if answer is None or (isinstance(answer, Answer) and answer.status == 410):
        return await onward(request)
    return answer


def _only_item(listed: AnyAnswer) -> Answer | None:
    """Return the answer about the one object of a list; None where the present must be asked."""
    if not isinstance(listed, Answer) or listed.status != 200:
        return None
    document: dict[str, Any] = orjson.loads(listed.body)
    if document.get("kind") == "Table":
        return listed if document.get("rows") else None
    items = document.get("items") or []
    if not items:
        return None
    head = {"apiVersion": document["apiVersion"], "kind": document["kind"].removesuffix("List")}
    return replace(listed, body=orjson.dumps({**head, **items[0]}))
