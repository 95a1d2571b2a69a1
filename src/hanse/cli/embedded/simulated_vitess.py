"""Vitess in an embedded federation: lockservers in memory, and a simulated tablet for every Pod that would run one.

There is no MySQL: tablets register themselves, answer as tablet managers do, and follow their primary. Names that
nobody can resolve (`*.svc`, `*.example`) are simulated; a lockserver at any other address is a real one.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hanse.api.planetscale.kinds import CELL_LABEL, CLUSTER_LABEL, COMPONENT_LABEL, KEYSPACE_LABEL, TABLET_TYPE_LABEL
from hanse.api.planetscale.values import LockserverParams, PoolType
from hanse.api.vitess_records import tablet_manager as calls
from hanse.api.vitess_records.topology import Tablet, TabletAlias, TabletType
from hanse.api.vitess_records.vtctld import GetBackupsRequest, PlannedReparentShardRequest
from hanse.cli.embedded.kept_lockservers import KeptLockservers
from hanse.cli.embedded.simulated_orchestrator import Absences, heir
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, dig, is_deleting, labels_of, namespace_of
from hanse.kube.resources import PODS
from hanse.kube.runtime import Runtime
from hanse.simulator.tablets.mysql import SimulatedMySQL, SimulatedNetwork
from hanse.simulator.tablets.registry import RegistryOutOfReach
from hanse.simulator.tablets.tablet import SimulatedTablet, TabletRefuses
from hanse.vitess.operator.replicating import vtctld_address
from hanse.vitess.operator.tablets import alias_of
from hanse.vitess.tablets.calling import failure
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.etcd import EtcdStores
from hanse.vitess.topology.registering import TopologyRegistry
from hanse.vitess.topology.store import TopologyError, TopologyStore, Unreachable

_LOOK_SECONDS = 1.0
_LOCAL = ".svc"
_SIMULATED = (_LOCAL, ".example")
_TABLETS = f"{COMPONENT_LABEL}=vttablet"


class SimulatedStores:
    """The lockservers that one cluster reaches; those that only it can name are its own."""

    def __init__(self, servers: KeptLockservers, member: str, runtime: Runtime) -> None:
        self._servers = servers
        self._member = member
        self._runtime = runtime
        self._real = EtcdStores(runtime)

    def open(self, address: str, root: str) -> TopologyStore:
        """Return the store of a root."""
        host = address.rpartition(":")[0] or address
        if not host.endswith(_SIMULATED):
            return self._real.open(address, root)
        if host.endswith(_LOCAL) and not self._member:
            raise Unreachable(f"{host} means something only inside a cluster")
        key = (self._member if host.endswith(_LOCAL) else "", address)
        return self._servers.at(key).store(root)

    async def close(self) -> None:
        """Close the connections to real lockservers."""
        await self._real.close()


@dataclass(slots=True)
class _Known:
    """A tablet, the Vitess that it belongs to, and how it reaches topology."""

    tablet: SimulatedTablet
    topology: Topology
    vtctld: str


class SimulatedVitess:
    """All tablets of an embedded federation, and those who ask them."""

    def __init__(self, runtime: Runtime, servers: KeptLockservers | None = None) -> None:
        """`servers` are the lockservers, which a federation that starts again has from before."""
        self._runtime = runtime
        self._servers = servers or KeptLockservers(runtime)
        self._absences = Absences()
        self._stores: dict[str, SimulatedStores] = {}
        self._network = SimulatedNetwork()
        self._tablets: dict[tuple[str, TabletAlias], _Known] = {}

    def stores(self, member: str) -> SimulatedStores:
        """Return the lockservers that a cluster reaches; "" is the federation."""
        return self._stores.setdefault(member, SimulatedStores(self._servers, member, self._runtime))

    async def live(self, member: str, client: Client, is_down: Callable[[], bool]) -> None:
        """Start and end the tablets of a cluster with their Pods until cancelled."""
        cache = Cache(client, PODS, labels=_TABLETS)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(cache.run())
            while True:
                await self._runtime.sleep(_LOOK_SECONDS)
                await self._look(member, [] if is_down() else list(cache.objects()))
                self._servers.save()

    async def orchestrate(self) -> None:
        """Have primaries that are gone replaced, as the VTOrc of each shard would, until cancelled."""
        while True:
            await self._runtime.sleep(_LOOK_SECONDS)
            shards = {
                (known.vtctld, known.tablet.record.keyspace, known.tablet.record.shard)
                for known in self._tablets.values()
            }
            for vtctld, keyspace, shard in sorted(shards):
                try:
                    await self._fail_over(self._family(vtctld, keyspace, shard))
                except (TopologyError, RegistryOutOfReach, TabletRefuses):
                    # The next look tries again.
                    continue

    def _family(self, vtctld: str, keyspace: str, shard: str) -> dict[TabletAlias, _Known]:
        """Return the tablets of a shard by their aliases."""
        return {
            alias: known
            for (_, alias), known in self._tablets.items()
            if (known.tablet.record.keyspace, known.tablet.record.shard) == (keyspace, shard) and known.vtctld == vtctld
        }

    async def _fail_over(self, family: dict[TabletAlias, _Known]) -> None:
        one = next(iter(family.values()))
        record = await one.topology.find(paths.shard(one.tablet.record.keyspace, one.tablet.record.shard))
        old = record.primary if record is not None else None
        if old is None or old not in family:
            return
        if not self._absences.is_over(old, up=family[old].tablet.mysql.up, now=self._runtime.monotonic()):
            return
        new = heir({alias: known.tablet for alias, known in family.items()})
        if new is not None:
            await self._reparent(family, old, new)

    async def _look(self, member: str, pods: list[Obj]) -> None:
        running = {
            TabletAlias.parse(named): pod
            for pod in pods
            if (named := alias_of(pod)) and dig(pod, "status", "phase") == "Running" and not is_deleting(pod)
        }
        for (where, alias), known in self._tablets.items():
            if where == member and alias not in running:
                known.tablet.mysql.up = False
        for alias, pod in running.items():
            await self._run(member, alias, pod)

    async def _run(self, member: str, alias: TabletAlias, pod: Obj) -> None:
        known = self._tablets.get((member, alias))
        try:
            if known is None:
                known = self._tablets[member, alias] = self._new(member, alias, pod)
            if not known.tablet.mysql.up:
                address = dig(pod, "status", "podIP", default="")
                known.tablet.record = replace(known.tablet.record, hostname=address)
                await known.tablet.start()
            known.tablet.mysql.fetch()
            await known.tablet.look()
        except (TopologyError, RegistryOutOfReach):
            # It is not registered yet, as its cell or its keyspace may not be; the next look tries again.
            if known is not None:
                known.tablet.mysql.up = False

    def _new(self, member: str, alias: TabletAlias, pod: Obj) -> _Known:
        labels = labels_of(pod)
        flags = dict(flag.removeprefix("--").split("=", 1) for flag in pod["spec"]["containers"][0]["args"])
        lockserver = LockserverParams(
            flags["topo_implementation"], flags["topo_global_server_address"], flags["topo_global_root"]
        )
        place = f"{labels[CLUSTER_LABEL]}.{namespace_of(pod)}.{labels[CELL_LABEL]}"
        record = Tablet(
            alias=alias,
            keyspace=labels[KEYSPACE_LABEL],
            shard=flags["init_shard"],
            type=TabletType[PoolType(labels[TABLET_TYPE_LABEL]).initial_tablet_type.upper()],
            mysql_hostname=place,
            mysql_port=alias.uid,
        )
        mysql = SimulatedMySQL((place, alias.uid), str(uuid.UUID(int=alias.uid)), alias.uid, self._network)
        mysql.up = False
        topology = Topology(self.stores(member), lockserver)
        registry = TopologyRegistry(topology, RegistryOutOfReach)
        vtctld = vtctld_address(labels[CLUSTER_LABEL], namespace_of(pod))
        return _Known(SimulatedTablet(record, mysql, registry, self._runtime), topology, vtctld)

    async def ask(self, tablet: Tablet, method: calls.Method[Any, Any], question: Any, timeout: float) -> Any:
        """Carry a question to a tablet; raises CallFailed."""
        asked = [known for (_, alias), known in self._tablets.items() if alias == tablet.alias]
        found = [known for known in asked if known.tablet.record.hostname == tablet.hostname and known.tablet.mysql.up]
        if not found:
            raise failure(f"tablet {tablet.alias}", method.name, "it does not answer")
        try:
            return await found[0].tablet.answer(method.name, question)
        except TabletRefuses as error:
            raise failure(f"tablet {tablet.alias}", method.name, str(error)) from error

    async def ask_vtctld(self, address: str, method: calls.Method[Any, Any], question: Any, timeout: float) -> Any:
        """Change the primary of a shard as vtctld does, without all the care of the real one; raises CallFailed."""
        if isinstance(question, GetBackupsRequest):
            # Where nothing is copied nothing is backed up.
            return method.answer()
        if not isinstance(question, PlannedReparentShardRequest):
            raise failure("vtctld", method.name, "a simulated one can do no more than a planned reparent")
        family = self._family(address, question.keyspace, question.shard)
        new = question.new_primary
        if new is None or new not in family or not family[new].tablet.mysql.up:
            raise failure("vtctld", method.name, f"{new} does not answer")
        record = await family[new].topology.find(paths.shard(question.keyspace, question.shard))
        old = record.primary if record is not None else None
        if question.expected_primary is not None and old != question.expected_primary:
            raise failure("vtctld", method.name, f"primary {old} is not equal to expected alias")
        await self._reparent(family, old, new)
        return method.answer()

    async def _reparent(self, family: dict[TabletAlias, _Known], old: TabletAlias | None, new: TabletAlias) -> None:
        promoted, leaves = family[new].tablet, family.get(old) if old is not None else None
        semi_sync = calls.SemiSyncRequest(False)
        if old is None:
            await promoted.answer(calls.INIT_PRIMARY.name, semi_sync)
        else:
            if leaves is not None and leaves.tablet.mysql.up:
                await leaves.tablet.answer(calls.DEMOTE_PRIMARY.name, calls.DemotePrimaryRequest())
            promoted.mysql.fetch()
            await promoted.answer(calls.PROMOTE_REPLICA.name, semi_sync)
        follow = calls.SetReplicationSourceRequest(new, force_start_replication=True, semi_sync=False)
        for alias, known in family.items():
            if alias != new and known.tablet.mysql.up:
                await known.tablet.answer(calls.SET_REPLICATION_SOURCE.name, follow)
