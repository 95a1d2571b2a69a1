"""When a release that somebody deleted may go: not before those that stay can do without it. Pure.

Going back is as safe as going forward: the release that takes its place (its heir) gets its capacity back, then its
traffic, in every cluster that can be reached, while the other still serves. Without an heir, a release that a newer one
replaces is kept until clients are led to that one. Nothing is held up for what has nothing or for what nobody takes the
place of. Who aborts does not wait for clusters that do not answer; who only wrote a newer version has deleted nothing,
and a cluster that is away and that the replaced release serves is waited for. A person may always take the finalizer
away.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hanse.rollouts.execution import Patch, ReleaseView, TargetView


@dataclass(frozen=True, slots=True)
class Farewell:
    """Whether a release may go; until then, what its heir is given and what is waited for."""

    goes: bool = False
    patches: tuple[Patch, ...] = ()
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class _Share:
    """A percentage of capacity and a weight of traffic."""

    capacity: int = 0
    traffic: int = 0


GOES = Farewell(goes=True)


def farewell(
    leaving: ReleaseView,
    *,
    head: ReleaseView | None,
    heir: ReleaseView | None,
    reachable: Collection[str],
    frozen: bool = False,
    replaced: bool = False,
) -> Farewell:
    """Decide about a release that is being deleted.

    `head` is the newest release that stays; `heir` the newest complete one, which may be the head itself where the
    deleted release is newer than that. A heir that is `frozen` is given nothing, and only waited for. A release that
    is `replaced` is older than the head, and was most likely not deleted by anybody: it stays where it alone may serve.
    """
    if head is None or not has_anything(leaving):
        return GOES
    if heir is None or not heir.complete or not heir.strategy.steps:
        return _until_led(leaving, head, reachable) if replaced else GOES
    full = _own(head) if heir.key == head.key else _full(heir)
    heeded = {*reachable, *_led(leaving)} if replaced else reachable
    lacking = [name for name in heir.clusters if name in heeded and not _has(heir, name, full)]
    stranded = not any(name in reachable for name in heir.clusters)
    serves = any(name in reachable for name in leaving.clusters)
    if not lacking and not (stranded and serves):
        return GOES
    if heir.key != head.key and _stands(head):
        return GOES
    told = f"it goes once release {heir.key.name} has its capacity and traffic back in"
    wanted = full if heir.key == head.key else _left_over(head)
    where = ", ".join(lacking or heir.clusters)
    if frozen:
        return Farewell(waits_for=f"{told} {where}; that is paused or blocked")
    return Farewell(patches=_raised(heir, wanted, reachable), waits_for=f"{told} {where}")


def _until_led(leaving: ReleaseView, head: ReleaseView, reachable: Collection[str]) -> Farewell:
    """Keep a release that serves until the newest one does, wherever both are or else wherever that one is."""
    serves = _led(leaving)
    where = [name for name in serves if name in head.clusters] or head.clusters
    led = _Share(1, 1)
    lacking = [name for name in where if name not in reachable or not _has(head, name, led)]
    if not serves or (where and not lacking):
        return GOES
    told = f"it goes once release {head.key.name} has traffic"
    return Farewell(waits_for=f"{told} in {', '.join(lacking)}" if lacking else told)


def _led(release: ReleaseView) -> list[str]:
    """Return the clusters in which a release is to have traffic, those among them that are away."""
    weights = {} if release.traffic is None else release.traffic.wanted
    return [name for name, weight in weights.items() if weight]


def has_anything(release: ReleaseView) -> bool:
    """Tell whether a release has capacity or traffic in any cluster."""
    targets = (release.capacity, release.traffic)
    return any(value for target in targets if target is not None for value in target.wanted.values())


def _full(release: ReleaseView) -> _Share:
    """Return what a release has whose rollout is complete."""
    last = release.strategy.steps[-1]
    return _Share(last.capacity.contender, last.traffic.contender)


def _own(head: ReleaseView) -> _Share:
    """Return what the present step of the newest release gives to itself: the executor brings it there, no further."""
    if head.target_step >= len(head.strategy.steps):
        return _full(head)
    step = head.strategy.steps[head.target_step]
    return _Share(step.capacity.contender, step.traffic.contender)


def _left_over(head: ReleaseView) -> _Share:
    """Return what the present step of the newest release leaves to the one before it."""
    if head.target_step >= len(head.strategy.steps):
        return _Share()
    step = head.strategy.steps[head.target_step]
    return _Share(step.capacity.incumbent, step.traffic.incumbent)


def _stands(head: ReleaseView) -> bool:
    """Tell whether the newest release is at its step, so that everybody has what its strategy says."""
    achieved = head.achieved is not None and head.achieved.step == head.target_step
    return achieved and not any(entry.get("status") == "False" for entry in head.conditions)


def _has(release: ReleaseView, cluster: str, share: _Share) -> bool:
    has_capacity = _is_at(release.capacity, cluster, share.capacity)
    return has_capacity and _is_at(release.traffic, cluster, share.traffic)


def _is_at(target: TargetView | None, cluster: str, number: int) -> bool:
    if target is None or not target.current:
        return False
    return target.wanted.get(cluster, 0) >= number and target.ready.get(cluster, False)


def _raised(heir: ReleaseView, share: _Share, reachable: Collection[str]) -> tuple[Patch, ...]:
    """Give a release capacity everywhere, and traffic wherever the capacity is there; never take anything."""
    if heir.capacity is None or heir.traffic is None:
        return ()
    capacity = {name: max(value, share.capacity) for name, value in heir.capacity.wanted.items()}
    if capacity != heir.capacity.wanted:
        return (Patch(heir.key, "capacity", capacity),)
    ready = [name for name in heir.traffic.wanted if name in reachable and _is_at(heir.capacity, name, share.capacity)]
    traffic = {
        name: max(value, share.traffic) if name in ready else value for name, value in heir.traffic.wanted.items()
    }
    return () if traffic == heir.traffic.wanted else (Patch(heir.key, "traffic", traffic),)
