"""Lines 15 to 24 and 52: how children are written."""

from __future__ import annotations

import orjson

from hanse.kube.client import PatchType
from hanse.kube.manifest import Obj, dig, uid_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from tests.behaviour.composite_lines.children import configs
from tests.behaviour.composite_lines.stage import PARTS, Line
from tests.simulation.composite.stage import THINGS, child, config

HOLD = "example.com/hold"


async def line_15_what_is_not_wanted_goes_by_uid_and_in_the_background(at: Line) -> None:
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS))
    await at.thing()
    await at.until(lambda: at.has("one-0"))
    made = await at.get(CONFIGMAPS, "one-0")
    await at.edit({"spec": {"count": 0}})
    await at.until(at.has)
    (deletion,) = [each for each in at.writes("configmaps") if each.method == "DELETE"]
    options = orjson.loads(deletion.body)
    assert options["propagationPolicy"] == "Background"
    assert options["preconditions"] == {"uid": uid_of(made)}


async def line_16_on_delete_changes_nothing_until_somebody_deletes(at: Line) -> None:
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS, "OnDelete"))
    await at.thing(text="old")
    await at.until(lambda: at.has("one-0"))
    await at.edit({"spec": {"text": "new"}})
    await at.rested()
    assert await at.data("one-0") == {"text": "old"}
    await at.client.delete(CONFIGMAPS, "one-0", at.name)
    await at.until(lambda: _is(at, "one-0", text="new"))


async def _is(at: Line, name: str, **data: str) -> bool:
    return await at.data(name) == data


async def line_17_recreate_deletes_and_then_makes_and_waits_for_what_is_being_deleted(at: Line) -> None:
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS, "Recreate"))
    await at.thing(text="old")
    await at.until(lambda: at.has("one-0"))
    first = await at.edit({"metadata": {"finalizers": [HOLD]}}, "one-0", CONFIGMAPS)
    await at.edit({"spec": {"text": "new"}})

    async def deleting() -> bool:
        return "deletionTimestamp" in (await at.get(CONFIGMAPS, "one-0"))["metadata"]

    await at.until(deleting)
    await at.rested()
    assert len([each for each in at.writes("configmaps") if each.method == "DELETE"]) == 1
    assert await at.data("one-0") == {"text": "old"}
    await at.edit({"metadata": {"finalizers": None}}, "one-0", CONFIGMAPS)
    await at.until(lambda: _is(at, "one-0", text="new"))
    assert uid_of(await at.get(CONFIGMAPS, "one-0")) != uid_of(first)


def _deployment(image: str) -> Obj:
    labels = {"app": "web"}
    pod = {"containers": [{"name": "web", "image": image}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"thing": "one"}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


async def line_18_in_place_keeps_what_others_added(at: Line) -> None:
    hook = at.hook(lambda body: {"children": [_deployment(body["parent"]["spec"]["image"])]})
    await at.serve({"sync": hook}, child(DEPLOYMENTS, "InPlace"))
    await at.thing(image="web:1")
    await at.until(lambda: at.has("web", resource=DEPLOYMENTS))
    sidecar = [{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "log", "image": "log:1"}}]
    await at.client.patch(DEPLOYMENTS, "web", sidecar, at.name, patch_type=PatchType.JSON)
    await at.edit({"spec": {"image": "web:2"}})

    async def containers() -> dict[str, Obj]:
        found = await at.get(DEPLOYMENTS, "web")
        return {each["name"]: each for each in found["spec"]["template"]["spec"]["containers"]}

    async def changed() -> bool:
        return bool((await containers())["web"]["image"] == "web:2")

    await at.until(changed)
    found = await containers()
    assert found["log"]["image"] == "log:1"
    assert found["web"]["imagePullPolicy"] == "IfNotPresent"


async def line_19_a_field_that_is_dropped_goes_only_if_the_hook_had_set_it(at: Line) -> None:
    hook = at.hook(lambda body: {"children": [config("one-0", **body["parent"]["spec"]["data"])]})
    await at.serve({"sync": hook}, child(CONFIGMAPS, "InPlace"))
    await at.thing(data={"a": "1", "b": "2"})
    await at.until(lambda: at.has("one-0"))
    await at.edit({"data": {"theirs": "3"}}, "one-0", CONFIGMAPS)
    await at.edit({"spec": {"data": {"b": None}}})
    await at.until(lambda: _is(at, "one-0", a="1", theirs="3"))


