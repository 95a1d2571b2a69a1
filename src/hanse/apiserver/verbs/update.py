"""update: the whole object is replaced."""

from __future__ import annotations

from hanse.apiserver import objects, status
from hanse.apiserver.answers import Answer, answer_object
from hanse.apiserver.core import Call
from hanse.apiserver.verbs.bodies import check_name, place, read_manifest
from hanse.apiserver.verbs.create import create_object
from hanse.apiserver.verbs.writing import change_object
from hanse.kube.manifest import Obj


async def update(call: Call) -> Answer:
    """Replace an object, or its status where that is what the path names."""
    obj = read_manifest(call)
    place(call, obj)
    check_name(call, obj)
    strategy = call.served.strategy
    absent = call.core.record(call.served, call.namespace, call.path.name) is None
    if absent and strategy.create_on_update and not call.path.subresource:
        return answer_object(call, await create_object(call, obj), 201)
    if not absent and not obj["metadata"].get("resourceVersion") and (strategy.needs_version or call.served.custom):
        problem = status.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        resource = call.served.resource
        raise status.invalid(resource.group, resource.plural, call.path.name, [problem])

    def replaced(live: Obj) -> Obj:
        wanted = objects.copy(obj)
        # What a client leaves out of managedFields it does not mean to clear; an explicit empty list it does.
        if "managedFields" not in wanted["metadata"] and "managedFields" in live["metadata"]:
            wanted["metadata"]["managedFields"] = live["metadata"]["managedFields"]
        return wanted

    return answer_object(call, await change_object(call, replaced, subresource=call.path.subresource))
