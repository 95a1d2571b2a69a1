"""Simulated tablets for the Pods of a simulated cluster, with a vtctld that can do no more than a planned reparent."""

from __future__ import annotations

import uuid
from typing import Any

from hanse.api.planetscale.kinds import CELL_LABEL, COMPONENT_LABEL, KEYSPACE_LABEL, TABLET_TYPE_LABEL
from hanse.api.planetscale.values import LockserverParams, PoolType
from hanse.api.vitess_records import tablet_manager as calls
from hanse.api.vitess_records.topology import Tablet, TabletAlias, TabletType
from hanse.api.vitess_records.vtctld import BackupInfo, GetBackupsRequest, GetBackupsResponse
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, dig, labels_of
from hanse.kube.resources import PODS
from hanse.kube.runtime import Runtime
from hanse.simulator.tablets.mysql import SimulatedMySQL, SimulatedNetwork
from hanse.simulator.tablets.registry import RegistryOutOfReach
from hanse.simulator.tablets.tablet import SimulatedTablet, TabletRefuses
from hanse.vitess.operator.pods import is_ready
from hanse.vitess.operator.tablets import alias_of
from hanse.vitess.tablets.calling import failure
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from hanse.vitess.topology.registering import TopologyRegistry
from hanse.vitess.topology.store import TopologyError

ADDRESS = "etcd.example:2379"
EXTERNAL = {"implementation": "etcd2", "address": ADDRESS, "rootPath": "/vitess/example/global"}
_LOOK_SECONDS = 1.0


class TabletWorld:
    """A lockserver, and a tablet for every Pod that would run one."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.lockserver = MemoryLockserver(runtime)
        self.stores = MemoryStores({ADDRESS: self.lockserver})
        self.topology = Topology(self.stores, LockserverParams("etcd2", ADDRESS, "/vitess/example/global"))
        self.network = SimulatedNetwork()
        self.tablets: dict[TabletAlias, SimulatedTablet] = {}
        self.reparents: list[tuple[str, str]] = []
        self.fewest_ready = 1_000
        # What every location holds; None where it does not say.
        self.stored: list[str] | None = []
        self.listed = 0

    async def live(self, client: Client) -> None:
        """Start and stop tablets with their Pods until cancelled."""
        while True:
            pods = (await client.list(PODS, "default", labels=f"{COMPONENT_LABEL}=vttablet")).items
            for pod in pods:
                await self._look(pod)
            there = {TabletAlias.parse(alias_of(pod)) for pod in pods if dig(pod, "status", "phase") == "Running"}
            for alias, tablet in self.tablets.items():
                tablet.mysql.up = tablet.mysql.up and alias in there
                tablet.mysql.fetch()
            await self.runtime.sleep(_LOOK_SECONDS)

    async def watch(self, client: Client) -> None:
        """Remember the fewest tablets that were ready at any time from now on."""
        self.fewest_ready = 1_000
        while True:
            pods = (await client.list(PODS, "default", labels=f"{COMPONENT_LABEL}=vttablet")).items
            self.fewest_ready = min(self.fewest_ready, sum(map(is_ready, pods)))
            await self.runtime.sleep(0.2)

    async def _look(self, pod: Obj) -> None:
        alias = TabletAlias.parse(alias_of(pod))
        known = self.tablets.get(alias)
        if dig(pod, "status", "phase") != "Running" or (known is not None and known.mysql.up):
            return
        try:
            if known is None:
                self.tablets[alias] = known = self._new(pod, alias)
            await known.start()
        except (TopologyError, RegistryOutOfReach):
            self.tablets.pop(alias, None)

    def _new(self, pod: Obj, alias: TabletAlias) -> SimulatedTablet:
        labels = labels_of(pod)
        kind = TabletType[PoolType(labels[TABLET_TYPE_LABEL]).initial_tablet_type.upper()]
        flags = dict(flag.split("=", 1) for flag in pod["spec"]["containers"][0]["args"])
        record = Tablet(
            alias=alias,
            keyspace=labels[KEYSPACE_LABEL],
            shard=flags["--init_shard"],
            type=kind,
            mysql_hostname=labels[CELL_LABEL],
            mysql_port=alias.uid,
        )
        mysql = SimulatedMySQL((alias.cell, alias.uid), str(uuid.UUID(int=alias.uid)), alias.uid, self.network)
        return SimulatedTablet(record, mysql, TopologyRegistry(self.topology, RegistryOutOfReach), self.runtime)

    def primaries(self) -> list[str]:
        """Return who would take a write."""
        return [str(alias) for alias, each in self.tablets.items() if each.mysql.up and not each.mysql.read_only]

    async def primary(self, keyspace: str = "commerce", shard: str = "-") -> str:
        """Return who is primary as topology says."""
        found = await self.topology.find(paths.shard(keyspace, shard))
        return "" if found is None or found.primary is None else str(found.primary)

    async def ask(self, tablet: Tablet, method: Any, question: Any, timeout: float) -> Any:
        """Carry a question to a tablet in memory."""
        asked = self.tablets.get(tablet.alias or TabletAlias())
        if asked is None or not asked.mysql.up:
            raise failure(f"tablet {tablet.alias}", method.name, "no answer in time")
        try:
            return await asked.answer(method.name, question)
        except TabletRefuses as error:
            raise failure(f"tablet {tablet.alias}", method.name, str(error)) from error

    async def ask_vtctld(self, address: str, method: Any, question: Any, timeout: float) -> Any:
        """Do a planned reparent as vtctld does it, without all the care of the real one; or list backups."""
        if isinstance(question, GetBackupsRequest):
            self.listed += 1
            if self.stored is None:
                raise failure("vtctld", method.name, "AccessDenied")
            return GetBackupsResponse(tuple(BackupInfo(name) for name in self.stored))
        found = await self.topology.find(paths.shard(question.keyspace, question.shard))
        old, new = found.primary if found is not None else None, question.new_primary
        if question.expected_primary is not None and old != question.expected_primary:
            raise failure("vtctld", method.name, f"primary {old} is not equal to expected alias")
        if not self.tablets[new].mysql.up:
            raise failure("vtctld", method.name, f"{new} does not answer")
        semi_sync = calls.SemiSyncRequest(False)
        if old is None:
            await self.tablets[new].answer("InitPrimary", semi_sync)
        else:
            if self.tablets[old].mysql.up:
                await self.tablets[old].answer("DemotePrimary", calls.DemotePrimaryRequest())
            self.tablets[new].mysql.fetch()
            await self.tablets[new].answer("PromoteReplica", semi_sync)
        self.reparents.append((str(old or ""), str(new)))
        for alias, tablet in self.tablets.items():
            same = tablet.record.shard == question.shard and tablet.record.keyspace == question.keyspace
            if alias != new and tablet.mysql.up and same:
                follow = calls.SetReplicationSourceRequest(new, force_start_replication=True, semi_sync=False)
                await tablet.answer("SetReplicationSource", follow)
        return method.answer()
