"""Lines 1 to 14 and 57: which controllers run, what their hooks are told, and whose children are whose."""

from __future__ import annotations

from hanse.kube.manifest import Obj, controller_of, uid_of
from hanse.kube.resources import CONFIGMAPS, CRDS, SECRETS, Resource
from tests.behaviour.composite_lines.stage import Line
from tests.simulation.composite.stage import GROUP, THINGS, WIDE_THINGS, child, config, parent_crd, thing

BARE = Resource(GROUP, "v1", "bares", "Bare")
LATE = Resource(GROUP, "v1", "lates", "Late")


def configs(body: Obj) -> Obj:
    """Make as many ConfigMaps as the parent says."""
    parent = body["parent"]
    name, count = parent["metadata"]["name"], parent["spec"].get("count", 1)
    children = [config(f"{name}-{i}", name, text=parent["spec"].get("text", "")) for i in range(count)]
    return {"status": {"made": count}, "children": children}


async def line_01_without_hooks_it_is_not_started(at: Line) -> None:
    controller = at.controller({}, child(CONFIGMAPS))
    del controller["spec"]["hooks"]
    await at.client.create(await at.client.resource_of(controller), controller)
    (said,) = await at.until(lambda: at.events("CreateError"))
    assert "spec.hooks" in said
    await at.until(lambda: at.is_ready("False"))


async def line_02_parents_without_a_status_subresource_call_no_hook(at: Line) -> None:
    await at.client.create(CRDS, parent_crd(BARE, status=False))
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS), of=BARE)
    await at.until(lambda: _told(at, "add subresources.status"))
    await at.thing(kind=BARE)
    await at.quiet()
    assert at.calls() == []


async def _told(at: Line, words: str) -> bool:
    return any(words in said for said in await at.events("CreateError"))


async def line_03_a_kind_that_comes_later_starts_it(at: Line) -> None:
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS), child(LATE))
    await at.thing()
    await at.until(lambda: _told(at, "the server serves no lates of ctl.example.com/v1"))
    await at.client.create(CRDS, parent_crd(LATE))
    await at.until(lambda: at.has("one-0"))
    await at.until(lambda: at.is_ready("True"))


async def line_04_every_declared_kind_is_told(at: Line) -> None:
    await at.serve({"sync": at.hook(lambda _body: {})}, child(CONFIGMAPS), child(SECRETS))
    await at.thing()
    request = (await at.until(at.calls))[0]
    assert request["children"] == {"ConfigMap.v1": {}, "Secret.v1": {}}
    assert (request["controller"]["metadata"]["name"], request["finalizing"]) == (at.name, False)


async def line_05_keys_of_a_parent_in_a_namespace(at: Line) -> None:
    for version in ("v1", "v2"):
        hook = at.hook(lambda body: {"children": [config(f"{body['parent']['metadata']['name']}-0")]}, version, version)
        only = {"labelSelector": {"matchLabels": {"line": at.name, "version": version}}}
        await at.serve({"sync": hook}, child(CONFIGMAPS), name=f"{at.name}-{version}", parent=only)
        await at.thing(version, selector={"matchLabels": {"thing": "one"}})
        await at.edit({"metadata": {"labels": {"version": version}}}, version)
    for version, key in (("v1", "v1-0"), ("v2", f"{at.name}/v2-0")):
        await at.until(lambda version=version, key=key: key in _last_children(at, version))


def _last_children(at: Line, name: str) -> list[str]:
    return list(at.calls(name)[-1]["children"]["ConfigMap.v1"]) if at.calls(name) else []


async def line_06_keys_of_a_parent_without_one(at: Line) -> None:
    for version in ("v1", "v2"):
        name = f"{at.name}-{version}"
        hook = at.hook(lambda body: {"children": [_named_after_parent(body, at.name)]}, version, version)
        only = {"labelSelector": {"matchLabels": {"line": name}}}
        await at.serve({"sync": hook}, child(CONFIGMAPS), name=name, of=WIDE_THINGS, parent=only)
        parent = thing(name, kind=WIDE_THINGS)
        parent["metadata"]["labels"] = {"line": name}
        await at.client.create(WIDE_THINGS, parent)
    for version in ("v1", "v2"):
        key = f"{at.name}/{at.name}-{version}"
        await at.until(lambda version=version, key=key: _last_children(at, version) == [key])


def _named_after_parent(body: Obj, namespace: str) -> Obj:
    name = body["parent"]["metadata"]["name"]
    return config(name, name, namespace)


async def line_07_a_child_without_a_namespace_is_made_in_its_parents(at: Line) -> None:
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS))
    parent = await at.thing(count=2)
    await at.until(lambda: at.has("one-0", "one-1"))
    assert await _owner(at, "one-0") == uid_of(parent)


