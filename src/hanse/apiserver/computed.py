"""Kinds whose objects are not stored but made when they are asked for, such as what pods use at this moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from hanse.apiserver import status
from hanse.apiserver.answers import Answer, answer_plain
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.core import Call
from hanse.apiserver.registry import Served
from hanse.kube.manifest import Obj, labels_of, name_of
from hanse.kube.resources import Resource
from hanse.kube.selectors import LabelSelector

# The objects of a namespace, or of all where it is ""; raises ApiError where they cannot be told.
Compute = Callable[[str], Iterable[Obj]]


def computed_kind(resource: Resource) -> Served:
    """Return how a kind is served of which objects can be read and nothing else."""
    readable = replace(resource, verbs=frozenset({"get", "list"}))
    return Served(readable, f"{resource.group}/{resource.plural}", {}, Strategy(), lambda: None)


async def read_computed(call: Call) -> Answer:
    """Answer a get or a list with what is true now."""
    found = list(call.core.computed[call.served.bucket](call.namespace))
    if call.verb == "get":
        named = next((obj for obj in found if name_of(obj) == call.path.name), None)
        if named is None:
            raise status.not_found(call.served.resource, call.path.name)
        return answer_plain(call, named)
    try:
        selector = LabelSelector.parse(call.options.text("labelSelector"))
    except ValueError as error:
        raise status.bad_request(str(error)) from None
    resource = call.served.resource
    body = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": {}}
    return answer_plain(call, {**body, "items": [obj for obj in found if selector.matches(labels_of(obj))]})
