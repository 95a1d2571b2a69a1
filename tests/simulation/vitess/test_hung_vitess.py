"""Two VitessClusters in one cluster: the tablets and the vtctld of one hang, and the other does not notice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import SeededRuntime
from tests.simulation.vitess.operator_stage import OperatorStage
from tests.simulation.vitess.tablet_world import EXTERNAL, TabletWorld
from tests.vitess_specs import keyspace, pool, vitess_cluster

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(120)]

# Both are in one lockserver, so that neither may take away what is the other's.
_SWITCHES = dict.fromkeys(
    ("registerCellsAliases", "pruneCells", "pruneKeyspaces", "pruneSrvKeyspaces", "pruneShards", "pruneTablets"), False
)
_SHARDS = 10


class _SomeHang(TabletWorld):
    """Tablets of which those of one keyspace take questions and never answer."""

    def __init__(self, runtime: SeededRuntime) -> None:
        super().__init__(runtime)
        self.hanging = 0

    async def ask(self, tablet: Any, method: Any, question: Any, timeout: float) -> Any:
        if tablet.keyspace == "hung":
            await self._hang()
        return await super().ask(tablet, method, question, timeout)

    async def ask_vtctld(self, address: str, method: Any, question: Any, timeout: float) -> Any:
        if getattr(question, "keyspace", "") == "hung":
            await self._hang()
        return await super().ask_vtctld(address, method, question, timeout)

    async def _hang(self) -> None:
        self.hanging += 1
        await asyncio.Event().wait()


def _vitess(name: str, cell: str, *keyspaces: Obj) -> Obj:
    return vitess_cluster(
        name,
        cells=[{"name": cell}],
        keyspaces=list(keyspaces),
        globalLockserver={"external": EXTERNAL},
        topologyReconciliation=_SWITCHES,
    )


async def test_a_vitess_whose_tablets_hang_keeps_no_other_from_getting_its_primary():
    stage = OperatorStage(SeededRuntime(), tablets=False)
    world = _SomeHang(stage.runtime)
    stage.world = world
    try:
        await stage.start(nodes=True)
        await stage.create(_vitess("hung", "zone2", keyspace("hung", _SHARDS, pool("zone2", 1))))
        await stage.until(lambda: world.hanging >= 8, 300)
        await stage.create(_vitess("example", "zone1", keyspace("commerce", 1, pool(replicas=1))))

        async def ready() -> bool:
            found = await stage.get(VITESS_CLUSTERS, "example")
            return (find_condition(dig(found, "status", "conditions"), "Ready") or {}).get("status") == "True"

        await stage.until(ready, 120)
        assert (await world.primary()).startswith("zone1-")
        assert world.hanging == 8, "of one Vitess so many shards are worked on at once"
    finally:
        await stage.close()
