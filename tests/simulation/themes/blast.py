"""Worlds with so many objects that one change can take away too much, and people who approve it or take it back."""

from __future__ import annotations

from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES
from hanse.cli.approve import approve
from hanse.cli.failures import Failure
from hanse.kube.errors import NotFound
from hanse.kube.resources import CONFIGMAPS
from tests.simulation.random_stage import Stage, Theme
from tests.simulation.random_truth import HELD, HOST

_COUNT = 30
_POLICY = "narrow"


async def narrow(stage: Stage) -> str:
    """Have every ConfigMap leave a cluster, or take that back."""
    try:
        await stage.host.delete(CLUSTER_PLACEMENT_POLICIES, _POLICY)
    except NotFound:
        pass
    else:
        if stage.chance.happens(0.5):
            return "ConfigMaps may be everywhere"
    name = stage.some_cluster()
    policy = {
        "apiVersion": CLUSTER_PLACEMENT_POLICIES.api_version,
        "kind": CLUSTER_PLACEMENT_POLICIES.kind,
        "metadata": {"name": _POLICY},
        "spec": {"selects": [{"kind": "ConfigMap"}], "clusters": {"exclude": [name]}},
    }
    await stage.host.create(CLUSTER_PLACEMENT_POLICIES, policy)
    return f"ConfigMaps shall leave {name}"


async def approve_held(stage: Stage) -> str:
    """Approve a change that is held."""
    if not any(bucket == HELD for bucket, _path in stage.truth.objects[HOST]):
        return "nothing is held"
    try:
        await approve(stage.host, ("native",))
    except Failure as error:
        return f"came too late: {error}"
    return "approved the change that was held"


async def _begin(stage: Stage) -> None:
    for number in range(_COUNT):
        metadata = {"name": f"bulk-{number:02}", "namespace": "default"}
        await stage.host.create(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    await stage.sleep(10.0)


async def _attend(stage: Stage) -> None:
    await approve_held(stage)


BLAST = Theme("blast", acts=(narrow, narrow, approve_held), begin=_begin, attend=_attend)
