"""A drill: a federation on virtual time that is used and broken by chance, and must be whole again in the end.

Everything in it follows from its seed. What it leaves behind is an event log and the sentences about what never came
right; there are none when the federation kept its promises.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hanse.api.clusters import CLUSTERS
from hanse.api.kubefed.forms import FORMS, Form
from hanse.cli.doors import kind_in, plain_kinds, read_kinds
from hanse.cli.simulation.convergence import Holdings, problems
from hanse.cli.simulation.event_log import Entry, EventLog
from hanse.cli.simulation.federation import VirtualFederation, virtual_federation
from hanse.cli.simulation.users import Users
from hanse.kube.client import Client
from hanse.kube.manifest import Obj
from hanse.kube.resources import DEPLOYMENTS, NODES, PODS, REPLICASETS, Resource, gvk
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.faults.schedule import Planned
from hanse.simulator.settings import ClusterSettings
from hanse.simulator.virtual_time import run_virtually

# How long a federation may take to be whole once its faults are over, and how long it must stay so.
SETTLE_SECONDS = 300.0
STEADY_SECONDS = 30.0
_LOOK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Drill:
    """What a run is made of; without manifests of their own, users make up what they run."""

    seed: int
    clusters: tuple[ClusterSettings, ...]
    schedule: tuple[Planned, ...] = ()
    seconds: float = 240.0
    manifests: tuple[Obj, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a drill."""

    log: EventLog
    problems: tuple[str, ...]
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether the federation was whole in the end."""
        return not self.problems


def run_drill(drill: Drill, listener: Callable[[Entry], None] | None = None) -> Outcome:
    """Run a drill from beginning to end on virtual time; the listener hears of everything as it happens."""
    return run_virtually(lambda: _run(drill, EventLog(listener)))


async def _run(drill: Drill, log: EventLog) -> Outcome:
    runtime = SeededRuntime(drill.seed)
    async with virtual_federation(drill.clusters, runtime, log, forms=_forms(drill.manifests)) as federation:
        users = Users(federation, SeededRuntime(drill.seed + 1).uniform)
        await _begin(federation, users, drill.manifests)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(federation.play(drill.schedule))
            if not drill.manifests:
                tasks.create_task(users.act(drill.seconds))
            await runtime.sleep(drill.seconds)
        left = await _settle(federation, drill.manifests)
        federation.check_alive()
        return Outcome(log, tuple(left), runtime.monotonic())


async def _begin(federation: VirtualFederation, users: Users, manifests: Sequence[Obj]) -> None:
    if not manifests:
        await users.begin()
        return
    for manifest in manifests:
        group, _, version = manifest["apiVersion"].rpartition("/")
        resource = await federation.host.discovery.resource(group, version, manifest["kind"])
        await federation.host.apply(resource, manifest)


def _forms(manifests: Sequence[Obj]) -> tuple[Form, ...]:
    """Return the forms of KubeFed's API in which manifests are written; those with kinds of a group go together."""
    groups = {gvk(manifest)[0] for manifest in manifests}
    families = {form.family for form in FORMS if any(group.endswith(f".{form.family}") for group in groups)}
    return tuple(form for form in FORMS if form.family in families)


async def _federated_kinds(host: Client, manifests: Sequence[Obj]) -> list[Resource]:
    """Return the kinds of manifests that stand for other objects in the members."""
    doors = await read_kinds(host)
    plain = plain_kinds(doors)
    kinds = (kind_in(doors.resources, manifest) for manifest in manifests)
    return list(dict.fromkeys(kind for kind in kinds if kind is not None and kind not in plain))


async def _settle(federation: VirtualFederation, manifests: Sequence[Obj]) -> list[str]:
    """Wait until the federation is whole and stays so; return what is wrong when time is up."""
    kinds = await _federated_kinds(federation.host, manifests)
    begin = federation.runtime.monotonic()
    while left := await _problems(federation, kinds):
        if federation.runtime.monotonic() - begin > SETTLE_SECONDS:
            return left
        await federation.runtime.sleep(_LOOK_SECONDS)
    took = federation.runtime.monotonic() - begin
    federation.log.add(federation.runtime.monotonic(), "-", f"whole again {took:.1f} s after the drill", notable=True)
    await federation.runtime.sleep(STEADY_SECONDS)
    return await _problems(federation, kinds)


async def _problems(federation: VirtualFederation, kinds: Sequence[Resource]) -> list[str]:
    clusters = (await federation.host.list(CLUSTERS)).items
    federated = [kind.name_kind(obj) for kind in kinds for obj in (await federation.host.list(kind)).items]
    host = Holdings(deployments=(await federation.host.list(DEPLOYMENTS)).items, federated=federated)
    return problems(host, clusters, {name: await _held(one.client) for name, one in federation.members.items()})


async def _held(client: Client) -> Holdings:
    return Holdings(
        deployments=(await client.list(DEPLOYMENTS)).items,
        replica_sets=(await client.list(REPLICASETS)).items,
        pods=(await client.list(PODS)).items,
        nodes=(await client.list(NODES)).items,
    )
