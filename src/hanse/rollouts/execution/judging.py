"""What an answer means: success, failure or neither, by a check's own expressions or by the HTTP status.

Values that are kept are a status code or a number and never a body or an address: a status is read by more people than
what is behind the address.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from hanse.kube.cel import CompileError, EngineMissing, EvaluationError, Rule, compile_rule
from hanse.kube.cel.costs import CALL_LIMIT, Budget
from hanse.kube.cel.declared import DYNAMIC, Declarations, TypeName
from hanse.rollouts.environment import Check
from hanse.rollouts.execution.views import Outcome

_HTTP: Mapping[str, TypeName] = {"status": {"type_name": "int"}, "body": {"type_name": "string"}, "json": DYNAMIC}
_PROMETHEUS: Mapping[str, TypeName] = {"result": DYNAMIC}
_MOST_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Found:
    """An HTTP answer."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found, and the few words that are kept of it."""

    outcome: Outcome
    value: str


def judge(check: Check, found: Found) -> Verdict:
    """Judge an answer."""
    return _of_prometheus(check, found) if check.prometheus else _of_http(check, found)


def _of_http(check: Check, found: Found) -> Verdict:
    value = f"HTTP status {found.status}"
    if not check.success and not check.failure:
        return Verdict(Outcome.SUCCESS if 200 <= found.status < 300 else Outcome.FAILURE, value)
    variables = {"status": found.status, "body": found.body.decode(errors="replace"), "json": _json(found.body)}
    return _by_expressions(check, variables, value, http=True)


def _of_prometheus(check: Check, found: Found) -> Verdict:
    if found.status != 200:
        return Verdict(Outcome.INCONCLUSIVE, f"Prometheus answered with HTTP status {found.status}")
    result = _first_value(_json(found.body))
    if result is None:
        return Verdict(Outcome.INCONCLUSIVE, "the query has no result")
    if math.isnan(result):
        return Verdict(Outcome.INCONCLUSIVE, "the query's result is not a number")
    return _by_expressions(check, {"result": result}, f"{result:g}", http=False)


def _by_expressions(check: Check, variables: Mapping[str, Any], value: str, *, http: bool) -> Verdict:
    try:
        if check.failure and _holds(check.failure, variables, http=http):
            return Verdict(Outcome.FAILURE, value)
        if not check.success:
            return Verdict(Outcome.SUCCESS, value)
        if _holds(check.success, variables, http=http):
            return Verdict(Outcome.SUCCESS, value)
    except (CompileError, EngineMissing, EvaluationError, TypeError, ValueError, OverflowError) as error:
        return Verdict(Outcome.INCONCLUSIVE, f"{value}; an expression gives no answer: {_first_line(error)}")
    return Verdict(Outcome.INCONCLUSIVE if check.failure else Outcome.FAILURE, value)


def _holds(source: str, variables: Mapping[str, Any], *, http: bool) -> bool:
    found = _compiled(source, http).evaluate(variables, Budget(len(orjson.dumps(variables)), CALL_LIMIT))
    if not isinstance(found, bool):
        raise EvaluationError(f"{source} must be true or false")
    return found


@lru_cache(_MOST_REMEMBERED)
def _compiled(source: str, http: bool) -> Rule:
    return compile_rule(source, Declarations(dict(_HTTP if http else _PROMETHEUS)), gives=("BOOL", "DYN"))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _first_value(told: Any) -> float | None:
    """Return the first number of a query's answer: of a scalar, of a vector, or the last one of a range."""
    try:
        data = told["data"]
        found = data["result"]
        if data["resultType"] == "scalar":
            return float(found[1])
        return float(found[0]["value"][1] if "value" in found[0] else found[0]["values"][-1][1])
    except (KeyError, IndexError, TypeError, ValueError):
        return None
