"""Lines 44 to 51: children that move to a new revision one by one."""

from __future__ import annotations

import asyncio
from typing import Any

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS, CONTROLLER_REVISIONS
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj
from tests.behaviour.composite_lines.stage import PARTS, Line
from tests.simulation.composite.stage import child

READY = {"type": "Ready", "status": "True"}
TEMPLATE_ONLY = {"revisionHistory": {"fieldPaths": ["spec.template"]}}


def parts(body: Obj) -> Obj:
    """Make Parts in falling order, each with the text of the parent's template."""
    spec = body["parent"]["spec"]
    return {"children": [_part(number, spec["template"]["text"]) for number in reversed(range(spec["count"]))]}


def _part(number: int, text: str) -> Obj:
    metadata = {"name": f"part-{number}", "labels": {"thing": "one"}}
    return {"apiVersion": PARTS.api_version, "kind": "Part", "metadata": metadata, "spec": {"text": text}}


async def _started(at: Line, method: str = "RollingInPlace", count: int = 3, **more: Any) -> None:
    """Have parts at the text `a`, all of them ready."""
    check = more.pop("check", READY)
    selecting = {"labelSelector": {"matchLabels": {"line": at.name}}, **TEMPLATE_ONLY}
    rule = child(PARTS, method, statusChecks={"conditions": [check]})
    await at.serve({"sync": at.hook(parts)}, rule, parent=selecting, **more)
    await at.thing(count=count, template={"text": "a"})
    await at.until(lambda: _texts_are(at, *"a" * count))
    for number in range(count):
        await _ready(at, number)
    await at.until(lambda: _updated(at, "True"))


async def _ready(at: Line, number: int, reason: str = "Up") -> None:
    condition = {**READY, "reason": reason}
    await at.edit({"status": {"conditions": [condition]}}, f"part-{number}", PARTS, subresource="status")


async def _unready(at: Line, number: int) -> None:
    """A part that is changed has to become ready again, which takes its own controller a while."""
    await at.edit({"status": {"conditions": []}}, f"part-{number}", PARTS, subresource="status")


async def _texts(at: Line) -> list[str]:
    listed = (await at.client.list(PARTS, at.name)).items
    return [each["spec"]["text"] for each in sorted(listed, key=lambda each: str(each["metadata"]["name"]))]


async def _texts_are(at: Line, *texts: str) -> bool:
    return await _texts(at) == list(texts)


async def _told(at: Line) -> Obj:
    return find_condition((await at.status()).get("conditions"), "Updated") or {}


async def _updated(at: Line, status: str, reason: str = "") -> bool:
    told = await _told(at)
    return told.get("status") == status and reason in told.get("reason", "")


async def _revisions(at: Line) -> list[str]:
    listed = (await at.client.list(CONTROLLER_REVISIONS, at.name)).items
    return sorted(each["metadata"]["name"] for each in listed)


async def _change(at: Line, text: str) -> None:
    await at.edit({"spec": {"template": {"text": text}}})


async def _moved(at: Line, text: str, *after: str) -> None:
    """See that the parts have these texts, and that no other follows until the one that moved is ready."""
    await at.until(lambda: _texts_are(at, *after))
    await at.rested()
    assert await _texts(at) == list(after), text


async def line_44_one_moves_at_a_time_in_the_hooks_order_once_the_last_is_ready(at: Line) -> None:
    await _started(at)
    for number in range(3):
        await _unready(at, number)
    await _change(at, "b")
    # It has moved, and is waited for, though the others are not ready either.
    for number, after in ((2, "aab"), (1, "abb"), (0, "bbb")):
        await _moved(at, f"after part-{number}", *after)
        await _ready(at, number)
    await at.until(lambda: _updated(at, "True"))
    await at.until(lambda: _count(at, 1))


async def _count(at: Line, revisions: int) -> bool:
    return len(await _revisions(at)) == revisions


