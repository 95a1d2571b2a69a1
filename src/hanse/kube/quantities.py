"""Kubernetes quantities: `250m`, `1.5Gi`, `2e3`.

Values are exact decimals. Text is canonical: no fraction, the largest suffix that loses nothing, and the notation
(binary, decimal, exponent) in which it was written, as the API server stores it.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal, InvalidOperation, Overflow, localcontext
from functools import lru_cache
from typing import Any, Literal, TypeAlias

Notation: TypeAlias = Literal["decimal", "binary", "exponent"]

_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)")
_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SUFFIX_OF_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_SUFFIX_OF_POWER = {power: suffix for suffix, power in _BINARY_SUFFIXES.items()}
_LARGEST = Decimal(2**63 - 1)
_NANO = Decimal("1e-9")
_MILLI = Decimal("1e-3")
# Exactness matters more than speed: a quantity may be written with more digits than the default context keeps.
_EXACT = Context(prec=200)
_EXPONENT_BOUND = 100
# An API server takes amounts of any length. One of more digits than are kept is more than anybody has.
_BEYOND = Decimal("1e190")

_BAD_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BAD_SUFFIX = "unable to parse quantity's suffix"


def parse_quantity(text: str | float) -> Decimal:
    """Return the value of a quantity; raises ValueError with the server's sentence."""
    return _parse(str(text))[0]


def is_whole_number(value: Decimal) -> bool:
    """Tell whether a value has no fraction, however many digits it has: a remainder is kept to few of them."""
    return value == value.to_integral_value()


def canonical_quantity(text: str | float) -> str:
    """Return the quantity as the API server would store it: `1000m` as `1`, `1024Mi` as `1Gi`."""
    value, notation = _parse(str(text))
    return format_quantity(value, notation)


def canonical_resource(text: str | float) -> str:
    """Return an amount in a resource list (requests, limits, capacity) as stored: rounded up to a thousandth."""
    value, notation = _parse(str(text))
    return format_quantity(value.quantize(_MILLI, ROUND_UP, _EXACT), notation)


@lru_cache(maxsize=4096)
def _parse(text: str) -> tuple[Decimal, Notation]:
    match = _FORM.fullmatch(text)
    if match is None or not text:
        raise ValueError(_BAD_FORM)
    sign, whole, fraction, suffix = match.groups()
    factor, notation = _factor(suffix)
    with localcontext(_EXACT):
        try:
            value = Decimal(f"{sign}{whole or 0}.{fraction or 0}") * factor
            # Nothing smaller than a billionth exists; a remainder counts as one more, away from zero.
            value = value.quantize(_NANO, ROUND_UP)
        except (InvalidOperation, Overflow):
            value = -_BEYOND if sign == "-" else _BEYOND
        if notation == "binary":
            value = max(-_LARGEST, min(_LARGEST, value))
    if notation == "binary" and 0 < abs(value) < 1:
        notation = "decimal"
    return value.normalize(_EXACT), notation


def _factor(suffix: str) -> tuple[Decimal, Notation]:
    if suffix in _DECIMAL_SUFFIXES:
        return Decimal(10) ** _DECIMAL_SUFFIXES[suffix], "decimal"
    if suffix in _BINARY_SUFFIXES:
        return Decimal(2 ** _BINARY_SUFFIXES[suffix]), "binary"
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None:
        raise ValueError(_BAD_SUFFIX)
    # Beyond the bound every value is either the largest or the smallest there is.
    power = max(-_EXPONENT_BOUND, min(_EXPONENT_BOUND, int(exponent.group(1))))
    return Decimal(10) ** power, "exponent"


def format_quantity(value: Decimal | int, notation: Notation = "decimal") -> str:
    """Write a value in canonical form: an integer and the largest suffix that loses nothing."""
    value = Decimal(value)
    if value == 0:
        return "0"
    if notation == "binary" and abs(value) >= 1024 and value == value.to_integral_value():
        return _binary(int(value))
    with localcontext(_EXACT):
        normal = value.quantize(_NANO, ROUND_UP).normalize()
    exponent = normal.as_tuple().exponent
    power = min(18, int(exponent) // 3 * 3)
    digits = int(normal.scaleb(-power, _EXACT))
    if notation == "exponent":
        return f"{digits}e{power}" if power else str(digits)
    return f"{digits}{_SUFFIX_OF_EXPONENT[power]}"


def _binary(number: int) -> str:
    power = 0
    while power < 60 and number % 1024 == 0:
        number //= 1024
        power += 10
    return f"{number}{_SUFFIX_OF_POWER[power]}" if power else str(number)


def millicores(text: str | float) -> int:
    """Return an amount of cpu in thousandths of a core, rounded up."""
    return int((parse_quantity(text) * 1000).to_integral_value(ROUND_UP))


def whole_units(text: str | float) -> int:
    """Return an amount in whole units (bytes of memory, pods, devices), rounded up."""
    return int(parse_quantity(text).to_integral_value(ROUND_UP))


def resource_amount(resource: str, text: Any) -> int:
    """Return an amount of a named resource in the unit that schedulers count: cpu in millicores, the rest whole."""
    return millicores(text) if resource in ("cpu", "requests.cpu", "limits.cpu") else whole_units(text)
