"""A small operator for the members of a simulated federation: what upstream's does, as far as a federation meets it.

It makes cells, keyspaces, shards and tablets, begins shards where it shall, drains one tablet of a shard at a time with
the shared token, and lets go of a keyspace once nothing of it runs.
"""

from __future__ import annotations

from collections.abc import Callable

from hanse.api.planetscale.kinds import (
    CELL_LABEL,
    CLUSTER_LABEL,
    COMPONENT_LABEL,
    DRAIN_ACKNOWLEDGED_ANNOTATION,
    DRAIN_FINISHED_ANNOTATION,
    DRAIN_STARTED_ANNOTATION,
    KEYSPACE_LABEL,
    SHARD_LABEL,
    TABLET_TYPE_LABEL,
    TABLET_UID_LABEL,
    VITESS_CELLS,
    VITESS_CLUSTERS,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import (
    CellInfo,
    Keyspace,
    KeyspacePartition,
    Shard,
    ShardReference,
    SrvKeyspace,
    Tablet,
    TabletAlias,
    TabletType,
)
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting, labels_of, name_of
from hanse.kube.resources import PODS, Resource
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Unreachable
from hanse.vitess.federated.member_parts import TabletPod, tablet_pods
from hanse.vitess.federated.reading import Shard as ShardWish
from hanse.vitess.federated.reading import ShardId, shards_of
from hanse.vitess.federated.token_store import TokenStore
from hanse.vitess.federated.tokens import AVAILABLE_SECONDS, Token
from hanse.vitess.identity import TabletIdentity
from hanse.vitess.key_ranges import KeyRange, parse_shard_name
from hanse.vitess.naming import cell_name, keyspace_name, shard_name, tablet_name
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.store import NodeExists, NoNode, TopologyError
from tests.simulation.vitess.federated.net import Database, Net, change_primary, repair

NAMESPACE = "vt"
NAME = "shop"
_PASS_SECONDS = 5.0


class Operator:
    """Runs the VitessCluster of one member."""

    def __init__(self, member: str, client: Client, net: Net, on_drain: Callable[[ShardId, str, bool], None]) -> None:
        """`on_drain` hears of every tablet that is drained, and of those that have then gone for good."""
        self.member = member
        self.uses_tokens = True
        self.period = _PASS_SECONDS
        self._client = client
        self._net = net
        self._on_drain = on_drain
        self._silent: dict[ShardId, float] = {}
        self._wanted: set[ShardId] = set()

    async def run(self) -> None:
        while True:
            try:
                await self.once()
            except (ApiError, Unreachable, TopologyError, TimeoutError):
                pass
            await self._net.runtime.sleep(self.period)

    async def once(self) -> None:
        """Do all that is to be done now, as far as servers answer."""
        cluster = await self._client.find(VITESS_CLUSTERS, NAME, NAMESPACE)
        if cluster is None or is_deleting(cluster):
            return
        topology = self._topology(cluster)
        wishes = {
            shard.id: shard for each in dig(cluster, "spec", "keyspaces", default=()) for shard in shards_of(each)
        }
        self._wanted = {shard for shard, wish in wishes.items() if any(pool.replicas for pool in wish.pools)}
        await self._lower(cluster, wishes)
        pods = await self._pods()
        self._run_databases(pods)
        try:
            await self._register(cluster, topology, wishes, pods)
            for shard, wish in wishes.items():
                await self._begin(topology, wish)
                await self._repair(topology, shard)
        finally:
            await self._tell(cluster, wishes, pods)
        for shard in {pod.shard for pod in pods}:
            await self._drain(topology, shard, [pod for pod in pods if pod.shard == shard], wishes.get(shard))
        await self._let_go(topology, wishes, pods)
        await self._prune(cluster, topology, wishes)

    def _topology(self, cluster: Obj) -> Topology:
        external = cluster["spec"]["globalLockserver"]["external"]
        return Topology(
            self._net.stores[self.member], LockserverParams("etcd2", external["address"], external["rootPath"])
        )

    async def _pods(self) -> list[TabletPod]:
        """Return all pods of tablets; one that still ends is drained until it has gone."""
        listed = await self._client.list(PODS, NAMESPACE, labels=f"{CLUSTER_LABEL}={NAME}")
        return sorted(tablet_pods(listed.items), key=lambda pod: pod.alias)

    # Objects

    async def _lower(self, cluster: Obj, wishes: dict[ShardId, ShardWish]) -> None:
        cells = [each["name"] for each in cluster["spec"]["cells"]]
        keyspaces = [each["name"] for each in dig(cluster, "spec", "keyspaces", default=())]
        for cell in cells:
            await self._ensure(VITESS_CELLS, cell_name(NAME, cell), cell, {CELL_LABEL: cell})
        for keyspace in keyspaces:
            await self._ensure(VITESS_KEYSPACES, keyspace_name(NAME, keyspace), keyspace, {KEYSPACE_LABEL: keyspace})
        for shard, wish in wishes.items():
            labels = {KEYSPACE_LABEL: shard.keyspace, SHARD_LABEL: wish.range.safe_name}
            await self._ensure(
                VITESS_SHARDS, shard_name(NAME, shard.keyspace, wish.range.safe_name), shard.shard, labels
            )
        busy = {shard.keyspace for shard, wish in wishes.items() if any(pool.replicas for pool in wish.pools)}
        pods = await self._pods()
        for obj in (await self._client.list(VITESS_KEYSPACES, NAMESPACE)).items:
            name = obj["spec"]["name"]
            idle = name not in busy and not any(pod.shard.keyspace == name for pod in pods)
            await self._idle(VITESS_KEYSPACES, obj, idle)
            if idle and name not in keyspaces:
                await self._remove_keyspace(obj)
        for obj in (await self._client.list(VITESS_CELLS, NAMESPACE)).items:
            name = obj["spec"]["name"]
            idle = not any(pod.cell == name for pod in pods)
            await self._idle(
                VITESS_CELLS, obj, idle and not any(p.cell == name for w in wishes.values() for p in w.pools)
            )
            if idle and name not in cells:
                await self._client.delete(VITESS_CELLS, name_of(obj), NAMESPACE)

    async def _remove_keyspace(self, obj: Obj) -> None:
        for shard in (await self._client.list(VITESS_SHARDS, NAMESPACE)).items:
            if labels_of(shard)[KEYSPACE_LABEL] == obj["spec"]["name"]:
                await self._client.delete(VITESS_SHARDS, name_of(shard), NAMESPACE)
        await self._client.delete(VITESS_KEYSPACES, name_of(obj), NAMESPACE)

    async def _ensure(self, kind: Resource, name: str, called: str, labels: dict[str, str]) -> None:
        if await self._client.find(kind, name, NAMESPACE) is None:
            metadata = {"name": name, "namespace": NAMESPACE, "labels": {CLUSTER_LABEL: NAME, **labels}}
            body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": {"name": called}}
            await self._client.create(kind, body)

    async def _idle(self, kind: Resource, obj: Obj, idle: bool) -> None:
        status = {"idle": str(idle), "observedGeneration": dig(obj, "metadata", "generation", default=0)}
        if obj.get("status") != status:
            await self._client.update(kind, {**obj, "status": status}, subresource="status")

    async def _tell(self, cluster: Obj, wishes: dict[ShardId, ShardWish], pods: list[TabletPod]) -> None:
        keyspaces: Obj = {}
        for each in dig(cluster, "spec", "keyspaces", default=()):
            own = [wish for shard, wish in wishes.items() if shard.keyspace == each["name"]]
            wanted = [identity.alias for wish in own for identity in wish.identities()]
            ready = [pod.alias for pod in pods if pod.alias in wanted and pod.ready_since is not None]
            numbers = {"desiredTablets": len(wanted), "tablets": len(wanted), "updatedTablets": len(wanted)}
            counts = {"desiredShards": len(own), "shards": len(own), "readyShards": len(own), "updatedShards": len(own)}
            keyspaces[each["name"]] = {**numbers, **counts, "readyTablets": len(ready)}
        live = (await self._client.list(VITESS_KEYSPACES, NAMESPACE)).items
        orphaned = {
            each["spec"]["name"]: {"reason": "NotIdle"} for each in live if each["spec"]["name"] not in keyspaces
        }
        status = {
            "observedGeneration": cluster["metadata"]["generation"],
            "cells": {each["name"]: {"gatewayAvailable": "True"} for each in cluster["spec"]["cells"]},
            "keyspaces": keyspaces,
            "orphanedKeyspaces": orphaned,
        }
        status = {name: value for name, value in status.items() if value}
        if cluster.get("status") != status:
            await self._client.update(VITESS_CLUSTERS, {**cluster, "status": status}, subresource="status")

    # Tablets and topology

    def _run_databases(self, pods: list[TabletPod]) -> None:
        """Have a database run in every pod that is ready; one that starts anew leads nobody and follows nobody."""
        ready = {pod.alias: pod for pod in pods if pod.ready_since is not None}
        for alias, pod in ready.items():
            found = self._net.databases.setdefault(alias, Database(alias, pod.cell, self.member, pod.shard, pod.type))
            if not found.alive:
                found.alive, found.leads, found.source = True, False, ""
        for each in self._net.databases.values():
            if each.member == self.member and each.alias not in ready:
                each.alive = each.leads = False

    async def _register(
        self, cluster: Obj, topology: Topology, wishes: dict[ShardId, ShardWish], pods: list[TabletPod]
    ) -> None:
        for cell in cluster["spec"]["cells"]:
            info = CellInfo(cell["lockserver"]["cellInfoAddress"], f"/vitess/{NAME}/local/{cell['name']}")
            await topology.ensure(paths.cell_info(cell["name"]), info, lambda _found, info=info: info)  # type: ignore[misc]
        for shard, wish in wishes.items():
            if not any(pool.replicas for pool in wish.pools):
                continue
            try:
                await topology.create(paths.keyspace(shard.keyspace), Keyspace(durability_policy="cross_cell"))
            except NodeExists:
                pass
            try:
                await topology.create(paths.shard(shard.keyspace, shard.shard), Shard(is_primary_serving=True))
            except NodeExists:
                pass
            for cell in {pool.cell for pool in wish.pools if pool.replicas}:
                reference = ShardReference(shard.shard)
                served = SrvKeyspace((KeyspacePartition(TabletType.PRIMARY, (reference,)),))
                await topology.ensure(paths.srv_keyspace(cell, shard.keyspace), served)
            for identity in wish.identities():
                await self._tablet(topology, identity, pods)

    async def _tablet(self, topology: Topology, identity: TabletIdentity, pods: list[TabletPod]) -> None:
        database = self._net.databases.get(identity.alias)
        if not any(pod.alias == identity.alias for pod in pods):
            await self._create_pod(identity)
        if database is None or not database.alive:
            return
        kind = TabletType.PRIMARY if database.leads else TabletType[identity.type.upper()]
        alias = TabletAlias.parse(identity.alias)
        record = Tablet(alias=alias, keyspace=identity.keyspace, shard=identity.shard, type=kind)
        await topology.ensure(paths.tablet(alias), record, lambda _found: record)

    async def _create_pod(self, identity: TabletIdentity) -> None:
        key_range = parse_shard_name(identity.shard) or KeyRange()
        labels = {
            CLUSTER_LABEL: NAME,
            COMPONENT_LABEL: "vttablet",
            CELL_LABEL: identity.cell,
            KEYSPACE_LABEL: identity.keyspace,
            SHARD_LABEL: key_range.safe_name,
            TABLET_UID_LABEL: identity.uid_text,
            TABLET_TYPE_LABEL: identity.type,
        }
        metadata = {"name": tablet_name(NAME, identity.alias), "namespace": NAMESPACE, "labels": labels}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"containers": [{"name": "vttablet", "image": "vitess/lite"}], "terminationGracePeriodSeconds": 1},
        }
        try:
            await self._client.create(PODS, body)
        except ApiError:
            return

    async def _begin(self, topology: Topology, wish: ShardWish) -> None:
        """Choose the first primary of a shard, where this member shall."""
        own = [self._net.databases.get(identity.alias) for identity in wish.identities() if identity.type == "replica"]
        able = [each for each in own if each is not None and each.alive]
        if not wish.initialize or not able:
            return
        place = paths.shard(wish.id.keyspace, wish.id.shard)
        if (await topology.read(place)).value.primary is not None:
            return
        directory = paths.shard_directory(wish.id.keyspace, wish.id.shard)
        async with await topology.lock(directory, "InitShardPrimary", patience=5.0) as lock:
            if (await topology.read(place)).value.primary is not None:
                return
            await lock.check()
            first = min(able, key=lambda each: each.alias)
            alias = TabletAlias.parse(first.alias)
            await topology.update(place, lambda record: Shard(alias, record.key_range, is_primary_serving=True))
            first.leads = True

    async def _repair(self, topology: Topology, shard: ShardId) -> None:
        record = (await topology.find(paths.shard(shard.keyspace, shard.shard))) or Shard()
        now, primary = self._net.runtime.monotonic(), str(record.primary or "")
        if not primary or self._net.speaks(self.member, primary) is not None:
            self._silent.pop(shard, None)
        since = self._silent.setdefault(shard, now)
        await repair(self._net, self.member, topology, shard, now - since)

    # Drains

    async def _drain(self, topology: Topology, shard: ShardId, pods: list[TabletPod], wish: ShardWish | None) -> None:
        now = self._net.runtime.now()
        tokens = TokenStore(topology)
        token = await tokens.read(shard)
        available = {
            pod.alias for pod in pods if pod.ready_since is not None and now - pod.ready_since >= AVAILABLE_SECONDS
        }
        wanted = {each.alias for each in wish.identities()} if wish is not None else set()
        if (wanted | {pod.alias for pod in pods}) - available:
            return
        for pod in pods:
            if token is not None and token.alias == pod.alias and not pod.started:
                await tokens.give_back(shard, token)
        record = await topology.find(paths.shard(shard.keyspace, shard.shard))
        primary = str(record.primary or "") if record is not None else ""
        if not primary:
            return
        started = [pod for pod in pods if pod.started]
        fresh = [pod for pod in started if DRAIN_ACKNOWLEDGED_ANNOTATION not in annotations_of(pod.pod)]
        for pod in fresh:
            await self._annotate(pod, DRAIN_ACKNOWLEDGED_ANNOTATION)
        if fresh or any(pod.finished for pod in started) or not started:
            return
        pod = min(started, key=lambda each: (each.alias == primary, each.alias))
        if self.uses_tokens and not await tokens.take(shard, Token(pod.alias, self.member, now)):
            return
        if pod.alias != primary:
            if self._spared(shard, pod.alias, primary):
                await self._annotate(pod, DRAIN_FINISHED_ANNOTATION)
                # Of a keyspace that is removed all tablets go, and somebody is the last.
                if shard in self._wanted:
                    self._on_drain(shard, pod.alias, False)
            return
        heirs = [each for each in pods if not each.started and each.type == "replica"]
        if heirs:
            await change_primary(self._net, self.member, topology, shard, primary, heirs[0].alias)

    def _spared(self, shard: ShardId, alias: str, primary: str) -> bool:
        """Tell whether the shard goes on without a tablet: its primary answers."""
        return alias != primary and self._net.speaks(self.member, primary) is not None

    async def _annotate(self, pod: TabletPod, name: str) -> None:
        patch = {"metadata": {"annotations": {name: timestamp(self._net.runtime.now())}}}
        await self._client.patch(PODS, name_of(pod.pod), patch, NAMESPACE)

    async def _let_go(self, topology: Topology, wishes: dict[ShardId, ShardWish], pods: list[TabletPod]) -> None:
        """Drain what nobody wants any more; the last of a shard that is left goes without."""
        wanted = {identity.alias for wish in wishes.values() for identity in wish.identities()}
        for pod in pods:
            if pod.alias in wanted or is_deleting(pod.pod):
                continue
            empty = not any(pool.replicas for pool in wishes[pod.shard].pools) if pod.shard in wishes else False
            if pod.finished or empty:
                await self._forget(topology, pod, served=not empty)
            elif not pod.started:
                await self._annotate(pod, DRAIN_STARTED_ANNOTATION)

    async def _prune(self, cluster: Obj, topology: Topology, wishes: dict[ShardId, ShardWish]) -> None:
        """Remove the records of tablets of own cells that nobody wants and that do not run, but for primaries."""
        wanted = {identity.alias for wish in wishes.values() for identity in wish.identities()}
        running = {pod.alias for pod in await self._pods()}
        for cell in [each["name"] for each in cluster["spec"]["cells"]]:
            for alias in set(await topology.names(cell, "tablets")) - wanted - running:
                place = paths.tablet(TabletAlias.parse(alias))
                record = (await topology.read(place)).value
                shard = await topology.find(paths.shard(record.keyspace, record.shard))
                if shard is None or str(shard.primary or "") != alias:
                    await topology.delete(place)

    async def _forget(self, topology: Topology, pod: TabletPod, *, served: bool) -> None:
        try:
            await self._client.delete(PODS, name_of(pod.pod), NAMESPACE)
        except NotFound:
            pass
        database = self._net.databases.get(pod.alias)
        if database is not None:
            database.alive = database.leads = False
        self._on_drain(pod.shard, pod.alias, True)
        try:
            await topology.delete(paths.tablet(TabletAlias.parse(pod.alias)))
            if not served:
                await topology.delete(paths.srv_keyspace(pod.cell, pod.shard.keyspace))
        except NoNode:
            return
