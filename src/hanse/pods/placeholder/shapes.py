"""What a pod's status is made of: whatever else a target writes into a chaperon is not read.

A target is another's cluster. What it tells may be of any type and of any size, while the source's API server refuses a
status in which one field is wrong, and with it everything else. So only known fields are taken, of the right types and
of bounded size; what is left out is missing and nothing worse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any, TypeAlias

from hanse.kube.manifest import Obj
from hanse.kube.quantities import parse_quantity
from hanse.kube.runtime import parse_timestamp
from hanse.kube.selectors import qualified_name_problems

# As long as what a kubelet keeps of the last words of a container.
TEXT_LENGTH = 4096
_ENTRIES = 64
_LARGEST = 2**31 - 1
_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_TRUTHS = ("True", "False", "Unknown")

# What does not fit is a Misfit; a mapping keeps the fields that fit, a list the entries that do.
Shape: TypeAlias = Callable[[Any], Any]


class Misfit(ValueError):
    """A value is not of the type that its field has."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Misfit
    return value[:TEXT_LENGTH]


def _one_of(*words: str) -> Shape:
    def read(value: Any) -> str:
        if value not in words:
            raise Misfit
        return str(value)

    return read


def _time(value: Any) -> str:
    text = _text(value)
    if not _RFC3339.fullmatch(text):
        raise Misfit
    parse_timestamp(text)
    return text


def _quantity(value: Any) -> str:
    parse_quantity(_text(value))
    return str(value)


def _address(value: Any) -> str:
    ip_address(_text(value))
    return str(value)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -_LARGEST <= value <= _LARGEST:
        raise Misfit
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Misfit
    return value


def _word(value: Any) -> str | int | bool:
    return value if isinstance(value, bool) else _count(value) if isinstance(value, int) else _text(value)


def _condition_type(value: Any) -> str:
    text = _text(value)
    if qualified_name_problems(text):
        raise Misfit
    return text


def _fields(shapes: Mapping[str, Shape], *required: str) -> Shape:
    def read(value: Any) -> Obj:
        if not isinstance(value, dict):
            raise Misfit
        fitting = dict(_fitting((name, value[name], shape) for name, shape in shapes.items() if name in value))
        if any(name not in fitting for name in required):
            raise Misfit
        return fitting

    return read


def _each(shape: Shape, identity: str) -> Shape:
    """Read a list whose entries are told apart by one of their fields: of each the first counts."""

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise Misfit
        found: dict[Any, Any] = {}
        for _, entry in _fitting(("", each, shape) for each in value[:_ENTRIES]):
            found.setdefault(entry[identity], entry)
        return list(found.values())

    return read


def _by_name(shape: Shape) -> Shape:
    def read(value: Any) -> Obj:
        if not isinstance(value, dict):
            raise Misfit
        named = [(name, each) for name, each in list(value.items())[:_ENTRIES] if not qualified_name_problems(name)]
        return dict(_fitting((name, each, shape) for name, each in named))

    return read


def _fitting(values: Iterable[tuple[str, Any, Shape]]) -> Iterator[tuple[str, Any]]:
    for name, value, shape in values:
        try:
            yield name, shape(value)
        except ValueError:
            continue


def _state() -> Shape:
    ended = {"exitCode": _count, "signal": _count, "containerID": _text, "reason": _text, "message": _text}
    times = {"startedAt": _time, "finishedAt": _time}
    return _fields(
        {
            "waiting": _fields({"reason": _text, "message": _text}),
            "running": _fields({"startedAt": _time}),
            "terminated": _fields({**ended, **times}),
        }
    )


_CONDITIONS = _each(
    _fields(
        {
            "type": _condition_type,
            "status": _one_of(*_TRUTHS),
            "reason": _text,
            "message": _text,
            "lastProbeTime": _time,
            "lastTransitionTime": _time,
        },
        "type",
        "status",
    ),
    "type",
)
_RESOURCES = _fields({"requests": _by_name(_quantity), "limits": _by_name(_quantity)})
_CONTAINERS = _each(
    _fields(
        {
            "name": _text,
            "state": _state(),
            "lastState": _state(),
            "ready": _flag,
            "started": _flag,
            "restartCount": _count,
            "image": _text,
            "imageID": _text,
            "containerID": _text,
            "resources": _RESOURCES,
            "allocatedResources": _by_name(_quantity),
        },
        "name",
    ),
    "name",
)
_ADDRESSES = _each(_fields({"ip": _address}, "ip"), "ip")
_SAID = {"phase": _text, "attempt": _count, "message": _text, "podUid": _text, "expired": _flag, "pods": _count}


def _fence(value: Any) -> Obj:
    """Read what a keeper says beside the pod's status: words and numbers, and of the right types what is read here."""
    words = _by_name(_word)(value)
    said: Obj = _fields(_SAID)(words)
    return {name: word for name, word in words.items() if name not in _SAID} | said


# What only the target's own kubelet and scheduler act on is not among it.
_POD_STATUS: dict[str, Shape] = {
    "phase": _one_of(*_PHASES),
    "conditions": _CONDITIONS,
    "message": _text,
    "reason": _text,
    "hostIP": _address,
    "hostIPs": _ADDRESSES,
    "podIP": _address,
    "podIPs": _ADDRESSES,
    "startTime": _time,
    "initContainerStatuses": _CONTAINERS,
    "containerStatuses": _CONTAINERS,
    "ephemeralContainerStatuses": _CONTAINERS,
}
_STATUS = _fields({**_POD_STATUS, "fence": _fence})


def readable(chaperon: Obj) -> Obj:
    """Return a chaperon of whose status only that is left which is of the right types and of bounded size.

    The annotations of its pod stay as they are: which of them are shown is for `annotations.py` to say.
    """
    shown = chaperon.get("status")
    if not isinstance(shown, dict):
        return {**chaperon, "status": {}}
    added = {"podAnnotations": shown["podAnnotations"]} if isinstance(shown.get("podAnnotations"), dict) else {}
    return {**chaperon, "status": {**_STATUS(shown), **added}}
