"""The targets of one source, as its engine wants clusters: connected, judged, and each served while it can be used.

A target is known from the moment at which it was ready for the first time, which its status says from then on: pods may
be there, so it is never forgotten while it exists, whatever becomes of its credentials or of the registered cluster
behind it. One that has never been ready is a trouble with a sentence, and keeps nobody waiting. Every target is
connected to, probed and served by tasks of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hanse.api.admiralty.keys import NODE_TYPE, VIRTUAL
from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import Cluster
from hanse.clusters.health import HealthTerms
from hanse.clusters.member import Member, PullMember
from hanse.clusters.member_transport import Connect
from hanse.clusters.roster import Attachment, Roster
from hanse.kube.cache import Cache, Change, NotSynced, without_managed_fields
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition, merge_conditions
from hanse.kube.controller import Controller
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj
from hanse.kube.resources import NODES
from hanse.kube.runtime import timestamp
from hanse.pods.chaperons.signs import source_lease
from hanse.pods.listening import weakly
from hanse.pods.targets.board import Board
from hanse.pods.targets.claims import Claim, SourceIdentity, take_claim
from hanse.pods.targets.credentials import TargetSecrets
from hanse.pods.targets.draining import is_drained
from hanse.pods.targets.host_roster import HostRoster
from hanse.pods.targets.places import Place
from hanse.pods.targets.private_targets import PrivateTargets
from hanse.pods.targets.pulse import Pulse
from hanse.pods.targets.reading import Target
from hanse.pods.targets.serving import Serving
from hanse.pods.targets.standing import Standing, cluster_of, conditions_of, has_joined, standing_of_cluster
from hanse.pods.targets.stored import StoredTargets
from hanse.pods.targets.survey import Private, Scene, judged, rivals_among

__all__ = ["HostRoster", "TargetRoster"]

log = Log("hanse")

_WORKERS = 8
# A Secret is there at once, or cannot be read.
_SECRET_SECONDS = 5.0
# A name that another source has becomes free by a person's hand.
_TAKEN_SECONDS = 30.0
# How soon it is looked again whether a target that is being removed has been drained.
_DRAINING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Known:
    """What is thought of a target, and the conditions that say so and since when."""

    uid: str
    standing: Standing
    conditions: list[Obj]

    @property
    def since(self) -> str:
        return (find_condition(self.conditions, "Ready") or {}).get("lastTransitionTime") or ""


class TargetRoster:
    """Every Target and ClusterTarget of a source."""

    def __init__(
        self,
        source_name: str,
        source_client: Client,
        registry: Roster,
        board: Board,
        connect: Connect,
        *,
        terms: HealthTerms | None = None,
    ) -> None:
        """`registry` and `board` know the registered clusters, `connect` leads to private targets."""
        self.source = source_name
        self._client = source_client
        self._runtime = source_client.runtime
        self._registry = registry
        self._board = board
        self._identity = SourceIdentity(source_client)
        self._stored = StoredTargets(source_client, self._target_changed)
        self._nodes = Cache(source_client, NODES, labels=f"{NODE_TYPE}={VIRTUAL}", project=_without_status)
        self._secrets = TargetSecrets(source_client, self._secret_changed)
        self._privates = PrivateTargets(connect, self._runtime, terms or HealthTerms(), self._look_at)
        self._serving = Serving(self._runtime)
        self._serving.attach(Pulse(source_name, self._identity.get).serve)
        self._controller: Controller[str] = Controller(
            f"targets of {source_name}", self._reconcile, self._runtime, workers=_WORKERS
        )
        self._known: dict[str, _Known] = {}
        self._rivals: dict[str, TargetName] = {}
        # By uid: targets that were ready once, that are becoming so, and in which another source has this one's name.
        self._joined: set[str] = set()
        self._joining: set[str] = set()
        self._taken: dict[str, str] = {}
        self._listeners: list[Callable[[str], None]] = []
        self._told: dict[str, Cluster | str] = {}
        self._listed: tuple[Sequence[Cluster], list[Cluster]] | None = None
        self._index: tuple[Sequence[Cluster], dict[str, Cluster]] | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._synced = asyncio.Event()
        registry.subscribe(weakly(self._cluster_changed))

    # What an engine asks

    def attach(self, work: Attachment) -> None:
        """Run `work` for every target that can be used; said before the roster runs."""
        self._serving.attach(work)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with a target's name when anything that placement may look at has changed."""
        self._listeners.append(listener)

    def clusters(self) -> Sequence[Cluster]:
        """Return every target in which pods may be, in order of name; raises NotSynced before that is known."""
        if not self._synced.is_set():
            raise NotSynced(f"the targets of {self.source} are not known yet")
        registered = self._registry.clusters()
        if self._listed is None or self._listed[0] is not registered:
            values = (self._value(target) for target in self._stored.targets())
            found = [value for value in values if isinstance(value, Cluster)]
            self._listed = registered, sorted(found, key=lambda cluster: cluster.name)
        return self._listed[1]

    async def wait_synced(self) -> None:
        """Wait until every target is known."""
        await self._synced.wait()

    # What the other parts ask

    def targets(self) -> Sequence[TargetName]:
        """Return every target there is, whether it can be used now or not."""
        return sorted(target.name for target in self._stored.targets())

    def member(self, name: str) -> Member | None:
        """Return the way to a target that is in use."""
        return self._serving.member(name)

    def registered(self, name: str) -> str:
        """Return the registered cluster that a target names, "" where it names none."""
        target = self._stored.target(name)
        return target.cluster if target is not None else ""

    def is_self(self, name: str) -> bool:
        """Tell whether a target is the source itself."""
        target = self._stored.target(name)
        return target is not None and self._is_own(target)

    def is_leaving(self, name: str) -> bool:
        """Tell whether a target is being removed, and stays for as long as it takes to drain it."""
        target = self._stored.target(name)
        return target is not None and target.leaving

    def troubles(self) -> Mapping[str, str]:
        """Return the targets that cannot be used now, each with the sentence that says why."""
        return {name: known.standing.why for name, known in self._known.items() if not known.standing.ready}

    async def claim(self, name: str) -> Claim:
        """Tell whether what bears this source's name in a target is surely its own."""
        target, member = self._stored.target(name), self.member(name)
        if target is None or member is None:
            return Claim(None, f"{name} is not in use")
        return await self._take_name(target, member)

    async def run(self) -> None:
        """Keep the connections until cancelled."""
        leave_board = self._board.subscribe(self._cluster_changed)
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                tasks.create_task(self._stored.run())
                tasks.create_task(self._nodes.run())
                await self._stored.wait_synced()
                await self._nodes.wait_synced()
                await self._registry.wait_synced()
                self._begin()
                tasks.create_task(self._controller.run())
        finally:
            self._tasks = None
            leave_board()

    # What leads here

    def _begin(self) -> None:
        """Think of every target what was thought of it before, and look at each."""
        self._rivals = self._rivals_now()
        for target in self._stored.targets():
            self._note(target)
        self._told = {str(target.name): _for_placement(self._value(target)) for target in self._stored.targets()}
        self._synced.set()
        self._look_at_all()
        self._nodes.subscribe(self._node_changed)

    def _target_changed(self, name: str) -> None:
        if self._synced.is_set():
            self._look_at(name)

    def _node_changed(self, change: Change) -> None:
        self._tell(str(target.name) for target in self._stored.targets() if target.name.node == change.key.name)

    def _secret_changed(self, key: Key) -> None:
        for target in self._stored.targets():
            if target.credentials is not None and target.credentials.secret == key:
                self._look_at(str(target.name))

    def _cluster_changed(self, cluster: str) -> None:
        if self._tasks is None or not self._synced.is_set():
            return
        concerned = [
            str(target.name)
            for target in self._stored.targets()
            if cluster == (target.cluster or (self.source if target.itself else ""))
        ]
        self._tell(concerned)
        for name in concerned:
            self._look_at(name)

    def _look_at(self, name: str) -> None:
        self._controller.queue.add(name)

    def _look_at_all(self) -> None:
        for target in self._stored.targets():
            self._look_at(str(target.name))

    # The paragraph: observe, decide, act, report

    async def _reconcile(self, name: str) -> float | None:
        target, tasks = self._stored.target(name), self._tasks
        if tasks is None:
            return None
        if target is None:
            await self._drop(name, tasks)
            return None
        again = await self._connect_to(target, tasks)
        self._arrange()
        self._note(target)
        again = await self._join(target) or again
        await self._serving.keep(name, self._served(target), tasks)
        self._tell([name])
        await self._stored.report(target, self._known[name].conditions, self._place(target))
        return await self._see_off(target) if target.leaving else again

    async def _drop(self, name: str, tasks: asyncio.TaskGroup) -> None:
        self._follow_secrets(tasks)
        await self._privates.drop(name)
        await self._serving.keep(name, None, tasks)
        self._known.pop(name, None)
        self._arrange()
        self._tell([name])

    async def _connect_to(self, target: Target, tasks: asyncio.TaskGroup) -> float | None:
        """Bring the connection to a private target up to date with its Secret, once that is known."""
        self._follow_secrets(tasks)
        name, credentials = str(target.name), target.credentials
        if credentials is None:
            await self._privates.drop(name)
        elif self._secrets.knows(credentials.secret):
            await self._privates.keep(target, self._secrets.get(credentials.secret), self._conditions(target), tasks)
        else:
            if problem := self._secrets.problem(credentials.secret):
                self._privates.lacks(name, problem)
            return _SECRET_SECONDS
        return None

    def _follow_secrets(self, tasks: asyncio.TaskGroup) -> None:
        named = [target.credentials.secret for target in self._stored.targets() if target.credentials is not None]
        self._secrets.follow(named, tasks)

    def _arrange(self) -> None:
        """See who has which place, and look again at those for whom that is news."""
        before, self._rivals = self._rivals, self._rivals_now()
        for name in before.keys() | self._rivals.keys():
            if before.get(name) != self._rivals.get(name):
                self._look_at(name)

    def _note(self, target: Target) -> None:
        name = str(target.name)
        known = self._known.get(name)
        standing = judged(target, self._scene(), self._rivals.get(name))
        told = conditions_of(target, standing, joined=self._has_joined(target))
        now = timestamp(self._runtime.now())
        self._known[name] = _Known(target.uid, standing, merge_conditions(self._conditions(target), told, now))
        self._listed = None
        if known is not None and known.standing.ready != standing.ready:
            log.info(
                "Judged a target anew", source=self.source, target=name, ready=standing.ready is True, why=standing.why
            )

    async def _join(self, target: Target) -> float | None:
        """Write down that a target was ready, before anything is sent there."""
        if self._has_joined(target):
            if not target.held and not target.leaving:
                await self._stored.hold(target)
            return None
        if target.leaving:
            return None
        # Whoever had the name before may be gone.
        standing = judged(target, replace(self._scene(), taken={}), self._rivals.get(str(target.name)))
        member = self._way_to(target)
        if not standing.ready or member is None:
            return None
        # From here on nobody else may come to its place, though it is not known there yet.
        self._joining.add(target.uid)
        try:
            return await self._join_through(target, member, standing)
        finally:
            self._joining.discard(target.uid)

    async def _join_through(self, target: Target, member: Member, standing: Standing) -> float | None:
        claim = await self._take_name(target, member)
        if claim.ours is False:
            self._taken[target.uid] = claim.why
            self._note(target)
            return _TAKEN_SECONDS
        self._taken.pop(target.uid, None)
        # From here on pods may be there: it must not go before they have.
        await self._stored.hold(target)
        told = conditions_of(target, standing, joined=True)
        now = timestamp(self._runtime.now())
        conditions = merge_conditions(self._conditions(target), told, now)
        await self._stored.report(target, conditions, self._scene().place(target))
        self._joined.add(target.uid)
        self._note(target)
        return None

    async def _see_off(self, target: Target) -> float | None:
        """Let a target go that is being removed, once nothing of this source runs there any more."""
        if not target.held:
            return None
        if self._has_joined(target):
            member = self._way_to(target)
            if member is None or self._known[str(target.name)].standing.ready is not True:
                return _DRAINING_SECONDS
            claim = await self._take_name(target, member)
            if not await is_drained(self._client, self.source, member, ours=claim.ours is True):
                return _DRAINING_SECONDS
        await self._stored.release(target)
        return None

    async def _take_name(self, target: Target, member: Member) -> Claim:
        """Take the source's name in a target; in itself it is nobody else's."""
        if self._is_own(target):
            return Claim(True)
        lease = source_lease(self.source)
        if target.credentials is not None and target.name.namespace:
            lease = lease._replace(namespace=target.name.namespace)
        registered = target.credentials is None
        return await take_claim(member.client, lease, await self._identity.get(), found_namespace=registered)

    def _tell(self, names: Iterable[str]) -> None:
        """Tell the listeners of those targets that are others for placement than they were."""
        self._listed = None
        for name in names:
            target = self._stored.target(name)
            value = _for_placement(self._value(target)) if target is not None else None
            if self._told.get(name) != value:
                self._remember(name, value)
                for listener in self._listeners:
                    listener(name)

    def _remember(self, name: str, value: Cluster | str | None) -> None:
        if value is None:
            self._told.pop(name, None)
        else:
            self._told[name] = value

    # What is known of one target

    def _value(self, target: Target) -> Cluster | str:
        """Return a target as placement sees it, or why it does not."""
        name, scene = str(target.name), self._scene()
        known = self._known.get(name)
        if known is None or not self._has_joined(target):
            return known.standing.why if known is not None else "it has not been looked at yet"
        standing, since, behind = known.standing, known.since, scene.behind(target)
        if behind is not None and not standing.blocked:
            standing, since = standing_of_cluster(behind), behind.refused_since
        node, summary = self._nodes.get(Key("", target.name.node)), self._privates.summary(name)
        return cluster_of(target, standing, since, behind=behind, summary=summary, node=node)

    def _scene(self) -> Scene:
        registered = self._registry.clusters()
        if self._index is None or self._index[0] is not registered:
            self._index = registered, {cluster.name: cluster for cluster in registered}
        return Scene(self.source, self._index[1], self._private, self._taken, self._stored.place)

    def _private(self, target: Target) -> Private:
        return self._privates.known(str(target.name), self._conditions(target))

    def _place(self, target: Target) -> Place:
        """Return where pods of a target may be: where it leads, unless it led elsewhere when it was first used."""
        scene = self._scene()
        was = scene.was(target)
        return scene.place(target) or was if self._has_joined(target) and not scene.has_moved(target) else was

    def _rivals_now(self) -> dict[str, TargetName]:
        targets = self._stored.targets()
        used = {str(each.name) for each in targets if each.uid in self._joining or self._has_joined(each)}
        return rivals_among(targets, self._scene(), used)

    def _is_own(self, target: Target) -> bool:
        return self._scene().is_own(target)

    def _way_to(self, target: Target) -> Member | None:
        """Return how to reach a target, whether or not it may be used."""
        name, namespace = str(target.name), target.name.namespace
        if self._is_own(target):
            return Member(name, self._client, namespace)
        if target.credentials is not None:
            client = self._privates.client(name)
            return Member(name, client, namespace) if client is not None else None
        member = self._board.member(target.cluster)
        if member is None or isinstance(member, PullMember):
            return None
        return Member(name, member.client, namespace)

    def _served(self, target: Target) -> Member | None:
        """Return how to reach a target that has been ready; one that is merely silent is still listened to."""
        blocked = self._known[str(target.name)].standing.blocked
        return self._way_to(target) if self._has_joined(target) and not blocked else None

    def _has_joined(self, target: Target) -> bool:
        return target.uid in self._joined or has_joined(self._stored.conditions(target))

    def _conditions(self, target: Target) -> list[Obj]:
        """Return what was last thought of a target, by this process or by the one before it."""
        known = self._known.get(str(target.name))
        return known.conditions if known is not None and known.uid == target.uid else self._stored.conditions(target)


def _for_placement(value: Cluster | str) -> Cluster | str:
    """Leave out what is no reason to place anew: other words for the same trouble, and how much room is left."""
    return replace(value, why="", free={}) if isinstance(value, Cluster) else value


def _without_status(node: Obj) -> Obj:
    """Keep of a virtual node what people do with it; what it shows comes from here."""
    kept = without_managed_fields(node)
    return {name: kept[name] for name in ("apiVersion", "kind", "metadata", "spec") if name in kept}
