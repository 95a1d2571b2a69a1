"""Lockservers that the control plane does not reach: one sentence with what to write instead."""

from __future__ import annotations

import pytest

from hanse.cli.vitess_picture import picture
from hanse.kube.manifest import Obj
from hanse.vitess.federated.glance import lockserver_of
from hanse.vitess.federated.quorum import read_quorum
from hanse.vitess.federated.reaching import silent_notes, unread_problem, unread_sentence
from hanse.vitess.federated.sights import member_views, scene_of
from hanse.vitess.federated.status import Told, merged_status
from tests.unit.vitess.federated.shop import GLOBAL, plan_of, shop

_REMEDY = "the name of a federated Service (SERVICE.NAMESPACE.FEDERATION.svc.DOMAIN:2379) or an external address"


def _at(address: str) -> Obj:
    return shop(globalLockserver={"external": {**GLOBAL, "address": address}})


@pytest.mark.parametrize(
    ("address", "known"),
    [
        ("etcd.vt.svc:2379", False),
        ("http://etcd.vt.svc.cluster.local:2379", False),
        ("a.vt.svc:2379,b.vt.svc:2379", False),
        ("etcd.vt.federation.svc.example.com:2379", True),
        ("etcd.vt.svc:2379,10.0.0.7:2379", True),
        ("10.0.0.7:2379", True),
    ],
)
def test_names_of_one_cluster_are_told_before_anybody_asks(address: str, known: bool):
    found = unread_problem(_at(address))
    assert found == "" if known else f"give spec.globalLockserver.external.address {_REMEDY}" in found


def test_an_etcd_of_one_cluster_is_told_with_the_field_that_would_help():
    found = unread_problem(shop(globalLockserver={"etcd": {}}))
    assert found.startswith("the global lockserver is one cluster's own")
    assert found.endswith(f"give spec.globalLockserver.external.address {_REMEDY}")


def test_one_that_does_not_answer_is_told_with_the_reason_and_what_to_write():
    source = shop()
    address = lockserver_of(source, None)
    assert address is not None
    assert unread_sentence(source, address, "it does not answer") == (
        "the control plane does not reach the lockserver etcd-global.vt.example:2379/vitess/shop/global (it does not "
        "answer), so that where primaries are is Unknown; give spec.globalLockserver.external.address an address that "
        f"is reached from here as well: {_REMEDY}"
    )


def test_a_lockserver_over_three_clusters_is_found_by_another_field():
    members = [{"cluster": name, "peerURL": f"https://{name}.example:2380"} for name in ("east", "west", "south")]
    source = shop(
        globalLockserver={}, federation={"lockserver": {"clientAddress": "etcd.svc:2379", "members": members}}
    )
    assert read_quorum(source["spec"]) is not None
    assert "give spec.federation.lockserver.clientAddress" in unread_problem(source)


def test_the_lockserver_of_a_cell_is_told_with_the_field_of_the_cell():
    (note,) = silent_notes(shop(), {"uswest2a": "no route"})
    assert note.startswith("the control plane does not reach the lockserver of cell uswest2a (no route)")
    assert f"give spec.cells[3].lockserver.cellInfoAddress {_REMEDY}" in note


def test_the_conditions_say_so_and_the_picture_shows_it():
    source, plan = _at("etcd.vt.svc:2379"), plan_of(shop())
    why = unread_problem(source)
    told = Told(plan, member_views(scene_of(source, plan, {}), ()), None, why)
    source["status"] = merged_status(source, told, "2026-11-18T00:00:00Z")
    conditions = {each["type"]: each for each in source["status"]["conditions"]}
    assert (conditions["Ready"]["status"], conditions["Ready"]["message"]) == ("Unknown", why)
    assert picture(source).startswith(f"vt/shop: degraded: {why}\n")
