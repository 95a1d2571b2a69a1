"""Lockservers by names that mean something only inside a cluster."""

import pytest

from hanse.kube.runtime import SeededRuntime
from hanse.vitess.topology.etcd import EtcdStores
from hanse.vitess.topology.name_claims import NameClaims
from hanse.vitess.topology.store import Unreachable

INSIDE = "shop-etcd-client.vt.svc:2379"


def test_a_name_that_one_cluster_uses_is_asked():
    assert NameClaims().of("east")(INSIDE)() == ""


@pytest.mark.parametrize("name", [INSIDE, "http://shop-etcd-client.vt.svc.cluster.local:2379"])
def test_a_name_of_two_clusters_is_asked_for_neither(name):
    claims = NameClaims()
    first = claims.of("east")(name)
    assert first() == ""
    second = claims.of("west")(name)
    assert first() == second()
    assert "a name inside each of east, west" in first()


def test_an_address_that_means_the_same_everywhere_may_be_shared():
    claims = NameClaims()
    objections = [claims.of(cluster)("etcd.vt.example:2379") for cluster in ("east", "west")]
    assert [each() for each in objections] == ["", ""]


async def test_what_must_not_be_asked_is_out_of_reach():
    """Nothing is turned down or pruned then: a lockserver that does not answer is never taken for an empty one."""
    claims = NameClaims()
    stores = [EtcdStores(SeededRuntime(), names=claims.of(cluster)) for cluster in ("east", "west")]
    opened = [each.open(INSIDE, "/vitess/shop/global") for each in stores]
    for store in opened:
        with pytest.raises(Unreachable, match="give these lockservers external addresses that differ"):
            await store.read("keyspaces/orders/Keyspace")
