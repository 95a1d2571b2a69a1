"""The simulated Vitess of `hanse up`: lockservers outlive it, and a primary that is gone is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from hanse.api.vitess_records.topology import Tablet, TabletAlias, TabletType
from hanse.cli.embedded.kept_lockservers import FILE, KeptLockservers
from hanse.cli.embedded.simulated_orchestrator import FAILOVER_SECONDS, Absences, heir
from hanse.cli.embedded.simulated_vitess import SimulatedStores
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.tablets.mysql import SimulatedMySQL, SimulatedNetwork
from hanse.simulator.tablets.tablet import SimulatedTablet
from hanse.vitess.topology.store import Unreachable

pytestmark = pytest.mark.looptime

_GLOBAL = ("", "etcd.example:2379")


def _kept(folder: Path) -> KeptLockservers:
    kept = KeptLockservers(SeededRuntime(), (folder / FILE).write_bytes)
    kept.load(folder)
    return kept


async def test_what_lockservers_hold_is_there_when_it_starts_again_but_locks_are_not(tmp_path: Path):
    kept = _kept(tmp_path)
    server = kept.at(_GLOBAL)
    server.write("vitess/shop/global/cells/a/CellInfo", b"\x00\xff")
    server.write("vitess/shop/global/locks/1", b"mine", server.grant(30))
    kept.save()
    assert _kept(tmp_path).at(_GLOBAL).lasting() == {"vitess/shop/global/cells/a/CellInfo": b"\x00\xff"}
    assert _kept(tmp_path).at(("east", "etcd.vt.svc:2379")).lasting() == {}


async def test_steady_lockservers_are_not_written_again(tmp_path: Path):
    kept = _kept(tmp_path)
    kept.at(_GLOBAL).write("a", b"b")
    kept.save()
    (tmp_path / FILE).unlink()
    kept.save()
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'[{"cluster": ""}]'])
async def test_a_file_that_cannot_be_read_is_as_good_as_none(tmp_path: Path, content: bytes):
    (tmp_path / FILE).write_bytes(content)
    assert _kept(tmp_path).at(_GLOBAL).lasting() == {}


def test_the_control_plane_does_not_reach_what_only_a_cluster_can_name():
    servers = KeptLockservers(SeededRuntime())
    SimulatedStores(servers, "east", SeededRuntime()).open("etcd.vt.svc:2379", "/v")
    with pytest.raises(Unreachable, match="only inside a cluster"):
        SimulatedStores(servers, "", SeededRuntime()).open("etcd.vt.svc:2379", "/v")


def test_a_primary_is_replaced_when_it_was_away_for_long_enough_and_not_when_it_came_back():
    absences, alias = Absences(), TabletAlias("a", 1)
    assert not absences.is_over(alias, up=False, now=0.0)
    assert not absences.is_over(alias, up=True, now=FAILOVER_SECONDS - 1)
    assert not absences.is_over(alias, up=False, now=FAILOVER_SECONDS)
    assert absences.is_over(alias, up=False, now=2 * FAILOVER_SECONDS)


def _tablet(uid: int, kind: TabletType = TabletType.REPLICA, writes: int = 0, *, up: bool = True) -> SimulatedTablet:
    mysql = SimulatedMySQL(("host", uid), f"00000000-0000-0000-0000-{uid:012}", uid, SimulatedNetwork())
    mysql.read_only = False
    for _ in range(writes):
        mysql.write()
    mysql.up = up
    record = Tablet(alias=TabletAlias("a", uid), keyspace="k", shard="0", type=kind)
    return SimulatedTablet(record, mysql, None, SeededRuntime())  # type: ignore[arg-type]


def test_the_replica_that_has_most_takes_over_and_never_one_that_is_down_or_only_reads():
    those = [
        _tablet(1, writes=9, up=False),
        _tablet(2, writes=3),
        _tablet(3, TabletType.RDONLY, 5),
        _tablet(4, writes=1),
    ]
    assert heir({each.alias: each for each in those}) == TabletAlias("a", 2)
    assert heir({each.alias: each for each in those if each.alias.uid in (1, 3)}) is None
