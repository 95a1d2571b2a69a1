"""Serves the controller objects of one cluster: each that can be runs, and each that cannot says why."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS, DECORATOR_CONTROLLERS, MAP_CONTROLLERS
from hanse.composite.hooks.calling import HookFailed, HookUnusable
from hanse.composite.hosting.composite import HostedComposite
from hanse.composite.hosting.decorator import HostedDecorator
from hanse.composite.hosting.mapping import HostedMap
from hanse.composite.hosting.measuring import HookMetrics
from hanse.composite.hosting.opened import OpenedHooks, open_hooks
from hanse.composite.hosting.place import Kinds, Place, UnknownKind, UnreadableKind, find_kinds, require_readable
from hanse.composite.reading import read_controller
from hanse.composite.spec import ControllerSpec, Sort, SpecProblems
from hanse.kube.cache import Cache, Change
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj, dig, is_deleting, name_of
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.resources import Resource
from hanse.kube.runtime import timestamp

log = Log("hanse")

SERVED = (COMPOSITE_CONTROLLERS, DECORATOR_CONTROLLERS, MAP_CONTROLLERS)
READY = "Ready"
# What is missing may come at any time: a kind that somebody defines, a Secret.
_AGAIN_SECONDS = 5.0
# So late it is seen how many objects a controller has come to look after.
_COUNT_SECONDS = 2.0

Hosted = HostedComposite | HostedDecorator | HostedMap


class _Ref(NamedTuple):
    resource: Resource
    key: Key

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key.name}"


@dataclass(slots=True)
class _Running:
    spec: ControllerSpec
    hosted: Hosted
    task: asyncio.Task[None]
    count_at: float = 0.0


class NotServed(Exception):
    """A controller cannot run as things are, which may change by themselves."""


class ControllerServer:
    """Runs the lambda controllers of one cluster."""

    def __init__(
        self, place: Place, *, labels: str = "", metrics: HookMetrics | None = None, cluster: str = ""
    ) -> None:
        """Of the controller objects only those that the selector `labels` matches are served.

        Where several servers share their `metrics`, `cluster` tells whose is which.
        """
        self._place = place
        self.metrics = metrics or HookMetrics(place.client.runtime)
        self._cluster = cluster
        self._caches = {resource: Cache(place.client, resource, labels=labels) for resource in SERVED}
        self._controller: Controller[_Ref] = Controller("lambda controllers", self._reconcile, place.client.runtime)
        self._running: dict[_Ref, _Running] = {}

    async def run(self) -> None:
        """Serve until cancelled; no controller works any more when this returns."""
        for resource, cache in self._caches.items():
            cache.subscribe(partial(self._changed, resource))
        try:
            async with asyncio.TaskGroup() as tasks:
                for cache in self._caches.values():
                    tasks.create_task(cache.run())
                for cache in self._caches.values():
                    await cache.wait_synced()
                tasks.create_task(self._controller.run())
        finally:
            await asyncio.gather(*(self._end(ref) for ref in list(self._running)))

    @property
    def served(self) -> Mapping[str, ControllerSpec]:
        """The controllers that work at this moment, by kind and name."""
        return {str(ref): running.spec for ref, running in self._running.items()}

    def _changed(self, resource: Resource, change: Change) -> None:
        self._controller.queue.add(_Ref(resource, change.key))

    async def _reconcile(self, ref: _Ref) -> float | None:
        obj = self._caches[ref.resource].get(ref.key)
        if obj is None or is_deleting(obj):
            await self._stop(ref, obj)
            return None
        spec = read_controller(obj)
        running = self._running.get(ref)
        if running is not None and running.spec == spec and not running.task.done():
            return await self._count(ref, obj, running)
        await self._stop(ref, obj)
        if isinstance(spec, SpecProblems):
            await self._refuse(ref, obj, "; ".join(spec.sentences))
            return None
        try:
            await self._start(ref, obj, spec)
        except (NotServed, UnknownKind, UnreadableKind, HookFailed, HookUnusable) as error:
            await self._refuse(ref, obj, str(error))
            return _AGAIN_SECONDS
        return _COUNT_SECONDS

    async def _count(self, ref: _Ref, obj: Obj, running: _Running) -> float:
        """Tell now and then how many parents there are; returns in how many seconds to do so again.

        Not whenever the object changes: two servers, of which one takes over, would answer each other for ever.
        """
        now = self._place.client.runtime.monotonic()
        if now < running.count_at:
            return running.count_at - now
        running.count_at = now + _COUNT_SECONDS
        await self._write(ref, obj, {"parents": running.hosted.objects})
        return _COUNT_SECONDS

    async def _start(self, ref: _Ref, obj: Obj, spec: ControllerSpec) -> None:
        place = self._place
        kinds = await find_kinds(place.client, spec)
        require_status(spec, kinds)
        await require_readable(place.client, kinds.all)
        hooks = self.metrics.measured(await open_hooks(spec.hooks, place.open_hook), spec, self._cluster)
        await place.events.record(obj, "Starting", f"Starting controller: {name_of(obj)}")
        hosted = hosted_controller(obj, spec, kinds, hooks, place)
        self._running[ref] = _Running(spec, hosted, asyncio.ensure_future(self._keep(ref, spec, hosted, hooks)))
        await place.events.record(obj, "Started", f"Started controller: {name_of(obj)}")
        await self._say(ref, obj, condition(READY, True, "Started", "the hooks are called"))

    async def _keep(self, ref: _Ref, spec: ControllerSpec, hosted: Hosted, hooks: OpenedHooks) -> None:
        """Run a controller; what goes wrong in one ends no other."""
        uncount = self.metrics.count_waiting(spec, self._cluster, lambda: hosted.waiting)
        try:
            await hosted.run()
        except Exception:
            log.exception("A lambda controller failed on a bug and is started again", controller=str(ref))
            self._controller.queue.add_after(ref, _AGAIN_SECONDS)
        finally:
            uncount()
            await hooks.close()

    async def _stop(self, ref: _Ref, obj: Obj | None) -> None:
        if ref not in self._running:
            return
        if obj is not None:
            await self._place.events.record(obj, "Stopping", f"Stopping controller: {ref.key.name}")
        await self._end(ref)
        if obj is not None:
            await self._place.events.record(obj, "Stopped", f"Stopped controller: {ref.key.name}")

    async def _end(self, ref: _Ref) -> None:
        running = self._running.pop(ref)
        running.task.cancel()
        await asyncio.gather(running.task, return_exceptions=True)

    async def _refuse(self, ref: _Ref, obj: Obj, sentence: str) -> None:
        await self._place.events.record(obj, "CreateError", f"Cannot create new controller: {sentence}", warning=True)
        await self._say(ref, obj, condition(READY, False, "CreateError", sentence))

    async def _say(self, ref: _Ref, obj: Obj, told: Obj) -> None:
        now = timestamp(self._place.client.runtime.now())
        conditions = merge_conditions(dig(obj, "status", "conditions"), [told], now)
        generation = dig(obj, "metadata", "generation")
        await self._write(ref, obj, {"observedGeneration": generation, "conditions": conditions})

    async def _write(self, ref: _Ref, obj: Obj, changes: Obj) -> None:
        status = obj.get("status") or {}
        patch = merge_patch_between(status, {**status, **changes})
        if not patch:
            return
        try:
            written = await self._place.client.patch(
                ref.resource, name_of(obj), {"status": patch}, subresource="status"
            )
        except NotFound:
            return
        self._caches[ref.resource].remember(written, quietly=True)


def require_status(spec: ControllerSpec, kinds: Kinds) -> None:
    """Refuse parents whose status could not be told from what people ask for; raises NotServed."""
    if spec.sort is Sort.DECORATOR:
        return
    for parent in kinds.parents:
        if "status" not in parent.subresources:
            raise NotServed(
                f"spec.parentResource: {parent.group_resource} has no status subresource in {parent.version};"
                " add subresources.status to that version of its CustomResourceDefinition"
            )


def hosted_controller(obj: Obj, spec: ControllerSpec, kinds: Kinds, hooks: OpenedHooks, place: Place) -> Hosted:
    """Return a controller of any sort, ready to be run."""
    match spec.sort:
        case Sort.COMPOSITE:
            return HostedComposite(obj, spec, kinds, hooks, place)
        case Sort.DECORATOR:
            return HostedDecorator(obj, spec, kinds, hooks, place)
        case Sort.MAP:
            return HostedMap(obj, spec, kinds, hooks, place)
