"""Label and field selectors of a request, as one test on stored bytes."""

from __future__ import annotations

from collections.abc import Callable

from hanse.apiserver import objects, status
from hanse.apiserver.core import Call
from hanse.apiserver.hub import Matches
from hanse.apiserver.registry import Served
from hanse.kube.manifest import Obj
from hanse.kube.selectors import FieldSelector, LabelSelector

_METADATA_FIELDS = ("metadata.name", "metadata.namespace")


def matcher_of(call: Call) -> Matches | None:
    """Return the test that a list's or watch's selectors ask for, None where there are none."""
    tests: list[Matches] = []
    labels, fields = call.options.text("labelSelector"), call.options.text("fieldSelector")
    if labels:
        tests.append(_label_test(labels))
    if fields:
        tests.append(_field_test(call.served, fields))
    if call.path.name:
        name = call.path.name
        tests.append(lambda value: objects.head_of(value).name == name)
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    return lambda value: all(test(value) for test in tests)


def _label_test(text: str) -> Matches:
    try:
        selector = LabelSelector.parse(text)
    except ValueError as error:
        raise status.bad_request(str(error)) from None
    return lambda value: selector.matches(objects.head_of(value).labels or {})


def _field_test(served: Served, text: str) -> Matches:
    try:
        selector = FieldSelector.parse(text)
    except ValueError as error:
        raise status.bad_request(str(error)) from None
    selectable = served.strategy.selectable
    for wanted in selector.requirements:
        if wanted.field not in _METADATA_FIELDS and wanted.field not in selectable:
            raise status.bad_request(_unknown_field(wanted.field, has_own=bool(selectable)))

    def matches(value: bytes) -> bool:
        return selector.matches(_reader(served, value))

    return matches


def _unknown_field(field: str, *, has_own: bool) -> str:
    if has_own:
        return f"field label not supported: {field}"
    known = ", ".join(f'"{name}"' for name in _METADATA_FIELDS)
    return f'"{field}" is not a known field selector: only {known}'


def _reader(served: Served, value: bytes) -> Callable[[str], str]:
    decoded: list[Obj] = []

    def read(name: str) -> str:
        if name in _METADATA_FIELDS:
            head = objects.head_of(value)
            return head.name if name == "metadata.name" else head.namespace
        if not decoded:
            decoded.append(objects.decode(value, served.resource.api_version, served.resource.kind))
        return served.strategy.selectable[name](decoded[0])

    return read
