"""What a verb gives back: a complete answer, or a watch, stream or session that is about to begin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

import orjson

from hanse.apiserver import negotiation, representation
from hanse.apiserver.core import Call
from hanse.apiserver.hub import Sink, Watcher
from hanse.apiserver.negotiation import Form, accepted_form
from hanse.apiserver.streaming.messages import Converse
from hanse.apiserver.tables import table_for
from hanse.kube.manifest import Obj


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer."""

    status: int
    body: bytes = b""
    content_type: str = negotiation.JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WatchAnswer:
    """A stream of events that begins when it is given a sink; `seconds` later it ends by itself."""

    begin: Callable[[Sink], Watcher]
    seconds: float
    content_type: str = negotiation.JSON


@dataclass(frozen=True, slots=True)
class StreamAnswer:
    """A body that arrives piece by piece, such as a log that is followed."""

    chunks: AsyncIterator[bytes]
    content_type: str


@dataclass(frozen=True, slots=True)
class SessionAnswer:
    """A conversation over a WebSocket: the subprotocols that are understood, and what is then done with it."""

    protocols: tuple[str, ...]
    converse: Converse


AnyAnswer = Answer | WatchAnswer | StreamAnswer | SessionAnswer


def form_of(call: Call) -> Form:
    """Return the form that the client asked for."""
    return accepted_form(call.request.headers.get("accept", ""), call.options.text("includeObject"))


def answer_object(call: Call, obj: Obj, code: int = 200) -> Answer:
    """Answer with a manifest of the served version, in the form that was asked for."""
    form = form_of(call)
    if form.view == "Table":
        body = orjson.dumps(table_for(call.served, [obj], form.include, call.core.runtime.now()))
    elif form.view == "PartialObjectMetadata":
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
        body = orjson.dumps(partial)
    else:
        body = orjson.dumps(obj)
    return finish(call, form, body, code)


def answer_stored(call: Call, value: bytes, code: int = 200) -> Answer:
    """Answer with stored bytes, in the form that was asked for."""
    form = form_of(call)
    return finish(call, form, representation.one(call.served, value, form, call.core.runtime.now()), code)


def answer_plain(call: Call, obj: Obj, code: int = 200) -> Answer:
    """Answer with an object that has no other form: a Status, a Scale, a review."""
    form = accepted_form(call.request.headers.get("accept", ""))
    return finish(call, form, orjson.dumps(obj), code)


def finish(call: Call, form: Form, body: bytes, code: int = 200) -> Answer:
    """Answer with encoded JSON under the content type that was agreed on."""
    return Answer(code, negotiation.write_body(form, body), form.content, warnings=tuple(call.warnings))
