"""What happens in a random world: people and clusters do things by chance, step by step, while everything breaks.

Everything follows from the seed. A history ends quietly: faults are over, the control plane lives, and then all must
come right and nothing may be written any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hanse.api.clusters import CLUSTERS
from hanse.api.names import CLUSTER_SELECTOR_ANNOTATION
from hanse.kube.errors import AlreadyExists, Conflict, NotFound
from hanse.kube.manifest import Obj, key_of, labels_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.faults.chance import random_schedule
from hanse.simulator.faults.schedule import Step, steps_of
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.random_ending import problems
from tests.simulation.random_federation import RandomFederation, random_federation
from tests.simulation.random_objects import DRIFTED, KINDS, THEIRS, TIERS, Chance, Kind, make_up, namespace, selector
from tests.simulation.random_truth import LAG_SECONDS, bucket_of, owner_of

T = TypeVar("T")
MEMBERS = ("a", "b", "c")
_LATECOMER = "d"
STEPS = 14
_STEP_SECONDS = (0.3, 9.0)
_SETTLE_SECONDS = 300.0
# What members have free is told now and then, so the last of it comes a while after the last pod.
_CALM_SECONDS = 120.0
_QUIET_SECONDS = 60.0
# A change reaches every healthy member within this time, whatever the others do.
_PROMPT_SECONDS = 3.0
# Faults through which requests are never answered: the hardest for everybody else.
_SILENCING = ("hang", "partition")
# Before that, a control plane that has just been started still looks around.
_AWAKE_SECONDS = 10.0
_CHOICES = tuple(kind for kind in KINDS for _ in range(kind.weight))


class NothingThereError(Exception):
    """Somebody wanted to change something and there is nothing yet."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a history: the sentences about broken promises, what was done, and a digest of every change."""

    seed: int
    found: tuple[str, ...]
    story: tuple[str, ...]
    digest: str


def play(seed: int, steps: int = STEPS) -> Outcome:
    """Live through a seed on virtual time."""
    return run_virtually(lambda: _play(seed, steps))


async def _play(seed: int, steps: int) -> Outcome:
    chance = Chance(SeededRuntime(seed + 1_000_000).uniform)
    async with random_federation(seed, MEMBERS, lambda: {"tier": chance.one_of(TIERS)}) as federation:
        history = History(federation, chance, seed)
        await history.begin()
        for _ in range(steps):
            await history.step()
            if federation.judge.found:
                break
        else:
            await history.end()
        return Outcome(seed, tuple(federation.judge.found), tuple(history.story), f"{federation.digest:08x}")


