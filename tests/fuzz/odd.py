"""Values that stand where others are expected, and trees in which some of the values are such."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

Tree = Any

# Expressions, selectors, patterns, sizes and times that a reader of text may stumble over.
TEXTS: tuple[str, ...] = (
    "",
    " ",
    "\x00",
    "\n",
    "\ud800",
    "\U0001f600" * 3,
    "\u202e\u2066",
    "é" * 64,
    "a" * 64,
    "a" * 254,
    "a" * 70_000,
    "-",
    "--",
    ".",
    "..",
    "../../etc/passwd",
    "/",
    "//",
    "%",
    "%00",
    "%s%s%n",
    "{}",
    "{{ .Values }}",
    "{0.__class__}",
    "${HOME}",
    "~",
    "null",
    "true",
    "NaN",
    "-inf",
    "0x10",
    "1e400",
    "9" * 400,
    "-1",
    "0",
    "007",
    "1_000",
    "١٢٣",
    "1Gi",
    "1e3Gi",
    "-5%",
    "150%",
    "1000000000000%",
    "100m",
    "1h",
    "-1h",
    "9999999999999h",
    "1h1h1h",
    "2001-01-01",
    "0000-00-00T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "2024-02-30T25:61:61Z",
    "10.0.0.0/8",
    "999.1.1.1",
    "::1",
    "fe80::1%eth0",
    "[::]:80",
    "http://[",
    "https://user:pass@127.0.0.1:99999/",
    "oci://",
    "* * * * *",
    "@every 1ns",
    "0 0 31 2 *",
    "*/0 * * * *",
    "a=b,c!=d",
    "a in (b",
    "a in ()",
    "!",
    "x" * 300 + "=y",
    "(((((((((",
    "(a+)+$",
    "[",
    "(?P<x>",
    "\\",
    "self == self",
    "[1,2,3].all(x, x)",
    "object.spec.replicas / 0 == 1",
    "'a'.matches('(a*)*b')",
    "true ? 1 : 'a'",
    "self.map(x, self.map(y, self.map(z, x)))",
    '{"a": ',
    "[]",
    "{}",
    '[{"clusterName": "a", "clusterName": 7}]',
    '{"clusters": {"*": {"weight": -1}}}',
    '{"rebalance": "yes", "clusters": []}',
    "a: &a [*a]",
    "- - - -",
    "!!python/object/apply:os.system ['true']",
    "v1",
    "apps/v1",
    "a/b/c",
    "apps/v1/Deployment",
    "default",
    "kube-system",
    "x" * 63 + ".example.com",
    "é.example.com",
    "*.example.com",
    "a..b",
    "-80",
    "80-",
    "80-40",
    "40-80-c0",
    "zz-",
)
NUMBERS: tuple[Any, ...] = (
    0,
    -1,
    1,
    2,
    7,
    100,
    101,
    65535,
    65536,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    -(2**63) - 1,
    2**64,
    10**400,
    0.5,
    -0.0,
    1e308,
    1e-300,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
)
_SHAPES: tuple[Any, ...] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [None],
    [{}],
    [1, "a", None, {}],
    {"": None},
    {"": ""},
    {"a": None},
    {"a": {"b": {"c": []}}},
    {"$patch": "delete"},
    {"$patch": "replace"},
    {"$patch": 7},
    {"$retainKeys": ["a"]},
    {"$setElementOrder/containers": [{"name": "x"}]},
    {"$deleteFromPrimitiveList/finalizers": ["x"]},
    {"op": "replace", "path": "", "value": 1},
    {"op": "add", "path": "/-", "value": {}},
    {"op": "move", "from": "/a", "path": "/a/b"},
    {"matchLabels": None},
    {"matchLabels": {"a": 1}},
    {"matchLabels": []},
    {"matchExpressions": [{"key": "a", "operator": "In"}]},
    {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
    {"matchExpressions": [{"key": None, "operator": 7, "values": "b"}]},
    {"matchExpressions": {}},
    {"type": "int", "intVal": "x"},
)


def odd_value(chance: random.Random) -> Any:
    """Return a value that few readers expect."""
    kind = chance.random()
    if kind < 0.4:
        return chance.choice(TEXTS)
    if kind < 0.65:
        return chance.choice(NUMBERS)
    if kind < 0.95:
        return copy.deepcopy(chance.choice(_SHAPES))
    return nested(chance.choice((20, 150, 250)), chance)


def nested(depth: int, chance: random.Random) -> Any:
    """Return a value that is nested so deeply."""
    value: Any = chance.choice((None, 1, "x", {}))
    wrap: Callable[[Any], Any] = chance.choice(
        (lambda one: [one], lambda one: {"a": one}, lambda one: {"items": [one]})
    )
    for _ in range(depth):
        value = wrap(value)
    return value


def mutated(chance: random.Random, tree: Tree, donors: Sequence[Tree] = ()) -> Tree:
    """Return a copy of a tree with one or a few of its places changed."""
    changed = copy.deepcopy(tree)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 6))):
        changed = _changed(chance, changed, donors)
    return changed


def places(tree: Tree) -> list[tuple[Any, Any]]:
    """Return every container of a tree with each of its keys."""
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found += [(one, key) for key in one]
            waiting += one.values()
        elif isinstance(one, list):
            found += [(one, place) for place in range(len(one))]
            waiting += one
    return found


def _changed(chance: random.Random, tree: Tree, donors: Sequence[Tree]) -> Tree:
    known = places(tree)
    if not known or chance.random() < 0.01:
        return odd_value(chance)
    at, key = chance.choice(known)
    chance.choice(_CHANGES)(chance, at, key, donors)
    return tree


def _replace(chance: random.Random, at: Any, key: Any, _donors: Sequence[Tree]) -> None:
    at[key] = odd_value(chance)


def _of_its_type(chance: random.Random, at: Any, key: Any, donors: Sequence[Tree]) -> None:
    value = at[key]
    if isinstance(value, str):
        at[key] = chance.choice(TEXTS) if chance.random() < 0.6 else _bent(chance, value)
    elif isinstance(value, int | float):
        at[key] = chance.choice(NUMBERS)
    else:
        _replace(chance, at, key, donors)


def _bent(chance: random.Random, text: str) -> str:
    place = chance.randrange(len(text) + 1)
    piece = chance.choice(("\x00", "é", "/", ",", " ", '"', "\\", "%", "-", ":", "0", "{", "]", text))
    return chance.choice((text[:place] + piece + text[place:], text[:place], text[place:], text.upper(), text * 3))


def _remove(_chance: random.Random, at: Any, key: Any, _donors: Sequence[Tree]) -> None:
    del at[key]


def _repeat(chance: random.Random, at: Any, key: Any, _donors: Sequence[Tree]) -> None:
    if isinstance(at, list):
        at.extend([copy.deepcopy(at[key])] * chance.choice((1, 2, 50)))
    else:
        at[chance.choice((f"{key}s", str(key).upper(), f"{key}.x", "", "name", "spec", "metadata", "status"))] = (
            copy.deepcopy(at[key])
        )


def _wrap(chance: random.Random, at: Any, key: Any, _donors: Sequence[Tree]) -> None:
    at[key] = chance.choice(([at[key]], {"x": at[key]}, [at[key], None], str(at[key]), {str(key): at[key]}))


def _swap(chance: random.Random, at: Any, key: Any, _donors: Sequence[Tree]) -> None:
    other = chance.choice(list(at) if isinstance(at, dict) else range(len(at)))
    at[key], at[other] = at[other], at[key]


def _transplant(chance: random.Random, at: Any, key: Any, donors: Sequence[Tree]) -> None:
    known = places(chance.choice(donors)) if donors else []
    if known:
        giver, part = chance.choice(known)
        at[key] = copy.deepcopy(giver[part])
    else:
        _replace(chance, at, key, donors)


_CHANGES = (_replace, _replace, _of_its_type, _of_its_type, _of_its_type, _remove, _repeat, _wrap, _swap, _transplant)
