"""Rollouts by weights, watched by resolvers that keep every answer for as long as they may.

Whoever was told the address of a release finds pods of it there, at any moment until the answer is old, whatever people
change their minds to and whenever the control plane dies.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import orjson
import yaml

from hanse.api.federation import FEDERATIONS, federation_manifest
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.api.shipper.kinds import APPLICATIONS, RELEASE_LABEL
from hanse.apiserver.storage import Change
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, dig, is_deleting, labels_of, name_of
from hanse.kube.resources import CONFIGMAPS
from hanse.simulator.virtual_time import run_virtually
from tests.behaviour.rollouts import achieved
from tests.simulation.random_truth import bucket_of
from tests.simulation.rollouts.applications import Step, application, manifests, template_of
from tests.simulation.rollouts.crashing import Fate, Outcome, strategy_of
from tests.simulation.rollouts.traffic import TrafficWatch
from tests.simulation.rollouts.world import RolloutWorld, rollouts

TTL = 10
_ADDRESSES = bucket_of(SERVICE_ADDRESSES)
_SETTLE_SECONDS = 180.0

Place = tuple[str, str]


class ResolverWatch(TrafficWatch):
    """Knows at every moment to whom some resolver may lead clients, and holds clusters to it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self._now = clock
        self.led: set[Place] = set()
        self._last: dict[Place, float] = {}

    def note(self, cluster: str, change: Change) -> None:
        """Look at a change."""
        super().note(cluster, change)
        if cluster == "host" and change.bucket == _ADDRESSES and change.path.endswith("/web"):
            self._last |= dict.fromkeys(self.led, self._now())
            self.led = set() if change.deleted else set(_led(orjson.loads(change.value)))
        for place in sorted(self.led | {place for place, last in self._last.items() if self._now() - last <= TTL}):
            if not self._ready(*place):
                self.found.append(f"{self._now():.2f} s: resolvers may lead to {place}, where no pod is ready")

    def _ready(self, cluster: str, release: str) -> bool:
        return any(
            labels_of(pod).get(RELEASE_LABEL) == release
            and not is_deleting(pod)
            and is_true(dig(pod, "status", "conditions"), "Ready")
            for pod in self.cluster(cluster).pods.values()
        )


def _led(mixture: Obj) -> Iterator[Place]:
    for entry in mixture["spec"]["clusters"]:
        if entry["serving"]:
            yield entry["name"], entry["release"]


def packed_for_outside(version: str, replicas: int = 3, ttl: int = TTL) -> Obj:
    """Return the ConfigMap of a version whose Service has an address outside."""
    service, workload = manifests("web", f"web:{version}", replicas)
    service["spec"]["type"] = "LoadBalancer"
    service["metadata"]["annotations"] = {"hanse.dev/dns-ttl": str(ttl)}
    metadata = {"name": f"web-{version}", "namespace": "default"}
    data = {"all.yaml": yaml.safe_dump_all([service, workload])}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def by_weights(version: str, steps: list[Step], clusters: int = 1) -> Obj:
    """Return an application whose releases share clients by weights."""
    made = application(version, steps=steps, clusters=clusters)
    made["spec"]["template"]["strategy"]["trafficBy"] = "Weights"
    return made


def live_through_by_weights(seed: int) -> Outcome:
    """Play one rollout."""
    return run_virtually(lambda: _live_through(seed))


async def _live_through(seed: int) -> Outcome:
    chance = random.Random(seed)
    fate = Fate(chance, left=chance.randint(1, 4))
    steps = strategy_of(chance)
    last = len(steps) - 1
    async with rollouts("a", "b", seed=seed) as world:
        watch = world.traffic = ResolverWatch(world.runtime.monotonic)
        first = await _full_on(world, steps)
        fate.doom(world)
        await world.host.patch(APPLICATIONS, "web", template_of("v2"), "default")
        while len(found := await world.releases()) < 2:
            await _pass(world, fate, 0.5)
        second = name_of(found[-1])
        for _ in range(chance.randint(0, 3)):
            await world.go_to(second, chance.randint(0, last))
            await _pass(world, fate, chance.uniform(0.0, 2.0 * TTL))
        await world.go_to(second, last)
        return Outcome([*await _settle(world, fate, first, second), *watch.found], fate.deaths)


async def _pass(world: RolloutWorld, fate: Fate, seconds: float) -> None:
    """Let time pass, and have a control plane that died started anew."""
    end = world.runtime.monotonic() + seconds
    while (left := end - world.runtime.monotonic()) > 0:
        await world.runtime.sleep(min(left, 0.5))
        if world.life.dead:
            fate.deaths += 1
            await world.revive()
            fate.doom(world)


async def _full_on(world: RolloutWorld, steps: list[Step]) -> str:
    await world.host.create(FEDERATIONS, federation_manifest("fed", "example.com"))
    for version in ("v1", "v2"):
        await world.host.create(CONFIGMAPS, packed_for_outside(version))
    await world.host.create(APPLICATIONS, by_weights("v1", steps, clusters=2))
    release = await world.contender("web", 0)
    await world.go_to(release, len(steps) - 1)
    await achieved(world.people, release, len(steps) - 1, "full on")
    return release


async def _settle(world: RolloutWorld, fate: Fate, gone: str, serving: str) -> list[str]:
    watch, begin = world.traffic, world.runtime.monotonic()
    assert isinstance(watch, ResolverWatch)
    while watch.led != {("a", serving), ("b", serving)} or any(watch.cluster(name).pods_of(gone) for name in "ab"):
        if world.runtime.monotonic() - begin > _SETTLE_SECONDS:
            return [f"clients are led to {sorted(watch.led)}, and {gone} has pods yet"]
        await _pass(world, fate, 1.0)
    fate.left, world.life.ends_at = 0, None
    await _pass(world, fate, 2.0 * TTL)
    world.forget_writes()
    await _pass(world, fate, 2.0 * TTL)
    return [f"steady is silent: {writes[0]} on {name}" for name, writes in world.writes().items()]
