"""create."""

from __future__ import annotations

from hanse.apiserver import objects
from hanse.apiserver.answers import Answer, answer_object
from hanse.apiserver.core import Call
from hanse.apiserver.quotas import room_for
from hanse.apiserver.verbs.bodies import place, read_manifest
from hanse.apiserver.verbs.writing import prepare_new, stored_kind, to_served
from hanse.kube.errors import AlreadyExists
from hanse.kube.manifest import Obj

_NAME_ATTEMPTS = 8


async def create(call: Call) -> Answer:
    """Store a new object and answer with it."""
    obj = read_manifest(call)
    place(call, obj)
    created = await create_object(call, obj)
    return answer_object(call, created, 201)


async def create_object(call: Call, obj: Obj, *, tracked: bool = True) -> Obj:
    """Store a new object; a generated name that is taken is generated again."""
    generated = not obj["metadata"].get("name") and bool(obj["metadata"].get("generateName"))
    for attempt in range(_NAME_ATTEMPTS):
        new = await prepare_new(call, objects.copy(obj), tracked=tracked)
        try:
            async with room_for(call, stored_kind(call), new):
                if call.options.dry_run:
                    return to_served(call, new)
                return to_served(call, await call.core.insert(call.served, new))
        except AlreadyExists:
            if not generated or attempt == _NAME_ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")
