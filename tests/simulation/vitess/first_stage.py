"""The first Vitess operator on one simulated cluster and virtual time, and somebody who watches its tablets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from hanse.api.vitess.definitions import VITESS_CRDS
from hanse.api.vitess.kinds import CELL_LABEL, COMPONENT_LABEL, KEYSPACE_LABEL, SHARD_LABEL, VITESS_CLUSTERS
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, is_deleting, labels_of, uid_of
from hanse.kube.resources import CRDS, PODS, Resource
from hanse.kube.runtime import Runtime
from hanse.vitess.first.controllers import in_python, vitess_controllers
from tests.simulation.composite.stage import Stage, stage

FOLDER = Path(__file__).parents[3] / "examples" / "vitess" / "first"
JOBS = Resource("batch", "v1", "jobs", "Job")
IMAGE = "vitess/lite:v2.2"
# So long it takes at most until a controller has heard of something.
_HEARING_SECONDS = 0.5
NEW_IMAGE = "vitess/lite:v2.3"


def my_vitess() -> Obj:
    """Return the example's VitessCluster."""
    found: Obj = yaml.safe_load((FOLDER / "my-vitess.yaml").read_text())
    return {**found, "metadata": {**found["metadata"], "namespace": "default"}}


def with_image(cluster: Obj, image: str) -> Obj:
    """Return a cluster whose tablets and stateless parts have another image."""
    return yaml.safe_load(yaml.safe_dump(cluster).replace(IMAGE, image))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Down:
    """A tablet that is not up: since when, and whether somebody saw to that."""

    shard: str
    cell: str
    since: float
    by_hand: bool


@dataclass
class Witness:
    """Watches tablets: which are down, in which order they were touched, and where each shard's primary is.

    A Job that asks for a planned reparent is carried out when it completes, as vtctld would. A primary that is down all
    the same, since somebody took it down `by_hand`, is replaced by another replica that is up, as orchestrator would.
    """

    runtime: Runtime
    touched: list[str] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)
    reparents: list[str] = field(default_factory=list)
    primaries: dict[str, str] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)
    pods: dict[str, Obj] = field(default_factory=dict)
    down: dict[str, Down] = field(default_factory=dict)
    by_hand: set[str] = field(default_factory=set)
    # How many tablets of one type a cell shall have at most: what is down beyond that is missed by nobody.
    most: int = 100
    _done: set[str] = field(default_factory=set)

    def pod_changed(self, change: Change) -> None:
        pod = change.new
        name = change.key.name
        if pod is None:
            # One that is made anew is down for the reason for which the last one went.
            self.pods.pop(name, None)
            self.images.pop(name, None)
            return
        if labels_of(pod).get(COMPONENT_LABEL) != "vttablet":
            return
        before = self.pods.get(name)
        self.pods[name] = pod
        self.images[name] = pod["spec"]["containers"][0]["image"]
        by_hand = name in self.by_hand
        if before is not None and is_deleting(pod) and not is_deleting(before) and not by_hand:
            self._leaves(name, pod, served=is_up(before))
        if is_up(pod):
            if self.down.pop(name, None) is not None:
                self.by_hand.discard(name)
        elif name not in self.down:
            here = labels_of(pod)[CELL_LABEL]
            self.down[name] = Down(shard_of(pod), here, self.runtime.monotonic(), by_hand)
        self._fail_over(shard_of(pod))

    def _leaves(self, name: str, pod: Obj, *, served: bool) -> None:
        self.touched.append(name)
        shard = shard_of(pod)
        if self.primaries.get(shard) == name:
            self.wrongs.append(f"{name} went while it was the primary of {shard}")
        if not served:
            # Who is down already may well be the first: nobody loses anything by it.
            return
        others = [each for each in self.down if each in self.pods and each != name and self.down[each].shard == shard]
        others = [each for each in others if int(each[-2:]) < self.most]
        known = [each for each in others if self._should_be_known(self.down[each], pod)]
        if known:
            self.wrongs.append(f"{name} of {shard} went while these were down: {known}")

    def _should_be_known(self, down: Down, pod: Obj) -> bool:
        """Tell whether a rollout must know of a tablet that is down.

        Of those that it took down itself it does in all cells; of what people did it hears a moment later, in its cell.
        """
        heard = self.runtime.monotonic() - down.since > _HEARING_SECONDS
        return not down.by_hand or (heard and down.cell == labels_of(pod)[CELL_LABEL])

    def _fail_over(self, shard: str) -> None:
        primary = self.primaries.get(shard)
        if primary is not None and (primary not in self.pods or not is_up(self.pods[primary])):
            self.primaries[shard] = next(iter(self.replicas(shard)), primary)

    def job_changed(self, change: Change) -> None:
        job = change.new
        if job is None or uid_of(job) in self._done or not is_true(dig_conditions(job), "Complete"):
            return
        command = job["spec"]["template"]["spec"]["containers"][0]["command"]
        if "PlannedReparentShard" not in command:
            return
        self._done.add(uid_of(job))
        self.reparents.append(change.key.name)
        shard = f"{command[command.index('-keyspace_shard') + 1]}"
        where, alias = command[-2:]
        self._reparent(shard, where, alias)

    def replicas(self, shard: str) -> list[str]:
        """Return the tablets of a shard that are up and could be the primary."""
        return sorted(
            name
            for name, pod in self.pods.items()
            if shard_of(pod) == shard and is_up(pod) and 'init_tablet_type="replica"' in command_of(pod)
        )

    def _reparent(self, shard: str, where: str, alias: str) -> None:
        if where == "-new_master":
            self.primaries[shard] = next(name for name in self.replicas(shard) if name.endswith(alias))
        elif self.primaries.get(shard, "").endswith(alias):
            self.primaries[shard] = next(name for name in self.replicas(shard) if not name.endswith(alias))


