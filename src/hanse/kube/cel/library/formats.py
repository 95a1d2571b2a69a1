"""Named formats: format.dns1123Label().validate(text), which gives what is wrong or nothing.

A foreign function cannot give the engine an optional value, so the result has `hasValue`, `value` and `orValue` of
its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hanse.kube.cel.library.function import Function, Opaque, opaque
from hanse.kube.names import name_problems
from hanse.kube.schemas.formats import format_check
from hanse.kube.selectors import label_value_problems, qualified_name_problems


def _checked(name: str, told: str) -> Callable[[str], list[str]]:
    def problems(text: str) -> list[str]:
        check = format_check(name)
        return [told] if check is not None and not check(text) else []

    return problems


def _prefix(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    # What ends in a dash becomes whole when a suffix follows.
    return lambda text: rule(f"{text[:-1]}a" if text.endswith("-") else text)


def _label(text: str) -> list[str]:
    return name_problems(text, "label")


def _subdomain(text: str) -> list[str]:
    return name_problems(text, "subdomain")


def _label_1035(text: str) -> list[str]:
    return name_problems(text, "service")


_FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": _label,
    "dns1123Subdomain": _subdomain,
    "dns1035Label": _label_1035,
    "qualifiedName": qualified_name_problems,
    "dns1123LabelPrefix": _prefix(_label),
    "dns1123SubdomainPrefix": _prefix(_subdomain),
    "dns1035LabelPrefix": _prefix(_label_1035),
    "labelValue": label_value_problems,
    "uri": _checked("uri", "invalid URI"),
    "uuid": _checked("uuid", "does not match the UUID format"),
    "byte": _checked("byte", "invalid base64"),
    "date": _checked("date", "invalid date"),
    "datetime": _checked("datetime", "invalid datetime"),
}


def _named(name: str) -> Opaque:
    return {"maybe": {"format": name} if name in _FORMATS else None}


def _validate(value: Opaque, text: str) -> Opaque:
    return {"maybe": _FORMATS[str(opaque(value, "format"))](text) or None}


def _value(value: Opaque) -> Any:
    held = opaque(value, "maybe")
    if held is None:
        raise ValueError("optional.none() dereference")
    return held


def _or_value(value: Opaque, other: Any) -> Any:
    held = opaque(value, "maybe")
    return other if held is None else held


def _maker(name: str) -> Function:
    return Function(f"format.{name}", (), "dyn", lambda: {"format": name}, member=False)


FUNCTIONS = (
    Function("format.named", ("string",), "map", _named, member=False),
    Function("validate", ("dyn", "string"), "map", _validate),
    Function("hasValue", ("map",), "bool", lambda value: opaque(value, "maybe") is not None),
    Function("value", ("map",), "dyn", _value),
    Function("orValue", ("map", "dyn"), "dyn", _or_value),
    *(_maker(name) for name in _FORMATS),
)
