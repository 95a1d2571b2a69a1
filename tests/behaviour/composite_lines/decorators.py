"""Lines 36 to 43: finalizers, decorators and related objects."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS, DECORATOR_CONTROLLERS
from hanse.kube.manifest import Obj, annotations_of, finalizers_of, labels_of
from hanse.kube.resources import CONFIGMAPS, SECRETS, Resource
from tests.behaviour.composite_lines.stage import MAIN, Line
from tests.simulation.composite.stage import THINGS, child, config

MARKED = {"annotationSelector": {"matchAnnotations": {"decorate": "yes"}}}


async def decorator(
    at: Line, hooks: Obj, *attachments: Obj, name: str = "", kind: Resource = CONFIGMAPS, **rule: Any
) -> None:
    """Create a DecoratorController of this line's objects."""
    metadata = {"name": name or at.name, "labels": MAIN}
    resource = {"apiVersion": kind.api_version, "resource": kind.plural, **rule}
    spec = {"resources": [resource], "attachments": list(attachments), "hooks": hooks}
    made = {"apiVersion": DECORATOR_CONTROLLERS.api_version, "kind": "DecoratorController", "metadata": metadata}
    await at.client.create(DECORATOR_CONTROLLERS, {**made, "spec": spec})


def three(_body: Obj) -> Obj:
    return {"children": [config(f"one-{letter}") for letter in "abc"]}


def one_less(body: Obj) -> Obj:
    """Take the last child away, until there is none."""
    left = sorted(body["children"]["ConfigMap.v1"])[:-1]
    return {"children": [config(name) for name in left], "finalized": not body["children"]["ConfigMap.v1"]}


async def line_36_a_parent_is_held_before_its_first_child_and_freed_without_the_hook(at: Line) -> None:
    await at.serve({"sync": at.hook(three), "finalize": at.hook(one_less, "finalize")}, child(CONFIGMAPS))
    await at.thing()
    await at.until(lambda: at.has("one-a", "one-b", "one-c"))
    assert "/things/" in at.writes()[0].path
    assert finalizers_of(await at.get(THINGS, "one")) == [f"metacontroller.io/compositecontroller-{at.name}"]
    await at.client.patch(COMPOSITE_CONTROLLERS, at.name, {"spec": {"hooks": {"finalize": None}}})

    async def free() -> bool:
        return finalizers_of(await at.get(THINGS, "one")) == []

    await at.until(free)


async def line_37_finalize_is_asked_until_all_is_done_one_child_less_each_time(at: Line) -> None:
    await at.serve({"sync": at.hook(three), "finalize": at.hook(one_less, "finalize")}, child(CONFIGMAPS))
    await at.thing()
    await at.until(lambda: at.has("one-a", "one-b", "one-c"))
    await at.client.delete(THINGS, "one", at.name)

    async def gone() -> bool:
        return await at.find(THINGS, "one") is None

    await at.until(gone)
    seen = [len(call["children"]["ConfigMap.v1"]) for call in at.calls("finalize")]
    assert (seen[0], seen[-1]) == (3, 0)
    assert all(before - after in (0, 1) for before, after in pairwise(seen))
    assert all(call["finalizing"] for call in at.calls("finalize"))
    assert await at.names() == []


async def _target(at: Line, **annotations: str) -> None:
    made = config("target", text="x")
    made["metadata"]["annotations"] = {"decorate": "yes", **annotations}
    made["metadata"]["labels"]["line"] = at.name
    await at.create(CONFIGMAPS, made)


def _of_line(at: Line) -> Obj:
    return {**MARKED, "labelSelector": {"matchLabels": {"line": at.name}}}


def _secret(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}


async def line_38_what_stops_matching_is_finalized_and_keeps_its_attachments_without_the_hook(at: Line) -> None:
    def undo(body: Obj) -> Obj:
        return {"attachments": [], "finalized": not body["attachments"]["Secret.v1"]}

    await _target(at)
    hooks = {"sync": at.hook(lambda _body: {"attachments": [_secret("goes")]})}
    hooks["finalize"] = at.hook(undo, "finalize")
    await decorator(at, hooks, child(SECRETS), name=f"{at.name}-a", **_of_line(at))
    plain = {"sync": at.hook(lambda _body: {"attachments": [_secret("stays")]}, "plain")}
    await decorator(at, plain, child(SECRETS), name=f"{at.name}-b", **_of_line(at))
    for name in ("goes", "stays"):
        await at.until(lambda name=name: at.find(SECRETS, name))
    await at.edit({"metadata": {"annotations": {"decorate": None}}}, "target", CONFIGMAPS)

    async def undone() -> bool:
        return finalizers_of(await at.get(CONFIGMAPS, "target")) == []

    await at.until(undone)
    assert await at.find(SECRETS, "goes") is None
    assert await at.find(SECRETS, "stays") is not None
    assert all(call["finalizing"] for call in at.calls("finalize"))


