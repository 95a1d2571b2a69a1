"""What a custom kind is taught in CEL, as functions over manifests: bounded in cost, and never the end of a process.

A function that finds no answer raises `Unanswered`: a field that it looks at may not be there yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import orjson

from hanse.kube.cel import CompileError, EngineMissing, EvaluationError, Rule, compile_rule
from hanse.kube.cel.costs import CALL_LIMIT, Budget
from hanse.kube.cel.declared import DYNAMIC, Declarations
from hanse.kube.cel.rule import WrongType
from hanse.kube.manifest import Obj

_SELF = ("self",)
_CLUSTERS = ("clusters", "self")
_PLACE = re.compile(r"<input>:(?P<line>\d+):(?P<column>\d+): (?P<told>[^\n]*)")
_MOST_REMEMBERED = 512


class BadExpression(Exception):
    """An expression that cannot be compiled; its text is one sentence."""


class Unanswered(Exception):
    """A question about an object that found no answer; its text is why."""


def understand_health(source: str) -> Rule:
    """Compile an expression that holds for an object that is well; raises BadExpression."""
    return _compiled(source, _SELF, ("BOOL", "DYN"), "true or false")


def understand_count(source: str) -> Rule:
    """Compile an expression that counts replicas of an object; raises BadExpression."""
    return _compiled(source, _SELF, ("INT", "UINT", "DYN"), "a whole number")


def understand_field(source: str) -> Rule:
    """Compile an expression that makes a field of the status from those of the clusters; raises BadExpression."""
    return _compiled(source, _CLUSTERS, (), "")


def holds(rule: Rule, copy: Obj) -> bool:
    """Tell whether an expression holds for an object; raises Unanswered."""
    found = _evaluated(rule, {"self": copy})
    if not isinstance(found, bool):
        raise Unanswered(f"{rule.source} must be true or false and is {found!r}")
    return found


def counted(rule: Rule, copy: Obj) -> int:
    """Return the number that an expression finds in an object, 0 where it finds none."""
    try:
        found = _evaluated(rule, {"self": copy})
    except Unanswered:
        return 0
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def made(rule: Rule, source: Obj, clusters: Sequence[Obj]) -> Any:
    """Return what an expression makes of the clusters' statuses, as JSON has it; raises Unanswered."""
    return as_json(_evaluated(rule, {"clusters": list(clusters), "self": source}))


@lru_cache(_MOST_REMEMBERED)
def _compiled(source: str, names: tuple[str, ...], gives: tuple[str, ...], wanted: str) -> Rule:
    variables = {name: DYNAMIC if name == "self" else {"type_name": "list", "params": [DYNAMIC]} for name in names}
    try:
        return compile_rule(source, Declarations(variables), gives=gives)
    except WrongType as error:
        raise BadExpression(f"{source} must give {wanted} and gives {error.found}") from None
    except CompileError as error:
        raise BadExpression(f"{source} cannot be understood: {_sentence(str(error))}") from None
    except EngineMissing as error:
        raise BadExpression(str(error)) from None


def _sentence(text: str) -> str:
    """Return a compiler's message without the drawing that points at the place."""
    found = _PLACE.search(text)
    if found is None:
        return text.partition("\n")[0]
    line = "" if found["line"] == "1" else f"line {found['line']}, "
    told = found["told"].removesuffix(" (in container '')")
    return f"{line}column {found['column']}: {told}"


def _evaluated(rule: Rule, variables: Mapping[str, Any]) -> Any:
    try:
        return rule.evaluate(variables, Budget(len(orjson.dumps(variables)), CALL_LIMIT))
    except (EvaluationError, TypeError, ValueError, OverflowError) as error:
        raise Unanswered(str(error)) from None


def as_json(value: Any) -> Any:
    """Return a value as JSON has it, times as text; raises Unanswered for what JSON cannot hold."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%SZ")
        case timedelta():
            return f"{value.total_seconds():g}s"
        case Mapping():
            return {str(name): as_json(inner) for name, inner in value.items()}
        case list() | tuple():
            return [as_json(inner) for inner in value]
        case _:
            raise Unanswered(f"a status cannot hold {type(value).__name__}")
