"""Looks after the replication of shards, beside what makes their Pods: a planned reparent may take minutes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Protocol

from hanse.api.planetscale.kinds import CLUSTER_LABEL, VITESS_BACKUPS, VITESS_SHARDS
from hanse.api.planetscale.reading import read_lockserver_params
from hanse.composite.hosting.place import Place
from hanse.composite.hosting.shelf import Kept
from hanse.kube.cache import Change
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.manifest import (
    Key,
    Obj,
    controller_of,
    dig,
    is_deleting,
    labels_of,
    namespace_of,
    uid_of,
)
from hanse.kube.resources import PODS
from hanse.kube.runtime import timestamp
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.splitting import PARENT_LABEL
from hanse.vitess.federated.turns import SharedTurns
from hanse.vitess.naming import cluster_service_name
from hanse.vitess.operator.hooks import Told
from hanse.vitess.operator.kinds import CLAIMS
from hanse.vitess.operator.pictures import Pictures
from hanse.vitess.operator.replication import (
    beginning_scene,
    candidate_pods,
    drain_marks,
    drain_tablets,
    shard_ref,
)
from hanse.vitess.operator.shaping import GRPC_PORT, Settings
from hanse.vitess.operator.shard_scene import ShardScene, shard_scene
from hanse.vitess.operator.verdicts import Happening, Mark, Observed, observed_of
from hanse.vitess.tablets.begin_pass import BeginPasses
from hanse.vitess.tablets.calling import TabletCaller, VtctldCaller
from hanse.vitess.tablets.drain_pass import DrainPasses, Outcome
from hanse.vitess.tablets.draining import DrainState, DrainTablet
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.picture import TopologyPicture
from hanse.vitess.topology.store import TopologyError

_RESYNC_SECONDS = 30.0
_AGAIN_SECONDS = 5.0
# Of one Vitess; whoever waits for its vtctld or its tablets waits for nobody else's.
_SHARDS_AT_ONCE = 8


class Caller(TabletCaller, VtctldCaller, Protocol):
    """Who asks tablets and vtctld."""


def vtctld_address(cluster: str, namespace: str) -> str:
    """Return where the vtctld of a VitessCluster answers."""
    return f"{cluster_service_name(cluster, 'vtctld')}.{namespace}.svc:{GRPC_PORT}"


class Replicating:
    """Gives shards their first primary, and has their tablets drained one at a time."""

    def __init__(
        self, place: Place, pictures: Pictures, caller: Caller, told: Told, settings: Settings, member: str = ""
    ) -> None:
        """`member` is what a federation calls the cluster, by which its parts take turns in draining one shard."""
        self._place = place
        self._pictures = pictures
        self._caller = caller
        self._told = told
        self._settings = settings
        self._member = member
        self._kept: dict[str, Kept] = {}
        runtime = place.client.runtime
        self._loop: Controller[Key] = Controller(
            "vitessshardreplication",
            self._reconcile,
            runtime,
            workers=None,
            owner=self._vitess,
            most_of_one=_SHARDS_AT_ONCE,
        )

    async def run(self) -> None:
        """Work until cancelled."""
        async with AsyncExitStack() as stack:
            for resource in (VITESS_SHARDS, PODS, CLAIMS, VITESS_BACKUPS):
                self._kept[resource.kind] = await stack.enter_async_context(self._place.shelf.lend(resource))
            stack.callback(self._kept[VITESS_SHARDS.kind].cache.subscribe(lambda change: self._add(change.key)))
            stack.callback(self._kept[PODS.kind].cache.subscribe(self._pod_changed))
            await self._loop.run()

    def _add(self, key: Key) -> None:
        self._loop.queue.add(key)

    def _vitess(self, key: Key) -> Key:
        """Return the Vitess that a shard is of: one whose vtctld hangs keeps only its own shards waiting."""
        shard = self._kept[VITESS_SHARDS.kind].cache.get(key)
        return Key(key.namespace, labels_of(shard).get(CLUSTER_LABEL, "") if shard is not None else "")

    def _pod_changed(self, change: Change) -> None:
        owner = controller_of(change.new or change.old or {"metadata": {}})
        if owner is not None and owner["kind"] == VITESS_SHARDS.kind:
            self._add(Key(change.key.namespace, owner["name"]))

    async def _reconcile(self, key: Key) -> float | None:
        shard = self._kept[VITESS_SHARDS.kind].cache.get(key)
        # What the Pods shall be is said by the other controller; before it has, nobody is missing.
        if shard is None or is_deleting(shard) or not _is_seen(shard):
            return None
        lockserver = read_lockserver_params(shard["spec"].get("globalLockserver") or {})
        glance = await self._pictures.glance(lockserver)
        topology = self._pictures.topology(lockserver)
        if glance.picture is None or topology is None:
            return _AGAIN_SECONDS
        scene = shard_scene(shard, self._observed(shard), glance.picture, self._settings)
        try:
            return await self._look(shard, scene, topology, glance.picture)
        except TopologyError as error:
            silent = Happening("TopoConnectFailed", f"topology does not answer: {error}", warning=True)
            await self._told.tell(shard, (silent,), about="replication")
            self._pictures.forget(lockserver)
            return _AGAIN_SECONDS

    async def _look(self, shard: Obj, scene: ShardScene, topology: Topology, picture: TopologyPicture) -> float:
        vtctld = Vtctld(self._caller, vtctld_address(labels_of(shard)[CLUSTER_LABEL], namespace_of(shard)))
        begin = BeginPasses(topology, self._caller, vtctld, self._place.client.runtime)
        begun = await begin.look(shard_ref(scene), beginning_scene(scene, picture))
        drains = DrainPasses(topology, self._caller, vtctld)
        turns, tablets = self._turns(topology, scene), drain_tablets(scene)
        drained = await drains.look(shard_ref(scene), picture, tablets, candidate_pods(scene), turns)
        if turns is not None:
            await _end_turn(turns, tablets)
        if begun.told or drained.told:
            self._pictures.forget(scene.around.lockserver)
        await self._write(scene, drained)
        await self._tell(shard, begun, drained)
        return min(_RESYNC_SECONDS, begun.again or _RESYNC_SECONDS, drained.again or _RESYNC_SECONDS)

    def _turns(self, topology: Topology, scene: ShardScene) -> SharedTurns | None:
        """Return whose turn it is among all clusters that have tablets of a shard; None where only this one has."""
        if PARENT_LABEL not in labels_of(scene.parent):
            return None
        shard = ShardId(scene.place.keyspace, str(scene.place.key_range))
        return SharedTurns(topology, shard, self._member, self._place.client.runtime)

    def _observed(self, shard: Obj) -> Observed:
        children = [
            (resource, child)
            for resource in (PODS, CLAIMS)
            for child in self._kept[resource.kind].family.children_of(uid_of(shard))
        ]
        labels = labels_of(shard).items()
        related = [
            (VITESS_BACKUPS, backup)
            for backup in self._kept[VITESS_BACKUPS.kind].cache.objects(namespace_of(shard))
            if labels <= labels_of(backup).items()
        ]
        found = observed_of(children, related)
        return Observed(found.children, found.related, self._place.client.runtime.now())

    async def _write(self, scene: ShardScene, outcome: Outcome) -> None:
        client = self._place.client
        for mark in drain_marks(scene, outcome.states, timestamp(client.runtime.now())):
            await self._annotate(namespace_of(scene.parent), mark)

    async def _annotate(self, namespace: str, mark: Mark) -> None:
        patch = {"metadata": {"annotations": dict(mark.annotations)}}
        try:
            await self._place.client.patch(mark.resource, mark.name, patch, namespace)
        except NotFound:
            return

    async def _tell(self, shard: Obj, *outcomes: Outcome) -> None:
        happenings = tuple(
            Happening(each.reason, each.message, warning=each.warning) for outcome in outcomes for each in outcome.told
        )
        # Kept apart from what the shard's own function says, which would otherwise be said again each time.
        await self._told.tell(shard, happenings, about="replication")


async def _end_turn(turns: SharedTurns, tablets: Sequence[DrainTablet]) -> None:
    """Let others have the turn of a tablet that is there again or gone for good, once no tablet is missing."""
    if all(tablet.available for tablet in tablets if tablet.desired):
        await turns.end([tablet.alias for tablet in tablets if tablet.state is not DrainState.NOT_DRAINING])


def _is_seen(shard: Obj) -> bool:
    return bool(dig(shard, "status", "observedGeneration") == dig(shard, "metadata", "generation"))