async def line_20_lists_are_replaced_or_merged_by_what_their_items_share(at: Line) -> None:
    """Line 21, too: items that share `port` and `name` are known by their port."""
    first: Obj = {
        "words": ["a", "b"],
        "named": [{"name": "x", "size": 1}],
        "loose": [{"name": "x"}, {"size": 1}],
        "ports": [{"port": 80, "name": "web"}],
    }
    second = {
        "words": ["c"],
        "named": [{"name": "x", "size": 2}],
        "loose": [{"size": 2}],
        "ports": [{"port": 80, "name": "http"}],
    }

    def part(body: Obj) -> Obj:
        spec = second if body["parent"]["spec"].get("second") else first
        metadata = {"name": "part", "labels": {"thing": "one"}}
        return {"children": [{"apiVersion": PARTS.api_version, "kind": "Part", "metadata": metadata, "spec": spec}]}

    await at.serve({"sync": at.hook(part)}, child(PARTS, "InPlace"))
    await at.thing()
    await at.until(lambda: at.has("part", resource=PARTS))
    by_hand = {
        "words": ["a", "b", "theirs"],
        "named": [*first["named"], {"name": "theirs"}],
        "ports": [{"port": 80, "name": "web", "theirs": True}],
    }
    await at.edit({"spec": {"second": True}})
    await at.until(lambda: _words(at, ["c"]))
    await at.edit({"spec": by_hand}, "part", PARTS)
    await at.until(lambda: _words(at, ["c"]))
    spec = (await at.get(PARTS, "part"))["spec"]
    assert spec["named"] == [{"name": "x", "size": 2}, {"name": "theirs"}]
    assert spec["loose"] == [{"size": 2}]
    assert spec["ports"] == [{"port": 80, "name": "http", "theirs": True}]


async def _words(at: Line, words: list[str]) -> bool:
    return bool((await at.get(PARTS, "part"))["spec"]["words"] == words)


async def line_22_what_only_a_server_writes_makes_no_difference(at: Line) -> None:
    def typed(_body: Obj) -> Obj:
        made = config("one-0", text="same")
        made["metadata"] |= {"creationTimestamp": None, "uid": None, "resourceVersion": "7"}
        return {"children": [made | {"status": {}}]}

    await at.serve({"sync": at.hook(typed)}, child(CONFIGMAPS, "InPlace"))
    await at.thing()
    await at.until(lambda: at.has("one-0"))
    calls = await at.rested()
    before = len(at.writes("configmaps"))
    await at.edit({"metadata": {"labels": {"nothing": "new"}}})
    await at.until(lambda: len(at.calls()) > calls)
    await at.rested()
    assert len(at.writes("configmaps")) == before


async def line_23_somebody_who_was_faster_is_no_error(at: Line) -> None:
    """While the hook is asked somebody writes the child, so that the version that was seen is an old one."""
    todo: list[str] = []

    async def interrupted(body: Obj) -> Obj:
        if todo and body["children"]["ConfigMap.v1"]:
            match todo.pop():
                case "change":
                    await at.edit({"metadata": {"labels": {"by": "somebody"}}}, "one-0", CONFIGMAPS)
                case "delete":
                    await at.client.delete(CONFIGMAPS, "one-0", at.name)
        return configs(body)

    await at.serve({"sync": at.hook(interrupted)}, child(CONFIGMAPS, "InPlace"))
    await at.thing(text="0")
    await at.until(lambda: at.has("one-0"))
    await at.rested()
    for text, act in (("1", "change"), ("2", "delete")):
        todo.append(act)
        await at.edit({"spec": {"text": text}})
        await at.until(lambda text=text: _is(at, "one-0", text=text))
        assert todo == []
    assert await at.events("SyncError") == []


async def line_24_a_child_that_is_refused_keeps_no_other_waiting_nor_the_status(at: Line) -> None:
    bad = {**config("bad"), "data": {"no/slash": "x"}}
    answer = {"status": {"seen": True}, "children": [config("before"), bad, config("after")]}
    await at.serve({"sync": at.hook(lambda _body: answer)}, child(CONFIGMAPS))
    await at.thing()
    said = await at.until(lambda: at.events("SyncError"))
    assert "ConfigMap bad" in said[0]
    assert await at.names() == ["after", "before"]
    assert (await at.status())["seen"] is True
    calls = len(at.calls())
    await at.until(lambda: len(at.calls()) > calls)


async def line_52_what_the_server_applied_is_not_sent_again_and_is_put_back(at: Line) -> None:
    strategy = {"applyStrategy": "ServerSideApply"}
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS, "InPlace"), **strategy)
    await at.thing(text="mine")
    await at.until(lambda: at.has("one-0"))
    await at.rested()
    before = len(at.writes("configmaps"))
    await at.edit({"metadata": {"labels": {"nothing": "new"}}})
    await at.rested()
    assert len(at.writes("configmaps")) == before
    await at.edit({"data": {"text": "theirs"}}, "one-0", CONFIGMAPS)
    await at.until(lambda: _is(at, "one-0", text="mine"))
    managers = dig(await at.get(CONFIGMAPS, "one-0"), "metadata", "managedFields", default=())
    assert ("metacontroller", "Apply") in [(each["manager"], each["operation"]) for each in managers]
    assert (await at.client.get(THINGS, "one", at.name))["status"]["made"] == 1
