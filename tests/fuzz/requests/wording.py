"""How a body is written: JSON, YAML, protobuf, and all of them with mistakes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import yaml

from tests.fuzz.protobuf_writing import encode

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def written(chance: random.Random, tree: Any, content: str) -> bytes:
    """Return a tree as a body of a content type."""
    if content == PROTOBUF:
        found = encode(tree) if isinstance(tree, dict) else None
        return found if found is not None else b"k8s\x00" + as_json(tree)[:200]
    if "yaml" in content and chance.random() < 0.5:
        return as_yaml(tree)
    return as_json(tree)


def as_json(tree: Any) -> bytes:
    """Return a tree as JSON; what JSON cannot hold as what its careless writers write."""
    return json.dumps(tree, default=str).encode()


def as_yaml(tree: Any) -> bytes:
    """Return a tree as YAML."""
    try:
        return yaml.dump(tree, Dumper=yaml.CSafeDumper, allow_unicode=True).encode(errors="surrogatepass")
    except (yaml.YAMLError, UnicodeError, RecursionError):
        return as_json(tree)


def garbled(chance: random.Random, body: bytes) -> bytes:
    """Return a body with bytes changed, cut, repeated or put in."""
    data = bytearray(body or b"{}")
    for _ in range(chance.choice((1, 1, 2, 8, 30))):
        place = chance.randrange(len(data) + 1)
        what = chance.random()
        if what < 0.4 and place < len(data):
            data[place] = chance.randrange(256)
        elif what < 0.6:
            data[place:place] = chance.choice(_PIECES)
        elif what < 0.8:
            del data[place : place + chance.choice((1, 1, 5, 50))]
        else:
            start = chance.randrange(len(data) + 1)
            data[place:place] = data[start : start + chance.choice((1, 10, 100))]
    return bytes(data)


def strange(chance: random.Random) -> bytes:
    """Return a body that is of no object."""
    return chance.choice(_STRANGE)(chance)


def _nested(chance: random.Random) -> bytes:
    deep = chance.choice((50, 190, 210, 500, 5000, 100_000))
    opening, closing = chance.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b'{"metadata":', b"}"), (b"- ", b""), (b"? ", b""))
    )
    return opening * deep + b"1" + (closing * deep if chance.random() < 0.7 else b"")


def _numbers(chance: random.Random) -> bytes:
    number = chance.choice((b"1e999", b"-1e999", b"9" * 4400, b"0." + b"1" * 400, b"NaN", b"Infinity", b"-0", b"01"))
    return b'{"metadata":{"name":"x"},"spec":{"replicas":%b}}' % number


def _yaml(chance: random.Random) -> bytes:
    return chance.choice(_YAML)


def _twice(chance: random.Random) -> bytes:
    key = chance.choice((b"metadata", b"spec", b"data", b"kind"))
    return b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"%b":{"name":"b"},"%b":null}' % (key, key)


def _wire(chance: random.Random) -> bytes:
    return b"k8s\x00" + chance.randbytes(chance.randrange(200))


def _large(chance: random.Random) -> bytes:
    size = chance.choice((10, 10, 10, 10, 900_000, 1_100_000, 3_200_000))
    return b'{"metadata":{"name":"x"},"data":{"a":"%b"}}' % (b"x" * size)


def bomb(levels: int, width: int) -> bytes:
    """Return YAML whose references stand for far more than its lines."""
    references = (b"a%d: &a%d [%b]" % (n, n, b",".join([b"*a%d" % (n - 1)] * width)) for n in range(1, levels))
    return b"\n".join([b"a0: &a0 [x]", *references])


_PIECES = (
    b"\x00",
    b"\xff",
    b"\xc3",
    b'"',
    b"{",
    b"[",
    b"}",
    b"]",
    b",",
    b":",
    b"\\u0000",
    b"\\ud800",
    b"1e999",
    b"\x0a\xff\xff\xff\xff\x0f",
)
_YAML = (
    b"a: &a [*a]",
    b"&a {a: *a}",
    b"<<: [*x]",
    b"a: &a {b: c}\nd:\n  <<: *a\n  <<: *a",
    bomb(9, 9),
    bomb(30, 2),
    b"!!python/object/apply:os.system ['true']",
    b"!!binary |\n  R0lGODlh",
    b"!!set {a, b}",
    b"a: !!timestamp x",
    b"a: !!bool x",
    b"a: !!int ''",
    b"a: !!float x",
    b"!!omap [a: 1]",
    b"? [a]\n: b",
    b"? {a: b}\n: c",
    b"a: 1\na: 2",
    b"%YAML 9.9\n---\n",
    b"%TAG ! tag:x:\n---\n!a b",
    b"\x00\x01",
    b"\xff\xfea\x00",
    b"- " * 2000,
    b"{" * 3000,
    b"date: 2001-01-01",
    b"n: 0o17\nm: 1:60:60\nx: .inf\ny: .nan",
    b"0x1: a\n1.5: b\nnull: c\ntrue: d",
    b"--- a\n--- b\n",
    b"a: |\n" + b" x\n" * 5000,
    b"a: '" + b"x" * 100_000,
)
_STRANGE: tuple[Callable[[random.Random], bytes], ...] = (
    _nested,
    _numbers,
    _yaml,
    _yaml,
    _twice,
    _wire,
    _large,
    lambda chance: chance.randbytes(chance.randrange(400)),
    lambda chance: chance.choice(
        (b"", b"null", b"0", b'""', b"[]", b"{}", b"true", b"[{}]", b"\xef\xbb\xbf{}", b"{}{}")
    ),
)
