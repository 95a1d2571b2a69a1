"""The host's side of the engine: each source object observed, decided, put on the desk and reported.

One source is one key. Members do the writing from the desk, each at its own pace; what they then show brings the
source back here, and its status up to date.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from hanse.api.names import DELETION_ANNOTATION, FINALIZER
from hanse.clusters.member import Member
from hanse.clusters.registry import Registry
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import (
    Obj,
    annotations_of,
    finalizers_of,
    is_deleting,
    uid_of,
    with_finalizer,
    without_finalizer,
)
from hanse.kube.resources import NAMESPACES, Resource
from hanse.kube.runtime import timestamp
from hanse.propagation.candidates import ClusterIndex
from hanse.propagation.comparison import Present
from hanse.propagation.desk import Desk
from hanse.propagation.door import Door
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.member_side import MemberSide
from hanse.propagation.planning import UNSEEN, Observation, Planned, plan, refusals_of, tear_down
from hanse.propagation.rendering import owned_by
from hanse.propagation.report import Report, Row

# Members report a rollout pod by pod; the federation's status follows in steps of this size.
_STATUS_SECONDS = 0.3
# A change that is still on its way to the members is worth telling only if it takes this long.
_UNSETTLED_SECONDS = 2.0
_WAITING_SECONDS = 5.0


class Engine:
    """Carries the objects of one front door into the members."""

    def __init__(self, host: Client, registry: Registry, door: Door) -> None:
        self._host = host
        self._runtime = host.runtime
        self._registry = registry
        self._door = door
        self._desk = Desk()
        self._members: dict[str, MemberSide] = {}
        self._events = EventRecorder(host, "hanse")
        self._sources = {resource: Cache(host, resource) for resource in door.resources}
        self._inputs = {resource: Cache(host, resource) for resource in door.inputs}
        self._index = ClusterIndex()
        self._controller: Controller[Ref] = Controller("propagation", self._reconcile, self._runtime)
        self._reporter: Controller[Ref] = Controller("status", self._report, self._runtime)
        self._unsettled_since: dict[Ref, float] = {}
        self._orphaned: set[Ref] = set()
        self._desk.connect(self._write_soon, self._report_soon, self._controller.queue.add)
        registry.attach(self._serve_member)
        registry.subscribe(self._cluster_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for resource, cache in self._sources.items():
                cache.subscribe(lambda change, resource=resource: self._source_changed(resource, change))  # type: ignore[misc]
                tasks.create_task(cache.run())
            for cache in self._inputs.values():
                tasks.create_task(cache.run())
            await self._registry.wait_synced()
            for cache in (*self._sources.values(), *self._inputs.values()):
                await cache.wait_synced()
            # Nothing is placed before every policy is known: what one forbids would be placed first.
            self._inform()
            for cache in self._inputs.values():
                cache.subscribe(self._input_changed)
            tasks.create_task(self._controller.run())
            tasks.create_task(self._reporter.run())

    # What leads here

    def _source_changed(self, resource: Resource, change: Change) -> None:
        ref = Ref(resource, change.key)
        self._controller.queue.add(ref)
        source = change.new
        if source is not None and is_deleting(source) and "orphan" in finalizers_of(source):
            # The host's garbage collector takes this word back as soon as it has read it itself.
            self._orphaned.add(ref)
        if source is None and change.key.namespace:
            # A namespace goes when the last object in it has gone.
            self._controller.queue.add(Ref(NAMESPACES, change.key._replace(namespace="", name=change.key.namespace)))

    def _input_changed(self, _change: Change) -> None:
        self._inform()
        for resource in self._sources:
            self._view_changed(resource)

    def _inform(self) -> None:
        self._door = self._door.informed({resource: list(cache.objects()) for resource, cache in self._inputs.items()})

    def _view_changed(self, resource: Resource) -> None:
        """Look at the sources of a kind again: a member can be relied on for it now, or no longer."""
        cache = self._sources[resource]
        if cache.synced:
            for key in cache:
                self._controller.queue.add(Ref(resource, key))

    def _cluster_changed(self, cluster: str) -> None:
        if side := self._members.get(cluster):
            # A cluster that is back shall not wait for the end of the pauses that its absence brought about.
            side.look_at_everything()
        for resource in self._sources:
            self._view_changed(resource)

    def _write_soon(self, cluster: str, ref: Ref) -> None:
        if side := self._members.get(cluster):
            side.enqueue(ref)

    def _report_soon(self, ref: Ref) -> None:
        self._reporter.queue.add_after(ref, _STATUS_SECONDS)

    async def _serve_member(self, member: Member) -> None:
        side = MemberSide(member, list(self._sources), self._desk)
        self._members[member.name] = side
        try:
            await side.run(self._report_soon, self._view_changed)
        finally:
            if self._members.get(member.name) is side:
                del self._members[member.name]

    # The paragraph: observe, decide, act, report

    async def _reconcile(self, ref: Ref) -> float | None:
        source = self._sources[ref.resource].get(ref.key)
        if source is None:
            self._forget(ref)
            return None
        if is_deleting(source):
            return await self._tear_down(ref, source)
        if not self._door.admits(source):
            self._forget(ref)
            return None
        intent = self._door.translate(source)
        if isinstance(intent, Problem):
            await self._refuse(ref, source, intent)
            return None
        if FINALIZER not in finalizers_of(source) and not await self._write(ref, with_finalizer(source, FINALIZER)):
            return None
        now = self._runtime.now()
        planned = plan(intent, self._registry.clusters(), self._observe(ref), now=now, index=self._index)
        self._desk.place(ref, planned.wanted)
        self._report_soon(ref)
        until = planned.decision.until
        return None if until is None else max(0.0, until - now)

    def _observe(self, ref: Ref) -> dict[str, Observation]:
        return {name: side.observe(ref) for name, side in self._members.items()}

    def _forget(self, ref: Ref) -> None:
        self._desk.forget(ref)
        self._unsettled_since.pop(ref, None)
        self._orphaned.discard(ref)

    async def _tear_down(self, ref: Ref, source: Obj) -> float | None:
        if FINALIZER not in finalizers_of(source):
            self._forget(ref)
            return None
        if ref in self._orphaned and annotations_of(source).get(DELETION_ANNOTATION) != "orphan":
            await self._write(ref, _to_be_orphaned(source))
            return None
        if ref.resource == NAMESPACES and self._holds_sources(ref.key.name):
            return None
        orphan = annotations_of(source).get(DELETION_ANNOTATION) == "orphan" or "orphan" in finalizers_of(source)
        clusters = self._registry.clusters()
        rest = tear_down(uid_of(source), clusters, self._desk.confirmed(ref), orphan=orphan)
        self._desk.place(ref, rest.wanted)
        if rest.waiting_for:
            refusals = {cluster.name: cluster.refusal for cluster in clusters}
            whys = {name: refusals[name] or self._desk.trouble(name, ref) for name in rest.waiting_for}
            if any(whys.values()):
                await self._refuse(ref, source, _waits_for(whys))
            # Clusters that confirm bring the key back by themselves; this is for one that stays silent.
            return _WAITING_SECONDS
        self._forget(ref)
        await self._write(ref, without_finalizer(source, FINALIZER))
        return None

    def _holds_sources(self, namespace: str) -> bool:
        return any(
            key.namespace == namespace and (source := cache.get(key)) is not None and FINALIZER in finalizers_of(source)
            for cache in self._sources.values()
            for key in cache
        )

    async def _report(self, ref: Ref) -> float | None:
        """Bring a source's status up to date with what the members show."""
        source = self._sources[ref.resource].get(ref.key)
        if source is None or not self._door.admits(source) or is_deleting(source):
            self._unsettled_since.pop(ref, None)
            return None
        if FINALIZER not in finalizers_of(source):
            # Nothing is placed that nobody would wait for when the source goes; the engine writes it first.
            return None
        intent = self._door.translate(source)
        if isinstance(intent, Problem):
            return None
        clusters, observed = self._registry.clusters(), self._observe(ref)
        planned = plan(intent, clusters, observed, now=self._runtime.now(), index=self._index)
        if planned.wanted != self._desk.all_wanted(ref):
            # What members can give up depends on what others have ready by now.
            self._desk.place(ref, planned.wanted)
        refusals = refusals_of(clusters, observed)
        if any(not refusals[cluster.name] and not observed.get(cluster.name, UNSEEN).seen for cluster in clusters):
            # What a member merely has not told yet is not missing; it, or its silence, brings the key back.
            return _UNSETTLED_SECONDS
        report = Report(planned.decision, tuple(self._rows(ref, intent, planned, refusals, observed)))
        if wait := self._too_early(ref, report):
            return wait
        now = timestamp(self._runtime.now())
        await self._write_reported(ref, source, self._door.reported(source, report, now))
        if report.trouble:
            await self._events.record(source, "PropagationFailed", report.trouble, warning=True)
        return None

    def _too_early(self, ref: Ref, report: Report) -> float:
        """Return how long to wait before telling of a change that is merely on its way; 0 for anything else."""
        if report.settled or report.trouble:
            self._unsettled_since.pop(ref, None)
            return 0.0
        now = self._runtime.monotonic()
        since = self._unsettled_since.setdefault(ref, now)
        return max(0.0, since + _UNSETTLED_SECONDS - now)

    def _rows(
        self,
        ref: Ref,
        intent: Intent,
        planned: Planned,
        refusals: Mapping[str, str],
        observed: Mapping[str, Observation],
    ) -> Iterator[Row]:
        for verdict in planned.decision.verdicts:
            wanted = planned.wanted.get(verdict.cluster)
            copy = observed.get(verdict.cluster, UNSEEN).copy
            yield Row(
                cluster=verdict.cluster,
                wanted=wanted.manifest if isinstance(wanted, Present) else None,
                observed=copy if copy is not None and owned_by(copy, intent.source_uid) else None,
                live=not refusals.get(verdict.cluster),
                trouble=self._desk.trouble(verdict.cluster, ref) or observed.get(verdict.cluster, UNSEEN).refusal,
            )

    async def _refuse(self, ref: Ref, source: Obj, problem: Problem) -> None:
        now = timestamp(self._runtime.now())
        await self._write_reported(ref, source, self._door.refused(source, problem, now))
        await self._events.record(source, problem.reason, problem.message, warning=True)

    async def _write_reported(self, ref: Ref, source: Obj, reported: Obj) -> None:
        if reported["metadata"] != source["metadata"]:
            written = await self._write(ref, reported)
            if written is None:
                return
            reported = {**written, "status": reported["status"]} if "status" in reported else written
        if reported.get("status") != source.get("status"):
            await self._write(ref, reported, subresource="status")

    async def _write(self, ref: Ref, obj: Obj, *, subresource: str = "") -> Obj | None:
        """Write a source back on top of the version that was read; Conflict brings the key back.

        None says that it went away while we looked at it.
        """
        try:
            written = await self._host.update(ref.resource, obj, subresource=subresource)
        except NotFound:
            return None
        self._sources[ref.resource].remember(written)
        written["metadata"].pop("managedFields", None)
        return written


def _waits_for(whys: Mapping[str, str]) -> Problem:
    told = "; ".join(f"{name}: {why}" for name, why in whys.items() if why)
    return Problem("WaitingForDeletion", f"it is being deleted and waits for what may still be in a cluster ({told})")


def _to_be_orphaned(source: Obj) -> Obj:
    annotations = {**annotations_of(source), DELETION_ANNOTATION: "orphan"}
    return {**source, "metadata": {**source["metadata"], "annotations": annotations}}
