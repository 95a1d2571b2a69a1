"""Keeps the status of every InstallationTarget, CapacityTarget and TrafficTarget as the clusters show it.

What is told of installation and capacity is one key a release; of traffic one key an application, since the weights of
all its releases divide its pods. Nothing here waits for a member: labels are moved by a side of each member's own
(`member_traffic`), and a status is written from what is known by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hanse.api.pieces import PIECES
from hanse.api.shipper.kinds import APP_LABEL, RELEASE_LABEL
from hanse.clusters.member import Member, PullMember
from hanse.clusters.registry import Registry
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, dig, is_deleting, key_of, labels_of, namespace_of, version_of
from hanse.kube.runtime import timestamp
from hanse.propagation.intent import Ref
from hanse.propagation.viewing import View
from hanse.rollouts.shelf import Shelf
from hanse.rollouts.targets.member_traffic import MemberTraffic
from hanse.rollouts.targets.observing import Observer
from hanse.rollouts.targets.pacing import Pace
from hanse.rollouts.targets.statuses import Told, is_urgent, target_status
from hanse.rollouts.targets.weights import WeightProblem, Weights
from hanse.rollouts.weights.mixtures import Mixtures

# What happens in members together is looked at together.
_GATHER_SECONDS = 0.1
# A member that does not answer for less than this was not away.
_ABSENT_SECONDS = 2.0
# How soon what is not known yet is looked at again, where nobody tells.
_LOOK_SECONDS = 0.5
# So long it may take until every member is served.
_BEGINNING_SECONDS = 3.0


class TargetController:
    """Tells what clusters show of releases, and has their pods labelled for traffic."""

    def __init__(self, host: Client, shelf: Shelf, registry: Registry, view: View) -> None:
        self._host = host
        self._shelf = shelf
        self._registry = registry
        self._pace = Pace()
        self._sides: dict[str, MemberTraffic] = {}
        self._mixtures = Mixtures(host, shelf.releases, self._traffic_changed)
        self._observer = Observer(shelf, registry, view, self._sides, self._begins, self._mixtures)
        self._weights = Weights(shelf.traffics)
        # Set once anything has traffic: before that no member is asked for its pods.
        self._wanted = asyncio.Event()
        self._begun = 0.0
        self._releases: Controller[Key] = Controller("installation and capacity", self._tell_release, host.runtime)
        self._applications: Controller[Key] = Controller("traffic", self._tell_traffic, host.runtime)
        registry.attach(self._serve)
        registry.subscribe(lambda _cluster: self._look_at_everything(0.0))
        view.follow(PIECES, self._standing_changed)

    async def run(self) -> None:
        """Work until cancelled; the shelf is run by whoever shares it."""
        await self._registry.wait_synced()
        await self._shelf.wait_synced()
        self._weights.follow(self._weights_changed)
        self._shelf.pieces.subscribe(self._piece_changed)
        self._shelf.installations.subscribe(self._installation_changed)
        self._shelf.capacities.subscribe(self._capacity_changed)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._mixtures.run())
            tasks.create_task(self._releases.run())
            tasks.create_task(self._applications.run())

    async def _serve(self, member: Member | PullMember) -> None:
        """Follow and label one member's pods while it is joined; one that fetches its work shows none."""
        if isinstance(member, PullMember):
            await asyncio.Event().wait()
            return
        await self._wanted.wait()
        weights, whole = self._weights.within, self._mixtures.concerns
        size = self._observer.size
        side = MemberTraffic(member, weights, size, self._pod_changed, self._traffic_changed, whole)
        self._sides[member.name] = side
        try:
            await side.run(lambda following: self._look_at_everything(0.0 if following else _ABSENT_SECONDS))
        finally:
            if self._sides.get(member.name) is side:
                del self._sides[member.name]

    def _begins(self) -> bool:
        return self._host.runtime.monotonic() - self._begun < _BEGINNING_SECONDS

    # What leads here

    def _standing_changed(self, piece: Ref) -> None:
        if self._shelf.pieces.synced and (obj := self._shelf.pieces.get(piece.key)) is not None:
            self._releases.queue.add_after(_release_of(obj), _GATHER_SECONDS)

    def _installation_changed(self, change: Change) -> None:
        self._releases.queue.add(change.key)
        self._owners_changed(change)

    def _capacity_changed(self, change: Change) -> None:
        self._releases.queue.add(change.key)
        old, new = change.old, change.new
        if dig(old, "spec", default={}) != dig(new, "spec", default={}):
            # How many pods a release shall have is also how many of them its traffic is for.
            labels = labels_of(new or old or {"metadata": {}})
            self._share_changed(Key(change.key.namespace, labels.get(APP_LABEL, "")))

    def _piece_changed(self, change: Change) -> None:
        for obj in (change.old, change.new):
            if obj is not None:
                self._releases.queue.add_after(_release_of(obj), _GATHER_SECONDS)
        self._owners_changed(change)

    def _owners_changed(self, change: Change) -> None:
        """Look at all releases of an application, one of which has come or gone: whose an object is may be another."""
        if change.old_bytes is None or change.new_bytes is None:
            labels = labels_of(change.new or change.old or {"metadata": {}})
            for release in self._shelf.releases_of(Key(change.key.namespace, labels.get(APP_LABEL, ""))):
                self._releases.queue.add_after(key_of(release), _GATHER_SECONDS)

    def _weights_changed(self, application: Key, moved: bool) -> None:
        if not self._wanted.is_set():
            self._begun = self._host.runtime.monotonic()
            self._wanted.set()
        if moved:
            self._share_changed(application)
        else:
            self._applications.queue.add(application)

    def _share_changed(self, application: Key) -> None:
        """Look at an application whose pods may have to be labelled otherwise."""
        self._applications.queue.add(application)
        for side in self._sides.values():
            side.enqueue(application)

    def _pod_changed(self, application: Key, release: str) -> None:
        self._releases.queue.add_after(Key(application.namespace, release), _GATHER_SECONDS)

    def _traffic_changed(self, application: Key) -> None:
        self._applications.queue.add_after(application, _GATHER_SECONDS)

    def _look_at_everything(self, seconds: float) -> None:
        if self._shelf.installations.synced and self._shelf.capacities.synced:
            for key in {*self._shelf.installations, *self._shelf.capacities}:
                self._releases.queue.add_after(key, seconds)
        for application in self._weights.applications():
            self._applications.queue.add_after(application, seconds)

    # The paragraphs: observe, decide, report

    async def _tell_release(self, release: Key) -> float | None:
        waits = []
        installation, capacity = self._shelf.installations.get(release), self._shelf.capacities.get(release)
        if installation is not None and not is_deleting(installation):
            told = self._observer.installation(installation)
            waits.append(await self._tell(self._shelf.installations, installation, told))
        if capacity is not None and not is_deleting(capacity):
            told = self._observer.capacity(capacity)
            generation = dig(capacity, "metadata", "generation", default=0)
            waits.append(await self._tell(self._shelf.capacities, capacity, told, generation=generation))
        return min((wait for wait in waits if wait is not None), default=None)

    async def _tell_traffic(self, application: Key) -> float | None:
        waits = []
        every = self._weights.targets(application)
        for target in every:
            if is_deleting(target):
                continue
            problem, told = "", None
            try:
                told = self._observer.traffic(target, every)
            except WeightProblem as error:
                problem, told = str(error), {}
            generation = dig(target, "metadata", "generation", default=0)
            waits.append(await self._tell(self._shelf.traffics, target, told, generation=generation, problem=problem))
        return min((wait for wait in waits if wait is not None), default=None)

    async def _tell(
        self,
        cache: Cache,
        target: Obj,
        told: Mapping[str, Told] | None,
        *,
        generation: int | None = None,
        problem: str = "",
    ) -> float | None:
        """Write a status where it is another; returns when to look again, None where somebody will tell."""
        if told is None:
            return _LOOK_SECONDS
        runtime, paced = self._host.runtime, (cache.resource, key_of(target))
        before: Obj = target.get("status") or {}
        now = timestamp(runtime.now())
        after = target_status(before, told, now, generation=generation, problem=problem)
        if after == before:
            self._pace.forget(paced)
            return None
        if wait := self._pace.wait(paced, runtime.monotonic(), urgent=is_urgent(before, after)):
            return wait
        # Not the whole object, which may hold a chart's values; but only while it is the one that was looked at.
        key, patch = key_of(target), {"metadata": {"resourceVersion": version_of(target)}, "status": after}
        try:
            written = await self._host.patch(cache.resource, key.name, patch, key.namespace, subresource="status")
        except NotFound:
            return None
        cache.remember(written)
        return None


def _release_of(piece: Obj) -> Key:
    return Key(namespace_of(piece), labels_of(piece).get(RELEASE_LABEL, ""))
