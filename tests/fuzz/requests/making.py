"""From a seed to a case: a request that was meant well, and what a hostile client makes of it."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import quote

from tests.fuzz.odd import TEXTS, mutated, odd_value
from tests.fuzz.requests.admission import admission_case
from tests.fuzz.requests.case import Sent, request
from tests.fuzz.requests.corpus import Kind, Meant, bodies, kinds, made_object, meant, object_name
from tests.fuzz.requests.sockets import broken_connection
from tests.fuzz.requests.wording import PROTOBUF, garbled, strange, written

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW", "get", "CONNECT")
_PATCHES = (
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_CONTENT = (
    "application/json",
    "application/yaml",
    PROTOBUF,
    *_PATCHES,
    "text/plain",
    "application/json; charset=\xff",
    "",
)
_ACCEPT = (
    "*/*",
    "application/json",
    "application/yaml",
    PROTOBUF,
    "text/html",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v9;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "application/json;stream=watch",
    ";;;=,,,",
    "a" * 2000,
)
_PARTS = (
    "status",
    "scale",
    "binding",
    "eviction",
    "token",
    "finalize",
    "log",
    "exec",
    "attach",
    "portforward",
    "ephemeralcontainers",
    "resize",
    "proxy",
    "proxy/a/b",
    "nothing",
    "status/status",
)
_QUERIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("limit", ("0", "1", "-1", "99999999999999999999", "x", "")),
    ("continue", ("x", "eyJ2IjoibWV0YSJ9", "\xff\xfe", "e30", "bnVsbA", "W10")),
    (
        "labelSelector",
        ("a=b", "a in (b,c)", "!a", "a in (", "(" * 400, "a notin ()", "=", "x" * 400, "a=" + "é", "a>1"),
    ),
    ("fieldSelector", ("metadata.name=a", "metadata.name!=", "===", "spec.x=1", "metadata.namespace=a,b", "\\,=\\")),
    ("resourceVersion", ("0", "1", "-1", "99999999999999999999", "x", "1.5")),
    ("resourceVersionMatch", ("Exact", "NotOlderThan", "Nearly", "")),
    ("watch", ("true", "maybe", "", "0")),
    ("timeoutSeconds", ("1", "0", "-1", "x", "99999999999999999999", "1.5")),
    ("allowWatchBookmarks", ("true", "x")),
    ("sendInitialEvents", ("true", "false", "x")),
    ("dryRun", ("All", "None", "")),
    ("fieldManager", ("m", "\n", "x" * 200, "é")),
    ("fieldValidation", ("Strict", "Warn", "Ignore", "Odd")),
    ("force", ("true", "x", "")),
    ("pretty", ("true", "x")),
    ("propagationPolicy", ("Orphan", "Foreground", "Background", "Odd")),
    ("gracePeriodSeconds", ("0", "-1", "x", "99999999999999999999")),
    ("orphanDependents", ("true", "x")),
    ("includeObject", ("Object", "None", "Odd")),
    ("tailLines", ("-1", "1", "x", "99999999999999999999")),
    ("sinceSeconds", ("-1", "x")),
    ("sinceTime", ("x", "2026-01-01T00:00:00Z")),
    ("limitBytes", ("0", "-1", "x")),
    ("container", ("", "x", "../x")),
    ("command", ("", "ls")),
    ("path", ("/", "../..", "%00")),
    ("ports", ("0", "x", "99999")),
)
_TRICKS = (
    "/..",
    "/../../etc/passwd",
    "//",
    "/%2e%2e",
    "/%00",
    "/%ff",
    "/%",
    "/%zz",
    "/a/b/c/d/e/f",
    "/x%2Fy",
    "/.",
    "/" + "a" * 3000,
)
_HEADERS: tuple[tuple[str, str], ...] = (
    ("Content-Encoding", "gzip"),
    ("Content-Encoding", "deflate"),
    ("Content-Encoding", "br"),
    ("Content-Encoding", "zstd"),
    ("Accept-Encoding", "gzip, x;q=9"),
    ("Expect", "100-continue"),
    ("Expect", "nonsense"),
    ("Authorization", "Bearer \xff"),
    ("Authorization", "Bearer a.b.c"),
    ("Authorization", "Bearer eyJhbGciOiJub25lIn0.e30."),
    ("Authorization", "Basic !!!!"),
    ("Authorization", ""),
    ("Impersonate-User", "bob"),
    ("Impersonate-User", ""),
    ("Impersonate-Group", "x"),
    ("Impersonate-Uid", "\xff"),
    ("Impersonate-Extra-a%2fb", "1"),
    ("Impersonate-Extra-%zz", "1"),
    ("If-Match", "*"),
    ("If-None-Match", '"x"'),
    ("If-Modified-Since", "yesterday"),
    ("Range", "bytes=0-1"),
    ("Upgrade", "SPDY/3.1"),
    ("Upgrade", "websocket"),
    ("Upgrade", "h2c"),
    ("Sec-WebSocket-Key", "x"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Protocol", "v5.channel.k8s.io"),
    ("X-Stream-Protocol-Version", "v4.channel.k8s.io"),
    ("User-Agent", ""),
    ("User-Agent", "\xff/1"),
    ("User-Agent", "x" * 4000),
    ("X-Forwarded-For", "1.2.3.4, \xff"),
    ("X-Remote-User", "admin"),
    ("Cookie", "a=b;" * 500),
    ("Content-Type", "application/json"),
    ("Host", "evil.example.com"),
    ("Connection", "close"),
)
_PLAIN = (
    "/",
    "/api",
    "/apis",
    "/version",
    "/healthz",
    "/livez?verbose",
    "/readyz/etcd",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/apis/apps/v1?hash=x",
    "/openapi/v3/apis/hanse.dev/v1alpha1",
    "/openid/v1/jwks",
    "/.well-known/openid-configuration",
    "/hanse/backup",
    "/logs",
    "/debug/pprof",
)


def case_of(seed: int) -> list[Sent]:
    """Return the case of a seed."""
    chance = random.Random(seed)
    kind = chance.random()
    if kind < 0.03:
        return [broken_connection(chance)]
    if kind < 0.13:
        return admission_case(chance)
    if kind < 0.16:
        return [_plain(chance)]
    if kind < 0.45:
        return [_of_a_kind(chance)]
    return [_of_the_corpus(chance)]


def _of_the_corpus(chance: random.Random) -> Sent:
    one = chance.choice(meant())
    body = one.body
    if isinstance(body, dict | list) and chance.random() < 0.7:
        body = mutated(chance, body, bodies())
    return _sent(chance, one.method, one.path, body, one.content, one.accept)


def _of_a_kind(chance: random.Random) -> Sent:
    kind = chance.choice(kinds())
    method = chance.choice(("POST", "POST", "POST", "PUT", "PATCH", "PATCH", "DELETE", "GET"))
    path = kind.path if method == "POST" else f"{kind.path}/{object_name(chance)}"
    if chance.random() < 0.15:
        path = f"{kind.path}/{object_name(chance)}/{chance.choice(_PARTS)}"
    content = chance.choice(_PATCHES) if method == "PATCH" else chance.choice(("application/json", PROTOBUF))
    body = _body_for(chance, kind, method, content)
    if content == _PATCHES[3]:
        path += "?fieldManager=m&force=true"
    return _sent(chance, method, path, body, content, "application/json")


def _body_for(chance: random.Random, kind: Kind, method: str, content: str) -> Any:
    if method in ("GET", "DELETE"):
        return chance.choice(
            (None, None, {"propagationPolicy": odd_value(chance)}, {"preconditions": odd_value(chance)})
        )
    if content == _PATCHES[1]:
        paths = (
            "/spec",
            "/metadata/labels",
            "/metadata/name",
            "",
            "/-",
            "/a/-1",
            "/spec/x~2",
            "/metadata/finalizers/0",
        )
        steps = ("add", "remove", "replace", "move", "copy", "test", "odd", None)
        return [
            {
                "op": chance.choice(steps),
                "path": chance.choice(paths),
                "from": chance.choice(paths),
                "value": odd_value(chance),
            }
            for _ in range(chance.choice((1, 1, 3, 20)))
        ]
    return made_object(chance, kind, chance.choice((0.0, 0.01, 0.03, 0.1)))


def _plain(chance: random.Random) -> Sent:
    return _sent(chance, chance.choice(_METHODS), chance.choice(_PLAIN), None, "", chance.choice(_ACCEPT))


def _sent(chance: random.Random, method: str, path: str, body: Any, content: str, accept: str) -> Sent:
    if chance.random() < 0.05:
        method = chance.choice(_METHODS)
    if chance.random() < 0.08:
        content = chance.choice(_CONTENT)
    data = b"" if body is None else body if isinstance(body, bytes) else written(chance, body, content)
    luck = chance.random()
    if luck < 0.06:
        data = garbled(chance, data)
    elif luck < 0.10:
        data = strange(chance)
    headers = [("Accept", chance.choice(_ACCEPT) if chance.random() < 0.15 else accept)]
    while chance.random() < 0.12:
        headers.append(chance.choice(_HEADERS))
    return request(method, _path(chance, path), data, content, *headers)


def _path(chance: random.Random, path: str) -> str:
    if chance.random() < 0.04:
        path += chance.choice(_TRICKS)
    if chance.random() < 0.04:
        parts = path.split("/")
        parts[chance.randrange(len(parts))] = quote(chance.choice(TEXTS)[:300], safe="", errors="replace")
        path = "/".join(parts)
    while chance.random() < 0.15:
        name, values = chance.choice(_QUERIES)
        value = quote(chance.choice(values), encoding="latin-1", errors="replace")
        path += f"{'&' if '?' in path else '?'}{name}={value}"
    return path or "/"


def prepared(one: Meant) -> Sent:
    """Return a request as it was meant."""
    data = (
        b""
        if one.body is None
        else one.body
        if isinstance(one.body, bytes)
        else written(random.Random(0), one.body, "")
    )
    return request(one.method, one.path, data, one.content, ("Accept", one.accept))
