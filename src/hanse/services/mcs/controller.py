"""The controller of multi-cluster services: what clusters export, each of them imports.

Every cluster that takes part has a side of its own, with its own queue and retries: a slow one delays nobody. A side
looks at what all clusters show, decides what its own shall hold, and writes that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hanse.api.mcs import MCS_ANNOTATION, TAKES_NO_PART, TAKES_PART
from hanse.clusters.member import Member, PullMember
from hanse.clusters.registry import Registry
from hanse.kube.cache import Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import ApiError, Forbidden
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting
from hanse.kube.transport import Unreachable
from hanse.services.mcs.conditions import export_conditions
from hanse.services.mcs.exports import Refusal
from hanse.services.mcs.installing import install_mcs, serves_mcs
from hanse.services.mcs.observing import MemberView
from hanse.services.mcs.planning import View, conflicts_of, plan, unseen_sources
from hanse.services.mcs.writing import Writer

# How soon a cluster that does not serve the kinds yet is looked at again.
_AGAIN_SECONDS = 5.0


class Side:
    """One cluster's part in the services of all."""

    def __init__(
        self,
        member: Member,
        look: Callable[[Key], View],
        changed: Callable[[Key], None],
        seen: Callable[[], None],
    ) -> None:
        self.view = MemberView(member.name, member.client, changed, seen)
        self._look = look
        self._writer = Writer(member.client, self.view.remember)
        self._controller: Controller[Key] = Controller(
            f"multi-cluster services of {member.name}", self._reconcile, member.client.runtime, workers=4
        )

    def enqueue(self, key: Key) -> None:
        """Look at a service soon."""
        self._controller.queue.add(key)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.view.run())
            tasks.create_task(self._controller.run())

    async def _reconcile(self, key: Key) -> None:
        if not self.view.ready:
            return
        view, held = self._look(key), self.view.held(key)
        await self._writer.carry_out(key, plan(view, held), held)
        if self.view.known and (found := self.view.export(key)) is not None:
            export, meaning = found
            # What a cluster that cannot be seen exports would count too.
            if not (unseen_sources(view, held) and dig(export, "status", "conditions")):
                conflicts = () if isinstance(meaning, Refusal) else conflicts_of(view)
                generation = dig(export, "metadata", "generation", default=0)
                told = export_conditions(meaning, conflicts, view.in_the_way, generation)
                await self._writer.tell_export(export, told)


class MultiClusterServices:
    """Has every cluster that takes part import what the others export."""

    def __init__(self, host: Client, registry: Registry) -> None:
        self._registry = registry
        self._events = EventRecorder(host, "hanse")
        self._sides: dict[str, Side] = {}
        self._switches: dict[str, asyncio.Event] = {}
        # What each Cluster says of taking part.
        self._said: dict[str, str] = {}

    def attach(self) -> None:
        """Have the registry run this for its members."""
        self._registry.attach(self.serve)
        self._registry.subscribe(lambda _cluster: self._look_at_everything())
        self._registry.cache.subscribe(self._cluster_changed)

    async def serve(self, member: Member | PullMember) -> None:
        """Do a member's part for as long as it takes part."""
        switch = self._switches.setdefault(member.name, asyncio.Event())
        while True:
            switch.clear()
            said = self._said.get(member.name, "")
            if isinstance(member, Member) and said == TAKES_PART:
                await self._until(switch, self._take_part(member))
            elif isinstance(member, Member) and said == TAKES_NO_PART:
                await self._until(switch, self._clear(member))
            else:
                await switch.wait()

    async def _until(self, switch: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(work)
            await switch.wait()
            task.cancel()

    async def _take_part(self, member: Member) -> None:
        await self._prepare(member)
        side = Side(member, self.look, self._changed, self._look_at_everything)
        self._sides[member.name] = side
        try:
            await side.run()
        finally:
            if self._sides.get(member.name) is side:
                del self._sides[member.name]
            self._look_at_everything()

    async def _prepare(self, member: Member) -> None:
        """Have a member serve the kinds; where Hanse may not see to it, say so once and wait until somebody has."""
        refused = False
        while True:
            try:
                if await serves_mcs(member.client):
                    return
                if not refused:
                    await install_mcs(member.client)
                    return
            except Forbidden:
                if not refused:
                    await self._tell_refused(member.name)
                refused = True
            except (ApiError, Unreachable, TimeoutError):
                # It will be back, or the registry tells what is the matter with it.
                pass
            await member.client.runtime.sleep(_AGAIN_SECONDS)

    async def _clear(self, member: Member) -> None:
        """Take away what a member has imported, as soon as it answers."""
        while True:
            try:
                await Writer(member.client, lambda _written: None).clear()
            except (ApiError, Unreachable):
                await member.client.runtime.sleep(_AGAIN_SECONDS)
            else:
                return

    def look(self, key: Key) -> View:
        """Return what all clusters show of a service."""
        exports, slices, unknown = {}, {}, set()
        for name in self._taking_part():
            side = self._sides.get(name)
            if side is None or not side.view.known:
                unknown.add(name)
            elif (found := side.view.export(key)) is not None:
                exports[name] = found[1]
                slices[name] = side.view.sources(key)
        return View(
            key,
            exports,
            slices,
            unknown=frozenset(unknown),
            lost=frozenset(cluster.name for cluster in self._registry.clusters() if cluster.offline),
            in_the_way=tuple(name for name, side in sorted(self._sides.items()) if side.view.is_in_the_way(key)),
        )

    def _taking_part(self) -> list[str]:
        known = self._registry.clusters()
        return [each.name for each in known if self._said.get(each.name) == TAKES_PART and not each.pull]

    def _cluster_changed(self, change: Change) -> None:
        name, cluster = change.key.name, change.new
        before, said = self._said.pop(name, ""), _said_on(cluster) if cluster is not None else ""
        if said:
            self._said[name] = said
        if said != before:
            if (switch := self._switches.get(name)) is not None:
                switch.set()
            self._look_at_everything()

    def _changed(self, key: Key) -> None:
        """Look at a service in every cluster; without a name at all that are known of its namespace."""
        keys = [key] if key.name else [known for known in self._keys() if known.namespace == key.namespace]
        for side in self._sides.values():
            side.view.ask()
            for each in keys:
                side.enqueue(each)

    def _look_at_everything(self) -> None:
        for key in self._keys():
            self._changed(key)

    def _keys(self) -> set[Key]:
        return {key for side in self._sides.values() for key in side.view.keys}

    async def _tell_refused(self, cluster: str) -> None:
        obj = self._registry.cache.get(Key("", cluster))
        if obj is not None:
            why = (
                f"{cluster} takes no part in multi-cluster services: Hanse may not follow ServiceExports there, or not "
                f"define the kind; `hanse mcs enable {cluster} --kubeconfig FILE` sees to both"
            )
            await self._events.record(obj, "NoMultiClusterServices", why, warning=True)


def _said_on(cluster: Obj) -> str:
    return "" if is_deleting(cluster) else annotations_of(cluster).get(MCS_ANNOTATION, "")
