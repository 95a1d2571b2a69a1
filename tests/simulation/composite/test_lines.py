"""Lines of Metacontroller's list that no other test tells by itself."""

import orjson
import pytest

from hanse.kube.errors import Conflict, NotFound
from hanse.kube.resources import CONFIGMAPS
from tests.simulation.composite.stage import THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def _with_a_child(on):
    """Have a parent with one child that changes in place."""
    hook = on.hook(
        "sync", lambda body: {"children": [config("one-0", color=body["parent"]["spec"].get("color", "red"))]}
    )
    await on.create(composite("things", {"sync": hook}, child(CONFIGMAPS, "InPlace")))
    await on.create(thing())
    await on.until(lambda: on.names(CONFIGMAPS, labels="thing=one"))
    return await on.client.get(CONFIGMAPS, "one-0", "default")


async def test_15_a_child_is_deleted_by_its_uid_and_in_the_background():
    async with stage() as on:
        made = await _with_a_child(on)
        deleted = []
        on.wire.before_write = lambda request: deleted.append(request) if request.method == "DELETE" else None
        on.hooks["http://sync"].function = lambda _body: {"children": []}
        await on.client.patch(THINGS, "one", {"spec": {"color": "blue"}}, "default")
        await on.until(lambda: deleted)

        options = orjson.loads(deleted[0].body)
        assert options["propagationPolicy"] == "Background"
        assert options["preconditions"] == {"uid": made["metadata"]["uid"]}


async def test_23_somebody_who_was_faster_is_no_error():
    async with stage() as on:
        await _with_a_child(on)
        refusals = [Conflict(409, "Conflict", "changed"), NotFound(404, "NotFound", "gone")]

        def refuse(request):
            if request.method == "PUT" and "configmaps" in request.path and refusals:
                raise refusals.pop()

        on.wire.before_write = refuse
        await on.client.patch(THINGS, "one", {"spec": {"color": "blue"}}, "default")
        for left in (1, 0):
            await on.until(lambda left=left: len(refusals) <= left)
            # What the faster one did comes by the watch.
            await on.client.patch(CONFIGMAPS, "one-0", {"metadata": {"labels": {"by": f"somebody-{left}"}}}, "default")

        async def is_blue():
            return (await on.client.get(CONFIGMAPS, "one-0", "default"))["data"] == {"color": "blue"}

        await on.until(is_blue)
        assert await on.events("SyncError") == []
