"""The operator at work in one cluster: one lambda controller for each kind, and topology kept in step with them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial

from hanse.api.planetscale.kinds import (
    CELL_LABEL,
    ETCD_LOCKSERVERS,
    KEYSPACE_LABEL,
    VITESS_BACKUP_SCHEDULES,
    VITESS_BACKUP_STORAGES,
    VITESS_CELLS,
    VITESS_CLUSTERS,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.api.planetscale.reading import read_lockserver_params
from hanse.api.planetscale.values import LockserverParams
from hanse.composite.hosting.composite import HostedComposite
from hanse.composite.hosting.opened import OpenedHooks
from hanse.composite.hosting.place import Kinds, Manners, Place, UnknownKind, find_kinds
from hanse.composite.hosting.shelf import CacheShelf
from hanse.composite.spec import ControllerSpec, HookSpec
from hanse.kube.client import Client
from hanse.kube.events import EventRecorder
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, labels_of, namespace_of
from hanse.kube.resources import PODS, Resource
from hanse.vitess.operator.backup_asking import BackupLists, vtctld_at
from hanse.vitess.operator.cells import sync_cell
from hanse.vitess.operator.clusters import sync_cluster
from hanse.vitess.operator.controllers import LAYERS, Layer
from hanse.vitess.operator.hooks import CustomizeHook, Decide, SyncHook, Told, cluster_of
from hanse.vitess.operator.keyspaces import sync_keyspace
from hanse.vitess.operator.lockservers import sync_lockserver
from hanse.vitess.operator.lower_specs import lockserver_of
from hanse.vitess.operator.partitions import MOST_PARTITIONINGS, given_partitionings
from hanse.vitess.operator.pictures import Glance, Pictures
from hanse.vitess.operator.registering import cell_steps, cluster_steps, keyspace_steps, shard_steps
from hanse.vitess.operator.replicating import Caller, Replicating, vtctld_address
from hanse.vitess.operator.schedules import sync_schedule
from hanse.vitess.operator.shaping import Settings
from hanse.vitess.operator.shards import sync_shard
from hanse.vitess.operator.storages import current_pod, reads_manifests, sync_storage
from hanse.vitess.operator.tablets import alias_of
from hanse.vitess.operator.validation import cluster_problems
from hanse.vitess.operator.verdicts import READY, Happening, Observed, Verdict
from hanse.vitess.tablets.asking import Questions
from hanse.vitess.tablets.reshard_watch import watch_resharding
from hanse.vitess.tablets.resharding import ReshardingReport, report_resharding
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology.applying import perform
from hanse.vitess.topology.picture import TopologyPicture
from hanse.vitess.topology.steps import Step
from hanse.vitess.topology.store import Stores

log = Log("hanse")

COMPONENT = "vitess-operator"
# So soon it is looked again where topology did not answer, or a step in it failed.
_AGAIN_SECONDS = 5.0
# What is missing may come at any time: somebody may yet define the kinds.
_KINDS_SECONDS = 5.0
_RESYNC_SECONDS = 1800.0

_SHARDS = next(layer.spec for layer in LAYERS if layer.parent == VITESS_SHARDS)

# As the original operator tells of its work; what is not known must not look as if it were.
_MANNERS = Manners(
    writes=True, unknown=frozenset({READY, "ReshardingActive", "ReshardingInSync"}), reason="ReconcileFailed"
)

Steps = Callable[[Obj, Obj, TopologyPicture], list[Step]]


class VitessOperator:
    """Runs the VitessClusters of one cluster."""

    def __init__(
        self,
        client: Client,
        stores: Stores | None,
        settings: Settings | None = None,
        caller: Caller | None = None,
        member: str = "",
    ) -> None:
        """Without `stores` nothing is known of topology, and without a `caller` nobody asks tablets and vtctld.

        `member` is what a federation calls the cluster.
        """
        self._client = Client(client.transport, client.runtime, manager=COMPONENT)
        self._settings = settings or Settings()
        self.pictures = Pictures(stores, client.runtime)
        events = EventRecorder(self._client, COMPONENT)
        self._told = Told(events)
        self._place = Place(self._client, CacheShelf(self._client), events, _open_nothing, manners=_MANNERS)
        self._caller = caller
        self._backups = BackupLists(self._client, caller)
        self._member = member

    async def run(self) -> None:
        """Work until cancelled, as soon as the cluster serves the kinds."""
        async with asyncio.TaskGroup() as tasks:
            for layer in LAYERS:
                tasks.create_task(self._run(layer))
            if self._caller is not None:
                tasks.create_task(self._replicate(self._caller))

    async def _replicate(self, caller: Caller) -> None:
        await self._kinds(_SHARDS)
        await Replicating(self._place, self.pictures, caller, self._told, self._settings, self._member).run()

    async def _kinds(self, spec: ControllerSpec) -> Kinds:
        """Return the kinds that a controller names, as soon as the cluster serves them."""
        while True:
            try:
                return await find_kinds(self._client, spec)
            except UnknownKind:
                await self._client.runtime.sleep(_KINDS_SECONDS)

    async def _run(self, layer: Layer) -> None:
        spec = layer.spec
        kinds = await self._kinds(spec)
        hooks = OpenedHooks(
            sync=SyncHook(self._client, self._told, self._decisions()[layer.parent]),
            customize=None if layer.related is None else CustomizeHook(layer.related),
        )
        await HostedComposite(layer.controller, spec, kinds, hooks, self._place).run()

    def _decisions(self) -> Mapping[Resource, Decide]:
        return {
            VITESS_CLUSTERS: self._cluster,
            VITESS_CELLS: self._cell,
            VITESS_KEYSPACES: self._keyspace,
            VITESS_SHARDS: self._shard,
            ETCD_LOCKSERVERS: partial(_plainly, partial(sync_lockserver, settings=self._settings)),
            VITESS_BACKUP_STORAGES: self._storage,
            VITESS_BACKUP_SCHEDULES: partial(_plainly, partial(sync_schedule, settings=self._settings)),
        }

    async def _cluster(self, parent: Obj, observed: Observed) -> Verdict:
        verdict = sync_cluster(parent, observed, self._settings)
        if cluster_problems(parent.get("spec") or {}):
            # A spec that cannot be meant says nothing about what topology shall hold.
            return verdict
        lockserver = lockserver_of(parent)
        steps = partial(
            cluster_steps,
            cells={labels_of(each)[CELL_LABEL] for each in observed.of(VITESS_CELLS).values()},
            keyspaces={labels_of(each)[KEYSPACE_LABEL] for each in observed.of(VITESS_KEYSPACES).values()},
        )
        glance = await self.pictures.glance(lockserver)
        return await self._registered(parent, verdict, lockserver, glance, steps, _RESYNC_SECONDS)

    async def _cell(self, parent: Obj, observed: Observed) -> Verdict:
        lockserver = _handed_down(parent)
        glance = await self.pictures.glance(lockserver)
        verdict = sync_cell(parent, observed, glance.picture, self._settings)
        return await self._registered(parent, verdict, lockserver, glance, cell_steps, _RESYNC_SECONDS)

    async def _keyspace(self, parent: Obj, observed: Observed) -> Verdict:
        lockserver = _handed_down(parent)
        glance = await self.pictures.glance(lockserver)
        report = await self._resharding(parent, glance.picture)
        verdict = sync_keyspace(parent, observed, report)
        steps = partial(
            keyspace_steps, shards={str(each["spec"]["name"]) for each in observed.of(VITESS_SHARDS).values()}
        )
        return await self._registered(parent, verdict, lockserver, glance, steps, _RESYNC_SECONDS)

    async def _resharding(self, parent: Obj, picture: TopologyPicture | None) -> ReshardingReport:
        """Return how far a reshard is; with one partitioning there is none, and nobody is asked."""
        if len(given_partitionings(parent["spec"])) < MOST_PARTITIONINGS:
            return report_resharding([])
        if self._caller is None or picture is None:
            return report_resharding(None)
        vtctld = Vtctld(self._caller, vtctld_address(cluster_of(parent), namespace_of(parent)))
        return await watch_resharding(str(parent["spec"]["name"]), picture, vtctld, Questions(self._caller))

    async def _shard(self, parent: Obj, observed: Observed) -> Verdict:
        lockserver = _handed_down(parent)
        glance = await self.pictures.glance(lockserver)
        verdict = sync_shard(parent, observed, glance.picture, self._settings)
        steps = partial(shard_steps, tablets=[alias for pod in observed.of(PODS).values() if (alias := alias_of(pod))])
        return await self._registered(parent, verdict, lockserver, glance, steps, _RESYNC_SECONDS)

    async def _storage(self, parent: Obj, observed: Observed) -> Verdict:
        if reads_manifests(parent, self._settings):
            return sync_storage(parent, observed, self._settings)
        listing = await self._backups.look(parent, vtctld_at(current_pod(parent, observed, self._settings)))
        return sync_storage(parent, observed, self._settings, listing)

    async def _registered(
        self, parent: Obj, verdict: Verdict, lockserver: LockserverParams, glance: Glance, steps: Steps, resync: float
    ) -> Verdict:
        """Bring topology up to date with a verdict, and tell what came of it; topology that is silent stops nothing."""
        again = min(resync, verdict.again or resync)
        topology = self.pictures.topology(lockserver)
        if topology is None:
            return replace(verdict, again=again)
        if glance.picture is None:
            silent = Happening("TopoConnectFailed", f"topology does not answer: {glance.problem}", warning=True)
            return replace(verdict, events=(*verdict.events, silent), again=min(again, _AGAIN_SECONDS))
        planned = steps(parent, verdict.status, glance.picture)
        if not planned:
            return replace(verdict, again=again)
        told = await perform(topology, planned)
        self.pictures.forget(lockserver)
        events = tuple(Happening(each.reason, each.message, warning=each.warning) for each in told)
        failed = any(each.warning for each in told)
        again = min(again, _AGAIN_SECONDS) if failed else again
        return replace(verdict, events=(*verdict.events, *events), again=again)


def _handed_down(parent: Obj) -> LockserverParams:
    return read_lockserver_params(parent["spec"].get("globalLockserver") or {})


async def _plainly(sync: Callable[[Obj, Observed], Verdict], parent: Obj, observed: Observed) -> Verdict:
    return sync(parent, observed)


def _open_nothing(spec: HookSpec) -> Awaitable[SyncHook]:
    raise AssertionError(f"the operator's functions run in this process, and {spec} is not opened")
