"""One short story of a federation, in which the control plane dies at a chosen request: once at each of them.

Nothing that a control plane does has an effect but its requests, so that these are all the places at which it matters
where it dies: before one is sent, or after it was carried out and before its answer is heard.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hanse.api.names import CLUSTER_SELECTOR_ANNOTATION, DELETION_ANNOTATION
from hanse.kube.manifest import Obj
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, SECRETS
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.random_ending import problems
from tests.simulation.random_federation import RandomFederation, random_federation
from tests.simulation.random_truth import HOST

_MEMBERS = ("a", "b")
_SELECTOR = '[{"key": "tier", "operator": "In", "values": ["gold"]}]'
_NEXT_SECONDS = 4.0
_DEAD_SECONDS = 1.0
_SETTLE_SECONDS = 120.0
_QUIET_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Crash:
    """What came of a life that ended, or did not, at a request: broken promises, and how many requests it sent."""

    found: tuple[str, ...]
    struck: bool
    requests: int


def live_through(ends_at: int, *, after: bool) -> Crash:
    """Play the script with a control plane whose first life ends at a request of that number."""
    return run_virtually(lambda: _live_through(ends_at, after))


async def _live_through(ends_at: int, after: bool) -> Crash:
    tiers = iter(("gold", "iron"))
    async with random_federation(7, _MEMBERS, lambda: {"tier": next(tiers)}) as federation:
        first = federation.planes[0].life
        first.ends_at, first.after = ends_at, after
        for act in _SCRIPT:
            await act(federation)
            await _pass(federation, _NEXT_SECONDS)
        await _settle(federation)
        return Crash(tuple(federation.judge.found), first.dead, first.requests)


async def _pass(federation: RandomFederation, seconds: float) -> None:
    """Let time pass; whoever supervises the control plane starts it anew soon after it died."""
    end = federation.runtime.monotonic() + seconds
    while (left := end - federation.runtime.monotonic()) > 0:
        await federation.runtime.sleep(min(left, _DEAD_SECONDS))
        await federation.revive()


async def _settle(federation: RandomFederation) -> None:
    truth, judge, begin = federation.judge.truth, federation.judge, federation.runtime.monotonic()
    while left := problems(truth):
        if federation.runtime.monotonic() - begin > _SETTLE_SECONDS:
            break
        await _pass(federation, _DEAD_SECONDS)
    for sentence in left:
        judge.blame(f"crash and converge: {sentence}")
    judge.writes.clear()
    await _pass(federation, _QUIET_SECONDS)
    for write in judge.writes:
        if not write.startswith(HOST):
            judge.blame(f"steady is silent: {write}")


# What people do, one after the other


def _named(kind: str, api_version: str, name: str, body: Obj, **annotations: str) -> Obj:
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def _web(image: str) -> Obj:
    pod = {"containers": [{"name": "main", "image": image}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return _named("Deployment", "apps/v1", "web", {"spec": spec})


async def _create(federation: RandomFederation) -> None:
    await federation.host.create(DEPLOYMENTS, _web("web:1"))
    settings = _named("ConfigMap", "v1", "settings", {"data": {"color": "blue", "size": "1"}})
    await federation.host.create(CONFIGMAPS, settings)
    kept = _named("Secret", "v1", "kept", {"data": {}}, **{DELETION_ANNOTATION: "orphan"})
    await federation.host.create(SECRETS, kept)


async def _edit(federation: RandomFederation) -> None:
    await federation.host.patch(DEPLOYMENTS, "web", {"spec": _web("web:2")["spec"]}, "default")
    await federation.host.patch(CONFIGMAPS, "settings", {"data": {"color": "red", "size": None}}, "default")


async def _move(federation: RandomFederation) -> None:
    chosen = {"metadata": {"annotations": {CLUSTER_SELECTOR_ANNOTATION: _SELECTOR}}}
    await federation.host.patch(DEPLOYMENTS, "web", chosen, "default")
    await federation.host.patch(CONFIGMAPS, "settings", chosen, "default")


async def _delete_some(federation: RandomFederation) -> None:
    await federation.host.delete(CONFIGMAPS, "settings", "default")
    await federation.host.delete(SECRETS, "kept", "default")


async def _delete_rest(federation: RandomFederation) -> None:
    await federation.host.delete(DEPLOYMENTS, "web", "default")


_SCRIPT: tuple[Callable[[RandomFederation], Awaitable[None]], ...] = (
    _create,
    _edit,
    _move,
    _delete_some,
    _delete_rest,
)
