"""Label and field selectors: read what people type and what objects carry, and match with it.

The grammar and the sentences of refusal are the API server's, so that a selector that kubectl accepts is accepted
here, and a mistake is explained in the words that its documentation uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

_NAME_PATTERN = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME = re.compile(_NAME_PATTERN)
_VALUE_PATTERN = f"({_NAME_PATTERN})?"
_VALUE = re.compile(_VALUE_PATTERN)
_SUBDOMAIN_PATTERN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SUBDOMAIN = re.compile(_SUBDOMAIN_PATTERN)

_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_PATTERN}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE_PATTERN}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_PATTERN}')"
)

_OPERATORS = {"=": "=", "==": "==", "!=": "!=", "in": "in", "notin": "notin", ">": "gt", "<": "lt"}
_WRITTEN = {"=": "=", "==": "==", "!=": "!=", "in": " in ", "notin": " notin ", "gt": ">", "lt": "<"}
_FROM_OBJECT = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_EXPECTED_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+)")


def qualified_name_problems(name: str) -> list[str]:
    """Return what is wrong with a label or annotation key, in the server's words; empty when it is right."""
    prefix, slash, base = name.rpartition("/")
    if "/" in prefix:
        rule = f"a valid label key {_NAME_RULE}"
        return [f"{rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems = []
    if slash:
        if not prefix:
            problems.append("prefix part must be non-empty")
        else:
            problems += [f"prefix part {problem}" for problem in _subdomain_problems(prefix)]
    if not base:
        problems.append("name part must be non-empty")
    elif len(base) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not _NAME.fullmatch(base):
        problems.append(f"name part {_NAME_RULE}")
    return problems


def label_value_problems(value: str) -> list[str]:
    """Return what is wrong with a label's value, in the server's words; empty when it is right."""
    problems = []
    if len(value) > 63:
        problems.append("must be no more than 63 bytes")
    if not _VALUE.fullmatch(value):
        problems.append(_VALUE_RULE)
    return problems


def _subdomain_problems(value: str) -> list[str]:
    problems = []
    if len(value) > 253:
        problems.append("must be no more than 253 bytes")
    if not _SUBDOMAIN.fullmatch(value):
        problems.append(_SUBDOMAIN_RULE)
    return problems


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label: a key, an operator (=, ==, !=, in, notin, exists, !, gt, lt) and values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether the labels fulfil this condition."""
        value = labels.get(self.key)
        match self.operator:
            case "=" | "==" | "in":
                return value is not None and value in self.values
            case "!=" | "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        left, right = _int64(value), _int64(self.values[0])
        if left is None or right is None:
            return False
        return left > right if self.operator == "gt" else left < right

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return f"!{self.key}"
        values = ",".join(sorted(self.values))
        if self.operator in ("in", "notin"):
            values = f"({values})"
        return f"{self.key}{_WRITTEN[self.operator]}{values}"


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """Check a condition as the server does before it trusts one."""
    problems = []
    key_problems = qualified_name_problems(key)
    if key_problems:
        problems.append(f"key: Invalid value: {_quoted(key)}: {'; '.join(key_problems)}")
    shown = "[" + ",".join(_quoted(value) for value in values) + "]"
    if operator in ("in", "notin") and not values:
        problems.append("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")
    if operator in ("exists", "!") and values:
        problems.append(f"values: Invalid value: {shown}: values set must be empty for exists and does not exist")
    for index, value in enumerate(values):
        if operator in ("gt", "lt") and not re.fullmatch(r"[+-]?[0-9]+", value):
            rule = "for 'Gt', 'Lt' operators, the value must be an integer"
            problems.append(f"values[{index}]: Invalid value: {_quoted(value)}: {rule}")
        found = label_value_problems(value)
        if found:
            problems.append(f"values[{index}][{key}]: Invalid value: {_quoted(value)}: {'; '.join(found)}")
    if problems:
        raise ValueError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return Requirement(key, operator, values)


def _int64(text: str) -> int | None:
    # Python's int() would also take 1_5, which is a label value and not a number.
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A conjunction of conditions on labels; without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Read what follows `-l`; raises ValueError with the server's sentence."""
        return cls(_in_order(_Parser(text).requirements()))

    @classmethod
    def from_object(cls, selector: Mapping[str, Any] | None) -> LabelSelector:
        """Read the matchLabels/matchExpressions form; None selects nothing, an empty selector everything."""
        if selector is None:
            return cls(nothing=True)
        found = [_requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
        for expression in selector.get("matchExpressions") or ():
            operator = _FROM_OBJECT.get(expression.get("operator", ""))
            if operator is None:
                raise ValueError(f"{_quoted(expression.get('operator', ''))} is not a valid label selector operator")
            found.append(_requirement(expression.get("key", ""), operator, tuple(expression.get("values") or ())))
        return cls(_in_order(found))

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> LabelSelector:
        """Select what carries all of these labels."""
        return cls(_in_order(Requirement(key, "=", (value,)) for key, value in labels.items()))

    @property
    def empty(self) -> bool:
        """Whether everything is selected."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether an object with these labels is selected."""
        if self.nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


def _in_order(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    return tuple(sorted(requirements, key=lambda requirement: requirement.key))


class _Parser:
    """The server's recursive descent over the tokens of a label selector."""

    def __init__(self, text: str) -> None:
        self._tokens = [match.group(1) for match in _TOKEN.finditer(text)]
        self._position = 0

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._position += 1
        return token

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            token = self._peek()
            if not token:
                return found
            if token != "!" and not _is_identifier(token):
                raise ValueError(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            separator = self._next()
            if not separator:
                return found
            if separator != ",":
                raise ValueError(f"found '{separator}', expected: ',' or 'end of string'")
            following = self._peek()
            if following != "!" and not _is_identifier(following):
                raise ValueError(f"found '{following}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        key = self._next()
        negated = key == "!"
        if negated:
            key = self._next()
        if not _is_identifier(key):
            raise ValueError(f"found '{key}', expected: identifier")
        problems = qualified_name_problems(key)
        if problems:
            # The server gives no path here, and its path writes itself so.
            raise ValueError(f"<nil>: Invalid value: {_quoted(key)}: {'; '.join(problems)}")
        if negated or self._peek() in ("", ","):
            return _requirement(key, "!" if negated else "exists", ())
        token = self._next()
        operator = _OPERATORS.get(token)
        if operator is None:
            raise ValueError(f"found '{token}', expected: {_EXPECTED_OPERATORS}")
        values = self._values() if operator in ("in", "notin") else self._exact_value()
        return _requirement(key, operator, tuple(sorted(values)))

    def _exact_value(self) -> set[str]:
        if self._peek() in ("", ","):
            return {""}
        token = self._next()
        if not _is_identifier(token):
            raise ValueError(f"found '{token}', expected: identifier")
        return {token}

    def _values(self) -> set[str]:
        token = self._next()
        if token != "(":
            raise ValueError(f"found '{token}' expected: '('")
        first = self._peek()
        if first == ")":
            self._next()
            return {""}
        if first != "," and not _is_identifier(first):
            raise ValueError(f"found '{first}', expected: ',', ')' or identifier")
        return self._value_list()

    def _value_list(self) -> set[str]:
        values: set[str] = set()
        blank = True
        while True:
            token = self._next()
            if token == ")":
                return values | {""} if blank else values
            if token == ",":
                if blank:
                    values.add("")
                blank = True
            elif _is_identifier(token):
                if not blank:
                    raise ValueError(f"found '{token}', expected: ',' or ')'")
                values.add(token)
                blank = False
            else:
                self._refuse_in_list(token, blank=blank)

    @staticmethod
    def _refuse_in_list(token: str, *, blank: bool) -> NoReturn:
        expected = "',', or identifier" if blank else "',' or ')'"
        raise ValueError(f"found '{token}', expected: {expected}")


def _is_identifier(token: str) -> bool:
    return bool(token) and token[0] not in "=!(),<>"


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One condition on a field's text."""

    field: str
    value: str
    equal: bool = True

    def __str__(self) -> str:
        value = re.sub(r"([\\,=])", r"\\\1", self.value)
        return f"{self.field}{'=' if self.equal else '!='}{value}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A conjunction of conditions on fields such as metadata.name; without any it matches everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """Read what follows `--field-selector`; raises ValueError with the server's sentence."""
        found = []
        # Only an escaped comma is part of a term; nothing is escaped left of the operator.
        for term in sorted(re.findall(r"(?:[^\\,]|\\.|\\$)+", text, re.DOTALL)):
            match = re.match(r"(.*?)(!=|==|=)(.*)", term, re.DOTALL)
            if match is None:
                raise ValueError(f"invalid selector: '{text}'; can't understand '{term}'")
            field, operator, value = match.groups()
            wanted = FieldRequirement(field, _unescape(value), operator != "!=")
            if wanted.field or wanted.value:  # a lone operator selects everything
                found.append(wanted)
        return cls(tuple(found))

    @property
    def empty(self) -> bool:
        """Whether everything is selected."""
        return not self.requirements

    def matches(self, get: Callable[[str], str]) -> bool:
        """Tell whether an object whose fields `get` reads is selected."""
        return all((get(wanted.field) == wanted.value) == wanted.equal for wanted in self.requirements)

    def exact(self, field: str) -> str | None:
        """Return the one value that the field must have, if the selector says so."""
        for wanted in self.requirements:
            if wanted.field == field and wanted.equal:
                return wanted.value
        return None

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


def _unescape(value: str) -> str:
    out: list[str] = []
    characters = iter(value)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if not escaped or escaped not in "\\,=":
                raise ValueError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            out.append(escaped)
        elif character in ",=":
            # The server prints the character's number.
            raise ValueError(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            out.append(character)
    return "".join(out)
