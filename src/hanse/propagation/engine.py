"""The host's side of the engine: each source object observed, decided, put on the desk and reported.

One source is one key. Members do the writing from the desk, each at its own pace; what they then show brings the
source back here, and its status up to date.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from hanse.api.names import FINALIZER
from hanse.clusters.access import Rights
from hanse.clusters.roster import Roster
from hanse.kube.cache import Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.manifest import Obj, finalizers_of, is_deleting, uid_of, with_finalizer
from hanse.kube.resources import NAMESPACES, Resource
from hanse.propagation.claims import Claims, claim_of
from hanse.propagation.deciding import Decider
from hanse.propagation.dependencies import NO_NEEDS
from hanse.propagation.desk import Desk
from hanse.propagation.door import Door
from hanse.propagation.doors import Doors
from hanse.propagation.escort import Escort
from hanse.propagation.following import Bells
from hanse.propagation.guard import BlastGuard, Guard, Unguarded
from hanse.propagation.host_writer import HostWriter
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.leavetaking import Leavetaking, Partings
from hanse.propagation.members import Members
from hanse.propagation.planning import UNSEEN, Observation, Planned, refusals_of
from hanse.propagation.report import Report
from hanse.propagation.reporting import STATUS_SECONDS, UNSETTLED_SECONDS, Pace, rows_of
from hanse.propagation.sources import Sources
from hanse.propagation.summoning import Summons
from hanse.propagation.telling import Telling
from hanse.propagation.used_kinds import UsedKinds
from hanse.propagation.viewing import Standing, View
from hanse.propagation.waiting_pods import WaitingPods

_LOOK_SECONDS = 0.2
# Where another room acts on what members show, it hears of that sooner than people do.
_FOLLOWED_SECONDS = 0.05
# Of inputs that change one after the other all are taken in together.
_INFORM_SECONDS = 0.02
# What finds no place is tried again so often: how much room clusters have changes all the time, and wakes nobody.
_ROOM_SECONDS = 10.0
# What is told of many changes takes little from the changes themselves.
_REPORTERS = 2


class Engine:
    """Carries the objects of all front doors into the members.

    A source is the user's object, its target what members hold of it: for a plain object the same. The desk and the
    members know targets only.
    """

    def __init__(
        self,
        host: Client,
        registry: Roster,
        doors: Sequence[Door],
        access: Rights | None = None,
        *,
        finalizer: str = FINALIZER,
        selectors: Mapping[Resource, str] | None = None,
        guarded: bool = True,
    ) -> None:
        """`access` knows who may use which cluster; without it everybody may use every one.

        Sources are held by the `finalizer`. Of kinds with a label selector only what it selects is looked at. What is
        not `guarded` may leave clusters however much of it does at once.
        """
        self._finalizer = finalizer
        self._runtime = host.runtime
        self._registry = registry
        self._doors = Doors(doors)
        self._access = access
        self._desk = Desk(self._is_unspoken)
        self._members = Members(self._desk, self._copy_changed, self._view_changed)
        self._sources = Sources(host, self._source_changed, finalizer=finalizer, selectors=selectors)
        self._inputs = Sources(host, self._input_changed, selectors=selectors)
        self._claims = Claims()
        self._writer = HostWriter(host, self._sources)
        self._follow_on_host()
        self._controller: Controller[Ref] = Controller("propagation", self._reconcile, self._runtime)
        self._informing: Controller[str] = Controller("inputs", self._take_in, self._runtime, workers=1)
        self._informed = False
        self._running = False
        self._reporter: Controller[Ref] = Controller("status", self._report, self._runtime, workers=_REPORTERS)
        self._guards: dict[str, Guard] = {
            name: BlastGuard(host, name, self._controller.queue.add) if guarded else Unguarded()
            for name in self._doors.names
        }
        bells = Bells(self._controller.queue.add, self._report_soon)
        self._summons = Summons(host, self._sources, selectors or {}, finalizer=finalizer, admits=self._admits)
        self._escort = Escort(
            registry,
            self._desk,
            bells,
            observe=self._members.observe_in,
            summons=self._summons,
            runtime=self._runtime,
        )
        self._following = self._escort.following
        self.view = View(
            self._members,
            self._claims,
            self._sources,
            self._escort.farewells,
            knows=self._is_known,
            trouble=self._desk.trouble,
        )
        self._pace = Pace()
        self._waiting = WaitingPods(self._runtime, self._controller.queue.add)
        self._decider = Decider(registry, self._waiting, self._runtime)
        self._offers = self._decider.offers
        self._telling = Telling(host, self._sources, self._writer, self._pace)
        self._leavetaking = Leavetaking(
            registry,
            self._sources,
            self._desk,
            self._claims,
            Partings(self._forget, self._controller.queue.add, self._refuse),
            members=self._members,
            writer=self._writer,
            escort=self._escort,
            runtime=self._runtime,
            finalizer=finalizer,
            offers=self._offers,
        )
        self._used = UsedKinds()
        self._members.follow(self._used.among(self._doors.targets))
        self._desk.connect(self._members.enqueue, self._copy_changed, self._look_at_claimants)
        registry.attach(self._members.serve)
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
            self._running = True
            self._offers.leads(self._runtime.now())
            self._look_at_everything()
            tasks.create_task(self._informing.run())
            tasks.create_task(self._controller.run())
            tasks.create_task(self._summons.run())
            tasks.create_task(self._reporter.run())
            tasks.create_task(self._waiting.run())

    def look_at(self, ref: Ref) -> None:
        """Look at a source again soon: something that it depends on is another."""
        self._controller.queue.add(ref)

    # What leads here

    def _source_changed(self, resource: Resource, change: Change) -> None:
        ref = Ref(resource, change.key)
        source = change.new
        self._controller.queue.add(ref)
        self._note(ref, source)
        self.view.source_changed(ref)
        if source is None or change.old_bytes is None:
            self._following.exists(ref)
        if not self._summons.calls(resource):
            self._offers.changed(ref, change, self._finalizer)
        if source is not None and is_deleting(source) and "orphan" in finalizers_of(source):
            # The host's garbage collector takes this word back as soon as it has read it itself.
            self._leavetaking.orphans(ref)
        if source is None and change.key.namespace:
            # A namespace goes when the last object in it has gone.
            self._controller.queue.add(Ref(NAMESPACES, change.key._replace(namespace="", name=change.key.namespace)))
        if self._doors.is_input(resource):
            self._input_changed(resource, change)

    def _note(self, ref: Ref, source: Obj | None) -> None:
        """Take in what a source has to do with others: whom it names, and who else wants to be what it is."""
        door = self._doors.find(ref)
        if source is None or door is None:
            self._following.note(ref, NO_NEEDS)
            return
        self._following.note(ref, door.needs(source))
        claim, before, target = claim_of(door, source, self._finalizer), self._claims.claim(ref), door.target(ref)
        if claim is None:
            self._drop_claim(ref)
            return
        if before is not None and (before.uid != claim.uid or self._claims.target(ref) != target):
            self._drop_claim(ref)
        if self._claims.stake(ref, target, claim):
            self._look_at_claimants(target)

    def _drop_claim(self, ref: Ref) -> None:
        claim, target = self._claims.claim(ref), self._claims.drop(ref)
        if claim is not None and target is not None:
            self._withdraw(target, claim.uid)
            self._look_at_claimants(target)

    def _withdraw(self, target: Ref, source_uid: str) -> None:
        """Take wishes off the desk that are those of this source: nobody would keep them true."""
        if self._desk.author(target) in ("", source_uid):
            self._desk.forget(target)

    def _look_at_claimants(self, target: Ref) -> None:
        self.view.changed(target)
        for ref in self._claims.of(target):
            self._controller.queue.add(ref)

    def _input_changed(self, resource: Resource, change: Change) -> None:
        for door, affected in self._doors.affected(resource, change):
            if affected.everything:
                self._informed = False
                if self._running:
                    self._informing.queue.add_after("all", _INFORM_SECONDS)
                return
            within = self._sources.within(affected.namespace) if affected.namespace else ()
            refs = [*affected.refs, *(ref for ref in within if self._doors.find(ref) is door)]
            for ref in refs:
                # Who speaks for an object may depend on inputs as well.
                self._note(ref, self._sources.get(ref))
            self._look_at(door.name, refs)

    async def _take_in(self, _inputs: str) -> None:
        self._inform()
        self._look_at_everything()

    def _inform(self) -> None:
        gone = self._inform_doors()
        for ref in self._claims.sources() if gone else ():
            if ref.resource in gone:
                self._forget(ref)
                self._offers.forget(ref)
        self._following.forget_kinds(gone)
        for ref in [ref for kind in self._sources.kinds for ref in self._sources.refs(kind)]:
            self._note(ref, self._sources.get(ref))
        self._members.follow(self._used.among(self._doors.targets))
        self._informed = True

    def _inform_doors(self) -> Collection[Resource]:
        """Tell the doors what they have to know; returns the kinds of sources that are none any more."""
        known, gone = None, set[Resource]()
        while known != self._doors.inputs:
            # What a door learns may have it look at further kinds.
            known = self._doors.inputs
            views = {kind: sources.view(kind) for sources in (self._inputs, self._sources) for kind in sources.kinds}
            self._doors = self._doors.informed({kind: views[kind] for kind in known})
            gone |= self._follow_on_host()
        return gone

    def _follow_on_host(self) -> set[Resource]:
        gone = self._sources.follow(self._doors.resources)
        self._inputs.follow([kind for kind in self._doors.inputs if kind not in self._doors.resources])
        return gone

    def _view_changed(self, target: Resource) -> None:
        """Look at the sources of a kind again: a member can be relied on for it now, or no longer."""
        self.view.kind_changed(target)
        for kind in self._doors.kinds_for(target):
            door, refs = self._doors.of(kind), self._sources.refs(kind)
            self._look_at(
                door.name, [ref for ref in refs if self._claims.is_of(ref, target)] if door.any_kind else refs
            )

    def _look_at_everything(self) -> None:
        for kind in self._sources.kinds:
            self._look_at(self._doors.of(kind).name, self._sources.refs(kind))

    def _look_at(self, door: str, refs: Sequence[Ref]) -> None:
        # Nothing leaves a cluster before it is known what else would.
        self._guards[door].expect([ref for ref in refs if self._sources.has(ref)])
        for ref in refs:
            self._controller.queue.add(ref)

    def _cluster_changed(self, cluster: str) -> None:
        self._members.look_at_everything(cluster)
        self._look_at_everything()

    def _copy_changed(self, target: Ref) -> None:
        self.view.changed(target)
        for ref in self._claims.of(target):
            claim = self._claims.claim(ref)
            if claim is not None and claim.going:
                # What it left to another source may have become that one's.
                self._controller.queue.add_after(ref, STATUS_SECONDS)
            else:
                self._report_soon(ref)

    def _report_soon(self, ref: Ref) -> None:
        pause = _FOLLOWED_SECONDS if self.view.is_followed(ref.resource) else None
        self._reporter.queue.add_after(ref, pause or self._pace.seconds(self._runtime.monotonic()))
        self._following.news_of(ref)

    # The paragraph: observe, decide, act, report

    async def _reconcile(self, ref: Ref) -> float | None:
        source, door = self._sources.get(ref), self._doors.find(ref)
        if source is None or door is None:
            self._forget(ref)
            return None
        target, guard = door.target(ref), self._guards[door.name]
        if not self._is_known(target):
            return _LOOK_SECONDS
        held, leaving = self._finalizer in finalizers_of(source), is_deleting(source) or not door.admits(source)
        intent = None if leaving else self._intent(door, ref, source)
        why = self._escort.unneeded(ref, intent, held=held) if isinstance(intent, Intent) else ""
        if (held or not (leaving or why)) and self._used.add(door, target.resource):
            self._members.follow(self._used.among(self._doors.targets))
        if intent is None:
            guard.forget(ref)
            return await self._take_leave(door, ref, source)
        if why:
            guard.judge(ref, frozenset())
            return await self._leavetaking.part(door, ref, source, why)
        if isinstance(intent, Problem):
            guard.judge(ref, frozenset())
            self._following.decided(ref, {})
            self._escort.stands(ref, source, {}, self._members.observe(target))
            self.view.told(ref, Standing(problem=intent.message))
            await self._refuse(ref, source, intent)
            return None
        if not held:
            # Whatever comes of the write: where nothing was placed, nothing leaves.
            guard.judge(ref, frozenset())
            if not await self._writer.write(ref, with_finalizer(source, self._finalizer)):
                return None
        intent = await self._within_rights(source, intent)
        if self._is_overtaken(ref, target):
            return None
        observed = self._members.observe(target)
        planned = self._decide(ref, source, intent, observed)
        if planned is None:
            return None
        wanted, wait = self._escort.in_time(ref, planned.wanted, observed)
        self._offers.note(ref, intent, wanted)
        if self._desk.place(target, wanted):
            self._pace.changed(self._runtime.monotonic())
        self._pace.note(ref, final=planned.final and wait is None)
        self._report_soon(ref)
        until, lacking = planned.decision.until, planned.decision.unplaced
        waits = [wait, until and max(0.0, until - self._runtime.now()), _ROOM_SECONDS if lacking else None]
        return min((each for each in waits if each is not None), default=None)

    def _is_known(self, target: Ref) -> bool:
        """Tell whether everything is known that says what shall become of a target: inputs, and who else wants it."""
        if not self._informed or not self._inputs.complete():
            return False
        kinds = self._doors.kinds_for(target.resource)
        return self._sources.complete() or self._sources.seen((*kinds, *self._doors.inputs))

    def _is_overtaken(self, ref: Ref, target: Ref) -> bool:
        """Tell whether a source has lost its say while something was waited for; that brings it back by itself."""
        claim = self._claims.claim(ref)
        return claim is None or claim.going or self._claims.holder(target) != ref

    def _is_unspoken(self, cluster: str, namespace: str) -> bool:
        """Tell whether a cluster may have a copy in a namespace of which nothing was decided, as after a start."""
        for ref in self._sources.within(namespace):
            target = self._claims.target(ref)
            if target is None or target.key.namespace != namespace or self._desk.knows(target):
                continue
            seen = self._members.observe_in(cluster, target)
            if seen.copy is not None or not (seen.seen or seen.refusal):
                return True
        return False

    def _admits(self, ref: Ref, source: Obj) -> bool:
        door = self._doors.find(ref)
        return door is not None and door.admits(source)

    def _intent(self, door: Door, ref: Ref, source: Obj) -> Intent | Problem:
        """Say what shall be where for the source that speaks for its target; the others have to wait."""
        target = door.target(ref)
        holder = self._claims.holder(target)
        if holder is not None and holder != ref:
            speaker = self._claims.claim(holder)
            return Problem(
                "SpokenFor",
                f"{holder.resource.kind} {holder.key} speaks for {target.resource.kind} {target.key}",
                expected=speaker is not None and speaker.supersedes,
            )
        intent = door.translate(source)
        if isinstance(intent, Problem):
            return intent
        if rivals := self._claims.rivals(ref):
            kin = [other for each in self._claims.family(ref) if (other := self._sources.get(each)) is not None]
            intent = replace(door.shared(intent, kin), inherits=rivals)
        return intent

    def _decide(self, ref: Ref, source: Obj, intent: Intent, observed: Mapping[str, Observation]) -> Planned | None:
        """Plan for an object in the company of what it follows; None while it is not known where that is."""
        accompanied = self._escort.accompanied(ref, intent)
        if accompanied is None:
            self._guard_of(ref).judge(ref, None)
            return None
        planned = self._decider.plan(ref, source, accompanied, observed, self._guard_of(ref))
        self._escort.planned(ref, source, intent, planned, observed)
        self.view.decided(ref, intent.resource, planned.decision)
        return planned

    async def _within_rights(self, source: Obj, intent: Intent) -> Intent:
        """Keep an object out of the clusters that its author may not use, or that of what says where it goes."""
        if self._access is None:
            return intent
        names = [cluster.name for cluster in self._registry.clusters()]
        return intent.without(await self._access.refusals(source, names, intent.voices))

    def _guard_of(self, ref: Ref) -> Guard:
        return self._guards[self._doors.of(ref.resource).name]

    def _forget(self, ref: Ref) -> None:
        for guard in self._guards.values():
            guard.forget(ref)
        self._drop_claim(ref)
        self._following.forget(ref)
        self._leavetaking.forget(ref)
        self._rest(ref)

    def _rest(self, ref: Ref) -> None:
        """Forget what is only known of sources that are looked after."""
        self._decider.rest(ref)
        self.view.forget(ref)
        self._telling.forget(ref)
        self._pace.forget(ref)

    async def _take_leave(self, door: Door, ref: Ref, source: Obj) -> float | None:
        """Let a source go that is being deleted or federated no longer; one that merely rests keeps what it has."""
        if is_deleting(source):
            return await self._leavetaking.tear_down(door, ref, source)
        if self._finalizer not in finalizers_of(source):
            self._forget(ref)
            return None
        if door.lets_go(source):
            return await self._leavetaking.let_go(door, ref, source)
        self._withdraw(door.target(ref), uid_of(source))
        self._rest(ref)
        return None

    async def _report(self, ref: Ref) -> float | None:
        """Bring a source's status up to date with what the members show, and read nothing before its time has come."""
        followed = self.view.is_followed(ref.resource)
        if not followed and (wait := self._pace.rest(ref, self._runtime.monotonic())):
            return wait
        source, door = self._sources.get(ref), self._doors.find(ref)
        if source is None or door is None or not door.admits(source) or is_deleting(source):
            self._telling.settle(ref)
            return None
        if self._finalizer not in finalizers_of(source):
            # Nothing is placed that nobody would wait for when the source goes; the engine writes it first.
            return None
        target = door.target(ref)
        if not self._is_known(target):
            return _LOOK_SECONDS
        intent = self._intent(door, ref, source)
        if isinstance(intent, Problem) or self._escort.unneeded(ref, intent, held=True):
            return None
        intent = await self._within_rights(source, intent)
        if self._is_overtaken(ref, target):
            return None
        clusters, observed = self._registry.clusters(), self._members.observe(target)
        planned = self._decide(ref, source, intent, observed)
        if planned is None:
            return None
        wanted, needs = self._escort.in_time(ref, planned.wanted, observed)
        self._pace.note(ref, final=planned.final and needs is None)
        if wanted != self._desk.all_wanted(target):
            # What members can give up depends on what others have ready by now.
            self._offers.note(ref, intent, wanted)
            self._desk.place(target, wanted)
        refusals = refusals_of(clusters, observed)
        rows = tuple(rows_of(target, intent, planned, refusals, observed, self._desk))
        if followed:
            self.view.told(ref, Standing({row.cluster: row for row in rows}))
        if any(not refusals[cluster.name] and not observed.get(cluster.name, UNSEEN).seen for cluster in clusters):
            # What a member merely has not told yet is not missing; it, or its silence, brings the key back.
            return UNSETTLED_SECONDS
        decision = replace(planned.decision, notes=(*planned.decision.notes, *self._escort.lacks(ref)))
        report = Report(decision, rows, planned.wave.sentence, planned.wave.stopped)
        return await self._telling.tell(door, ref, source, intent, report, planned.wave)

    async def _refuse(self, ref: Ref, source: Obj, problem: Problem) -> None:
        await self._telling.refuse(self._doors.find(ref), ref, source, problem)
