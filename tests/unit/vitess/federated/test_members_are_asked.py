"""What members and their lockservers do not say is not known, and costs nobody more than it must."""

from __future__ import annotations

import asyncio

import pytest

from hanse.api.planetscale.kinds import (
    CELL_LABEL,
    COMPONENT_LABEL,
    DRAIN_STARTED_ANNOTATION,
    KEYSPACE_LABEL,
    SHARD_LABEL,
    TABLET_UID_LABEL,
    VITESS_SHARDS,
)
from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import CellInfo
from hanse.kube.client import Client
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Request, Response
from hanse.kube.transport import Unreachable as NoAnswer
from hanse.vitess.federated.member_parts import MemberParts, read_parts, tablet_pods
from hanse.vitess.federated.moving import Moves
from hanse.vitess.federated.plan import Plan
from hanse.vitess.federated.requests import EVACUATION, Requests
from hanse.vitess.federated.sights import MemberSight, Scene
from hanse.vitess.federated.spoken_tablets import SpokenTablets
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from hanse.vitess.topology.store import TopologyStore, Unreachable
from tests.unit.vitess.tablets.company import Company

pytestmark = pytest.mark.looptime


class _Server:
    """An API server that knows all kinds but some."""

    address = "https://member.example"

    def __init__(self, *unknown: str) -> None:
        self._unknown = unknown
        self.asked: list[str] = []

    async def send(self, request: Request, timeout: float) -> Response:
        kind = request.path.rsplit("/", 1)[-1]
        self.asked.append(request.path)
        if "silent" in self._unknown:
            await asyncio.sleep(timeout)
            raise NoAnswer(self.address, "it does not answer")
        if kind in self._unknown:
            return Response(404, {}, b"404 page not found")
        return Response(200, {"content-type": "application/json"}, b'{"kind": "List", "metadata": {}, "items": []}')


def _client(*unknown: str) -> Client:
    return Client(_Server(*unknown), SeededRuntime())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("unknown", "has_copy", "expected"),
    [
        ((), True, MemberParts()),
        ((VITESS_SHARDS.plural,), False, MemberParts()),
        ((VITESS_SHARDS.plural,), True, None),
        (("pods",), False, None),
    ],
    ids=["it has nothing", "it never had the kinds", "it has the VitessCluster", "it is no API server"],
)
async def test_a_kind_that_is_not_found_is_nothing_only_where_there_can_be_none(unknown, has_copy, expected):
    assert await read_parts(_client(*unknown), "vt", "shop", has_copy=has_copy) == expected


@pytest.mark.parametrize(
    ("uid", "found"), [("2244051001", 1), ("abc", 0), ("1", 0), ("9999999999", 0)], ids=["a uid", "text", "1", "large"]
)
def test_a_pod_whose_labels_are_no_alias_is_no_tablet(uid, found):
    labels = {COMPONENT_LABEL: "vttablet", CELL_LABEL: "a", TABLET_UID_LABEL: uid, KEYSPACE_LABEL: "k", SHARD_LABEL: ""}
    assert len(tablet_pods([{"metadata": {"name": "p", "labels": labels}}])) == found


class _Stores(MemoryStores):
    """Lockservers of which that of one cell does not answer."""

    asked = 0

    def open(self, address: str, root: str) -> TopologyStore:
        if address == "dead:2379":
            self.asked += 1
            raise Unreachable("it does not answer")
        return super().open(address, root)


async def test_the_lockserver_of_a_cell_that_does_not_answer_is_asked_once_for_all_its_tablets():
    stores, caller = _Stores({"global:2379": MemoryLockserver(SeededRuntime())}), Company()
    topology = Topology(stores, LockserverParams("etcd2", "global:2379", "/vitess/global"))
    await topology.create(paths.cell_info("dead"), CellInfo("dead:2379", "/vitess/dead"))
    tablets = SpokenTablets(topology, caller, Vtctld(caller, ""))
    assert await tablets.replication([f"dead-{number:010d}" for number in range(50)]) == {}
    assert stores.asked == 1


async def test_a_member_that_is_slow_to_answer_keeps_the_others_waiting_for_ten_seconds():
    began = asyncio.get_running_loop().time()
    assert await read_parts(_client("silent"), "vt", "shop", has_copy=True) is None
    assert asyncio.get_running_loop().time() - began == 10


async def test_a_member_that_is_silent_is_asked_once_and_not_for_each_tablet_that_it_shall_drain():
    server = _Server("silent")
    labels = {CELL_LABEL: "a", KEYSPACE_LABEL: "k", SHARD_LABEL: "x-x"}
    pods = tuple(
        {
            "metadata": {
                "name": f"p{number}",
                "namespace": "vt",
                "labels": {**labels, TABLET_UID_LABEL: f"{number:010d}"},
                "annotations": {DRAIN_STARTED_ANNOTATION: EVACUATION},
            }
        }
        for number in range(20)
    )
    moves = Moves(None, {"east": Client(server, SeededRuntime())})
    scene = Scene(Plan(), {"east": MemberSight(reachable=True, parts=MemberParts(tablets=pods))})
    assert await moves.evacuate(Requests(), scene, {}, ()) == []
    assert len(set(server.asked)) == 1
