"""What calls cost, and how large what they give can be: the figures of Kubernetes and of the language itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hanse.kube.cel.costs.amounts import ANY, MOST, ONE, PATTERN, TRAVERSAL, Range, exactly
from hanse.kube.cel.syntax import Constant, Node, Type

_NAME_PATTERN_LENGTH = 128
_LIST, _STRUCT = 10, 40


@dataclass(frozen=True, slots=True)
class Sized:
    """An argument: what is known of its size, and of the sizes of its elements."""

    type: Type
    size: Range
    elements: Range = ANY
    node: Node | None = None

    @property
    def is_text(self) -> bool:
        """Whether it is a string or bytes."""
        return self.type.kind in ("string", "bytes")


@dataclass(frozen=True, slots=True)
class Charge:
    """The cost of a call without its arguments, and the size of its result where the call decides it."""

    cost: Range
    result: Range | None = None


_Pricing = Callable[[Sized | None, tuple[Sized, ...]], Charge | None]


def call_charge(function: str, overload: str, target: Sized | None, args: tuple[Sized, ...]) -> Charge:
    """Return what one overload of a function costs."""
    pricing = _FUNCTIONS.get(function)
    charge = pricing(target, args) if pricing is not None else None
    if charge is None:
        pricing = _OVERLOADS.get(overload)
        charge = pricing(target, args) if pricing is not None else None
    return charge if charge is not None else Charge(ONE)


def _flat(cost: int, result: Range | None = None) -> _Pricing:
    return lambda _target, _args: Charge(exactly(cost), result)


def _read(factor: float, *, first: bool, sized: bool = False, opaque: bool = False) -> _Pricing:
    """Return the price of looking at a text: the first argument, or else the target."""

    def pricing(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:
        if target is not None and first:
            return Charge(ONE, ONE if opaque else None)
        read = args[0] if first and args else target
        if read is None:
            return None
        return Charge(read.size.scaled(factor), ONE if opaque else read.size if sized else None)

    return pricing


def _selector(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
    if not args:
        return None
    length = args[-1].size
    return Charge(exactly(_LIST) + length.scaled(TRAVERSAL) + length.scaled(0.5).scaled(_LIST + _STRUCT), ONE)


def _every_element(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
    if target is None:
        return None
    if not target.type.params:
        return Charge(target.size.scaled(TRAVERSAL))
    each = ONE
    if target.type.params[0].kind in ("string", "bytes"):
        each += target.elements.scaled(TRAVERSAL)
    return Charge(target.size * each)


def _replace(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:
    if target is None or len(args) < 2:
        return None
    text, old, new = target.size, args[0].size, args[1].size
    longest = _replaced(text.most, old.least, new.most, longer=new.most > old.least)
    shortest = _replaced(text.least, old.most, new.least, longer=old.most > new.least)
    return Charge(text.scaled(2 * TRAVERSAL), Range(min(shortest, MOST), min(longest, MOST)))


def _replaced(text: int, old: int, new: int, *, longer: bool) -> int:
    if old == 0:
        # Something is put before, between and after all characters.
        return (text + 1) * new + text
    return math.ceil(text / old) * new if longer else text


def _split(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:
    if target is None:
        return None
    most = target.size.most
    limit = args[1].node if len(args) > 1 else None
    if isinstance(limit, Constant) and isinstance(limit.value, int):
        most = limit.value if limit.value >= 0 else MOST
    return Charge(target.size.scaled(2 * TRAVERSAL), Range(0, most))


def _join(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:
    if target is None:
        return None
    size = target.size * target.elements
    if args:
        size += args[0].size * Range(max(target.size.least - 1, 0), max(target.size.most - 1, 0))
    return Charge(size.scaled(TRAVERSAL), size)


def _search(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:
    if target is None or not args:
        return None
    cost = (target.size + ONE).scaled(TRAVERSAL) * args[0].size.scaled(PATTERN)
    return Charge(cost, Range(0, target.size.most))


def _within(more: int) -> _Pricing:
    def pricing(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
        if not args:
            return None
        address = Range(4, 16)
        cost = (address + address).scaled(TRAVERSAL)
        if more:
            cost += address.scaled(TRAVERSAL) + exactly(more)
        return Charge(cost + args[0].size.scaled(TRAVERSAL) if args[0].is_text else cost)

    return pricing


def _format(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
    return Charge(args[0].size.scaled(TRAVERSAL).scaled(_NAME_PATTERN_LENGTH * PATTERN)) if args else None


def _matches(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:
    both = (target, *args) if target is not None else args
    if len(both) != 2:
        return None
    return Charge((both[0].size + ONE).scaled(TRAVERSAL) * both[1].size.scaled(PATTERN))


def _contains(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:
    if target is None or len(args) != 1:
        return None
    return Charge(target.size.scaled(TRAVERSAL) * args[0].size.scaled(TRAVERSAL))


def _affix(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
    return Charge(args[0].size.scaled(TRAVERSAL)) if len(args) == 1 else None


def _in_list(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
    return Charge(args[1].size) if len(args) == 2 else None


def _compare(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
    if len(args) != 2:
        return None
    most = min(args[0].size.most, args[1].size.most)
    return Charge(Range(1 if most else 0, most).scaled(TRAVERSAL))


def _add_texts(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
    if len(args) != 2:
        return None
    size = args[0].size + args[1].size
    return Charge(size.scaled(TRAVERSAL), size)


def _add_lists(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
    return Charge(ONE, args[0].size + args[1].size) if len(args) == 2 else None


def _encode(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
    if len(args) != 1:
        return None
    size = args[0].size
    return Charge(size.scaled(TRAVERSAL), Range(size.least, min(size.most * 4, MOST)))


def _decode(target: Sized | None, args: tuple[Sized, ...]) -> Charge | None:  # noqa: ARG001 - the shape of all
    if len(args) != 1:
        return None
    size = args[0].size
    return Charge(size.scaled(TRAVERSAL), Range(size.least // 4, size.most))


# The values of Kubernetes' own types are small, and are compared at once.
_NOMINAL = (
    "serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "masked", "add", "sub",
    "format.named",
)  # fmt: skip
_NOMINAL_SCALARS = (
    "allowed", "reason", "error", "errored", "prefixLength", "family", "isUnspecified", "isLoopback",
    "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast", "sign", "asInteger", "isInteger",
    "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "major", "minor", "patch", "getScheme",
    "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery",
)  # fmt: skip
_FUNCTIONS: dict[str, _Pricing] = {
    # So dear that an expression can ask no more than two questions.
    "check": _flat(350_000, ONE),
    **dict.fromkeys(_NOMINAL, _flat(1, ONE)),
    **dict.fromkeys(_NOMINAL_SCALARS, _flat(1)),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _every_element),
    "jsonpatch.escapeKey": _read(TRAVERSAL, first=True, sized=True),
    "url": _read(TRAVERSAL, first=True, opaque=True),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _read(TRAVERSAL, first=False, sized=True)),
    **dict.fromkeys(("isIP", "isCIDR", "isQuantity", "isSemver"), _read(TRAVERSAL, first=True)),
    **dict.fromkeys(("ip", "cidr", "quantity", "semver"), _read(TRAVERSAL, first=True, opaque=True)),
    "ip.isCanonical": _read(2 * TRAVERSAL, first=True),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _search),
    "containsIP": _within(0),
    "containsCIDR": _within(1),
    "validate": _format,
}
_ORDER = ("less", "greater", "less_equals", "greater_equals")
_OVERLOADS: dict[str, _Pricing] = {
    "string_format": _read(TRAVERSAL, first=False),
    "string_to_bytes": _encode,
    "bytes_to_string": _decode,
    **dict.fromkeys(("starts_with_string", "ends_with_string"), _affix),
    "in_list": _in_list,
    **dict.fromkeys(("matches", "matches_string"), _matches),
    "contains_string": _contains,
    **dict.fromkeys(("add_string", "add_bytes"), _add_texts),
    "add_list": _add_lists,
    **{f"{order}_{kind}": _compare for order in _ORDER for kind in ("string", "bytes")},
    **dict.fromkeys(("equals", "not_equals"), _compare),
}
