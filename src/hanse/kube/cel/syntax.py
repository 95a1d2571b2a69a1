"""A checked expression as a tree: what the engine understood, read from the form in which it writes it down.

The engine writes a `cel.expr.CheckedExpr` message. Only what costs depend on is kept: the nodes, their types and the
overloads of calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

Literal = str | bytes | bool | int | float | None
_Fields = dict[int, list[int | bytes]]

_PRIMITIVES = ("dyn", "bool", "int", "uint", "double", "string", "bytes")
_WELL_KNOWN = ("dyn", "dyn", "timestamp", "duration")


@dataclass(frozen=True, slots=True)
class Type:
    """A type: its kind, and for a list, map or optional value the types inside."""

    kind: str
    params: tuple[Type, ...] = ()


UNKNOWN = Type("dyn")


@dataclass(frozen=True, slots=True)
class Node:
    """An expression; `number` identifies it among those of its tree."""

    number: int
    type: Type


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A literal value."""

    value: Literal


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """A field of something, or whether it is there."""

    operand: Node
    field: str
    test: bool


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function or operator with its arguments."""

    function: str
    target: Node | None
    args: tuple[Node, ...]
    overloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListLiteral(Node):
    """A list written out."""

    elements: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapLiteral(Node):
    """A map or message written out."""

    entries: tuple[tuple[Node | None, Node], ...]
    message: str


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """A loop, which is what all(), map() and their like become."""

    variable: str
    second: str
    over: Node
    result_name: str
    start: Node
    condition: Node
    step: Node
    result: Node


@dataclass(slots=True)
class _Tables:
    types: dict[int, Type] = field(default_factory=dict)
    overloads: dict[int, tuple[str, ...]] = field(default_factory=dict)


@lru_cache(maxsize=256)
def read_tree(serialized: bytes) -> Node:
    """Read an expression that the engine serialized; the same rule stands in many a definition."""
    message = _fields(_bytes(_fields(serialized), 2))
    tables = _Tables()
    for reference in message.get(2, ()):
        entry = _fields(_blob(reference))
        named = _fields(_bytes(entry, 2))
        tables.overloads[_number(entry, 1)] = tuple(_blob(one).decode() for one in named.get(3, ()))
    for typed in message.get(3, ()):
        entry = _fields(_blob(typed))
        tables.types[_number(entry, 1)] = _type(_bytes(entry, 2))
    return _node(_bytes(message, 4), tables)


def read_positions(serialized: bytes) -> dict[int, int]:
    """Return where in the source the nodes of a serialized expression begin, in characters."""
    source = _fields(_bytes(_fields(_bytes(_fields(serialized), 2)), 5))
    entries = (_fields(_blob(one)) for one in source.get(4, ()))
    return {_number(entry, 1): _number(entry, 2) for entry in entries}


def children(node: Node) -> tuple[Node, ...]:
    """Return the expressions directly inside of one."""
    match node:
        case Select(operand=operand):
            return (operand,)
        case Call(target=target, args=args):
            return args if target is None else (target, *args)
        case ListLiteral(elements=elements):
            return elements
        case MapLiteral(entries=entries):
            return tuple(part for entry in entries for part in entry if part is not None)
        case Comprehension():
            return node.over, node.start, node.condition, node.step, node.result
        case _:
            return ()


def _node(data: bytes, tables: _Tables) -> Node:
    fields = _fields(data)
    number = _number(fields, 2)
    kind = tables.types.get(number, UNKNOWN)
    if 3 in fields:
        return Constant(number, kind, _literal(_fields(_bytes(fields, 3))))
    if 4 in fields:
        return Name(number, kind, _text(_fields(_bytes(fields, 4)), 1))
    if 5 in fields:
        chosen = _fields(_bytes(fields, 5))
        return Select(number, kind, _node(_bytes(chosen, 1), tables), _text(chosen, 2), bool(_number(chosen, 3)))
    if 6 in fields:
        return _call(number, kind, _fields(_bytes(fields, 6)), tables)
    if 7 in fields:
        elements = _fields(_bytes(fields, 7)).get(1, ())
        return ListLiteral(number, kind, tuple(_node(_blob(one), tables) for one in elements))
    if 8 in fields:
        return _map(number, kind, _fields(_bytes(fields, 8)), tables)
    return _comprehension(number, kind, _fields(_bytes(fields, 9)), tables)


def _call(number: int, kind: Type, fields: _Fields, tables: _Tables) -> Call:
    target = _node(_bytes(fields, 1), tables) if 1 in fields else None
    args = tuple(_node(_blob(one), tables) for one in fields.get(3, ()))
    return Call(number, kind, _text(fields, 2), target, args, tables.overloads.get(number, ()))


def _map(number: int, kind: Type, fields: _Fields, tables: _Tables) -> MapLiteral:
    entries = []
    for one in fields.get(2, ()):
        entry = _fields(_blob(one))
        key = _node(_bytes(entry, 3), tables) if 3 in entry else None
        entries.append((key, _node(_bytes(entry, 4), tables)))
    return MapLiteral(number, kind, tuple(entries), _text(fields, 1))


def _comprehension(number: int, kind: Type, fields: _Fields, tables: _Tables) -> Comprehension:
    over, start, condition, step, result = (_node(_bytes(fields, place), tables) for place in (2, 4, 5, 6, 7))
    names = _text(fields, 1), _text(fields, 8), over, _text(fields, 3)
    return Comprehension(number, kind, *names, start, condition, step, result)


def _literal(fields: _Fields) -> Literal:
    if 2 in fields:
        return bool(_number(fields, 2))
    if 6 in fields:
        return _text(fields, 6)
    if 7 in fields:
        return _bytes(fields, 7)
    if 5 in fields:
        # No cost depends on which number it is.
        return 0.0
    for place in (3, 4):
        if place in fields:
            value = _number(fields, place)
            return value - (1 << 64) if place == 3 and value >> 63 else value
    return None


def _type(data: bytes) -> Type:
    fields = _fields(data)
    for place, names in ((3, _PRIMITIVES), (4, _PRIMITIVES), (5, _WELL_KNOWN)):
        if place in fields:
            return Type(names[_number(fields, place)])
    if 2 in fields:
        return Type("null")
    if 6 in fields:
        return Type("list", (_type(_bytes(_fields(_bytes(fields, 6)), 1)),))
    if 7 in fields:
        inner = _fields(_bytes(fields, 7))
        return Type("map", (_type(_bytes(inner, 1)), _type(_bytes(inner, 2))))
    if 9 in fields:
        return Type("message")
    if 14 in fields:
        inner = _fields(_bytes(fields, 14))
        kind = "optional" if _text(inner, 1) == "optional_type" else "opaque"
        return Type(kind, tuple(_type(_blob(one)) for one in inner.get(2, ())))
    return UNKNOWN


def _number(fields: _Fields, place: int) -> int:
    value = fields[place][-1] if place in fields else 0
    return value if isinstance(value, int) else 0


def _bytes(fields: _Fields, place: int) -> bytes:
    return _blob(fields[place][-1]) if place in fields else b""


def _text(fields: _Fields, place: int) -> str:
    return _bytes(fields, place).decode(errors="replace")


def _blob(value: int | bytes) -> bytes:
    return value if isinstance(value, bytes) else b""


def _fields(data: bytes) -> _Fields:
    found: _Fields = {}
    for place, value in _wire(data):
        found.setdefault(place, []).append(value)
    return found


def _wire(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a protobuf message: numbers and pieces of bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                value, at = _varint(data, at)
                yield tag >> 3, value
            case 2:
                length, at = _varint(data, at)
                yield tag >> 3, data[at : at + length]
                at += length
            case kind:
                length = 8 if kind == 1 else 4
                yield tag >> 3, data[at : at + length]
                at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
