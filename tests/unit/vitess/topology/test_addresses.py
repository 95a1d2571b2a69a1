"""Where lockservers are, and what is registered of those of the cells (checklist 34 to 37)."""

import pytest

from hanse.api.planetscale.values import Lockserver, LockserverParams
from hanse.api.vitess_records.topology import CellInfo
from hanse.vitess.topology.addresses import TopologyInvalid, cell_info, global_params

EXTERNAL = LockserverParams("etcd2", "etcd.example:2379", "/elsewhere")
OWN = "example-zone1-etcd-43880480-client.vt.svc:2379"
SHARED = "example-etcd-faf13de3-client.vt.svc:2379"


@pytest.mark.parametrize(
    ("shared", "own", "registered"),
    [
        (Lockserver(), Lockserver(), CellInfo(SHARED, "/vitess/example/local/zone1")),
        (Lockserver(), Lockserver(etcd={}), CellInfo(OWN, "/vitess/example/local/zone1")),
        (Lockserver(external=EXTERNAL), Lockserver(), CellInfo("etcd.example:2379", "/vitess/example/local/zone1")),
        (Lockserver(), Lockserver(external=EXTERNAL), CellInfo("etcd.example:2379", "/elsewhere")),
        (
            Lockserver(cell_info_address="lb.example:2379"),
            Lockserver(),
            CellInfo("lb.example:2379", "/vitess/example/local/zone1"),
        ),
        (
            Lockserver(cell_info_address="lb.example:2379"),
            Lockserver(etcd={}),
            CellInfo(OWN, "/vitess/example/local/zone1"),
        ),
        (
            Lockserver(),
            Lockserver(etcd={}, cell_info_address="zone1.example:2379"),
            CellInfo("zone1.example:2379", "/vitess/example/local/zone1"),
        ),
    ],
)
def test_a_cell_is_registered_where_others_reach_it(shared, own, registered):
    assert cell_info("example", "vt", shared, "zone1", own) == registered


def test_an_external_lockserver_wins_over_one_to_be_deployed():
    assert global_params("example", "vt", Lockserver(external=EXTERNAL, etcd={})) == EXTERNAL
    assert global_params("example", "vt", Lockserver(etcd={})) == LockserverParams(
        "etcd2", SHARED, "/vitess/example/global"
    )


def test_a_cell_with_another_implementation_is_refused():
    consul = Lockserver(external=LockserverParams("consul", "consul:8500", "/x"))
    with pytest.raises(TopologyInvalid, match=r"the lockserver of cell zone1 is consul and the global one etcd2"):
        cell_info("example", "vt", Lockserver(), "zone1", consul)
