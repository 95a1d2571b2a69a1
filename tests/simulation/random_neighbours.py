"""What people do in the members of a random world, past the federation."""

from __future__ import annotations

from hanse.kube.manifest import Obj, key_of, labels_of
from hanse.kube.resources import CONFIGMAPS
from tests.simulation.random_objects import DRIFTED, KINDS, THEIRS, make_up
from tests.simulation.random_people import edit_source
from tests.simulation.random_stage import MEMBERS, Act, Stage
from tests.simulation.random_truth import owner_of


async def drift(stage: Stage) -> str:
    """Change or delete a copy."""
    name, kind, copy = stage.some_copy()
    client, key = stage.federation.members[name].client, key_of(copy)
    if stage.chance.happens(0.3):
        await client.delete(kind.resource, key.name, key.namespace)
        return f"{name}: deleted the copy of {kind.resource.kind} {key}"
    # Only what was rendered is put back; what is added is theirs.
    patch: Obj = {}
    if "color" in labels_of(copy):
        patch["metadata"] = {"labels": {"color": DRIFTED}}
    if kind.resource == CONFIGMAPS and "red" in (copy.get("data") or {}):
        patch["data"] = {"red": DRIFTED}
    await client.patch(kind.resource, key.name, patch, key.namespace)
    return f"{name}: changed the copy of {kind.resource.kind} {key}"


async def add_theirs(stage: Stage) -> str:
    """Add something to a copy, which shall survive what the federation does next to it."""
    name, kind, copy = stage.some_copy()
    key = key_of(copy)
    patch: Obj = {"metadata": {"annotations": {f"{THEIRS}/mark": "yes"}}}
    if kind.resource == CONFIGMAPS:
        patch["data"] = {f"{THEIRS}-key": "yes"}
    await stage.federation.members[name].client.patch(kind.resource, key.name, patch, key.namespace)
    stage.say(f"{name}: added something to the copy of {kind.resource.kind} {key}")
    await stage.sleep(1.0)
    return await edit_source(stage, kind, stage.truth.sources[owner_of(copy)])


async def squat(stage: Stage) -> str:
    """Take a name in a member before the federation does."""
    name = stage.chance.one_of(tuple(stage.federation.members))
    obj = make_up(stage.chance, KINDS[0], f"one-{stage.chance.count(0, 2)}", "default")
    obj["metadata"].pop("annotations")
    await stage.federation.members[name].client.create(CONFIGMAPS, obj)
    return f"{name}: somebody made ConfigMap {key_of(obj)}"


def bystander() -> Obj:
    """Return an object that every member has and that nobody of the federation may touch."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "bystander", "namespace": "default"},
        "data": {"whose": "not Hanse's"},
    }


async def settle_in(stage: Stage) -> None:
    """Have something in every member that is not Hanse's."""
    for member in stage.federation.members.values():
        await member.client.create(CONFIGMAPS, bystander())


def check_bystanders(stage: Stage) -> None:
    """See that what is not Hanse's is what it was."""
    for name in MEMBERS:
        held = stage.truth.objects[name].get(("core/configmaps", "default/bystander"))
        if held is None or held["data"] != bystander()["data"]:
            stage.federation.judge.blame(f"nothing of others: {name}: the bystander is not what it was")


ACTS: tuple[Act, ...] = (drift, drift, add_theirs, squat)
