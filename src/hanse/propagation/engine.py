"""The host's side of the engine: each source object observed, decided, put on the desk and reported.

One source is one key. Members do the writing from the desk, each at its own pace; what they then show brings the
source back here, and its status up to date.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hanse.api.names import DELETION_ANNOTATION, FINALIZER, STATUS_ANNOTATION
from hanse.clusters.access import Access
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
from hanse.propagation.door import Door, Mark
from hanse.propagation.guard import BlastGuard
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.member_side import MemberSide
from hanse.propagation.planning import UNSEEN, Observation, Planned, plan, refusals_of, tear_down
from hanse.propagation.promises import Promises
from hanse.propagation.rendering import owned_by
from hanse.propagation.report import Report, Row
from hanse.propagation.sources import Sources
from hanse.propagation.turns import noted, remembered

# Members report a rollout pod by pod; the federation's status follows in steps of this size.
_STATUS_SECONDS = 0.3
# A change that is still on its way to the members is worth telling only if it takes this long.
_UNSETTLED_SECONDS = 2.0
_WAITING_SECONDS = 5.0


class Engine:
    """Carries the objects of one front door into the members."""

    def __init__(self, host: Client, registry: Registry, door: Door, access: Access | None = None) -> None:
        """`access` knows who may use which cluster; without it everybody may use every one."""
        self._host = host
        self._runtime = host.runtime
        self._registry = registry
        self._door = door
        self._access = access
        self._desk = Desk()
        self._members: dict[str, MemberSide] = {}
        self._events = EventRecorder(host, "hanse")
        self._sources = Sources(host, self._source_changed)
        self._sources.follow(door.resources)
        self._inputs = {resource: Cache(host, resource) for resource in door.inputs}
        self._index = ClusterIndex()
        self._controller: Controller[Ref] = Controller("propagation", self._reconcile, self._runtime)
        self._reporter: Controller[Ref] = Controller("status", self._report, self._runtime)
        self._promises = Promises()
        self._guard = BlastGuard(host, "native", self._controller.queue.add)
        self._unsettled_since: dict[Ref, float] = {}
        self._orphaned: set[Ref] = set()
        self._used = {NAMESPACES}
        self._desk.connect(self._write_soon, self._report_soon, self._controller.queue.add)
        registry.attach(self._serve_member)
        registry.subscribe(self._cluster_changed)
        if access is not None:
            access.subscribe(self._access_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._sources.run())
            for cache in self._inputs.values():
                tasks.create_task(cache.run())
            tasks.create_task(self._guard.run())
            await self._registry.wait_synced()
            await self._sources.wait_seen()
            for cache in self._inputs.values():
                await cache.wait_synced()
            await self._guard.wait_synced()
            # Nothing is placed before every policy is known: what one forbids would be placed first.
            self._inform()
            for cache in self._inputs.values():
                cache.subscribe(self._input_changed)
            for resource in self._sources.kinds:
                self._view_changed(resource)
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
        for resource in self._sources.kinds:
            self._view_changed(resource)

    def _inform(self) -> None:
        self._door = self._door.informed({resource: list(cache.objects()) for resource, cache in self._inputs.items()})
        gone = self._sources.follow(self._door.resources)
        for ref in self._desk.refs():
            if ref.resource in gone:
                self._forget(ref)
        self._follow_in_members()

    def _use(self, resource: Resource) -> None:
        """Have members follow a kind from its first source on: of many kinds most federations have no object."""
        if resource not in self._used:
            self._used.add(resource)
            self._follow_in_members()

    def _follow_in_members(self) -> None:
        for side in self._members.values():
            side.follow(self._used_kinds())

    def _used_kinds(self) -> list[Resource]:
        return [kind for kind in self._sources.kinds if kind in self._used]

    def _view_changed(self, resource: Resource) -> None:
        """Look at the sources of a kind again: a member can be relied on for it now, or no longer."""
        refs = self._sources.refs(resource)
        # Nothing leaves a cluster before it is known what else would.
        self._guard.expect(refs)
        for ref in refs:
            self._controller.queue.add(ref)

    def _cluster_changed(self, cluster: str) -> None:
        if side := self._members.get(cluster):
            # A cluster that is back shall not wait for the end of the pauses that its absence brought about.
            side.look_at_everything()
        for resource in self._sources.kinds:
            self._view_changed(resource)

    def _access_changed(self) -> None:
        for resource in self._sources.kinds:
            self._view_changed(resource)

    def _write_soon(self, cluster: str, ref: Ref) -> None:
        if side := self._members.get(cluster):
            side.enqueue(ref)

    def _report_soon(self, ref: Ref) -> None:
        self._reporter.queue.add_after(ref, _STATUS_SECONDS)

    async def _serve_member(self, member: Member) -> None:
        side = MemberSide(member, self._used_kinds(), self._desk)
        self._members[member.name] = side
        try:
            await side.run(self._report_soon, self._view_changed)
        finally:
            if self._members.get(member.name) is side:
                del self._members[member.name]

    # The paragraph: observe, decide, act, report

    async def _reconcile(self, ref: Ref) -> float | None:
        source = self._sources.get(ref)
        if source is None:
            self._forget(ref)
            return None
        if self._door.admits(source) or FINALIZER in finalizers_of(source):
            self._use(ref.resource)
        if is_deleting(source) or not self._door.admits(source):
            self._guard.forget(ref)
            return await (self._tear_down if is_deleting(source) else self._let_go)(ref, source)
        intent = self._door.translate(source)
        if isinstance(intent, Problem):
            self._guard.judge(ref, frozenset())
            await self._refuse(ref, source, intent)
            return None
        if FINALIZER not in finalizers_of(source):
            # Whatever comes of the write: where nothing was placed, nothing leaves.
            self._guard.judge(ref, frozenset())
            if not await self._write(ref, with_finalizer(source, FINALIZER)):
                return None
        intent = await self._within_rights(source, intent)
        planned = self._plan(ref, source, intent, self._observe(ref))
        self._desk.place(ref, planned.wanted)
        self._report_soon(ref)
        until = planned.decision.until
        return None if until is None else max(0.0, until - self._runtime.now())

    def _plan(self, ref: Ref, source: Obj, intent: Intent, observed: Mapping[str, Observation]) -> Planned:
        """Plan, and plan again without any move where the guard does not let the object leave a cluster."""
        clusters, now, memory = self._registry.clusters(), self._runtime.now(), remembered(source)
        requests = intent.placement.requests
        promised = self._promises.to_others(ref, clusters) if requests is not None else {}
        planned = plan(intent, clusters, observed, now=now, index=self._index, memory=memory, promised=promised)
        if requests is not None:
            had = {name: intent.scale.asked(each.copy) for name, each in observed.items() if each.copy is not None}
            self._promises.note(ref, requests, had, planned.decision.replicas)
        if self._guard.judge(ref, planned.leaving) or not planned.leaving:
            return planned
        held = plan(intent, clusters, observed, now=now, index=self._index, memory=memory, hold=True)
        notes = (self._guard.sentence, *held.decision.notes) if self._guard.sentence else held.decision.notes
        return replace(held, decision=replace(held.decision, notes=notes))

    async def _within_rights(self, source: Obj, intent: Intent) -> Intent:
        """Keep an object out of the clusters that its author may not use."""
        if self._access is None:
            return intent
        names = [cluster.name for cluster in self._registry.clusters()]
        return intent.without(await self._access.refusals(source, names))

    def _observe(self, ref: Ref) -> dict[str, Observation]:
        return {name: side.observe(ref) for name, side in self._members.items()}

    def _forget(self, ref: Ref) -> None:
        self._guard.forget(ref)
        self._promises.forget(ref)
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
        if ref.resource == NAMESPACES and self._sources.hold(ref.key.name):
            return None
        orphan = annotations_of(source).get(DELETION_ANNOTATION) == "orphan" or "orphan" in finalizers_of(source)
        return await self._take_back(ref, source, "it is being deleted", orphan=orphan)

    async def _let_go(self, ref: Ref, source: Obj) -> float | None:
        """Leave the copies of an object that is federated no longer with the members, as theirs."""
        if FINALIZER not in finalizers_of(source) or not self._door.lets_go(source):
            self._forget(ref)
            return None
        return await self._take_back(ref, source, "it is being let go", orphan=True)

    async def _take_back(self, ref: Ref, source: Obj, why: str, *, orphan: bool) -> float | None:
        """Remove or release every copy, and then hold the source no longer."""
        await self._mark(self._door.marks(source, None))
        clusters = self._registry.clusters()
        rest = tear_down(uid_of(source), clusters, self._desk.confirmed(ref), orphan=orphan)
        self._desk.place(ref, rest.wanted)
        if rest.waiting_for:
            refusals = {cluster.name: cluster.refusal for cluster in clusters}
            whys = {name: refusals[name] or self._desk.trouble(name, ref) for name in rest.waiting_for}
            if any(whys.values()):
                await self._refuse(ref, source, _waits_for(why, whys))
            # Clusters that confirm bring the key back by themselves; this is for one that stays silent.
            return _WAITING_SECONDS
        self._forget(ref)
        await self._write(ref, without_finalizer(_untold(source), FINALIZER))
        return None

    async def _mark(self, mark: Mark | None) -> None:
        """Write into another source what it has to know of this one, if it is there and does not know it yet."""
        source = self._sources.get(mark.ref) if mark is not None else None
        if mark is None or source is None or annotations_of(source).get(mark.annotation) == mark.text:
            return
        annotations = {name: text for name, text in annotations_of(source).items() if name != mark.annotation}
        if mark.text is not None:
            annotations[mark.annotation] = mark.text
        await self._write(mark.ref, {**source, "metadata": {**source["metadata"], "annotations": annotations}})

    async def _report(self, ref: Ref) -> float | None:
        """Bring a source's status up to date with what the members show."""
        source = self._sources.get(ref)
        if source is None or not self._door.admits(source) or is_deleting(source):
            self._unsettled_since.pop(ref, None)
            return None
        if FINALIZER not in finalizers_of(source):
            # Nothing is placed that nobody would wait for when the source goes; the engine writes it first.
            return None
        intent = self._door.translate(source)
        if isinstance(intent, Problem):
            return None
        intent = await self._within_rights(source, intent)
        clusters, observed = self._registry.clusters(), self._observe(ref)
        planned = self._plan(ref, source, intent, observed)
        if planned.wanted != self._desk.all_wanted(ref):
            # What members can give up depends on what others have ready by now.
            self._desk.place(ref, planned.wanted)
        refusals = refusals_of(clusters, observed)
        if any(not refusals[cluster.name] and not observed.get(cluster.name, UNSEEN).seen for cluster in clusters):
            # What a member merely has not told yet is not missing; it, or its silence, brings the key back.
            return _UNSETTLED_SECONDS
        rows = tuple(self._rows(ref, intent, planned, refusals, observed))
        report = Report(planned.decision, rows, planned.wave.sentence, planned.wave.stopped)
        await self._mark(self._door.marks(source, report))
        if wait := self._too_early(ref, report):
            return wait
        now = timestamp(self._runtime.now())
        await self._write_reported(ref, source, noted(self._door.reported(source, report, now), planned.wave))
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
                live=not refusals.get(verdict.cluster) and not intent.forbids(verdict.cluster),
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
        self._sources.remember(ref, written)
        written["metadata"].pop("managedFields", None)
        return written


def _waits_for(why: str, whys: Mapping[str, str]) -> Problem:
    told = "; ".join(f"{name}: {why}" for name, why in whys.items() if why)
    return Problem("WaitingForDeletion", f"{why} and waits for what may still be in a cluster ({told})")


def _untold(source: Obj) -> Obj:
    """Take back what was said of a source that nobody looks after any more."""
    annotations = {name: text for name, text in annotations_of(source).items() if name != STATUS_ANNOTATION}
    return {**source, "metadata": {**source["metadata"], "annotations": annotations}}


def _to_be_orphaned(source: Obj) -> Obj:
    annotations = {**annotations_of(source), DELETION_ANNOTATION: "orphan"}
    return {**source, "metadata": {**source["metadata"], "annotations": annotations}}
