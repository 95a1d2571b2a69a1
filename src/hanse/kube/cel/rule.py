"""An expression that was checked and can be evaluated, and the sentences in which either fails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hanse.kube.cel import engine
from hanse.kube.cel.costs import Budget, OverBudget, RuleCost
from hanse.kube.cel.declared import Declarations
from hanse.kube.cel.foreign import EngineMissing
from hanse.kube.cel.literal_checks import literal_problem
from hanse.kube.cel.regex import in_go_words

__all__ = ["CompileError", "CostError", "EngineMissing", "EvaluationError", "Rule", "compile_rule", "mentions"]

_STATUS = re.compile(r"(?:[A-Z_]+: )?(?P<told>.*?)(?:\s*\[[A-Z_]+\])?", re.DOTALL)
_IN_STRUCT = re.compile(r"(undefined field '[^']*') not found in struct '[^']*'")
_NO_FIELDS = re.compile(r"expression of type ('[^']*') cannot be the operand of a select operation")
_UNKNOWN = re.compile(
    r"<input>:(?P<line>\d+):(?P<column>\d+): undeclared reference to '(?P<path>[\w.]+\.\w+)' \(in container ''\)"
    r"\n \| (?P<source>[^\n]*)\n \| \.*\^"
)
_TOKEN = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))"""
    r"""|(?P<comment>//[^\n]*)|(?P<name>(?<![\w.])[A-Za-z_]\w*)""",
    re.DOTALL,
)
_RUNTIME = (
    (re.compile(r'Key not found in map : "?(.*?)"?$', re.DOTALL), r"no such key: \1"),
    (re.compile(r"Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
    (re.compile(r"divide by zero"), "division by zero"),
    (
        re.compile(r"No matching overloads found : .*|Applying SELECT to non-message type", re.DOTALL),
        "no such overload",
    ),
)


_SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"
_TOO_LONG = "Iteration budget exceeded"


class CompileError(Exception):
    """An expression that cannot be understood, in upstream's words."""


class EvaluationError(Exception):
    """An expression that found no answer: an absent key, an overflow, a division by zero."""


class CostError(EvaluationError):
    """An expression that was not evaluated to its end, since that would cost too much."""

    def __init__(self, *, alone: bool) -> None:
        self.alone = alone
        """Whether it is too costly by itself, and not only with those before it."""
        super().__init__("operation cancelled: actual cost limit exceeded" if alone else _SPENT)


@dataclass(frozen=True, slots=True)
class Rule:
    """A checked expression; `evaluate` gives its value as plain Python."""

    source: str
    kind: str
    """The type of the value, as the engine names it: BOOL, LIST<STRING>."""
    cost: RuleCost
    _program: Any

    def evaluate(self, variables: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """Return the value of the expression; raises EvaluationError where it has none, CostError where it costs more
        than the budget allows.
        """
        try:
            if budget is not None:
                budget.spend(self.cost, variables)
            value = self._program.eval(data=variables)
        except OverBudget as error:
            raise CostError(alone=error.alone) from None
        except RuntimeError as error:
            raise _evaluation_error(str(error)) from None
        if engine.is_error(value):
            raise _evaluation_error(str(value.plain_value()))
        return value.plain_value()


def _evaluation_error(text: str) -> EvaluationError:
    return CostError(alone=True) if _TOO_LONG in text else EvaluationError(_runtime_text(text))


def compile_rule(source: str, declarations: Declarations, *, gives: tuple[str, ...] = (), evaluated: str = "") -> Rule:
    """Check an expression against its variables' types and make it ready; raises CompileError and EngineMissing.

    `gives` are the types that it may have, as the engine names them; with none, any will do. `evaluated` is what to
    evaluate where that is not the text that people wrote and are told about.
    """
    try:
        found = engine.check(source, declarations)
        if gives and found.kind not in gives and found.kind.partition("<")[0] not in gives:
            raise WrongType(found.kind)
        program = engine.program(evaluated or source, tuple(declarations.variables))
    except RuntimeError as error:
        raise CompileError(f"compilation failed: {_compiler_text(str(error))}") from None
    problem = literal_problem(source, found.serialized)
    if problem:
        raise CompileError(f"compilation failed: {problem}")
    return Rule(source, found.kind, RuleCost(found.serialized), program)


class WrongType(CompileError):
    """An expression that is sound and gives something else than is wanted."""

    def __init__(self, found: str) -> None:
        # The engine shouts the names of its own types; declared ones have the names that they were given.
        plain = re.sub(r"\b[A-Z]{2,}\b", lambda name: name.group().lower(), found)
        self.found = plain.replace("<", "(").replace(">", ")")
        super().__init__(f"must evaluate to another type but got {self.found}")


def mentions(source: str, name: str) -> bool:
    """Tell whether an expression uses a variable."""
    return any(found["name"] == name for found in _TOKEN.finditer(source))


def _plain(text: str) -> str:
    """Return an engine's message without the status code that it writes around."""
    found = _STATUS.fullmatch(text)
    return found["told"] if found else text


def _compiler_text(text: str) -> str:
    plain = _plain(text)
    plain = _UNKNOWN.sub(_at_root, plain)
    return _NO_FIELDS.sub(r"type \1 does not support field selection", _IN_STRUCT.sub(r"\1", plain))


def _at_root(found: re.Match[str]) -> str:
    """Name the variable that is not there where the engine names the field of it that was asked for."""
    before = len(found["path"]) - len(found["path"].rpartition(".")[2]) - 1
    column = max(1, int(found["column"]) - before)
    name = found["path"].partition(".")[0]
    shown = f" (in container '')\n | {found['source']}\n | {'.' * (column - 1)}^"
    return f"<input>:{found['line']}:{column}: undeclared reference to '{name}'{shown}"


def _runtime_text(text: str) -> str:
    if "invalid regular expression" in text:
        return f"error parsing regexp: {in_go_words(text)}"
    plain = _plain(text)
    for pattern, upstream in _RUNTIME:
        found = pattern.search(plain)
        if found:
            return found.expand(upstream)
    return plain
