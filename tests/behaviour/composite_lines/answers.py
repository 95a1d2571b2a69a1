"""Lines 25 to 35: when hooks are called, which answers count, and what is stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

from aiohttp import web

from hanse.kube.manifest import Obj, labels_of
from hanse.kube.resources import CONFIGMAPS
from tests.behaviour.composite_lines.children import configs
from tests.behaviour.composite_lines.decorators import decorator
from tests.behaviour.composite_lines.stage import Line
from tests.simulation.composite.stage import THINGS, child, config

CALM = {"parent": {"ignoreStatusChanges": True}}


async def with_a_child(at: Line, **webhook: Any) -> None:
    """Have a parent with one child, whose hook can be made to answer something else."""
    version = webhook.pop("version", "v1")
    await at.serve({"sync": at.hook(configs, version=version, **webhook)}, child(CONFIGMAPS, "InPlace"))
    await at.thing()
    await at.until(lambda: at.has("one-0"))
    await at.rested()


async def line_25_a_hook_that_asks_for_it_is_called_once_more(at: Line) -> None:
    answers: list[Obj] = [{"children": [], "resyncAfterSeconds": 0.1}]
    await at.serve({"sync": at.hook(lambda _body: answers.pop() if answers else {})}, child(CONFIGMAPS), **CALM)
    await at.thing()
    await at.until(lambda: len(at.calls()) == 2)
    assert await at.rested() == 2


async def line_26_a_resync_period_below_a_second_is_a_second(at: Line) -> None:
    await at.serve({"sync": at.hook(lambda _body: {})}, child(CONFIGMAPS), resyncPeriodSeconds=0, **CALM)
    await at.thing()
    await at.until(lambda: len(at.calls()) >= 4)
    times = at.asked().times[1:]
    assert all(later - earlier > 0.5 for earlier, later in pairwise(times))


async def line_27_changes_of_the_status_alone_can_be_ignored(at: Line) -> None:
    await at.serve({"sync": at.hook(lambda _body: {"status": {"done": True}})}, child(CONFIGMAPS), **CALM)
    await at.thing()
    calls = await at.rested()
    await at.edit({"status": {"noise": 1}}, subresource="status")
    assert await at.rested() == calls
    changes: list[Obj] = [{"metadata": {"labels": {"a": "b"}}}, {"metadata": {"annotations": {"a": "b"}}}]
    for change in (*changes, {"spec": {"a": "b"}}):
        await at.edit(change)
        await at.until(lambda calls=calls: len(at.calls()) > calls)
        calls = await at.rested()


async def line_28_the_status_is_stored_with_the_generation_that_was_shown(at: Line) -> None:
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS))
    await at.thing(count=2)
    await at.until(lambda: _has_status(at, {"made": 2, "observedGeneration": 1}))
    await at.edit({"spec": {"count": 1}})
    await at.until(lambda: _has_status(at, {"made": 1, "observedGeneration": 2}))


async def _has_status(at: Line, status: Obj) -> bool:
    return await at.status() == status


async def line_29_no_status_is_the_generation_alone_and_a_decorated_objects_own(at: Line) -> None:
    await at.serve({"sync": at.hook(lambda _body: {})}, child(CONFIGMAPS))
    await at.thing()
    await at.until(lambda: _has_status(at, {"observedGeneration": 1}))
    dressed = {"labels": {"dressed": "yes"}}
    decorating = {"sync": at.hook(lambda _body: dressed, "decorate")}
    await decorator(at, decorating, kind=THINGS, labelSelector={"matchLabels": {"line": at.name}})

    async def is_dressed() -> bool:
        return labels_of(await at.get(THINGS, "one")).get("dressed") == "yes"

    await at.until(is_dressed)
    assert await at.status() == {"observedGeneration": 1}


async def line_30_an_error_changes_nothing_is_told_and_is_tried_ever_later(at: Line) -> None:
    await with_a_child(at)
    failed = len(at.calls())
    at.asked().function = lambda _body: web.Response(status=500)
    await at.edit({"spec": {"text": "new"}})
    said = await at.until(lambda: at.events("SyncError"))
    assert "500" in said[0]
    await at.until(lambda: len(at.calls()) >= failed + 8)
    pauses = [later - earlier for earlier, later in pairwise(at.asked().times[failed:])]
    assert pauses[6] > 2 * pauses[2]
    assert await at.data("one-0") == {"text": ""}


async def line_31_a_busy_hook_is_called_when_it_asks_for_that_and_nobody_hears_of_it(at: Line) -> None:
    await with_a_child(at)
    later = datetime.now(UTC) + timedelta(seconds=3)
    for wait, least in (("1", 1.0), (format_datetime(later, usegmt=True), 0.0)):
        answers = [web.Response(status=429, headers={"Retry-After": wait})]
        at.asked().function = lambda body, answers=answers: answers.pop() if answers else configs(body)
        calls = len(at.calls())
        await at.edit({"spec": {"text": wait}})
        await at.until(lambda calls=calls: len(at.calls()) >= calls + 2)
        first, second = at.asked().times[calls : calls + 2]
        assert second - first >= least * 0.95
        await at.rested()
    assert datetime.now(UTC) >= later - timedelta(seconds=1)
    assert await at.events("SyncError") == []


async def line_32_a_hook_that_takes_too_long_has_failed(at: Line) -> None:
    async def slow(_body: Obj) -> Obj:
        await at.quiet(3)
        return {"children": []}

    await with_a_child(at, timeout="1s")
    at.asked().function = slow
    calls = len(at.calls())
    await at.edit({"spec": {"text": "new"}})
    said = await at.until(lambda: at.events("SyncError"))
    assert "1 s" in said[0]
    await at.until(lambda: len(at.calls()) >= calls + 2)
    assert await at.data("one-0") == {"text": ""}


async def line_33_what_is_no_answer_deletes_nothing(at: Line) -> None:
    await with_a_child(at)
    for answer, word in (
        (web.Response(text="{", content_type="application/json"), "JSON"),
        (web.json_response({"children": {}}), "children must be a list"),
        (web.json_response({"children": "none"}), "children must be a list"),
        (web.json_response([]), "object"),
    ):
        body, kind = answer.body, answer.content_type
        at.asked().function = lambda _body, body=body, kind=kind: web.Response(body=body, content_type=kind)
        await at.edit({"spec": {"text": word}})
        await at.until(lambda word=word: _is_told(at, word))
        assert await at.names() == ["one-0"]


async def _is_told(at: Line, word: str) -> bool:
    return any(word in said for said in await at.events("SyncError"))


async def line_34_an_unknown_field_is_wrong_only_where_the_hook_is_strict(at: Line) -> None:
    odd = {"children": [config("one-0")], "odd": True}
    cases: dict[str, tuple[str, Obj, bool]] = {"v1": ("v1", {}, True), "v2": ("v2", {}, False)}
    cases["strict"] = ("v1", {"responseUnMarshallMode": "strict"}, False)
    for name, (version, webhook, _) in cases.items():
        only = {"labelSelector": {"matchLabels": {"line": at.name, "case": name}}}
        children = [{**config(f"{name}-0"), "metadata": {"name": f"{name}-0", "labels": {"thing": name}}}]
        answer = {**odd, "children": children}
        hook = at.hook(lambda _body, answer=answer: answer, name, version, **webhook)
        await at.serve({"sync": hook}, child(CONFIGMAPS), name=f"{at.name}-{name}", parent=only)
        await at.thing(name)
        await at.edit({"metadata": {"labels": {"case": name}}}, name)
    for name, (_, _, taken) in cases.items():
        if taken:
            await at.until(lambda name=name: at.find(CONFIGMAPS, f"{name}-0"))
        else:
            await at.until(lambda name=name: at.calls(name))
    await at.until(lambda: _is_told(at, "odd"))
    await at.quiet()
    assert await at.names() == ["v1-0"]


async def line_35_a_tagged_answer_counts_again_until_another_one_comes(at: Line) -> None:
    script: list[web.Response] = []

    def scripted(body: Obj) -> Any:
        return script.pop(0) if script else web.Response(status=304)

    async def next_sync(text: str) -> None:
        calls = len(at.calls())
        await at.edit({"spec": {"text": text}})
        await at.until(lambda: len(at.calls()) > calls)
        await at.rested()

    def tagged(text: str, tag: str) -> web.Response:
        return web.json_response({"children": [config("one-0", text=text)]}, headers={"ETag": tag})

    hook = at.hook(scripted, etag={"enabled": True})
    await at.serve({"sync": hook}, child(CONFIGMAPS, "InPlace"), **CALM)
    await at.thing()
    # Without a tag that was sent, "unchanged" means nothing.
    await at.until(lambda: _is_told(at, "304"))
    script.append(tagged("first", '"1"'))
    await at.until(lambda: at.has("one-0"))
    await next_sync("304")
    script.append(web.Response(status=412))
    await next_sync("412")
    assert await at.data("one-0") == {"text": "first"}
    assert at.asked().headers[-1].get("If-None-Match") == '"1"'
    script.append(tagged("second", '"2"'))
    await next_sync("new")
    assert await at.data("one-0") == {"text": "second"}