def dig_conditions(obj: Obj) -> list[Obj]:
    found: list[Obj] = (obj.get("status") or {}).get("conditions") or []
    return found


def is_up(pod: Obj) -> bool:
    return is_true(dig_conditions(pod), "Ready") and not is_deleting(pod)


def command_of(pod: Obj) -> str:
    return str(pod["spec"]["containers"][0]["command"][-1])


def shard_of(pod: Obj) -> str:
    """Return a tablet's keyspace and shard as Vitess names them."""
    labels = labels_of(pod)
    return f"{labels[KEYSPACE_LABEL]}/{labels[SHARD_LABEL].replace('x', '')}"


@dataclass
class FirstStage:
    """The operator at work."""

    on: Stage
    witness: Witness

    async def condition(self, kind: str, name: str = "vitess") -> str:
        found = await self.on.client.find(VITESS_CLUSTERS, name, "default")
        conditions = dig_conditions(found or {})
        return next((each["status"] for each in conditions if each["type"] == kind), "")

    async def ready(self) -> bool:
        return await self.condition("Ready") == "True" and await self.condition("Updated") == "True"

    async def change(self, cluster: Obj) -> None:
        live = await self.on.client.get(VITESS_CLUSTERS, "vitess", "default")
        await self.on.client.update(VITESS_CLUSTERS, {**live, "spec": cluster["spec"]})

    async def get(self, resource: Resource, name: str) -> Obj:
        return await self.on.client.get(resource, name, "default")


@asynccontextmanager
async def first_stage(seed: int = 0) -> AsyncIterator[FirstStage]:
    """Have the operator at work for the length of a block, its hooks in Python."""
    async with stage(nodes=True, seed=seed) as on:

        def code(layer: str, hook: str) -> Obj:
            named = in_python(layer, hook)["python"]
            function: Any = getattr(import_module(named["module"]), named["function"])
            return on.hook(f"{layer}-{hook}".lower(), function)

        for crd in VITESS_CRDS:
            await on.client.create(CRDS, crd)
        for controller in vitess_controllers(code):
            await on.create(controller)
        witness = Witness(on.runtime)
        client = Client(on.client.transport, on.runtime)
        pods, jobs = Cache(client, PODS), Cache(client, JOBS)
        pods.subscribe(witness.pod_changed)
        jobs.subscribe(witness.job_changed)
        watching = [asyncio.create_task(pods.run()), asyncio.create_task(jobs.run())]
        try:
            yield FirstStage(on, witness)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
