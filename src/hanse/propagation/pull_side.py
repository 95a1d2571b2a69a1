"""The engine's side of a member that fetches its work: wishes written as Works, answers read from them.

To the engine it is what `MemberSide` is; the effects happen in the member, by an agent that runs a `MemberSide` there.
What the agent told counts for as long as that agent is heard of; what another one told before it does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from hanse.api.works import AGENTS, WORKS, agent_manifest, agent_namespace, kind_entry, kind_of
from hanse.clusters.member import PullMember
from hanse.kube.cache import Cache, Change
from hanse.kube.client import PatchType
from hanse.kube.controller import Controller
from hanse.kube.errors import AlreadyExists, Conflict, NotFound
from hanse.kube.manifest import Obj, dig, name_of, uid_of, version_of
from hanse.kube.resources import NAMESPACES, Resource
from hanse.propagation.comparison import Absent, Released, Wanted
from hanse.propagation.desk import Desk
from hanse.propagation.intent import Ref
from hanse.propagation.planning import UNSEEN, Observation
from hanse.propagation.works import (
    Answer,
    answer_of,
    is_current,
    is_managed,
    ref_of,
    wish_of,
    work_key,
    work_manifest,
    work_spec,
)

# A wish that is not repeated is looked at again: after a start it takes a while until all wishes are.
_STANDING_SECONDS = 5.0
# A namespace that has to go is looked at again once what is in it may have gone.
_NEEDED_SECONDS = 10.0
# A kind that nobody seems to use any more may only be one that a new control plane has yet to come to.
_UNUSED_SECONDS = 60.0
# A kind of which nothing reliable has been told for so long is done without.
_UNSEEN_SECONDS = 10.0


class PullSide:
    """Keeps the Works of one member as the desk says, and the desk informed of what they have brought."""

    def __init__(self, member: PullMember, resources: Sequence[Resource], desk: Desk) -> None:
        self.name = member.name
        self._host = member.host
        self._runtime = member.host.runtime
        self._pulse = member.pulse
        self._desk = desk
        self._works = Cache(member.host, WORKS, namespace=agent_namespace(member.name))
        self._kinds: list[Resource] = []
        self._ordering_since = self._runtime.monotonic()
        self._seen: frozenset[Resource] = frozenset()
        self._unserved: frozenset[Resource] = frozenset()
        self._unseen_since: dict[Resource, float] = {}
        self._controller: Controller[Ref] = Controller(f"works of {member.name}", self._reconcile, self._runtime)
        self._orders: Controller[str] = Controller(f"agent of {member.name}", self._order, self._runtime, workers=1)
        self._changed: Callable[[Ref], None] = lambda _ref: None
        self._view_changed: Callable[[Resource], None] = lambda _resource: None
        self.follow(resources)

    def follow(self, resources: Sequence[Resource]) -> None:
        """Have exactly these kinds followed from now on."""
        now = self._runtime.monotonic()
        if set(resources) != set(self._kinds):
            self._kinds, self._ordering_since = list(resources), now
        self._unseen_since = {resource: self._unseen_since.get(resource, now) for resource in resources}
        self._orders.queue.add(self.name)

    def enqueue(self, ref: Ref) -> None:
        """Look at one object soon."""
        self._controller.queue.add(ref)

    def is_busy(self, ref: Ref) -> bool:
        """Tell whether the agent has yet to answer to the present wish for an object."""
        work = self._work(ref)
        unanswered = work is not None and wish_of(work) is not None and not is_current(work)
        return unanswered or ref in self._controller.queue

    def look_at_everything(self) -> None:
        """Look at every wish for this member soon."""
        for ref in self._desk.refs():
            if self._desk.wanted(self.name, ref) is not None:
                self._controller.queue.forget(ref)
                self.enqueue(ref)

    def observe(self, ref: Ref) -> Observation:
        """Return what is known of a source's copy here."""
        if ref.resource not in self._unseen_since:
            return UNSEEN
        work = self._work(ref)
        copy = answer_of(work).copy if work is not None else None
        if self._works.synced and ref.resource in self._seen:
            return Observation(seen=True, copy=copy)
        refusal, unserved = self._refusal(ref.resource), ref.resource in self._unserved
        unseen_for = self._runtime.monotonic() - self._unseen_since[ref.resource] if refusal and not unserved else None
        return Observation(seen=False, copy=copy, refusal=refusal, unseen_for=unseen_for, unserved=unserved)

    async def run(self, changed: Callable[[Ref], None], view_changed: Callable[[Resource], None]) -> None:
        """Work until cancelled; `changed` hears of every change of a copy, `view_changed` of kinds seen or lost."""
        self._changed, self._view_changed = changed, view_changed
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._works.run())
            await self._works.wait_synced()
            self._works.subscribe(self._work_changed)
            self._pulse.subscribe(self._heard)
            self._heard()
            self.look_at_everything()
            tasks.create_task(self._controller.run())
            tasks.create_task(self._orders.run())
            tasks.create_task(self._give_up_waiting())

    # What leads here

    def _work_changed(self, change: Change) -> None:
        before, work = change.old, change.new
        ref = ref_of(work or before or {})
        self.enqueue(ref)
        if _copy_in(before) != _copy_in(work):
            self._changed(ref)

    def _heard(self) -> None:
        """Take in which kinds the agent follows now."""
        told = self._pulse.told.get("kinds") or []
        seen = frozenset(kind_of(entry) for entry in told if entry.get("seen"))
        self._unserved = frozenset(kind_of(entry) for entry in told if entry.get("unserved"))
        now = self._runtime.monotonic()
        differing, self._seen = seen ^ self._seen, seen
        for resource in differing & self._unseen_since.keys():
            self._unseen_since[resource] = now
            self._view_changed(resource)
        # An Agent whose orders were changed or lost gets them again.
        self._orders.queue.add(self.name)

    async def _give_up_waiting(self) -> None:
        """Bring the sources of a kind back when one goes on without this member; nothing else would."""
        told: set[Resource] = set()
        while True:
            given_up = {kind for kind in self._unseen_since if kind not in self._seen and self._refusal(kind)}
            for resource in given_up - told:
                self._view_changed(resource)
            told = given_up
            await self._runtime.sleep(_UNSEEN_SECONDS / 4)

    def _refusal(self, resource: Resource) -> str:
        for entry in self._pulse.told.get("kinds") or ():
            if kind_of(entry) == resource and entry.get("refusal"):
                return str(entry["refusal"])
        if self._runtime.monotonic() - self._unseen_since[resource] < _UNSEEN_SECONDS:
            return ""
        return f"its agent has not told what it has of {resource.group_resource}"

    # Wishes out, answers in

    async def _reconcile(self, ref: Ref) -> float | None:
        wanted, work = self._desk.wanted(self.name, ref), self._work(ref)
        if wanted is None:
            return await self._let_be(ref, work) if work is not None else None
        leaving = isinstance(wanted, Absent | Released)
        done = leaving and self.name in self._desk.confirmed(ref, wanted.source_uid)
        if done and not is_managed(_copy_in(work)):
            # Only the desk has yet to forget it.
            await self._drop(work)
            return None
        if leaving and ref.resource == NAMESPACES and self._desk.holds(self.name, ref.key.name):
            # The agent knows what it was told of, and after a start that is not yet all that shall be there.
            self._desk.report(self.name, ref, "it is still needed for what is in it", "WaitingForRemoval")
            return _NEEDED_SECONDS
        if work is None or wish_of(work) != wanted:
            await self._write(ref, work, wanted)
            return None
        if is_current(work):
            self._take_in(ref, wanted, answer_of(work))
        return None

    def _take_in(self, ref: Ref, wanted: Wanted, answer: Answer) -> None:
        self._desk.report(self.name, ref, answer.trouble, answer.reason)
        if answer.confirmed and isinstance(wanted, Absent | Released):
            self._desk.confirm(self.name, ref, wanted)
            self.enqueue(ref)

    async def _let_be(self, ref: Ref, work: Obj) -> float | None:
        """Take a wish back that the desk no longer has, once it is sure that this is no mere lack of knowledge."""
        wish = wish_of(work)
        if is_managed(_copy_in(work)):
            # It stays as it was last wished for, until the engine knows what shall become of it.
            return None if wish is None else _STANDING_SECONDS
        if wish is None or (is_current(work) and answer_of(work).confirmed):
            await self._drop(work)
            return None
        if not self._desk.knows(ref) or not self.observe(ref).seen:
            return _STANDING_SECONDS
        await self._write(ref, work, None)
        return None

    async def _write(self, ref: Ref, work: Obj | None, wanted: Wanted | None) -> None:
        if work is None:
            try:
                self._works.remember(await self._host.create(WORKS, work_manifest(self.name, ref, wanted)))
                return
            except AlreadyExists:
                pass
        key = work_key(self.name, ref)
        patch = [{"op": "replace", "path": "/spec", "value": work_spec(ref, wanted)}]
        written = await self._host.patch(WORKS, key.name, patch, key.namespace, patch_type=PatchType.JSON)
        self._works.remember(written)

    async def _drop(self, work: Obj | None) -> None:
        """Remove a Work that has nothing more to say; one that was answered meanwhile is looked at again."""
        if work is None:
            return
        try:
            namespace = agent_namespace(self.name)
            await self._host.delete(WORKS, name_of(work), namespace, uid=uid_of(work), version=version_of(work))
        except (NotFound, Conflict):
            return

    async def _order(self, _name: str) -> float | None:
        """Tell the agent which kinds to follow; what may only be unused for a moment is taken off later."""
        if not self._pulse.known:
            return None
        agent = self._pulse.agent
        if agent is None:
            try:
                agent = await self._host.create(AGENTS, agent_manifest(self.name))
            except AlreadyExists:
                return None
        followed = {kind_of(entry) for entry in dig(agent, "spec", "kinds", default=[])}
        if followed == set(self._kinds):
            return None
        unused_for = self._runtime.monotonic() - self._ordering_since
        kinds = set(self._kinds) if unused_for >= _UNUSED_SECONDS else followed | set(self._kinds)
        if kinds != followed:
            ordered = sorted(map(kind_entry, kinds), key=lambda entry: (entry["group"], entry["plural"]))
            patch = [{"op": "add", "path": "/spec", "value": {"kinds": ordered}}]
            namespace = agent_namespace(self.name)
            await self._host.patch(AGENTS, self.name, patch, namespace, patch_type=PatchType.JSON)
        return _UNUSED_SECONDS if kinds != set(self._kinds) else None

    def _work(self, ref: Ref) -> Obj | None:
        return self._works.get(work_key(self.name, ref)) if self._works.synced else None


def _copy_in(work: Obj | None) -> Obj | None:
    return answer_of(work).copy if work is not None else None
