"""The arithmetic of a Deployment's rollout: how large each of its ReplicaSets may be at this moment.

The rules are upstream's: never more pods than replicas + maxSurge, never fewer available than replicas −
maxUnavailable; a scaling in the middle of a rollout is shared in proportion. All functions are pure; a step is the
mapping from ReplicaSet names to the sizes that they shall have next.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hanse.kube.manifest import Obj, dig
from hanse.simulator.workloads.replicas import wanted_replicas

Sizes = dict[str, int]

_PERCENT = re.compile(r"([0-9]+)%")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a rollout may leave the wanted number of replicas."""

    replicas: int
    surge: int
    unavailable: int

    @property
    def most(self) -> int:
        """How many pods there may be at once."""
        return self.replicas + self.surge

    @property
    def least_available(self) -> int:
        """How many pods must stay available."""
        return self.replicas - self.unavailable


@dataclass(frozen=True, slots=True)
class Generation:
    """One ReplicaSet of a Deployment, as far as the rollout cares."""

    name: str
    replicas: int
    actual: int = 0
    available: int = 0
    created: str = ""
    # What the Deployment asked for, and allowed at most, when this ReplicaSet was last sized; None where not noted.
    desired_then: int | None = None
    most_then: int | None = None


def share_of(value: Any, total: int, *, up: bool) -> int:
    """Resolve a number or a percentage of `total`, rounded up or down; raises ValueError on anything else."""
    if isinstance(value, int):
        return value
    match = _PERCENT.fullmatch(str(value))
    if match is None:
        raise ValueError(f'invalid value for IntOrString: invalid type: string is not a percentage: "{value}"')
    share = int(match.group(1)) * total / 100
    return math.ceil(share) if up else math.floor(share)


def bounds_of(deployment: Obj) -> Bounds:
    """Return a Deployment's bounds; surge is rounded up, unavailability down, and both zero means one unavailable."""
    replicas = wanted_replicas(deployment)
    strategy: Obj = dig(deployment, "spec", "strategy", default={})
    if strategy.get("type") == "Recreate":
        return Bounds(replicas, 0, 0)
    rolling = strategy.get("rollingUpdate") or {}
    surge = share_of(rolling.get("maxSurge", "25%"), replicas, up=True)
    unavailable = share_of(rolling.get("maxUnavailable", "25%"), replicas, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return Bounds(replicas, surge, min(unavailable, replicas))


def first_size(bounds: Bounds, others: Iterable[Generation], *, recreate: bool) -> int:
    """Return the size with which a new ReplicaSet is born."""
    if recreate:
        return bounds.replicas
    room = bounds.most - sum(other.replicas for other in others)
    return max(0, min(room, bounds.replicas))


def recreate_step(bounds: Bounds, new: Generation | None, old: Sequence[Generation], *, old_running: bool) -> Sizes:
    """Take everything old away first; only when it is gone may the new be started."""
    if shrinking := {other.name: 0 for other in old if other.replicas}:
        return shrinking
    if new is None or old_running or new.replicas == bounds.replicas:
        return {}
    return {new.name: bounds.replicas}


def rolling_step(bounds: Bounds, new: Generation, old: Sequence[Generation]) -> Sizes:
    """Grow the new ReplicaSet as far as the surge allows, else shrink old ones as far as availability allows."""
    if new.replicas > bounds.replicas:
        return {new.name: bounds.replicas}
    grown = new.replicas + first_size(bounds, (new, *old), recreate=False)
    if (size := min(grown, bounds.replicas)) > new.replicas:
        return {new.name: size}
    return _shrink_old(bounds, new, old)


def _shrink_old(bounds: Bounds, new: Generation, old: Sequence[Generation]) -> Sizes:
    sizes = {other.name: other.replicas for other in old if other.replicas}
    total = new.replicas + sum(sizes.values())
    # Pods of the new ReplicaSet that are not available yet must not be paid for by available old ones.
    room = total - bounds.least_available - (new.replicas - new.available)
    if not sizes or room <= 0:
        return {}
    oldest_first = sorted((other for other in old if other.replicas), key=lambda other: (other.created, other.name))
    before = dict(sizes)
    for other in oldest_first:
        unhealthy = max(0, min(room, other.replicas - other.available))
        sizes[other.name] -= unhealthy
        room -= unhealthy
    # A status may lag behind a size just lowered: what is on its way out does not count as available.
    lasting = min(new.available, new.replicas) + sum(min(other.available, sizes[other.name]) for other in oldest_first)
    spare = lasting - bounds.least_available
    for other in oldest_first:
        taken = max(0, min(spare, sizes[other.name]))
        sizes[other.name] -= taken
        spare -= taken
    return {name: size for name, size in sizes.items() if size != before[name]}


def is_scaling(bounds: Bounds, generations: Iterable[Generation]) -> bool:
    """Tell whether the wanted number changed since the ReplicaSets were last sized."""
    return any(
        generation.replicas and generation.desired_then is not None and generation.desired_then != bounds.replicas
        for generation in generations
    )


def scaling_step(bounds: Bounds, new: Generation | None, old: Sequence[Generation], *, rolling: bool) -> Sizes:
    """Give every ReplicaSet its share of a changed number of replicas; also those whose size stays the same."""
    everything = [*old, new] if new is not None else list(old)
    active = [generation for generation in everything if generation.replicas]
    if len(active) < 2:
        newest = active[0] if active else new or max(old, key=lambda other: (other.created, other.name), default=None)
        return {newest.name: bounds.replicas} if newest is not None else {}
    if new is not None and _is_saturated(new, bounds):
        return {other.name: 0 for other in old if other.replicas}
    return _proportional(bounds, active) if rolling else {}


def _is_saturated(new: Generation, bounds: Bounds) -> bool:
    return new.replicas == new.available == new.desired_then == bounds.replicas


def _proportional(bounds: Bounds, active: list[Generation]) -> Sizes:
    allowed = bounds.most if bounds.replicas else 0
    change = allowed - sum(generation.replicas for generation in active)
    if change == 0:
        return {generation.name: generation.replicas for generation in active}
    # The largest is served first; of equals the newest when growing, the oldest when shrinking.
    ordered = sorted(active, key=lambda generation: (generation.created, generation.name), reverse=change > 0)
    ordered.sort(key=lambda generation: -generation.replicas)
    sizes: Sizes = {}
    given = 0
    for generation in ordered:
        left = change - given
        fraction = _fraction(bounds, generation)
        share = min(fraction, left) if change > 0 else max(fraction, left)
        sizes[generation.name] = generation.replicas + share
        given += share
    largest = ordered[0].name
    sizes[largest] = max(0, sizes[largest] + change - given)
    return sizes


def _fraction(bounds: Bounds, generation: Generation) -> int:
    """Return by how much a ReplicaSet would change if it kept its part of the whole."""
    if bounds.replicas == 0:
        return -generation.replicas
    most_then = generation.most_then or generation.actual
    if not most_then:
        return 0
    # Halves are rounded away from zero.
    return math.floor(generation.replicas * bounds.most / most_then + 0.5) - generation.replicas
