"""Rules that fields of many kinds share, each with the sentence in which the server tells that it is broken."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from hanse.apiserver.names import label_problems
from hanse.apiserver.status import (
    FieldProblem,
    forbidden_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from hanse.kube.manifest import Obj
from hanse.kube.names import NameRule, name_problems
from hanse.kube.quantities import is_whole_number, parse_quantity
from hanse.kube.selectors import label_value_problems, qualified_name_problems

AT_LEAST_ZERO = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"
PORT_RANGE = "must be between 1 and 65535, inclusive"
_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_IDS = range(2**31)


def one_of(field: str, value: Any, allowed: Sequence[str]) -> list[FieldProblem]:
    """Tell if a value is none of those allowed."""
    return [] if value in allowed else [unsupported_value(field, value, allowed)]


def at_least_zero(field: str, value: Any) -> list[FieldProblem]:
    """Tell if a number is below zero."""
    return [invalid_value(field, value, AT_LEAST_ZERO)] if isinstance(value, int) and value < 0 else []


def counts(spec: Obj, field: str, *names: str) -> list[FieldProblem]:
    """Tell which of several numbers are below zero."""
    return [problem for name in names for problem in at_least_zero(f"{field}.{name}", spec.get(name))]


def unchanged(new: Obj, old: Obj, field: str, *names: str) -> list[FieldProblem]:
    """Tell which of several fields have changed."""
    return [
        invalid_value(f"{field}{name}", new.get(name), IMMUTABLE) for name in names if new.get(name) != old.get(name)
    ]


def named(field: str, value: Any, rule: NameRule = "subdomain") -> list[FieldProblem]:
    """Tell what is wrong with a name."""
    text = str(value or "")
    return [invalid_value(field, text, told) for told in name_problems(text, rule)]


def qualified(field: str, value: Any) -> list[FieldProblem]:
    """Tell what is wrong with a qualified name, such as a label's key."""
    text = str(value or "")
    return [invalid_value(field, text, told) for told in qualified_name_problems(text)]


def port_name(name: str) -> list[str]:
    """Return what is wrong with the name of a port."""
    told = []
    if len(name) > 15:
        told.append("must be no more than 15 characters")
    if not re.fullmatch(r"[-a-z0-9]+", name):
        told.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", name):
        told.append("must contain at least one letter (a-z)")
    if "--" in name:
        told.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        told.append("must not begin or end with a hyphen")
    return told


def port(field: str, value: Any) -> list[FieldProblem]:
    """Tell what is wrong with a port given by number or name."""
    if isinstance(value, str):
        return [invalid_value(field, value, told) for told in port_name(value)]
    number = value or 0
    return [] if 0 < number < 65536 else [invalid_value(field, number, PORT_RANGE)]


def user_id(field: str, value: Any) -> list[FieldProblem]:
    """Tell if a user or group is out of range."""
    if value is None or value in _IDS:
        return []
    return [invalid_value(field, value, "must be between 0 and 2147483647, inclusive")]


def address(field: str, value: Any) -> list[FieldProblem]:
    """Tell if a text is no IP address."""
    try:
        ip_address(str(value))
    except ValueError:
        parts = str(value).split(".")
        zeros = len(parts) == 4 and all(one.isdigit() and int(one) < 256 for one in parts)
        return [invalid_value(field, value, "must not have leading 0s" if zeros else _IP)]
    return []


def network(value: Any) -> IPv4Network | IPv6Network | None:
    """Read a network, with or without bits after its mask."""
    try:
        return ip_network(str(value), strict=False) if "/" in str(value) else None
    except ValueError:
        return None


def cidr(field: str, value: Any) -> list[FieldProblem]:
    """Tell if a text is no network."""
    return [] if network(value) is not None else [invalid_value(field, value, _CIDR)]


def share(field: str, value: Any, *, at_most_all: bool = False) -> list[FieldProblem]:
    """Tell what is wrong with a number or percentage of pods."""
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]+%", value):
            return [invalid_value(field, value, _PERCENT)]
        if at_most_all and int(value[:-1]) > 100:
            return [invalid_value(field, value, "must not be greater than 100%")]
    return at_least_zero(field, value)


def is_zero_share(value: Any) -> bool:
    """Tell whether a number or percentage is none at all."""
    return value in (0, "0%")


def is_whole(amount: Any) -> bool:
    """Tell whether a quantity has no fraction."""
    try:
        return is_whole_number(parse_quantity(str(amount)))
    except ValueError:
        return True  # refused before, when the body was read


def label_selector(selector: Obj | None, field: str) -> list[FieldProblem]:
    """Tell what is wrong with a label selector."""
    problems = label_problems((selector or {}).get("matchLabels") or {}, f"{field}.matchLabels")
    for place, one in enumerate((selector or {}).get("matchExpressions") or ()):
        problems += _expression(one, f"{field}.matchExpressions[{place}]")
    return problems


def _expression(one: Obj, field: str) -> list[FieldProblem]:
    operator, values = one.get("operator"), one.get("values") or []
    problems = []
    if operator in ("In", "NotIn"):
        if not values:
            told = "must be specified when `operator` is 'In' or 'NotIn'"
            problems.append(required_value(f"{field}.values", told))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            told = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            problems.append(forbidden_value(f"{field}.values", told))
    else:
        problems.append(invalid_value(f"{field}.operator", operator or "", "not a valid selector operator"))
    problems += qualified(f"{field}.key", one.get("key"))
    for place, value in enumerate(values):
        problems += [invalid_value(f"{field}.values[{place}]", value, told) for told in label_value_problems(value)]
    return problems
