"""Amounts of resources: quantity, isQuantity, arithmetic and comparison."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hanse.kube.cel.library.function import Function, Opaque, opaque
from hanse.kube.quantities import parse_quantity

_INT64 = 2**63


def _quantity(text: str) -> Opaque:
    return _pack(parse_quantity(text))


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def _pack(value: Decimal) -> Opaque:
    return {"quantity": format(value.normalize(), "f")}


def amount(value: Any) -> Decimal:
    """Return the number that a quantity stands for."""
    return Decimal(opaque(value, "quantity"))


def _is_integer(value: Opaque) -> bool:
    number = amount(value)
    return number == number.to_integral_value() and -_INT64 <= number < _INT64


def _as_integer(value: Opaque) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return int(amount(value))


def _operand(value: Any) -> Decimal:
    return Decimal(value) if isinstance(value, int) else amount(value)


def _sign(value: Opaque) -> int:
    number = amount(value)
    return (number > 0) - (number < 0)


FUNCTIONS = (
    Function("quantity", ("string",), "dyn", _quantity, member=False),
    Function("isQuantity", ("string",), "bool", _is_quantity, member=False),
    Function("isInteger", ("dyn",), "bool", _is_integer),
    Function("asInteger", ("dyn",), "int", _as_integer),
    Function("asApproximateFloat", ("dyn",), "double", lambda value: float(amount(value))),
    Function("sign", ("dyn",), "int", _sign),
    Function("add", ("dyn", "dyn"), "dyn", lambda left, right: _pack(amount(left) + _operand(right))),
    Function("sub", ("dyn", "dyn"), "dyn", lambda left, right: _pack(amount(left) - _operand(right))),
)
