"""In which form a client wants its answer, and in which form its body came."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

from hanse.apiserver import status
from hanse.kube.documents import YAML_ERRORS

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_SERVED = (JSON, YAML, PROTOBUF)
# What the encoder of stored objects can take, with room for what the server adds around a body.
_DEEPEST = 200
_MOST_NODES = 400_000
_WILD = ("*/*", "application/*", "")


@dataclass(frozen=True, slots=True)
class Form:
    """A form of answer: the content type, and `Table` or `PartialObjectMetadata` where a view is asked for."""

    content: str = JSON
    view: str = ""
    include: str = "Metadata"  # what a Table's rows carry of their objects: None, Metadata or Object


PLAIN = Form()


def accepted_form(accept: str, include: str = "", *, views: bool = True) -> Form:
    """Choose the first form of an Accept header that can be given; raises 406 where none can.

    Of what is no object of a collection, such as a review, there are no `views`.
    """
    for entry in accept.split(",") if accept else [""]:
        content, parameters = _parse_media(entry)
        if content in _WILD:
            content = JSON
        if content not in (JSON, YAML):
            continue
        view = parameters.get("as", "")
        if not view:
            return Form(content)
        if views and parameters.get("g") == "meta.k8s.io" and _known_view(view, parameters.get("v", "")):
            return Form(content, view.removesuffix("List"), include or "Metadata")
    raise status.not_acceptable(_SERVED)


def _known_view(view: str, version: str) -> bool:
    return version in ("v1", "v1beta1") and view in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


def wants_aggregated_discovery(accept: str) -> bool:
    """Tell whether the first acceptable discovery form is the aggregated one."""
    for entry in accept.split(","):
        content, parameters = _parse_media(entry)
        if content != JSON:
            continue
        if not parameters.get("as"):
            return False
        if (parameters.get("g"), parameters.get("v"), parameters.get("as")) == (
            "apidiscovery.k8s.io",
            "v2",
            "APIGroupDiscoveryList",
        ):
            return True
    return False


def _parse_media(entry: str) -> tuple[str, dict[str, str]]:
    content, *rest = entry.strip().split(";")
    parameters: dict[str, str] = {}
    for part in rest:
        name, _, value = part.strip().partition("=")
        parameters[name] = value.strip('"')
    return content.strip().lower(), parameters


def read_body(body: bytes, headers: Mapping[str, str], kind: str = "") -> Any:
    """Decode a request's body by its content type; raises 415 for types that no server reads, 400 for broken ones.

    `kind` is what the refusal of a broken body says was expected.
    """
    content = headers.get("content-type", "").split(";")[0].strip().lower()
    if content in (JSON, ""):
        return _read_json(body, kind)
    if content == YAML:
        return _read_yaml(body)
    if content == PROTOBUF:
        # The table of field numbers is loaded by the first client that needs it.
        from hanse.apiserver.protobuf import decode as decode_protobuf

        try:
            return decode_protobuf(body)
        except ValueError as error:
            raise status.bad_request(f"the object provided is unrecognized: {error}") from None
    raise status.unsupported_media_type(_SERVED)


def check_depth(body: bytes, value: Any) -> Any:
    """Return a decoded body, or refuse one that is nested more deeply than it could be stored."""
    if body.count(b"{") + body.count(b"[") + body.count(b":") <= _DEEPEST:
        return value
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for one in level for inner in _children(one)]
        if not level:
            return value
    raise status.bad_request("the object is nested too deeply")


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _read_json(body: bytes, kind: str) -> Any:
    try:
        return check_depth(body, orjson.loads(body))
    except orjson.JSONDecodeError as error:
        shown = body[:512].decode(errors="replace") or "<empty>"
        ended = error.pos >= len(error.doc)
        told = "unexpected end of JSON input" if ended else f"invalid character at position {error.pos}"
        expected = f"the object provided is unrecognized (must be of type {kind}): " if kind else ""
        raise status.bad_request(f"{expected}couldn't get version/kind; json parse error: {told} ({shown})") from None


def duplicate_keys(body: bytes, value: Any) -> list[str]:
    """Return the paths of keys that stand twice in a JSON body; `value` is what it was read into."""
    # What is written as we would write it cannot hold a key twice; so most bodies are done with at once.
    if not body.startswith(b"{") or orjson.dumps(value) == body:
        return []
    found: list[str] = []
    try:
        _note_duplicates(json.loads(body, object_pairs_hook=_Pairs), "", found)
    except (ValueError, RecursionError):
        return []  # no JSON, or refused for its depth
    return found


class _Pairs(list[tuple[str, Any]]):
    """An object's keys and values as they came."""


def _note_duplicates(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, inner in value:
            at = f"{path}.{key}" if path else key
            if key in seen and at not in found:
                found.append(at)
            seen.add(key)
            _note_duplicates(inner, at, found)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            _note_duplicates(inner, f"{path}[{place}]", found)


def _read_yaml(body: bytes) -> Any:
    if body.lstrip().startswith(b"{"):
        # Most of what is called YAML is JSON, which is read a hundred times faster.
        try:
            return check_depth(body, orjson.loads(body))
        except orjson.JSONDecodeError:
            pass
    try:
        _check_yaml_depth(body)
        # A document is read as JSON would be: dates and the like stay text.
        loaded = yaml.load(body, Loader=_PlainLoader)  # noqa: S506 - a safe loader with fewer types
        if b"&" in body and b"*" in body:
            _check_expansion(loaded)
        return orjson.loads(orjson.dumps(loaded))
    except YAML_ERRORS as error:
        raise status.bad_request(f"error converting YAML to JSON: {error}") from None


def _check_yaml_depth(body: bytes) -> None:
    # The loader calls itself for every level and would exhaust the stack, which ends the process; events come flat.
    if sum(body.count(opening) for opening in (b"[", b"{", b"- ", b"? ", b"-\t", b"?\t")) <= _DEEPEST:
        return
    depth = 0
    for event in yaml.parse(body, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise status.bad_request("the object is nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_expansion(value: Any) -> None:
    # References repeat what they name; a few lines of them can stand for more than any memory holds.
    waiting, seen = [value], 0
    while waiting:
        seen += 1
        if seen > _MOST_NODES:
            raise status.bad_request("error converting YAML to JSON: yaml: document contains excessive aliasing")
        waiting += _children(waiting.pop())


class _PlainLoader(yaml.CSafeLoader):
    """Reads YAML into JSON's types only."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def write_body(form: Form, body: bytes) -> bytes:
    """Give an encoded JSON answer the content type that was agreed on."""
    if form.content == YAML:
        return yaml.dump(orjson.loads(body), Dumper=yaml.CSafeDumper, sort_keys=True).encode()
    return body