async def _owner(at: Line, name: str, field: str = "uid") -> str:
    """Return who controls a ConfigMap, "" where nobody does."""
    return str((controller_of(await at.get(CONFIGMAPS, name)) or {}).get(field, ""))


async def line_08_a_child_that_does_not_match_refuses_the_answer(at: Line) -> None:
    await at.create(CONFIGMAPS, config("kept"))
    wrong = {"status": {"seen": True}, "children": [config("good"), config("bad", of="other")]}
    await at.serve({"sync": at.hook(lambda _body: wrong)}, child(CONFIGMAPS))
    await at.thing()
    said = await at.until(lambda: at.events("SyncError"))
    assert "ConfigMap bad" in said[0]
    assert await at.names() == ["kept"]
    assert "seen" not in await at.status()


async def line_09_a_parent_without_a_selector_is_told_so(at: Line) -> None:
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS))
    await at.thing(selector={})
    said = await at.until(lambda: at.events("SyncError"))
    assert "spec.selector: must be given" in said[0]
    assert at.calls() == []


async def line_10_a_generated_selector_takes_the_place_of_the_parents(at: Line) -> None:
    hook = at.hook(lambda _body: {"children": [config("made", of="whatever")]})
    await at.serve({"sync": hook}, child(CONFIGMAPS), generateSelector=True)
    parent = await at.thing(selector={})
    await at.until(lambda: at.has("made"))
    labels = (await at.get(CONFIGMAPS, "made"))["metadata"]["labels"]
    assert labels == {"thing": "whatever", "controller-uid": uid_of(parent)}


async def line_11_an_orphan_is_adopted_and_goes_when_it_is_not_wanted(at: Line) -> None:
    await at.create(CONFIGMAPS, config("one-0", text="mine"))
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS))
    parent = await at.thing()

    async def adopted() -> bool:
        return await _owner(at, "one-0") == uid_of(parent)

    await at.until(adopted)
    assert await at.data("one-0") == {"text": "mine"}
    await at.edit({"spec": {"count": 0}})
    await at.until(at.has)


async def line_12_a_child_that_is_relabelled_is_released(at: Line) -> None:
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS))
    await at.thing(count=2)
    await at.until(lambda: at.has("one-0", "one-1"))
    await at.edit({"metadata": {"labels": {"thing": "other"}}}, "one-1", CONFIGMAPS)
    await at.edit({"spec": {"count": 1}})

    async def free() -> bool:
        return await _owner(at, "one-1") == ""

    await at.until(free)
    await at.rested()
    assert await at.names() == ["one-0", "one-1"]


async def line_13_what_somebody_else_controls_is_not_shown(at: Line) -> None:
    other = await at.create(CONFIGMAPS, {**config("owner"), "metadata": {"name": "owner"}})
    theirs = config("theirs")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid_of(other), "controller": True}
    theirs["metadata"]["ownerReferences"] = [reference]
    await at.create(CONFIGMAPS, theirs)
    await at.serve({"sync": at.hook(configs)}, child(CONFIGMAPS))
    await at.thing()
    await at.until(lambda: at.has("one-0", "theirs"))
    await at.rested()
    assert all("theirs" not in call["children"]["ConfigMap.v1"] for call in at.calls())
    assert await at.names() == ["one-0", "theirs"]


async def line_14_a_parent_that_goes_adopts_nothing(at: Line) -> None:
    hooks = {"sync": at.hook(configs), "finalize": at.hook(lambda _body: {"finalized": False}, "finalize")}
    await at.serve(hooks, child(CONFIGMAPS))
    await at.thing()
    await at.until(lambda: at.has("one-0"))
    await at.client.delete(THINGS, "one", at.name)
    await at.until(lambda: at.calls("finalize"))
    await at.create(CONFIGMAPS, config("stranger"))
    await at.rested("finalize")
    assert await _owner(at, "stranger") == ""
    assert all("stranger" not in call["children"]["ConfigMap.v1"] for call in at.calls("finalize"))


async def line_57_two_parents_with_one_selector_do_not_fight(at: Line) -> None:
    hook = at.hook(lambda body: {"children": [config(body["parent"]["spec"]["child"], of="same")]})
    await at.serve({"sync": hook}, child(CONFIGMAPS))
    for name in ("one", "two"):
        await at.thing(name, selector={"matchLabels": {"thing": "same"}}, child=f"of-{name}")
    await at.until(lambda: at.has("of-one", "of-two"))
    await at.rested()
    before = len(at.writes())
    await at.quiet()
    assert len(at.writes()) == before
    for name in ("one", "two"):
        assert await _owner(at, f"of-{name}", "name") == name