async def line_45_a_change_outside_the_revision_acts_at_once(at: Line) -> None:
    """Line 46, too: what has not moved and is deleted comes back as it was."""
    await _started(at)
    for number in range(3):
        await _unready(at, number)
    await _change(at, "b")
    await _moved(at, "the first has moved", *"aab")
    await at.edit({"spec": {"count": 4}})
    await at.until(lambda: _texts_are(at, *"aabb"))
    await at.client.delete(PARTS, "part-0", at.name)
    await at.until(lambda: _texts_are(at, *"aabb"))
    for number in (3, 2, 1, 0):
        await _ready(at, number)
        await at.rested()
        await _ready(at, max(0, number - 1))
    await at.until(lambda: _texts_are(at, *"bbbb"))


async def line_47_a_second_change_leaves_three_revisions_until_the_oldest_own_nothing(at: Line) -> None:
    """Line 48, too: another process goes on where the last one was killed."""
    labels = {"served-by": at.name}
    serving = asyncio.create_task(at.on.server(labels).run())
    selecting = {"labelSelector": {"matchLabels": {"line": at.name}}, **TEMPLATE_ONLY}
    rule = child(PARTS, "RollingInPlace", statusChecks={"conditions": [READY]})
    controller = at.controller({"sync": at.hook(parts)}, rule, parent=selecting)
    controller["metadata"]["labels"] = labels
    try:
        await at.client.create(COMPOSITE_CONTROLLERS, controller)
        await at.thing(count=3, template={"text": "a"})
        await at.until(lambda: _texts_are(at, *"aaa"))
        await _change(at, "b")
        await _moved(at, "the first of the second revision", *"aab")
        await _ready(at, 2)
        await _moved(at, "the second of it", *"abb")
        await _unready(at, 2)
        await _change(at, "c")
        # The change goes on from the one that it overtook on its way, though part-2 fails as well.
        await at.until(lambda: _texts_are(at, *"acb"))
        await at.until(lambda: _count(at, 3))
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        serving = asyncio.create_task(at.on.server(labels).run())
        while await _texts(at) != [*"ccc"]:
            for number in range(3):
                await _ready(at, number)
            await at.quiet(0.2)
        await at.until(lambda: _updated(at, "True"))
        await at.until(lambda: _count(at, 1))
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def line_49_a_child_that_is_as_desired_already_moves_without_waiting(at: Line) -> None:
    await _started(at)
    for number in range(3):
        await _unready(at, number)
    # Somebody has set the first two by hand before the change comes; what is not ready would hold up the third.
    serving = at.asked().function
    at.asked().function = lambda body: {**parts(body), "children": _as_stored(body)}
    for number in (2, 1):
        await at.edit({"spec": {"text": "b"}}, f"part-{number}", PARTS)
    await at.rested()
    at.asked().function = serving
    await _change(at, "b")
    await at.until(lambda: _texts_are(at, *"abb"))
    await at.rested()
    assert "part-2" in (await _told(at))["message"] or "part-1" in (await _told(at))["message"]
    for number in (2, 1):
        await _ready(at, number)
    await at.until(lambda: _texts_are(at, *"bbb"))


def _as_stored(body: Obj) -> list[Obj]:
    stored = body["children"]["Part.ctl.example.com/v1"]
    return [_part(int(name.rpartition("-")[2]), stored[name]["spec"]["text"]) for name in sorted(stored, reverse=True)]


async def line_50_a_check_that_fails_is_waited_for_and_names_the_child(at: Line) -> None:
    await _started(at, check={**READY, "reason": "Up"})
    for number in range(3):
        await _ready(at, number, reason="Starting")
    await _change(at, "b")
    await at.until(lambda: _updated(at, "False", "RolloutWaiting"))
    assert "part-2" in (await _told(at))["message"]
    await at.rested()
    assert await _texts(at) == [*"aab"]


async def line_51_a_revisions_name_follows_from_the_patch_alone(at: Line) -> None:
    await _started(at, count=1)
    (first,) = await _revisions(at)
    await at.edit({"spec": {"other": "field"}})
    await at.rested()
    assert await _revisions(at) == [first]
    await _change(at, "b")
    await at.until(lambda: _texts_are(at, "b"))
    await _ready(at, 0)
    await at.until(lambda: _count(at, 1))
    assert await _revisions(at) != [first]
    await _change(at, "a")
    await at.until(lambda: _texts_are(at, "a"))
    await _ready(at, 0)

    async def again() -> bool:
        return await _revisions(at) == [first]

    await at.until(again)
    assert first.startswith("things.ctl.example.com-")
