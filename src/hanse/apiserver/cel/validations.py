"""One `x-kubernetes-validations` entry of a schema, compiled: what it asks, and what it says when the answer is no."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hanse.kube.cel.costs import Budget
from hanse.kube.cel.declared import Declarations, TypeName, optional_of
from hanse.kube.cel.rule import CompileError, EvaluationError, Rule, WrongType, compile_rule, mentions
from hanse.kube.manifest import Obj
from hanse.kube.schemas import Schema

_MESSAGE_LIMIT = 5 * 1024
_STEP = re.compile(r"\.(?P<name>[^.\[\]']+)|\['(?P<key>(?:\\.|[^'\\])*)'\]")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Validation:
    """A compiled rule with all that a refusal needs."""

    rule: Rule
    message_rule: Rule | None
    uses_old: bool
    optional_old: bool
    message: str
    reason: str
    below: str
    """Where under the value the problem is reported, as a path: `.tags`; "" for the value itself."""

    def holds(self, seen: Any, old: Any, budget: Budget) -> bool:
        """Tell whether a value fulfils the rule; raises EvaluationError."""
        return self.rule.evaluate(self._variables(seen, old), budget) is True

    def explain(self, seen: Any, old: Any, budget: Budget) -> str:
        """Return the sentence for a value that does not."""
        if self.message_rule is not None:
            try:
                told = self.message_rule.evaluate(self._variables(seen, old), budget)
            except EvaluationError:
                told = ""
            told = told.strip() if isinstance(told, str) else ""
            if told and "\n" not in told and len(told.encode()) <= _MESSAGE_LIMIT:
                return told
        return self.message or f"failed rule: {self.name}"

    @property
    def name(self) -> str:
        """How messages speak of the rule."""
        return self.message or self.rule.source.strip()

    def _variables(self, seen: Any, old: Any) -> dict[str, Any]:
        if self.optional_old:
            return {"self": seen, "oldSelf": [] if old is None else [old]}
        return {"self": seen, "oldSelf": old}


def compile_validation(entry: Obj, schema: Schema, kind: TypeName, messages: dict[str, Any]) -> Validation:
    """Compile a rule; raises CompileError with upstream's sentence and EngineMissing."""
    source = str(entry["rule"])
    optional = bool(entry.get("optionalOldSelf"))
    declarations = Declarations({"self": kind, "oldSelf": optional_of(kind) if optional else kind}, messages)
    try:
        rule = compile_rule(source, declarations, gives=("BOOL",), evaluated=_evaluated(source, optional=optional))
    except WrongType:
        raise CompileError("cel expression must evaluate to a bool") from None
    return Validation(
        rule,
        _message_rule(entry, declarations, optional=optional),
        uses_old=mentions(source, "oldSelf"),
        optional_old=optional,
        message=str(entry.get("message") or "").strip(),
        reason=str(entry.get("reason") or "FieldValueInvalid"),
        below=field_path(str(entry.get("fieldPath") or ""), schema) or "",
    )


class MessageError(CompileError):
    """A messageExpression that cannot be understood."""


def _message_rule(entry: Obj, declarations: Declarations, *, optional: bool) -> Rule | None:
    source = str(entry.get("messageExpression") or "")
    if not source:
        return None
    try:
        return compile_rule(source, declarations, gives=("STRING",), evaluated=_evaluated(source, optional=optional))
    except WrongType:
        raise MessageError("messageExpression must evaluate to a string") from None
    except CompileError as error:
        raise MessageError(f"messageExpression {error}") from None


def _evaluated(source: str, *, optional: bool) -> str:
    if not optional:
        return source
    # The engine takes no optional value from outside: the old value comes in a list of one or none.
    had = "size(oldSelf) > 0 ? optional.of(oldSelf[0]) : optional.none()"
    return f"cel.bind(oldSelf, {had},\n{source}\n)"


def field_path(text: str, schema: Schema) -> str | None:
    """Return a rule's fieldPath as messages write it; None where the schema has no such field."""
    at, written, node = 0, "", schema
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        name = found["name"] if found["name"] is not None else _unescaped(found["key"])
        if node.properties:
            child: Schema | None = node.properties.get(name)
            written += f".{name}"
        else:
            child = node.additional
            written += f"[{name}]"
        if child is None:
            return None
        node, at = child, found.end()
    return written


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found.group(1), found.group(1)), text)
