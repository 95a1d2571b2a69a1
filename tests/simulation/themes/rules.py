"""Worlds in which policies say where things go, and clusters take no new work for a while."""

from __future__ import annotations

from hanse.api.clusters import CLUSTERS
from hanse.api.policies import PLACEMENT_POLICIES
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj
from tests.simulation.random_stage import Stage, Theme

_POLICY = "house-rules"


async def rule(stage: Stage) -> str:
    """Say where everything in a namespace goes, or say nothing any more."""
    try:
        await stage.host.delete(PLACEMENT_POLICIES, _POLICY, "shop")
    except NotFound:
        pass
    if stage.chance.happens(0.3):
        return "shop has no rules"
    excluded = stage.some_cluster()
    spec: Obj = {"selects": [{"kind": "*"}], "clusters": {"exclude": [excluded]}}
    if stage.chance.happens(0.5):
        weights = [{"clusters": {"names": ["a"]}, "weight": 3}, {"weight": 1}]
        spec["division"] = {"type": "Weighted", "weights": weights}
    policy = {
        "apiVersion": PLACEMENT_POLICIES.api_version,
        "kind": PLACEMENT_POLICIES.kind,
        "metadata": {"name": _POLICY, "namespace": "shop"},
        "spec": spec,
    }
    await stage.host.create(PLACEMENT_POLICIES, policy)
    return f"shop's rules: {spec}"


async def cordon(stage: Stage) -> str:
    """Have a cluster take no new work, or take it again."""
    name = stage.some_cluster()
    closed = name not in stage.truth.cordoned_at
    await stage.host.patch(CLUSTERS, name, {"spec": {"unschedulable": True if closed else None}})
    return f"{name} {'takes no new work' if closed else 'takes work again'}"


async def _open_again(stage: Stage) -> None:
    for name in tuple(stage.truth.cordoned_at):
        if name in stage.truth.clusters:
            await stage.host.patch(CLUSTERS, name, {"spec": {"unschedulable": None}})


RULES_THEME = Theme("rules", acts=(rule, cordon), attend=_open_again)
