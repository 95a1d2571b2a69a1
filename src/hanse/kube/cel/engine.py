"""The foreign CEL engine: how expressions are checked and made ready to be evaluated.

An environment is described as data (names, types, extensions), which is the one form in which the engine takes every
type. Two are made for each expression: one with the declared types, which finds mistakes, and one in which
everything is dynamic, which is evaluated: a field that is absent is then an error, as upstream, not a zero value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from hanse.kube.cel.declared import DYNAMIC, Declarations, TypeName
from hanse.kube.cel.foreign import modules
from hanse.kube.cel.library import FUNCTIONS, Function, maps

_EXTENSIONS = ("two-var-comprehensions", "lists", "sets", "strings", "math", "optional", "bindings", "encoders")


@dataclass(frozen=True, slots=True)
class Checked:
    """An expression without mistakes: the name of its type, and the tree that the engine made of it."""

    kind: str
    serialized: bytes


def check(source: str, declarations: Declarations) -> Checked:
    """Compile an expression against declared types; raises RuntimeError on mistakes."""
    if declarations.messages:
        pool = _Pool(declarations)
        environment = _environment(declarations.variables, pool)
    else:
        environment = _untyped_environment(tuple(sorted(declarations.variables)), _key(declarations.variables))
    expression = environment.compile(source)
    return Checked(expression.return_type().name(), expression.serialize())


def program(source: str, names: tuple[str, ...]) -> Any:
    """Compile an expression for evaluation with these variables, all of them dynamic."""
    environment = _untyped_environment(tuple(sorted(names)), b"")
    compiled = environment.compile(source)
    if "transformMap" not in source or maps.DECLARED in source:
        return compiled
    # Both names are of one length, so that the message around them stays whole.
    return environment.deserialize(compiled.serialize().replace(maps.DECLARED.encode(), maps.OURS.encode()))


def timestamp(seconds: int, nanos: int) -> Any:
    """Return a point in time as the engine takes it inside maps and lists."""
    return modules().timestamp.Timestamp(seconds=seconds, nanos=nanos)


def duration(seconds: int, nanos: int) -> Any:
    """Return a length of time as the engine takes it inside maps and lists."""
    return modules().duration.Duration(seconds=seconds, nanos=nanos)


def is_error(value: Any) -> bool:
    """Tell whether an evaluation ended in an error; its text is the value."""
    return bool(value.type() == modules().cel.Type.ERROR)


def _key(variables: Mapping[str, TypeName]) -> bytes:
    return orjson.dumps(variables, option=orjson.OPT_SORT_KEYS)


@cache
def _untyped_environment(names: tuple[str, ...], types: bytes) -> Any:
    variables = orjson.loads(types) if types else dict.fromkeys(names, DYNAMIC)
    return _environment(variables, None)


def _environment(variables: Mapping[str, TypeName], pool: _Pool | None) -> Any:
    cel = modules().cel
    described = {
        "extensions": [{"name": name} for name in _EXTENSIONS],
        "variables": [{"name": name, **kind} for name, kind in variables.items()],
    }
    config = cel.NewEnvConfigFromYaml(orjson.dumps(described).decode())
    if pool is None:
        return cel.NewEnv(config=config, extensions=[_extension()])
    return cel.NewEnv(config=config, extensions=[_extension()], descriptor_pool=pool)


@cache
def _extension() -> Any:
    cel = modules().cel
    by_name: dict[str, list[Function]] = {}
    for function in FUNCTIONS:
        by_name.setdefault(function.name, []).append(function)
    declared = [
        cel.FunctionDecl(name, [_overload(function, place) for place, function in enumerate(functions)])
        for name, functions in by_name.items()
    ]
    return cel.CelExtension("kubernetes", declared)


def _overload(function: Function, place: int) -> Any:
    cel = modules().cel
    identifier = function.overload or f"kubernetes_{function.name.replace('.', '_')}_{place}"
    kinds = [_type(one) for one in function.takes]
    return cel.Overload(identifier, _type(function.gives), kinds, function.member, function.body)


def _type(name: str) -> Any:
    kinds = modules().cel.Type
    match name:
        case "list":
            return kinds.List(kinds.DYN)
        case "strings":
            return kinds.List(kinds.STRING)
        case "map":
            return kinds.Map(kinds.DYN, kinds.DYN)
        case _:
            return getattr(kinds, name.upper())


@dataclass(frozen=True, slots=True)
class _File:
    serialized_pb: bytes


class _Pool:
    """The declared object types, in the one form in which the engine asks for types."""

    def __init__(self, declarations: Declarations) -> None:
        self._names = frozenset(declarations.messages)
        self._file = _File(_encode(declarations))

    def FindFileContainingSymbol(self, name: str) -> _File:  # noqa: N802 - the engine calls it so
        if name in self._names:
            return self._file
        raise KeyError(name)


_SCALARS = {"bool": 8, "string": 9, "bytes": 12, "int": 3, "double": 1}
_WRAPPERS = {"bool": "BoolValue", "string": "StringValue", "bytes": "BytesValue", "int": "Int64Value",
             "double": "DoubleValue"}  # fmt: skip
_KNOWN = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "dyn": "google.protobuf.Value",
    "list": "google.protobuf.ListValue",
    "map": "google.protobuf.Struct",
}
_IMPORTS = ("timestamp", "duration", "struct", "wrappers")
_OPTIONAL, _REPEATED, _MESSAGE = 1, 3, 11


def _encode(declarations: Declarations) -> bytes:
    file = modules().descriptors.FileDescriptorProto(
        name=f"{next(iter(declarations.messages))}.proto",
        syntax="proto2",
        dependency=[f"google/protobuf/{name}.proto" for name in _IMPORTS],
    )
    for name, fields in declarations.messages.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), start=1):
            _add_field(message, field, number, kind)
    encoded: bytes = file.SerializeToString()
    return encoded


def _add_field(message: Any, name: str, number: int, kind: TypeName) -> None:
    label = _OPTIONAL
    if kind["type_name"] == "list" and kind["params"][0]["type_name"] not in ("list", "map"):
        label, kind = _REPEATED, kind["params"][0]
    elif kind["type_name"] == "map" and kind["params"][1]["type_name"] not in ("list", "map"):
        entry = _entry_name(name)
        if all(one.name != entry for one in message.nested_type):
            _add_entry(message, entry, kind)
            label, kind = _REPEATED, {"type_name": f"{message.name}.{entry}"}
    described = {"name": name, "json_name": f"f{number}", "number": number, "label": label}
    scalar = _SCALARS.get(kind["type_name"])
    if scalar is not None:
        message.field.add(**described, type=scalar)
    else:
        message.field.add(**described, type=_MESSAGE, type_name=f".{_message_name(kind)}")


def _entry_name(field: str) -> str:
    """Return the name that a map's entries must have; two fields may lead to the same."""
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"


def _add_entry(message: Any, name: str, kind: TypeName) -> None:
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    _add_field(entry, "key", 1, kind["params"][0])
    _add_field(entry, "value", 2, kind["params"][1])


def _message_name(kind: TypeName) -> str:
    name = kind["type_name"]
    if name == "wrapper":
        return f"google.protobuf.{_WRAPPERS[kind['params'][0]['type_name']]}"
    return str(_KNOWN.get(name, name))
