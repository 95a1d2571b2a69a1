"""Requests that no good client sends, made up at random from a seed, as the bytes that go over the wire."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_CONFIGS = "/api/v1/namespaces/default/configmaps"
_PATHS = (
    _CONFIGS,
    f"{_CONFIGS}/x",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/deployments/x",
    "/apis/apps/v1/namespaces/default/deployments/x/scale",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/pods/x/binding",
    "/api/v1/namespaces/default/pods/x/eviction",
    "/api/v1/namespaces/default/services",
    "/api/v1/namespaces",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
    "/openapi/v3",
    "/apis",
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
    "/a/b/c/d/e/f/g",
    "/x%2Fy",
    "/.",
    "/" + "a" * 3000,
    "?",
    "?limit=%00",
    "?limit=99999999999999999999",
    "?limit=-1",
    "?continue=%ff%fe",
    "?labelSelector=" + "(" * 500,
    "?labelSelector=a%20in%20(" + "x," * 500,
    "?fieldSelector=%3D%3D%3D",
    "?resourceVersion=99999999999999999999",
    "?resourceVersion=-1",
    "?watch=maybe",
    "?timeoutSeconds=x",
    "?dryRun=All&dryRun=None",
    "?fieldManager=%0a",
    "?" + "&".join(f"a{n}=1" for n in range(300)),
)
_CONTENT = (
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "application/json; charset=\xff",
    "",
)
_ACCEPT = (
    "",
    "*/*",
    "application/json",
    "text/html",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    ";;;=,,,",
    "a" * 2000,
)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW", "get")
_GOOD: tuple[dict[str, Any], ...] = (
    {"metadata": {"name": "x"}, "data": {"a": "1"}},
    {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "a", "image": "b"}]}},
    {
        "metadata": {"name": "x"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}},
        },
    },
    {
        "metadata": {"name": "xs.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "xs", "kind": "X"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    },
)
_ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**63,
    -(2**63),
    2**64,
    1e308,
    1.5,
    "",
    "\u0000",
    "\ud83d\ude00",
    "a" * 5000,
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"$patch": "delete"},
    {"$patch": 7},
    [{"op": "add"}],
    {"a": {"b": {"c": []}}},
)


@dataclass(frozen=True, slots=True)
class Hostile:
    """One request: what is sent, and whether its framing is such that no answer need come."""

    data: bytes
    framed: bool = True


def hostile_requests(seed: int, count: int, token: str) -> Iterator[Hostile]:
    """Yield requests; the same seed gives the same ones."""
    chance = random.Random(seed)
    for _ in range(count):
        yield _broken_framing(chance, token) if chance.random() < 0.1 else _request(chance, token)


def _request(chance: random.Random, token: str) -> Hostile:
    path = chance.choice(_PATHS) + (chance.choice(_TRICKS) if chance.random() < 0.4 else "")
    body = chance.choice(_BODIES)(chance)
    headers = [
        ("Host", "127.0.0.1"),
        ("Authorization", chance.choice((f"Bearer {token}", f"Bearer {token}", f"Bearer {token}", "Bearer \xff", "x"))),
        ("Content-Type", chance.choice(_CONTENT)),
        ("Accept", chance.choice(_ACCEPT)),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]
    if chance.random() < 0.1:
        headers.append(("Content-Encoding", "gzip"))
    return Hostile(_head(chance.choice(_METHODS), path, headers) + body)


def _head(method: str, path: str, headers: list[tuple[str, str]]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _mutated(chance: random.Random) -> bytes:
    obj = json.loads(json.dumps(chance.choice(_GOOD)))
    at = obj
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            break
        key = chance.choice(keys)
        if chance.random() < 0.4 or not isinstance(at[key], dict | list):
            at[key] = chance.choice(_ODD)
            break
        at = at[key]
    return json.dumps(obj).encode()


def _cut(chance: random.Random) -> bytes:
    whole = json.dumps(chance.choice(_GOOD)).encode()
    return whole[: chance.randrange(len(whole))]


def _flipped(chance: random.Random) -> bytes:
    whole = bytearray(json.dumps(chance.choice(_GOOD)).encode())
    for _ in range(chance.randint(1, 8)):
        whole[chance.randrange(len(whole))] = chance.randrange(256)
    return bytes(whole)


def _nested(chance: random.Random) -> bytes:
    deep = chance.choice((50, 500, 5000, 100_000))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'{"metadata":', b"}")))
    return opening * deep + b"1" + (closing * deep if chance.random() < 0.7 else b"")


def _numbers(chance: random.Random) -> bytes:
    number = chance.choice((b"1e999", b"-1e999", b"9" * 400, b"0." + b"1" * 400, b"NaN", b"Infinity", b"-0", b"01"))
    return b'{"metadata":{"name":"x"},"spec":{"replicas":%b}}' % number


def _yaml(chance: random.Random) -> bytes:
    return chance.choice(
        (
            b"a: &a [*a]",
            b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]",
            b"!!python/object/apply:os.system ['true']",
            b"? [a]\n: b",
            b"a: 1\na: 2",
            b"%YAML 9.9\n---\n",
            b"\x00\x01",
            b"- " * 2000,
            b"{" * 3000,
            b"date: 2001-01-01",
        )
    )


_BODIES: tuple[Callable[[random.Random], bytes], ...] = (
    _mutated,
    _mutated,
    _mutated,
    _cut,
    _flipped,
    _nested,
    _numbers,
    _yaml,
    lambda chance: chance.randbytes(chance.randrange(400)),
    lambda chance: b"k8s\x00" + chance.randbytes(chance.randrange(200)),
    lambda chance: b'{"metadata":{"name":"x"},"data":{"a":"%b"}}' % (b"x" * chance.choice((10, 900_000, 3_200_000))),
    lambda _: b"",
)


def _broken_framing(chance: random.Random, token: str) -> Hostile:
    authorization = ("Authorization", f"Bearer {token}")
    pieces = (
        b"\x16\x03\x01\x00\xff" * 20,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"h%d: v\r\n" % n for n in range(5000)) + b"\r\n",
        _head("POST", _CONFIGS, [authorization, ("Content-Length", "-1")]),
        _head("POST", _CONFIGS, [authorization, ("Content-Length", "9" * 30)]),
        _head("POST", _CONFIGS, [authorization, ("Content-Length", "1"), ("Transfer-Encoding", "chunked")])
        + b"0\r\n\r\n",
        _head("POST", _CONFIGS, [authorization, ("Transfer-Encoding", "chunked")]) + b"zz\r\nx\r\n",
        _head("POST", _CONFIGS, [authorization, ("Content-Length", "1000")]) + b"{",
        chance.randbytes(chance.randrange(1, 2000)),
    )
    return Hostile(chance.choice(pieces), framed=False)