async def line_39_labels_are_set_and_taken_away_and_others_stay(at: Line) -> None:
    answer = {"labels": {"added": "yes", "thing": None}, "annotations": {"note": "hello", "old": None}}
    await _target(at, old="1", mine="2")
    await decorator(at, {"sync": at.hook(lambda _body: answer)}, **_of_line(at))

    async def decorated() -> bool:
        return labels_of(await at.get(CONFIGMAPS, "target")) == {"added": "yes", "line": at.name}

    await at.until(decorated)
    assert annotations_of(await at.get(CONFIGMAPS, "target")) == {"decorate": "yes", "mine": "2", "note": "hello"}
    calls, before = await at.rested(), len(at.writes())
    await at.edit({"data": {"text": "new"}}, "target", CONFIGMAPS)
    await at.until(lambda: len(at.calls()) > calls)
    await at.rested()
    assert len(at.writes()) == before


async def line_40_two_decorators_do_not_see_each_others_attachments(at: Line) -> None:
    await _target(at)
    for name in ("left", "right"):
        hook = at.hook(lambda _body, name=name: {"attachments": [_secret(f"of-{name}")]}, name)
        await decorator(at, {"sync": hook}, child(SECRETS), name=f"{at.name}-{name}", **_of_line(at))
    for name in ("left", "right"):
        await at.until(lambda name=name: _sees(at, name, f"of-{name}"))
    await at.quiet()
    for name in ("left", "right"):
        assert await at.find(SECRETS, f"of-{name}") is not None
        assert _sees(at, name, f"of-{name}")


def _sees(at: Line, hook: str, *names: str) -> bool:
    return bool(at.calls(hook)) and list(at.calls(hook)[-1]["attachments"]["Secret.v1"]) == list(names)


def _rule(**rule: Any) -> Any:
    return lambda _body: {"relatedResources": [{"apiVersion": "v1", "resource": "secrets", **rule}]}


async def line_41_what_a_rule_may_not_ask_for_is_told_and_v2_may_ask_for_more(at: Line) -> None:
    await at.secret("mine")
    for name, version, rule in (
        ("both", "v1", {"names": ["a"], "labelSelector": {}}),
        ("v1", "v1", {"namespace": "kube-public"}),
        ("v2", "v2", {"namespace": at.name, "names": ["mine"]}),
    ):
        hooks = {"sync": at.hook(lambda _body: {}, name, version)}
        hooks["customize"] = at.hook(_rule(**rule), f"{name}-customize", version)
        only = {"labelSelector": {"matchLabels": {"line": at.name, "case": name}}}
        await at.serve(hooks, child(CONFIGMAPS), name=f"{at.name}-{name}", parent=only)
        await at.thing(name)
        await at.edit({"metadata": {"labels": {"case": name}}}, name)
    for words in ("give either names or selectors", "namespace kube-public is not the parent's"):
        await at.until(lambda words=words: _told(at, words))
    await at.until(lambda: at.calls("v2"))
    assert list(at.calls("v2")[-1]["related"]["Secret.v1"]) == [f"{at.name}/mine"]
    assert (at.calls("both"), at.calls("v1")) == ([], [])


async def _told(at: Line, words: str) -> bool:
    return any(words in said for said in await at.events("SyncError"))


async def line_42_related_objects_are_shown_and_their_changes_call_the_hook(at: Line) -> None:
    """Line 43, too: the customize hook is asked once a generation."""
    await at.secret("mine")
    await at.edit({"metadata": {"labels": {"use": "yes"}}}, "mine", SECRETS)
    await at.secret("other")
    hooks = {"sync": at.hook(lambda _body: {})}
    hooks["customize"] = at.hook(_rule(labelSelector={"matchLabels": {"use": "yes"}}), "customize")
    await at.serve(hooks, child(CONFIGMAPS))
    await at.thing()
    await at.until(lambda: _related(at) == ["mine"])
    await at.rested()
    for use, names in (("yes", ["mine", "other"]), (None, ["mine"])):
        await at.edit({"metadata": {"labels": {"use": use}}}, "other", SECRETS)
        await at.until(lambda names=names: _related(at) == names)
        await at.rested()
    assert len(at.calls("customize")) == 1
    await at.edit({"spec": {"text": "new"}})
    await at.until(lambda: len(at.calls("customize")) == 2)


def _related(at: Line) -> list[str]:
    return list(at.calls()[-1]["related"]["Secret.v1"]) if at.calls() else []
