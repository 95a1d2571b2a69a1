"""Hooks that mean no good, or are merely broken: each harms its own parent, which says so, and nobody else's."""

import itertools

import pytest

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import controller_of
from hanse.kube.resources import CONFIGMAPS, SECRETS
from tests.simulation.composite.stage import THINGS, child, composite, config, stage, thing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

USUAL_SECONDS = 5.0
_turns = itertools.count()


# What each hook answers for its parent, and what that parent then says.
HOSTILE = {
    "nameless": (lambda of: [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": _labels(of)}], "name"),
    "undeclared": (lambda of: [{"apiVersion": "v1", "kind": "Secret", "metadata": _labels(of, "secret")}], "Secret"),
    "roaming": (lambda of: [config("stray", of, namespace="kube-system")], "kube-system"),
    "greedy": (lambda of: [config("good-0", of)], "ConfigMap good-0"),
    "unreadable": (lambda of: "all of them", "children must be a list"),
    "fickle": (lambda of: [config("flag", of, text=str(next(_turns)))], "does not settle"),
}


def _labels(of, name=""):
    return {"labels": {"thing": of}, **({"name": name} if name else {})}


async def _serve(on, name, answer):
    """Have a controller for one parent, and that parent."""
    hook = on.hook(name, lambda _body: {"children": answer(name)})
    mine = {"labelSelector": {"matchLabels": {"case": name}}}
    await on.create(composite(name, {"sync": hook}, child(CONFIGMAPS, "InPlace"), parent=mine))
    parent = thing(name)
    parent["metadata"]["labels"] = {"case": name}
    await on.create(parent)


async def _complaint(on, name):
    stored = await on.client.get(THINGS, name, "default")
    told = find_condition((stored.get("status") or {}).get("conditions"), "Synced")
    return told["message"] if told else ""


async def test_a_hostile_answer_is_told_of_by_its_parent_and_all_others_are_served_as_ever():
    async with stage() as on:
        await _serve(on, "good", lambda of: [config("good-0", of), config("good-1", of)])
        await on.until(lambda: on.client.find(CONFIGMAPS, "good-0", "default"), USUAL_SECONDS)
        for name, (answer, _says) in HOSTILE.items():
            await _serve(on, name, answer)
        for name, (_answer, says) in HOSTILE.items():
            assert says in await on.until(lambda name=name: _complaint(on, name)), name

        await on.client.delete(CONFIGMAPS, "good-1", "default")
        await on.until(lambda: on.client.find(CONFIGMAPS, "good-1", "default"), USUAL_SECONDS)
        assert controller_of(await on.client.get(CONFIGMAPS, "good-0", "default"))["name"] == "good"
        assert await _complaint(on, "good") == ""
        assert await on.client.find(CONFIGMAPS, "stray", "kube-system") is None
        assert await on.names(SECRETS) == []
