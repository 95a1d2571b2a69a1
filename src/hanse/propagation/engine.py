"""The host's side of the engine: each source object observed, decided, put on the desk and reported.

One source is one key. Members do the writing from the desk, each at its own pace; what they then show brings the
source back here, and its status up to date.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from hanse.api.names import DELETION_ANNOTATION, FINALIZER, STATUS_ANNOTATION
from hanse.clusters.access import Access
from hanse.clusters.member import Member, PullMember
from hanse.clusters.registry import Registry
from hanse.kube.cache import Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import (
    Obj,
    annotations_of,
    finalizers_of,
    is_deleting,
    uid_of,
    version_of,
    with_finalizer,
    without_finalizer,
)
from hanse.kube.resources import NAMESPACES, Resource
from hanse.kube.runtime import timestamp
from hanse.propagation.candidates import ClusterIndex
from hanse.propagation.claims import Claim, Claims
from hanse.propagation.dependencies import NO_NEEDS
from hanse.propagation.desk import Desk
from hanse.propagation.door import Door, Farewell
from hanse.propagation.doors import Doors
from hanse.propagation.escort import Escort
from hanse.propagation.following import Bells
from hanse.propagation.guard import BlastGuard
from hanse.propagation.host_writer import HostWriter
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.member_side import MemberSide
from hanse.propagation.planning import UNSEEN, Observation, Planned, plan, refusals_of, tear_down
from hanse.propagation.promises import Promises
from hanse.propagation.pull_side import PullSide
from hanse.propagation.records import Records
from hanse.propagation.rendering import owned_by
from hanse.propagation.report import Report, Row
from hanse.propagation.reporting import UNSETTLED_SECONDS, Settling, rows_of
from hanse.propagation.sources import Sources
from hanse.propagation.turns import noted, remembered
from hanse.propagation.waiting_pods import WaitingPods

# Members report a rollout pod by pod; the federation's status follows in steps of this size.
_STATUS_SECONDS = 0.3
_WAITING_SECONDS = 5.0
_LOOK_SECONDS = 0.2
# What is told of many changes takes little from the changes themselves.
_REPORTERS = 2


class Engine:
    """Carries the objects of all front doors into the members.

    A source is the user's object, its target what members hold of it: for a plain object the same. The desk and the
    members know targets only.
    """

    def __init__(self, host: Client, registry: Registry, doors: Sequence[Door], access: Access | None = None) -> None:
        """`access` knows who may use which cluster; without it everybody may use every one."""
        self._runtime = host.runtime
        self._registry = registry
        self._doors = Doors(doors)
        self._access = access
        self._desk = Desk()
        self._members: dict[str, MemberSide | PullSide] = {}
        self._events = EventRecorder(host, "hanse")
        self._sources = Sources(host, self._source_changed)
        self._inputs = Sources(host, self._input_changed)
        self._claims = Claims()
        self._writer = HostWriter(host, self._sources)
        self._records = Records(host)
        self._follow_on_host()
        self._index = ClusterIndex()
        self._controller: Controller[Ref] = Controller("propagation", self._reconcile, self._runtime)
        self._reporter: Controller[Ref] = Controller("status", self._report, self._runtime, workers=_REPORTERS)
        self._promises = Promises()
        self._guards = {name: BlastGuard(host, name, self._controller.queue.add) for name in self._doors.names}
        bells = Bells(self._controller.queue.add, self._report_soon)
        self._escort = Escort(
            registry, self._sources, self._desk, bells, observe=self._observe_in, runtime=self._runtime
        )
        self._following = self._escort.following
        self._settling = Settling()
        self._orphaned: set[Ref] = set()
        self._used = {NAMESPACES}
        self._desk.connect(self._write_soon, self._copy_changed, self._copy_confirmed)
        self._waiting = WaitingPods(self._runtime, self._controller.queue.add)
        registry.attach(self._serve_member)
        registry.attach(self._waiting.serve)
        registry.subscribe(self._cluster_changed)
        if access is not None:
            access.subscribe(self._look_at_everything)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._sources.run())
            tasks.create_task(self._inputs.run())
            for guard in self._guards.values():
                tasks.create_task(guard.run())
            await self._registry.wait_synced()
            await self._inputs.wait_seen()
            for guard in self._guards.values():
                await guard.wait_synced()
            # Nothing is placed before every policy is known: what one forbids would be placed first.
            self._inform()
            # Nor before every object is known that others follow, or that speaks for the same as another one.
            await self._inputs.wait_seen()
            await self._sources.wait_seen()
            self._inform()
            self._look_at_everything()
            tasks.create_task(self._controller.run())
            tasks.create_task(self._reporter.run())
            tasks.create_task(self._waiting.run())

    # What leads here

    def _source_changed(self, resource: Resource, change: Change) -> None:
        ref = Ref(resource, change.key)
        source = change.new
        self._controller.queue.add(ref)
        self._note(ref, source)
        if source is None or change.old_bytes is None:
            self._following.exists(ref)
        if source is not None and is_deleting(source) and "orphan" in finalizers_of(source):
            # The host's garbage collector takes this word back as soon as it has read it itself.
            self._orphaned.add(ref)
        if source is None and change.key.namespace:
            # A namespace goes when the last object in it has gone.
            self._controller.queue.add(Ref(NAMESPACES, change.key._replace(namespace="", name=change.key.namespace)))
        if resource in self._doors.inputs:
            self._input_changed(resource, change)

    def _note(self, ref: Ref, source: Obj | None) -> None:
        """Take in what a source has to do with others: whom it names, and who else wants to be what it is."""
        door = self._doors.find(ref)
        if source is None or door is None:
            self._following.note(ref, NO_NEEDS)
            return
        self._following.note(ref, door.needs(source))
        admitted = door.admits(source)
        if not admitted and FINALIZER not in finalizers_of(source):
            self._drop_claim(ref)
            return
        target = door.target(ref)
        going = is_deleting(source) or not admitted
        claim = Claim(uid_of(source), source["metadata"].get("creationTimestamp", ""), door.supersedes(source), going)
        if self._claims.stake(ref, target, claim):
            self._look_at_claimants(target)

    def _drop_claim(self, ref: Ref) -> None:
        target = self._claims.drop(ref)
        if target is not None and not self._claims.of(target):
            self._desk.forget(target)
        elif target is not None:
            self._look_at_claimants(target)

    def _look_at_claimants(self, target: Ref) -> None:
        for ref in self._claims.of(target):
            self._controller.queue.add(ref)

    def _input_changed(self, resource: Resource, change: Change) -> None:
        for door, affected in self._doors.affected(resource, change):
            if affected.everything:
                self._inform()
                self._look_at_everything()
                return
            refs = list(affected.refs)
            if affected.namespace:
                found = (ref for kind in self._doors.kinds_of(door) for ref in self._sources.refs(kind))
                refs += [ref for ref in found if ref.key.namespace == affected.namespace]
            self._look_at(door.name, refs)

    def _inform(self) -> None:
        views = {kind: sources.view(kind) for sources in (self._inputs, self._sources) for kind in sources.kinds}
        self._doors = self._doors.informed({kind: views[kind] for kind in self._doors.inputs})
        gone = self._follow_on_host()
        for ref in self._claims.sources():
            if ref.resource in gone:
                self._forget(ref)
        self._following.forget_kinds(gone)
        for ref in [ref for kind in self._sources.kinds for ref in self._sources.refs(kind)]:
            self._note(ref, self._sources.get(ref))
        self._follow_in_members()

    def _follow_on_host(self) -> Collection[Resource]:
        gone = self._sources.follow(self._doors.resources)
        self._inputs.follow([kind for kind in self._doors.inputs if kind not in self._doors.resources])
        return gone

    def _use(self, resource: Resource) -> None:
        """Have members follow a kind from its first source on: of many kinds most federations have no object."""
        if resource not in self._used:
            self._used.add(resource)
            self._follow_in_members()

    def _follow_in_members(self) -> None:
        for side in self._members.values():
            side.follow(self._used_kinds())

    def _used_kinds(self) -> list[Resource]:
        return [kind for kind in self._doors.targets if kind in self._used]

    def _view_changed(self, target: Resource) -> None:
        """Look at the sources of a kind again: a member can be relied on for it now, or no longer."""
        for kind in self._doors.kinds_for(target):
            self._look_at_kind(kind)

    def _look_at_everything(self) -> None:
        for kind in self._sources.kinds:
            self._look_at_kind(kind)

    def _look_at_kind(self, kind: Resource) -> None:
        self._look_at(self._doors.of(kind).name, self._sources.refs(kind))

    def _look_at(self, door: str, refs: Sequence[Ref]) -> None:
        # Nothing leaves a cluster before it is known what else would.
        self._guards[door].expect([ref for ref in refs if self._sources.has(ref)])
        for ref in refs:
            self._controller.queue.add(ref)

    def _cluster_changed(self, cluster: str) -> None:
        if side := self._members.get(cluster):
            # A cluster that is back shall not wait for the end of the pauses that its absence brought about.
            side.look_at_everything()
        self._look_at_everything()

    def _write_soon(self, cluster: str, target: Ref) -> None:
        if side := self._members.get(cluster):
            side.enqueue(target)

    def _copy_changed(self, target: Ref) -> None:
        for ref in self._claims.of(target):
            self._report_soon(ref)

    def _copy_confirmed(self, target: Ref) -> None:
        self._look_at_claimants(target)

    def _report_soon(self, ref: Ref) -> None:
        self._reporter.queue.add_after(ref, _STATUS_SECONDS)
        self._following.news_of(ref)

    async def _serve_member(self, member: Member | PullMember) -> None:
        kinds, desk = self._used_kinds(), self._desk
        side = PullSide(member, kinds, desk) if isinstance(member, PullMember) else MemberSide(member, kinds, desk)
        self._members[member.name] = side
        try:
            await side.run(self._copy_changed, self._view_changed)
        finally:
            if self._members.get(member.name) is side:
                del self._members[member.name]

    # The paragraph: observe, decide, act, report

    async def _reconcile(self, ref: Ref) -> float | None:
        source, door = self._sources.get(ref), self._doors.find(ref)
        if source is None or door is None:
            self._forget(ref)
            return None
        if not self._inputs.complete():
            # What says what it means is not all known yet.
            return _LOOK_SECONDS
        target, guard = door.target(ref), self._guards[door.name]
        if door.admits(source) or FINALIZER in finalizers_of(source):
            self._use(target.resource)
        if is_deleting(source) or not door.admits(source):
            guard.forget(ref)
            return await (self._tear_down if is_deleting(source) else self._let_go)(ref, source)
        intent = self._intent(ref, source)
        if isinstance(intent, Problem):
            guard.judge(ref, frozenset())
            self._following.decided(ref, {})
            self._escort.stands(ref, source, {}, self._observe(target))
            await self._refuse(ref, source, intent)
            return None
        if FINALIZER not in finalizers_of(source):
            # Whatever comes of the write: where nothing was placed, nothing leaves.
            guard.judge(ref, frozenset())
            if not await self._writer.write(ref, with_finalizer(source, FINALIZER)):
                return None
        intent = await self._within_rights(source, intent)
        observed = self._observe(target)
        planned = self._decide(ref, source, intent, observed)
        if planned is None:
            return None
        wanted, wait = self._escort.after_needs(ref, planned.wanted, observed)
        self._desk.place(target, wanted)
        self._report_soon(ref)
        until = planned.decision.until
        waits = [wait, None if until is None else max(0.0, until - self._runtime.now())]
        return min((each for each in waits if each is not None), default=None)

    def _intent(self, ref: Ref, source: Obj) -> Intent | Problem:
        """Say what shall be where for the source that speaks for its target; the others have to wait."""
        door = self._doors.of(ref.resource)
        target = door.target(ref)
        holder = self._claims.holder(target)
        if holder not in (ref, None):
            return Problem(
                "SpokenFor", f"{holder.resource.kind} {holder.key} speaks for {target.resource.kind} {target.key}"
            )
        intent = door.translate(source)
        return intent if isinstance(intent, Problem) else replace(intent, inherits=self._claims.rivals(ref))

    def _decide(self, ref: Ref, source: Obj, intent: Intent, observed: Mapping[str, Observation]) -> Planned | None:
        """Plan for an object in the company of what it follows; None while it is not known where that is."""
        accompanied = self._escort.accompanied(ref, intent)
        if accompanied is None:
            self._guard_of(ref).judge(ref, None)
            return None
        planned = self._plan(ref, source, accompanied, observed)
        self._escort.planned(ref, source, intent, planned, observed)
        return planned

    def _plan(self, ref: Ref, source: Obj, intent: Intent, observed: Mapping[str, Observation]) -> Planned:
        """Plan, and plan again without any move where the guard does not let the object leave a cluster."""
        clusters, now, memory = self._registry.clusters(), self._runtime.now(), remembered(source)
        guard = self._guard_of(ref)
        requests = intent.placement.requests
        promised = self._promises.to_others(ref, clusters) if requests is not None else {}
        planned = plan(
            intent,
            clusters,
            observed,
            now=now,
            index=self._index,
            memory=memory,
            promised=promised,
            estimated=self._waiting.estimates(ref, intent, observed),
        )
        if requests is not None:
            had = {name: intent.scale.asked(each.copy) for name, each in observed.items() if each.copy is not None}
            self._promises.note(ref, requests, had, planned.decision.replicas)
        if guard.judge(ref, planned.leaving) or not planned.leaving:
            return planned
        held = plan(intent, clusters, observed, now=now, index=self._index, memory=memory, hold=True)
        notes = (guard.sentence, *held.decision.notes) if guard.sentence else held.decision.notes
        return replace(held, decision=replace(held.decision, notes=notes))

    async def _within_rights(self, source: Obj, intent: Intent) -> Intent:
        """Keep an object out of the clusters that its author may not use."""
        if self._access is None:
            return intent
        names = [cluster.name for cluster in self._registry.clusters()]
        return intent.without(await self._access.refusals(source, names))

    def _guard_of(self, ref: Ref) -> BlastGuard:
        return self._guards[self._doors.of(ref.resource).name]

    def _observe(self, target: Ref) -> dict[str, Observation]:
        return {name: side.observe(target) for name, side in self._members.items()}

    def _observe_in(self, cluster: str, target: Ref) -> Observation:
        side = self._members.get(cluster)
        return side.observe(target) if side is not None else UNSEEN

    def _forget(self, ref: Ref) -> None:
        for guard in self._guards.values():
            guard.forget(ref)
        self._promises.forget(ref)
        self._waiting.forget(ref)
        self._records.forget(ref)
        self._drop_claim(ref)
        self._following.forget(ref)
        self._settling.forget(ref)
        self._orphaned.discard(ref)

    async def _tear_down(self, ref: Ref, source: Obj) -> float | None:
        if FINALIZER not in finalizers_of(source):
            self._forget(ref)
            return None
        if ref in self._orphaned and annotations_of(source).get(DELETION_ANNOTATION) != "orphan":
            await self._writer.write(ref, _to_be_orphaned(source))
            return None
        if ref.resource == NAMESPACES and self._sources.hold(ref.key.name):
            return None
        farewell = self._doors.of(ref.resource).farewell(source)
        if isinstance(farewell, Problem):
            await self._refuse(ref, source, farewell)
            return None
        return await self._take_back(ref, source, "it is being deleted", farewell)

    async def _let_go(self, ref: Ref, source: Obj) -> float | None:
        """Leave the copies of an object that is federated no longer with the members, as theirs."""
        if FINALIZER not in finalizers_of(source) or not self._doors.of(ref.resource).lets_go(source):
            self._forget(ref)
            return None
        return await self._take_back(ref, source, "it is being let go", Farewell(orphan=True))

    async def _take_back(self, ref: Ref, source: Obj, why: str, farewell: Farewell) -> float | None:
        """Remove or release every copy, or leave it to the source that comes next, and hold this one no longer."""
        door = self._doors.of(ref.resource)
        target = door.target(ref)
        await self._writer.mark(door.marks(source, None))
        if self._following.concerns(ref):
            self._escort.stands(ref, source, {}, self._observe(target))
        waiting_for = self._handed_over(ref, source, target)
        if waiting_for is None:
            rest = tear_down(
                uid_of(source),
                self._registry.clusters(),
                self._desk.confirmed(target),
                orphan=farewell.orphan,
                removal=farewell.removal,
            )
            self._desk.place(target, rest.wanted)
            waiting_for = rest.waiting_for
        if waiting_for:
            refusals = {cluster.name: cluster.refusal for cluster in self._registry.clusters()}
            whys = {name: refusals[name] or self._desk.trouble(name, target) for name in waiting_for}
            if any(whys.values()):
                await self._refuse(ref, source, _waits_for(why, whys))
            # Clusters that confirm bring the key back by themselves; this is for one that stays silent.
            return _WAITING_SECONDS
        self._forget(ref)
        await self._writer.write(ref, without_finalizer(_untold(source), FINALIZER))
        return None

    def _handed_over(self, ref: Ref, source: Obj, target: Ref) -> Sequence[str] | None:
        """Return the clusters whose copies another source has yet to take over; None where there is no such source."""
        holder = self._claims.holder(target)
        if holder in (ref, None):
            return None
        self._controller.queue.add(holder)
        observed, uid = self._observe(target), uid_of(source)

        def is_left(cluster: str) -> bool:
            observation = observed.get(cluster, UNSEEN)
            return not observation.seen or (observation.copy is not None and owned_by(observation.copy, uid))

        return [cluster.name for cluster in self._registry.clusters() if is_left(cluster.name)]

    async def _report(self, ref: Ref) -> float | None:
        """Bring a source's status up to date with what the members show."""
        source, door = self._sources.get(ref), self._doors.find(ref)
        if source is None or door is None or not door.admits(source) or is_deleting(source):
            self._settling.forget(ref)
            if self._claims.claim(ref) is not None and source is not None:
                # A copy that it left to another source has become that one's.
                self._controller.queue.add(ref)
            return None
        if FINALIZER not in finalizers_of(source):
            # Nothing is placed that nobody would wait for when the source goes; the engine writes it first.
            return None
        intent = self._intent(ref, source)
        if isinstance(intent, Problem):
            return None
        intent, target = await self._within_rights(source, intent), door.target(ref)
        clusters, observed = self._registry.clusters(), self._observe(target)
        planned = self._decide(ref, source, intent, observed)
        if planned is None:
            return None
        wanted, _ = self._escort.after_needs(ref, planned.wanted, observed)
        if wanted != self._desk.all_wanted(target):
            # What members can give up depends on what others have ready by now.
            self._desk.place(target, wanted)
        refusals = refusals_of(clusters, observed)
        if any(not refusals[cluster.name] and not observed.get(cluster.name, UNSEEN).seen for cluster in clusters):
            # What a member merely has not told yet is not missing; it, or its silence, brings the key back.
            return UNSETTLED_SECONDS
        rows = tuple(rows_of(target, intent, planned, refusals, observed, self._desk))
        return await self._tell(ref, source, intent, planned, rows)

    async def _tell(
        self, ref: Ref, source: Obj, intent: Intent, planned: Planned, rows: tuple[Row, ...]
    ) -> float | None:
        """Write down what the members show, once it is worth it."""
        door = self._doors.of(ref.resource)
        lacking = self._escort.lacks(ref)
        decision = replace(planned.decision, notes=(*planned.decision.notes, *lacking))
        report = Report(decision, rows, planned.wave.sentence, planned.wave.stopped)
        if mark := door.marks(source, report):
            await self._writer.mark(mark)
            if version_of(self._sources.get(ref) or source) != version_of(source):
                # What is to be said is said of the version that the mark left behind.
                return _STATUS_SECONDS
        if wait := self._settling.wait(ref, report, self._runtime.monotonic()):
            return wait
        now = timestamp(self._runtime.now())
        await self._writer.write_reported(ref, source, noted(door.reported(source, report, now), planned.wave))
        await self._records.keep(ref, door.records(source, report, now))
        if report.trouble:
            await self._events.record(source, "PropagationFailed", report.trouble, warning=True)
        for warning in intent.warnings:
            await self._events.record(source, warning.reason, warning.message, warning=True)
        return None

    async def _refuse(self, ref: Ref, source: Obj, problem: Problem) -> None:
        now = timestamp(self._runtime.now())
        await self._writer.write_reported(ref, source, self._doors.of(ref.resource).refused(source, problem, now))
        await self._events.record(source, problem.reason, problem.message, warning=True)


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
