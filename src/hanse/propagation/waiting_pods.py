"""What clusters turned out to hold: the pods of federated workloads for which no node has had room for a minute.

Pods are followed only in clusters where a workload has lacked replicas for a while, only those that are pending, and of
these only what matters is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hanse.clusters.member import Member, PullMember
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.controller import Controller
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, dig, is_deleting, labels_of
from hanse.kube.resources import PODS
from hanse.kube.runtime import Runtime
from hanse.kube.selectors import LabelSelector
from hanse.placement.ask import Duplicated
from hanse.placement.unschedulable import PodView, estimate_capacity
from hanse.propagation.candidates import seconds_of
from hanse.propagation.intent import Intent, Ref
from hanse.propagation.planning import Observation
from hanse.propagation.rendering import owns

PENDING = "status.phase=Pending"
# A rollout that goes well is over by then in most clusters, and nobody needs to look at its pods.
_LACKING_SECONDS = 20.0
# What was taken from a full cluster is ready elsewhere by then; until then it must not go back.
_REMEMBERED_SECONDS = 60.0
_SINCE = "unschedulableSince"


def looks_at_room(intent: Intent) -> bool:
    """Tell whether replicas go elsewhere when a cluster cannot hold them.

    Groups and spreads choose whole clusters, and would choose a full one again as soon as nothing waits in it. What
    must not run twice is not begun elsewhere while it may still be begun where it is.
    """
    placement = intent.placement
    divided = intent.replicas is not None and intent.parts is None and not isinstance(placement.division, Duplicated)
    return divided and not (placement.groups or placement.spread or placement.at_most_once)


def selector_of(intent: Intent) -> LabelSelector | None:
    """Return what selects the pods of a workload, None for a kind of which that is not known."""
    selector = dig(intent.template, "spec", "selector")
    if not isinstance(selector, dict) or not selector:
        return None
    if selector.keys() & {"matchLabels", "matchExpressions"}:
        return LabelSelector.from_object(selector)
    plain = all(isinstance(value, str) for value in selector.values())
    return LabelSelector.from_labels(selector) if plain else None


def lacks_replicas(intent: Intent, copy: Obj | None) -> bool:
    """Tell whether a copy has fewer replicas ready than it was asked for."""
    if copy is None or not owns(intent, copy):
        return False
    return intent.scale.ready_in(copy) < intent.scale.asked(copy)


def pending_view(pod: Obj) -> PodView:
    """Return what matters of a pending pod."""
    told = find_condition(dig(pod, "status", "conditions"), "PodScheduled") or {}
    given_up = told.get("status") == "False" and told.get("reason") == "Unschedulable" and not is_deleting(pod)
    return PodView(unschedulable_since=seconds_of(told.get("lastTransitionTime", "")) if given_up else None)


def room_for(intent: Intent, copy: Obj, pods: list[PodView], now: float) -> tuple[int | None, float | None]:
    """Return how many replicas of a workload a cluster can hold (None: no limit is known), and when to look again."""
    estimate = estimate_capacity(intent.scale.asked(copy), pods, now)
    if estimate.capacity is None:
        return None, estimate.look_again_at
    # A pod beyond what was asked for, as rollouts make them, takes nothing from those that run.
    return max(estimate.capacity, intent.scale.ready_in(copy)), estimate.look_again_at


async def look_for_room(client: Client, intent: Intent, copy: Obj | None, now: float) -> int | None:
    """Ask a cluster once how many replicas of a workload it can hold; None where no limit is known or told."""
    selector = selector_of(intent)
    if copy is None or selector is None or not looks_at_room(intent) or not lacks_replicas(intent, copy):
        return None
    try:
        listed = await client.list(PODS, namespace=intent.key.namespace, labels=str(selector), fields=PENDING)
    except ApiError:
        return None
    return room_for(intent, copy, [pending_view(pod) for pod in listed.items], now)[0]


@dataclass(slots=True)
class _Post:
    """What is known in one cluster: who lacks replicas and since when, and the pods that wait for a node."""

    lacking: dict[Ref, float] = field(default_factory=dict)
    needed: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    pods: dict[str, dict[str, Obj]] = field(default_factory=dict)
    known: bool = False
    # How many replicas of a workload were found to fit, and until when that counts.
    found: dict[Ref, tuple[int, float]] = field(default_factory=dict)

    def recall(self, ref: Ref, now: float) -> int | None:
        """Return what was found lately."""
        room, until = self.found.get(ref, (0, 0.0))
        if now < until:
            return room
        self.found.pop(ref, None)
        return None


class WaitingPods:
    """Estimates what clusters can hold; `changed` hears of a workload whose estimate may be another."""

    def __init__(self, runtime: Runtime, changed: Callable[[Ref], None]) -> None:
        self._runtime = runtime
        self._changed = changed
        self._posts: dict[str, _Post] = {}
        self._noted: set[Ref] = set()
        self._later: Controller[tuple[str, Ref]] = Controller("waiting pods", self._due, runtime, workers=1)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._later.run()

    async def serve(self, member: Member | PullMember) -> None:
        """Follow a member's pending pods whenever that is worth it."""
        post = self._posts[member.name] = _Post()
        try:
            while True:
                await post.needed.wait()
                if isinstance(member, Member) and post.lacking:
                    await self._follow(member, post)
                post.needed.clear()
        finally:
            if self._posts.get(member.name) is post:
                del self._posts[member.name]

    async def _follow(self, member: Member, post: _Post) -> None:
        cache = Cache(member.client, PODS, fields=PENDING, project=_projected)
        cache.subscribe(lambda change: self._pod_changed(post, change))
        cache.on_connected(lambda following: self._follows(post, following))
        post.done.clear()
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(cache.run())
            await post.done.wait()
            following.cancel()
        post.known = False
        post.pods.clear()

    def estimates(self, ref: Ref, intent: Intent, observed: Mapping[str, Observation]) -> dict[str, int]:
        """Return how many replicas clusters have turned out to hold, those of which that can be said."""
        if not looks_at_room(intent):
            self.forget(ref)
            return {}
        found = {}
        for name, observation in observed.items():
            post, copy = self._posts.get(name), observation.copy
            if post is None:
                continue
            room = None
            if copy is None or not observation.seen or not lacks_replicas(intent, copy):
                self._has_enough(post, ref)
            elif selector := selector_of(intent):
                self._lacks(name, post, ref)
                room = self._room(name, post, ref, intent, selector, copy)
            room = self._lately(post, ref, room)
            if room is not None and copy is not None:
                found[name] = max(room, intent.scale.ready_in(copy))
        return found

    def _lately(self, post: _Post, ref: Ref, room: int | None) -> int | None:
        """Remember what was found, or recall it."""
        now = self._runtime.monotonic()
        if room is None:
            return post.recall(ref, now)
        post.found[ref] = (room, now + _REMEMBERED_SECONDS)
        return room

    def _room(self, name: str, post: _Post, ref: Ref, intent: Intent, selector: LabelSelector, copy: Obj) -> int | None:
        if not post.known:
            return None
        pods = post.pods.get(ref.key.namespace, {}).values()
        waiting = [PodView(unschedulable_since=pod[_SINCE]) for pod in pods if selector.matches(labels_of(pod))]
        now = self._runtime.now()
        room, again = room_for(intent, copy, waiting, now)
        if again is not None:
            # A moment later than to the letter: it is asked for more than a minute.
            self._later.queue.add_after((name, ref), again - now + 1.0)
        return room

    def forget(self, ref: Ref) -> None:
        """Forget a workload that is gone, or that looks at room no longer."""
        if ref in self._noted:
            self._noted.discard(ref)
            for post in self._posts.values():
                self._has_enough(post, ref)
                post.found.pop(ref, None)

    def _lacks(self, name: str, post: _Post, ref: Ref) -> None:
        if ref not in post.lacking:
            self._noted.add(ref)
            post.lacking[ref] = self._runtime.monotonic()
            self._later.queue.add_after((name, ref), _LACKING_SECONDS)

    def _has_enough(self, post: _Post, ref: Ref) -> None:
        if post.lacking.pop(ref, None) is not None and not post.lacking:
            post.done.set()

    async def _due(self, key: tuple[str, Ref]) -> float | None:
        name, ref = key
        post = self._posts.get(name)
        since = post.lacking.get(ref) if post is not None else None
        if post is None or since is None:
            return None
        if not post.known and (left := since + _LACKING_SECONDS - self._runtime.monotonic()) > 0:
            return left
        post.needed.set()
        if post.known:
            self._changed(ref)
        return None

    def _follows(self, post: _Post, following: bool) -> None:
        post.known = following
        for ref in list(post.lacking):
            self._changed(ref)

    def _pod_changed(self, post: _Post, change: Change) -> None:
        pod, (namespace, name) = change.new, change.key
        pods = post.pods.setdefault(namespace, {})
        before = pods.pop(name, None)
        if pod is not None and pod[_SINCE] is not None:
            pods[name] = pod
        if not pods:
            del post.pods[namespace]
        if post.known and (before or {}).get(_SINCE) != (pod or {}).get(_SINCE):
            for ref in [ref for ref in post.lacking if ref.key.namespace == namespace]:
                self._changed(ref)


def _projected(pod: Obj) -> Obj:
    metadata = pod["metadata"]
    kept = {name: metadata[name] for name in ("name", "namespace", "resourceVersion", "labels") if name in metadata}
    return {"metadata": kept, _SINCE: pending_view(pod).unschedulable_since}
