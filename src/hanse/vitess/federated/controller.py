"""Looks after federated VitessClusters: stores their plans, tells how they stand, and keeps their topology.

One pass reads all that can be read, stores the next plan with the status in one write, and only then acts on topology.
What cannot be read is not known, and nothing follows from that but waiting. Members go on by themselves meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.clusters.member import Member, PullMember
from hanse.clusters.roster import Roster
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, dig, is_deleting, key_of, name_of, namespace_of
from hanse.kube.runtime import timestamp
from hanse.propagation.intent import Ref
from hanse.propagation.planning import UNSEEN
from hanse.propagation.viewing import View
from hanse.vitess.federated.aliases import alias_changes, wanted_aliases
from hanse.vitess.federated.draining import Drains
from hanse.vitess.federated.glance import alias_steps, lockserver_of, picture_of, prune_steps
from hanse.vitess.federated.member_parts import read_parts, tablet_pods
from hanse.vitess.federated.moving import Moves
from hanse.vitess.federated.plan import Plan, spec_digest, stored_plan
from hanse.vitess.federated.planning import Facts, Planned, next_plan
from hanse.vitess.federated.pruning import judge
from hanse.vitess.federated.quorum import read_quorum
from hanse.vitess.federated.reaching import silent_notes, unread_problem, unread_sentence
from hanse.vitess.federated.reading import CLUSTER_FIELD, FEDERATION_FIELD, REGION_FIELD, ShardId, all_shards, cells_of
from hanse.vitess.federated.reparenting import Replication, Tablets
from hanse.vitess.federated.requests import REPARENT_ANNOTATION, reparent_text, requests_of
from hanse.vitess.federated.sights import (
    MemberSight,
    Scene,
    evidence,
    member_news,
    member_views,
    scene_of,
    shard_sights,
    sites_of,
    standings,
)
from hanse.vitess.federated.status import Told, merged_status
from hanse.vitess.federated.token_store import TokenStore
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.applying import perform
from hanse.vitess.topology.picture import TopologyPicture, read_picture
from hanse.vitess.topology.store import Stores, TopologyError

# How soon is looked again while something is waited for, and while nothing is.
_BUSY_SECONDS, _QUIET_SECONDS = 5.0, 30.0
_TOPOLOGY_SECONDS = 5.0
# Longer than a planned reparent may take, for which vtctld has 120 s.
_ACT_SECONDS = 180.0

Reach = Callable[[Obj, Topology], Tablets | None]


@dataclass(frozen=True, slots=True)
class _Glance:
    """Topology as it was read; without any, `why` says why."""

    topology: Topology | None = None
    read: TopologyPicture | None = None
    why: str = ""


class FederatedVitess:
    """Plans and tells; the engine carries."""

    def __init__(
        self, host: Client, registry: Roster, view: View, stores: Stores, reach: Reach = lambda _source, _topology: None
    ) -> None:
        """`stores` open lockservers, and by `reach` the tablets of a VitessCluster are spoken with, where they can be.

        It is made before the registry runs.
        """
        self._host = host
        self._registry = registry
        self._view = view
        self._stores = stores
        self._reach = reach
        self._members: dict[str, Client] = {}
        self._cache = Cache(host, VITESS_CLUSTERS)
        self._events = EventRecorder(host, "hanse")
        # One for each Vitess: whoever waits for its lockserver or its vtctld keeps no other one waiting.
        self._controller: Controller[Key] = Controller("vitess", self._reconcile, host.runtime, workers=None)
        registry.attach(self._serve)
        registry.subscribe(lambda _cluster: self._look_at_all())
        view.follow(VITESS_CLUSTERS, self._standing_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._registry.wait_synced()
        self._cache.subscribe(self._changed)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cache.run())
            await self._cache.wait_synced()
            tasks.create_task(self._controller.run())

    async def _serve(self, member: Member | PullMember) -> None:
        """Know the way to a member while it is joined; one that fetches its work is asked through the host alone."""
        if isinstance(member, Member):
            self._members[member.name] = member.client
        try:
            await asyncio.Event().wait()
        finally:
            # One that joined anew may have come before this one had gone.
            if isinstance(member, Member) and self._members.get(member.name) is member.client:
                del self._members[member.name]

    def _changed(self, change: Change) -> None:
        self._controller.queue.add(change.key)

    def _standing_changed(self, source: Ref) -> None:
        self._controller.queue.add(source.key)

    def _look_at_all(self) -> None:
        for key in self._cache if self._cache.synced else ():
            self._controller.queue.add(key)

    async def _reconcile(self, key: Key) -> float | None:
        source = self._cache.get(key)
        if source is None or is_deleting(source) or not is_federated(source):
            return None
        before = stored_plan(source)
        glance = await self._glance(source)
        scene = await self._scene(source, before or Plan())
        picture = picture_of(glance.read) if glance.read is not None else None
        asked = requests_of(source)
        facts = Facts(
            sites_of(self._registry.clusters()),
            member_news(scene, asked.written_off),
            standings(scene, picture),
            picture,
        )
        planned = next_plan(source, before, facts)
        said = await self._act_in_time(source, before, glance, scene, planned)
        told = Told(
            planned.plan,
            member_views(scene, planned.plan.members),
            picture,
            glance.why,
            planned.refusals,
            (*planned.notes, *said, *(silent_notes(source, glance.read.silent) if glance.read is not None else ())),
        )
        status = merged_status(source, told, timestamp(self._host.runtime.now()))
        if status != source.get("status"):
            await self._write(source, status, planned)
            return _BUSY_SECONDS
        busy = bool(planned.notes or said or planned.refusals or glance.why)
        return _BUSY_SECONDS if busy or not _is_ready(status) else _QUIET_SECONDS

    async def _write(self, source: Obj, status: Obj, planned: Planned) -> None:
        written = await self._host.update(VITESS_CLUSTERS, {**source, "status": status}, subresource="status")
        self._cache.remember(written)
        if planned.refusals and not _said_before(source, status):
            await self._events.record(source, "InvalidSpec", str(planned.refusals[0]), warning=True)

    async def _glance(self, source: Obj) -> _Glance:
        """Read topology; of what does not answer in time nothing is known."""
        address = lockserver_of(source, read_quorum(source.get("spec") or {}))
        if address is None:
            return _Glance(why=unread_problem(source))
        topology = Topology(self._stores, address)
        try:
            async with asyncio.timeout(_TOPOLOGY_SECONDS):
                return _Glance(topology, await read_picture(topology))
        except TimeoutError:
            return _Glance(why=unread_sentence(source, address, "it does not answer"))
        except TopologyError as error:
            return _Glance(why=unread_sentence(source, address, str(error)))

    async def _scene(self, source: Obj, plan: Plan) -> Scene:
        names = plan.members
        sights = await asyncio.gather(*(self._sight(source, name) for name in names))
        return scene_of(source, plan, dict(zip(names, sights, strict=True)))

    async def _sight(self, source: Obj, member: str) -> MemberSight:
        """Return what is known of one member: by the engine's own caches, and by asking for what is below."""
        target = Ref(VITESS_CLUSTERS, key_of(source))
        cluster = next((each for each in self._registry.clusters() if each.name == member), None)
        speaker, standing = self._view.speaker(target), self._view.standing(target)
        seen = self._view.observe(target, speaker).get(member, UNSEEN) if speaker is not None else UNSEEN
        reachable = cluster is not None and not cluster.refusal
        row = standing.rows.get(member) if standing is not None else None
        client = self._members.get(member)
        parts = None
        if reachable and seen.seen and client is not None:
            parts = await read_parts(client, namespace_of(source), name_of(source), has_copy=seen.copy is not None)
        trouble = (row.held or row.trouble) if row is not None else ""
        return MemberSight(
            reachable, seen.copy, parts, trouble, surely_absent=reachable and seen.seen and seen.copy is None
        )

    async def _act_in_time(
        self, source: Obj, before: Plan | None, glance: _Glance, scene: Scene, planned: Planned
    ) -> list[str]:
        """Act, and tell instead of waiting for ever; what was begun is found as it is in the next pass."""
        try:
            async with asyncio.timeout(_ACT_SECONDS):
                return await self._act(source, before, glance, scene, planned)
        except TimeoutError:
            return [f"topology, vtctld or tablets did not answer in {_ACT_SECONDS:g} s; what is left is tried again"]

    async def _act(
        self, source: Obj, before: Plan | None, glance: _Glance, scene: Scene, planned: Planned
    ) -> list[str]:
        """Keep topology by a plan that is stored already, and return what is worth telling."""
        stored = before is not None and before == planned.plan and before.spec == spec_digest(source)
        if not stored or planned.refusals or glance.topology is None or glance.read is None:
            return []
        spec, picture = source["spec"], picture_of(glance.read)
        changes = alias_changes(wanted_aliases(spec, planned.plan.homes), picture.aliases)
        verdict = judge(
            spec, picture, evidence(scene), homes=planned.plan.homes, written_off=requests_of(source).written_off
        )
        steps = [*alias_steps(changes), *prune_steps(verdict.prune, glance.read)]
        for told in await perform(glance.topology, steps):
            await self._events.record(source, told.reason, told.message, warning=told.warning)
        try:
            return [*verdict.blocked, *await self._drains(source, glance.topology, scene, glance.read)]
        except TopologyError as error:
            return [*verdict.blocked, f"drains wait: {error}"]

    async def _drains(self, source: Obj, topology: Topology, scene: Scene, read: TopologyPicture) -> list[str]:
        """Serve drains, and then what people ask for; one change of a primary at a time is enough for each shard."""
        picture, tokens = picture_of(read), {ShardId(*name): version for name, version in read.tokens.items()}
        spec, asked, tablets = source["spec"], requests_of(source), self._reach(source, topology)
        heard = [name for name, sight in scene.members.items() if sight.reachable and sight.parts is not None]
        replication = await _replication(tablets, scene, everybody=bool(asked.evacuate or asked.reparent))
        now = self._host.runtime.now()
        sights = shard_sights(scene, picture, replication, now)
        preferred = tuple(dig(spec, FEDERATION_FIELD, "reparent", "preferredCells", default=()))
        drains, moves = Drains(TokenStore(topology), tablets, tokens), Moves(tablets, self._members)
        await moves.release(scene, picture)
        said = await drains.serve(all_shards(spec), sights, heard=heard, now=now, preferred_cells=preferred)
        said += await moves.evacuate(asked, scene, sights, preferred)
        told, left = await moves.reparent(asked, scene, sights)
        if left != asked.reparent:
            patch = {"metadata": {"annotations": {REPARENT_ANNOTATION: reparent_text(left)}}}
            await self._host.patch(VITESS_CLUSTERS, name_of(source), patch, namespace_of(source))
        return [*asked.unread, *said, *told]


async def _replication(tablets: Tablets | None, scene: Scene, *, everybody: bool) -> Mapping[str, Replication]:
    """Ask the tablets of shards in which one is drained, and nobody else unless everybody may have to move."""
    pods = [pod for sight in scene.members.values() if sight.parts for pod in tablet_pods(sight.parts.tablets)]
    drained = {pod.shard for pod in pods if pod.started}
    concerned = [pod.alias for pod in pods if everybody or pod.shard in drained]
    return await tablets.replication(concerned) if tablets is not None and concerned else {}


def is_federated(source: Obj) -> bool:
    """Tell whether a VitessCluster on the federation is for its members; any other is the host's own affair."""
    spec = source.get("spec") or {}
    if stored_plan(source) is not None or spec.get(FEDERATION_FIELD):
        return True
    return any(cell.get(CLUSTER_FIELD) or cell.get(REGION_FIELD) for cell in cells_of(spec))


def _is_ready(status: Obj) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ())


def _said_before(source: Obj, status: Obj) -> bool:
    def message(conditions: list[Obj] | None) -> str:
        return next((str(each["message"]) for each in conditions or () if each["type"] == "Accepted"), "")

    return message(dig(source, "status", "conditions")) == message(status["conditions"])
