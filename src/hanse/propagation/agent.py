"""The agent: the engine's side of one member, run inside it, with its wishes fetched from the host.

It keeps the member as the Works say and tells what it sees, in their status. Its knowledge is the Works that it has:
one that is missing says nothing, so nothing is removed but what a Work says shall be absent; and while the host cannot
be heard, what was asked for last stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from hanse.api.works import AGENTS, WORKS, agent_namespace, kind_entry, kind_of
from hanse.clusters.health import Health, HealthTerms
from hanse.clusters.lookout import Lookout
from hanse.clusters.member import Member
from hanse.clusters.member_transport import MemberTransport
from hanse.clusters.status import Facts, cluster_status, health_from_status
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client, PatchType
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, dig, name_of
from hanse.kube.resources import Resource
from hanse.kube.runtime import timestamp
from hanse.propagation.desk import Desk
from hanse.propagation.intent import Ref
from hanse.propagation.member_side import MemberSide
from hanse.propagation.planning import Observation
from hanse.propagation.works import (
    Answer,
    answer_of,
    is_managed,
    ref_of,
    told_copy,
    wish_of,
    work_key,
    work_manifest,
    work_status,
)

# A member changes pod by pod; what is told of it follows in steps of this size.
_TELLING_SECONDS = 0.3


class Agent:
    """Does one member's work, and tells the host what became of it."""

    def __init__(
        self, host: Client, member: Member, transport: MemberTransport, session: str, terms: HealthTerms | None = None
    ) -> None:
        """`session` names this run of the agent: it holds the Lease by that name."""
        self.name = member.name
        self._host = host
        self._member = member
        self._transport = transport
        self._runtime = host.runtime
        self._session = session
        self._terms = terms or HealthTerms()
        self._namespace = agent_namespace(member.name)
        self._works = Cache(host, WORKS, namespace=self._namespace)
        self._agents = Cache(host, AGENTS, namespace=self._namespace)
        self._desk = Desk()
        self._side = MemberSide(member, (), self._desk)
        self._kinds: tuple[Resource, ...] = ()
        # The kinds of which every copy has been told in this session.
        self._told: set[Resource] = set()
        # The version of each wish that is on the desk: what is told is about that one.
        self._taken: dict[Ref, int] = {}
        self._copies: set[Ref] = set()
        self._cluster: Obj = {}
        self._answers: Controller[Ref] = Controller("answers", self._answer, self._runtime)
        self._statement: Controller[str] = Controller("agent", self._state, self._runtime, workers=1)
        self._desk.connect(lambda _cluster, ref: self._side.enqueue(ref), self._tell_soon, self._tell_soon)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._works.run())
            tasks.create_task(self._agents.run())
            # A namespace is emptied of what is unwanted in the knowledge of all that is wanted in it.
            await self._works.wait_synced()
            await self._agents.wait_synced()
            self._works.subscribe(self._work_changed)
            self._cluster = dig(self._agents.get(self._own), "status", "cluster", default={})
            self._agents.subscribe(self._orders_changed)
            tasks.create_task(self._side.run(self._copy_changed, self._view_changed))
            tasks.create_task(self._answers.run())
            tasks.create_task(self._statement.run())
            health = health_from_status(self._cluster.get("conditions") or [])
            tasks.create_task(Lookout(self._member, self._transport, self._terms, health, self._take_note).run())

    @property
    def _own(self) -> Key:
        return Key(self._namespace, self.name)

    # What leads here

    def _work_changed(self, change: Change) -> None:
        work = change.new
        ref = ref_of(work or change.old or {})
        wish = wish_of(work) if work is not None else None
        if work is None or wish is None:
            self._desk.forget(ref)
        else:
            self._desk.place(ref, {self.name: wish})
        if work is None:
            self._taken.pop(ref, None)
        else:
            self._taken[ref] = dig(work, "metadata", "generation", default=0)
        self._tell_soon(ref)

    def _orders_changed(self, change: Change) -> None:
        if change.key != self._own:
            return
        kinds = tuple(map(kind_of, dig(change.new, "spec", "kinds", default=[])))
        if set(kinds) != set(self._kinds):
            self._kinds = kinds
            self._told &= set(kinds)
            self._side.follow(kinds)
        self._statement.queue.add(self.name)

    def _copy_changed(self, ref: Ref) -> None:
        self._copies.add(ref)
        self._tell_soon(ref)

    def _view_changed(self, _resource: Resource) -> None:
        self._statement.queue.add(self.name)

    async def _take_note(self, health: Health, facts: Facts) -> None:
        self._cluster = cluster_status(self._cluster, health, facts, timestamp(self._runtime.now()))
        self._statement.queue.add(self.name)

    def _tell_soon(self, ref: Ref) -> None:
        self._answers.queue.add_after(ref, _TELLING_SECONDS)

    # What is told

    async def _answer(self, ref: Ref) -> None:
        """Say of one object what there is of it; a copy that nobody asked for is told too, by a Work without a wish."""
        work = self._works.get(work_key(self.name, ref))
        observation = self._side.observe(ref)
        if work is None:
            if not observation.seen or not is_managed(observation.copy):
                self._copies.discard(ref)
                return
            work = await self._host.create(WORKS, work_manifest(self.name, ref, None))
            self._works.remember(work)
        status = work_status(self._answer_to(ref, work, observation))
        if status == work.get("status"):
            return
        patch = [{"op": "add", "path": "/status", "value": status}]
        try:
            written = await self._host.patch(
                WORKS, name_of(work), patch, self._namespace, patch_type=PatchType.JSON, subresource="status"
            )
        except NotFound:
            return
        self._works.remember(written)

    def _answer_to(self, ref: Ref, work: Obj, observation: Observation) -> Answer:
        before, wish = answer_of(work), self._desk.wanted(self.name, ref)
        return Answer(
            generation=self._taken.get(ref, 0),
            trouble=self._desk.trouble(self.name, ref),
            reason=self._desk.reason(self.name, ref),
            confirmed=wish is not None and self.name in self._desk.confirmed(ref, wish.source_uid),
            # What cannot be seen at the moment is as it was.
            copy=told_copy(observation.copy) if observation.seen else before.copy,
        )

    async def _state(self, _name: str) -> None:
        """Say which kinds are followed and how the cluster is; a kind counts once every copy of it has been told."""
        agent = self._agents.get(self._own)
        if agent is None:
            return
        for resource in self._kinds:
            if not self._sees(resource).seen:
                self._told.discard(resource)
            elif resource not in self._told:
                await self._answer_for(resource)
                self._told.add(resource)
        status = {"session": self._session, "kinds": list(self._entries(self._kinds)), "cluster": self._cluster}
        if status == agent.get("status"):
            return
        patch = [{"op": "add", "path": "/status", "value": status}]
        written = await self._host.patch(
            AGENTS, self.name, patch, self._namespace, patch_type=PatchType.JSON, subresource="status"
        )
        self._agents.remember(written)

    async def _answer_for(self, resource: Resource) -> None:
        for ref in [ref for ref in {*self._copies, *self._taken} if ref.resource == resource]:
            await self._answer(ref)

    def _entries(self, kinds: Iterable[Resource]) -> Iterable[Obj]:
        for resource in kinds:
            entry = kind_entry(resource) | {"seen": resource in self._told}
            view = self._sees(resource)
            unserved = {"unserved": True} if view.unserved else {}
            yield entry | ({"refusal": view.refusal} if view.refusal else {}) | unserved

    def _sees(self, resource: Resource) -> Observation:
        """Return whether a kind can be seen at all."""
        return replace(self._side.observe(Ref(resource, Key("", ""))), copy=None)
