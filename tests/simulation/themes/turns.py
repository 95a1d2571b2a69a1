"""Worlds in which a changed workload reaches the clusters in turn, by a policy that changes now and then."""

from __future__ import annotations

from hanse.api.names import ROLLOUT_ANNOTATION
from hanse.api.policies import PLACEMENT_POLICIES
from hanse.cli.approve import approve
from hanse.cli.failures import Failure
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, annotations_of, key_of
from hanse.kube.resources import DEPLOYMENTS
from tests.simulation.random_objects import KINDS, make_up
from tests.simulation.random_people import edit_source
from tests.simulation.random_stage import MEMBERS, Stage, Theme
from tests.simulation.random_truth import DEPLOYMENTS as BUCKET
from tests.simulation.random_truth import HOST

_POLICY = "careful"


def _rollout(stage: Stage) -> Obj:
    chance = stage.chance
    first = chance.one_of(MEMBERS)
    second = chance.one_of([name for name in MEMBERS if name != first])
    rollout: Obj = {"pauseSeconds": chance.one_of((0, 0, 5))}
    if chance.happens(0.6):
        rollout["order"] = [{"names": [first]}, {"names": [second]}]
        rollout["gate"] = chance.one_of(("Ready", "Manual"))
    elif chance.happens(0.5):
        rollout["maxClusters"] = 2
    return rollout


async def order(stage: Stage) -> str:
    """Say in which order clusters change."""
    spec = {"selects": [{"kind": "Deployment"}], "rollout": _rollout(stage)}
    policy = {
        "apiVersion": PLACEMENT_POLICIES.api_version,
        "kind": PLACEMENT_POLICIES.kind,
        "metadata": {"name": _POLICY, "namespace": "default"},
        "spec": spec,
    }
    try:
        await stage.host.delete(PLACEMENT_POLICIES, _POLICY, "default")
    except NotFound:
        pass
    await stage.host.create(PLACEMENT_POLICIES, policy)
    return f"Deployments of default change in turn: {spec['rollout']}"


async def release(stage: Stage) -> str:
    """Change what a workload runs."""
    kind, source = stage.some_source(DEPLOYMENTS)
    return await edit_source(stage, kind, source)


async def approve_all(stage: Stage) -> str:
    """Approve every version that waits for it."""
    waiting = [
        obj
        for (bucket, _path), obj in stage.truth.objects[HOST].items()
        if bucket == BUCKET and "asksFor" in annotations_of(obj).get(ROLLOUT_ANNOTATION, "")
    ]
    for obj in waiting:
        try:
            await approve(stage.host, ("deployment", obj["metadata"]["name"]), obj["metadata"]["namespace"])
        except Failure as error:
            stage.say(f"came too late: {error}")
    return f"approved {', '.join(str(key_of(obj)) for obj in waiting) or 'nothing'}"


async def _begin(stage: Stage) -> None:
    stage.say(await order(stage))
    kind = next(kind for kind in KINDS if kind.resource == DEPLOYMENTS)
    for number in range(2):
        source = make_up(stage.chance, kind, f"one-{number}", "default")
        await stage.host.create(DEPLOYMENTS, source)
        stage.say(f"created Deployment {key_of(source)} {source['metadata']['annotations']}")


async def _attend(stage: Stage) -> None:
    await approve_all(stage)


TURNS = Theme("turns", acts=(release, release, release, approve_all, order), begin=_begin, attend=_attend)
