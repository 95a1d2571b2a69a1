"""The modules of the foreign CEL engine, loaded when the first expression is compiled."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from types import ModuleType


class EngineMissing(Exception):
    """No CEL engine is installed."""

    def __init__(self) -> None:
        super().__init__("CEL expressions need an engine that is not installed: install cel-expr-python")


@dataclass(frozen=True, slots=True)
class Modules:
    """The engine's modules; untyped, since they are optional."""

    cel: ModuleType
    descriptors: ModuleType
    timestamp: ModuleType
    duration: ModuleType


@cache
def modules() -> Modules:
    """Return the engine's modules; raises EngineMissing."""
    try:
        return Modules(
            importlib.import_module("cel_expr_python.cel"),
            # The engine ends the process when it is given types and this library is not there.
            importlib.import_module("google.protobuf.descriptor_pb2"),
            importlib.import_module("google.protobuf.timestamp_pb2"),
            importlib.import_module("google.protobuf.duration_pb2"),
        )
    except ImportError:
        raise EngineMissing from None