class History:
    """The acts of a random world, and how it ends."""

    def __init__(self, federation: RandomFederation, chance: Chance, seed: int) -> None:
        self.story: list[str] = []
        self._federation = federation
        self._host = federation.host
        self._chance = chance
        self._seed = seed
        self._weather: asyncio.Task[None] | None = None
        self._probes = 0
        self._acts: tuple[Callable[[], Awaitable[str]], ...] = (
            self._write,
            self._write,
            self._write,
            self._edit,
            self._edit,
            self._choose,
            self._move,
            self._move,
            self._delete,
            self._relabel,
            self._relabel,
            self._drift,
            self._drift,
            self._add_theirs,
            self._squat,
            self._come_or_go,
            self._set_clock,
            self._probe,
            self._probe,
        )

    async def begin(self) -> None:
        """Have something there that is not Hanse's, and a first workload; then let the weather begin."""
        await self._host.create(NAMESPACES, namespace("shop"))
        for member in self._federation.members.values():
            await member.client.create(CONFIGMAPS, _bystander())
        for _ in range(3):
            await self._tell(self._write)
        settings = [member.settings for member in self._federation.members.values()]
        schedule = random_schedule(self._seed, settings, STEPS * _STEP_SECONDS[1] * 0.6, count=5)
        self._weather = asyncio.create_task(self._play_weather(steps_of(schedule)))
        await self._federation.runtime.sleep(self._chance.between(0.0, 8.0))

    async def step(self) -> None:
        """Do one thing, perhaps with a control plane that dies over it, and let some time pass."""
        if self._chance.happens(0.3):
            requests = self._chance.count(1, 12)
            after = self._chance.happens(0.5)
            self._federation.doom(requests, after=after)
            self._say(f"the control plane dies {'after' if after else 'before'} its request {requests} from now")
        await self._tell(self._chance.one_of(self._acts))
        await self._federation.runtime.sleep(self._chance.between(*_STEP_SECONDS))
        if not self._federation.alive:
            self._say("the control plane starts anew")
            await self._federation.revive()

    async def end(self) -> None:
        """Let everything be well, and judge what becomes of it."""
        if self._weather is not None:
            await self._weather
        await self._federation.revive()
        self._federation.doom(1 << 60, after=False)
        self._say("from now on everything is well")
        left = await self._settle()
        for sentence in left:
            self._federation.judge.blame(f"crash and converge: {sentence}")
        if left:
            return
        await self._federation.runtime.sleep(_CALM_SECONDS)
        self._federation.judge.writes.clear()
        await self._federation.runtime.sleep(_QUIET_SECONDS)
        for sentence in problems(self._federation.judge.truth):
            self._federation.judge.blame(f"crash and converge: {sentence} after all")
        for write in self._federation.judge.writes[:3]:
            self._federation.judge.blame(f"steady is silent: {write}")
        self._check_bystanders()

    async def _settle(self) -> list[str]:
        runtime, begin = self._federation.runtime, self._federation.runtime.monotonic()
        while left := problems(self._federation.judge.truth):
            if runtime.monotonic() - begin > _SETTLE_SECONDS or not self._federation.alive:
                return left
            await runtime.sleep(2.0)
        return []

    def _check_bystanders(self) -> None:
        for name in MEMBERS:
            held = self._federation.judge.truth.objects[name].get(("core/configmaps", "default/bystander"))
            if held is None or held["data"] != _bystander()["data"]:
                self._federation.judge.blame(f"nothing of others: {name}: the bystander is not what it was")

    async def _play_weather(self, steps: Sequence[Step]) -> None:
        begin = self._federation.runtime.monotonic()
        for step in steps:
            await self._federation.runtime.sleep(max(0.0, begin + step.at - self._federation.runtime.monotonic()))
            self._federation.set_faults(step.cluster, step.faults)
            self._say(f"{step.cluster}: faults: {'; '.join(map(str, step.faults)) or 'none'}")
            if any(fault.kind in _SILENCING for fault in step.faults):
                await self._tell(self._probe)

    async def _tell(self, act: Callable[[], Awaitable[str]]) -> None:
        try:
            self._say(await act())
        except (NotFound, AlreadyExists, Conflict, NothingThereError) as error:
            self._say(f"came too late: {error}")

    def _say(self, sentence: str) -> None:
        self.story.append(f"{self._federation.runtime.monotonic():8.3f} {sentence}")

    # What people do on the federation

    async def _write(self) -> str:
        kind = self._chance.one_of(_CHOICES)
        obj = make_up(self._chance, kind, f"one-{self._chance.count(0, 2)}", self._chance.one_of(("default", "shop")))
        await self._host.create(kind.resource, obj)
        return f"created {kind.resource.kind} {key_of(obj)} {obj['metadata'].get('annotations')}"

    async def _edit(self) -> str:
        return await self._edit_source(*self._some_source())

    async def _edit_source(self, kind: Kind, source: Obj) -> str:
        fresh = make_up(self._chance, kind, source["metadata"]["name"], source["metadata"]["namespace"])
        live = await self._host.get(kind.resource, source["metadata"]["name"], source["metadata"]["namespace"])
        body: Obj = {name: fresh[name] for name in ("data", "spec") if name in fresh}
        if kind.resource == DEPLOYMENTS and self._chance.happens(0.5):
            body["spec"]["replicas"] = live["spec"]["replicas"]
        labels = {"labels": fresh["metadata"]["labels"]}
        await self._host.update(kind.resource, {**live, **body, "metadata": {**live["metadata"], **labels}})
        return f"changed {kind.resource.kind} {key_of(source)}: {body}"

    async def _choose(self) -> str:
        return await self._choose_for(*self._some_source())

    async def _move(self) -> str:
        return await self._choose_for(*self._some_source(DEPLOYMENTS))

    async def _choose_for(self, kind: Kind, source: Obj) -> str:
        text = None if self._chance.happens(0.3) else selector(self._chance)
        patch = {"metadata": {"annotations": {CLUSTER_SELECTOR_ANNOTATION: text}}}
        await self._host.patch(kind.resource, source["metadata"]["name"], patch, source["metadata"]["namespace"])
        return f"chose {text} for {kind.resource.kind} {key_of(source)}"

    async def _delete(self) -> str:
        kind, source = self._some_source()
        await self._host.delete(kind.resource, source["metadata"]["name"], source["metadata"]["namespace"])
        return f"deleted {kind.resource.kind} {key_of(source)}"

    async def _relabel(self) -> str:
        name, tier = self._some_cluster(), self._chance.one_of(TIERS)
        await self._host.patch(CLUSTERS, name, {"metadata": {"labels": {"tier": tier}}})
        return f"labelled cluster {name} {tier}"

    async def _come_or_go(self) -> str:
        clusters = self._federation.judge.truth.clusters
        for name in (*MEMBERS, _LATECOMER):
            if name not in clusters and (name != _LATECOMER or self._chance.happens(0.7)):
                await self._federation.join(name, {"tier": self._chance.one_of(TIERS)})
                return f"{name} joined"
        if len(clusters) <= len(MEMBERS) - 1:
            return "nobody may leave"
        name = self._some_cluster()
        await self._federation.leave(name)
        return f"{name} left"

    async def _set_clock(self) -> str:
        self._federation.clock.skew = round(self._chance.between(-300.0, 300.0))
        return f"the federation's clock is set to {self._federation.clock.skew:+} s"

    async def _probe(self) -> str:
        """Write something small, and see that no healthy member waits for a broken one."""
        self._probes += 1
        federation, truth = self._federation, self._federation.judge.truth
        name, path = f"probe-{self._probes}", f"default/probe-{self._probes}"
        healthy = [one for one in truth.clusters if self._is_healthy(one)]
        lives = federation.alive and federation.runtime.monotonic() - federation.started_at > _AWAKE_SECONDS
        await self._host.create(
            CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
        )
        await federation.runtime.sleep(_PROMPT_SECONDS)
        for one in healthy:
            there = ("core/configmaps", path) in truth.objects[one]
            if lives and federation.alive and self._is_healthy(one) and not there:
                federation.judge.blame(f"isolation: {one} is well and had no {name} after {_PROMPT_SECONDS:g} s")
        return f"wrote {name}; {', '.join(healthy) or 'nobody'} should have had it at once"

    def _is_healthy(self, name: str) -> bool:
        truth, now = self._federation.judge.truth, self._federation.runtime.monotonic()
        if name not in truth.clusters or now - truth.joined_at[name] < LAG_SECONDS:
            return False
        weather = truth.weather.get(name)
        return weather is None or (not weather.broken and now - weather.calm_since > 2 * LAG_SECONDS)

    # What people do in a member

    async def _drift(self) -> str:
        name, kind, copy = self._some_copy()
        client, key = self._federation.members[name].client, key_of(copy)
        if self._chance.happens(0.3):
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

    async def _add_theirs(self) -> str:
        name, kind, copy = self._some_copy()
        key = key_of(copy)
        patch: Obj = {"metadata": {"annotations": {f"{THEIRS}/mark": "yes"}}}
        if kind.resource == CONFIGMAPS:
            patch["data"] = {f"{THEIRS}-key": "yes"}
        await self._federation.members[name].client.patch(kind.resource, key.name, patch, key.namespace)
        self._say(f"{name}: added something to the copy of {kind.resource.kind} {key}")
        await self._federation.runtime.sleep(1.0)
        # It shall survive what the federation does next to the copy.
        return await self._edit_source(kind, self._federation.judge.truth.sources[owner_of(copy)])

    async def _squat(self) -> str:
        """Take a name in a member before the federation does."""
        name = self._chance.one_of(tuple(self._federation.members))
        obj = make_up(self._chance, KINDS[0], f"one-{self._chance.count(0, 2)}", "default")
        obj["metadata"].pop("annotations")
        await self._federation.members[name].client.create(CONFIGMAPS, obj)
        return f"{name}: somebody made ConfigMap {key_of(obj)}"

    # What there is to choose from

    def _some_source(self, resource: Resource | None = None) -> tuple[Kind, Obj]:
        truth = self._federation.judge.truth
        found = [
            (kind, obj)
            for kind in KINDS
            if resource in (None, kind.resource)
            for (bucket, path), obj in truth.objects["federation"].items()
            if bucket == _bucket(kind) and "/one-" in path and "deletionTimestamp" not in obj["metadata"]
        ]
        return self._one_of(found)

    def _some_copy(self) -> tuple[str, Kind, Obj]:
        truth = self._federation.judge.truth
        found = [
            (name, kind, obj)
            for name in self._federation.members
            for kind in KINDS
            for (bucket, path), obj in truth.objects[name].items()
            if bucket == _bucket(kind) and "/one-" in path and owner_of(obj)
        ]
        return self._one_of(found)

    def _some_cluster(self) -> str:
        return self._one_of(list(self._federation.judge.truth.clusters))

    def _one_of(self, found: Sequence[T]) -> T:
        if not found:
            raise NothingThereError("there is nothing of that sort")
        return self._chance.one_of(found)


def _bucket(kind: Kind) -> str:
    return bucket_of(kind.resource.group, kind.resource.plural)


def _bystander() -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "bystander", "namespace": "default"},
        "data": {"whose": "not Hanse's"},
    }
