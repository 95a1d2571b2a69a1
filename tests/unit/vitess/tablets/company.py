"""A shard of simulated tablets in memory, with a vtctld that can do no more than a planned reparent."""

from __future__ import annotations

import asyncio
import uuid

from hanse.api.vitess_records import tablet_manager as calls
from hanse.api.vitess_records import vtctld as vtctld_calls
from hanse.api.vitess_records.topology import Keyspace, Tablet, TabletAlias, TabletType
from hanse.simulator.tablets.mysql import SimulatedMySQL, SimulatedNetwork
from hanse.simulator.tablets.registry import RegistryOutOfReach
from hanse.simulator.tablets.tablet import SimulatedTablet, TabletRefuses
from hanse.vitess.tablets.calling import failure
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology import paths
from hanse.vitess.topology.registering import TopologyRegistry
from tests.unit.vitess.topology.cases import SmallVitess, info

KEYSPACE, SHARD = "orders", "-"


class Company(SmallVitess):
    """Tablets of one shard in two cells, and who asks them."""

    def __init__(self, policy="semi_sync"):
        super().__init__()
        self.runtime = self.servers["global:2379"].runtime
        self.network = SimulatedNetwork()
        self.tablets: dict[TabletAlias, SimulatedTablet] = {}
        self.policy = policy
        self.asked: list[str] = []
        self.vtctld = Vtctld(self, "vtctld:15999")

    async def add(self, cell, uid, kind=TabletType.REPLICA, *, database=False):
        """Start a tablet, restored from a backup or empty."""
        alias = TabletAlias(cell, uid)
        await self.topology.ensure(paths.cell_info(cell), info(cell))
        await self.topology.ensure(paths.keyspace(KEYSPACE), Keyspace(durability_policy=self.policy))
        record = Tablet(alias=alias, keyspace=KEYSPACE, shard=SHARD, type=kind, mysql_hostname=cell, mysql_port=uid)
        mysql = SimulatedMySQL((cell, uid), str(uuid.UUID(int=uid)), uid, self.network)
        if database:
            mysql.databases.add(f"vt_{KEYSPACE}")
        registry = TopologyRegistry(self.topology, RegistryOutOfReach)
        self.tablets[alias] = SimulatedTablet(record, mysql, registry, self.runtime)
        await self.tablets[alias].start()
        return self.tablets[alias]

    def primaries(self):
        return [alias for alias, each in self.tablets.items() if each.mysql.up and not each.mysql.read_only]

    async def ask(self, tablet, method, question, timeout):
        """Carry a question to a tablet in memory."""
        self.asked.append(f"{method.name} {tablet.alias}")
        asked = self.tablets[tablet.alias]
        if not asked.mysql.up:
            raise failure(f"tablet {tablet.alias}", method.name, "no answer in time", answered=False)
        try:
            async with asyncio.timeout(timeout):
                return await asked.answer(method.name, question)
        except (TabletRefuses, TimeoutError) as error:
            said, answered = str(error) or "no answer in time", isinstance(error, TabletRefuses)
            raise failure(f"tablet {tablet.alias}", method.name, said, answered=answered) from error

    async def ask_vtctld(self, address, method, question, timeout):
        """Do a planned reparent as vtctld does it, without all the care of the real one."""
        assert isinstance(question, vtctld_calls.PlannedReparentShardRequest)
        shard = await self.topology.find(paths.shard(question.keyspace, question.shard))
        old, new = shard.primary if shard is not None else None, question.new_primary
        if question.expected_primary is not None and old != question.expected_primary:
            raise failure("vtctld", method.name, f"primary {old} is not equal to expected alias")
        semi_sync = calls.SemiSyncRequest(self.policy != "none")
        if old is None:
            await self.tablets[new].answer("InitPrimary", semi_sync)
        else:
            await self.tablets[old].answer("DemotePrimary", calls.DemotePrimaryRequest())
            self.tablets[new].mysql.fetch()
            await self.tablets[new].answer("PromoteReplica", semi_sync)
        for alias, tablet in self.tablets.items():
            if alias != new and tablet.mysql.up:
                follow = calls.SetReplicationSourceRequest(new, force_start_replication=True, semi_sync=True)
                await tablet.answer("SetReplicationSource", follow)
        return method.answer()
