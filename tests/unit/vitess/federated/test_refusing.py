"""What is refused of a federated VitessCluster, in sentences that name the field; members keep what they have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hanse.kube.manifest import Obj
from hanse.vitess.federated.homes import Site
from hanse.vitess.federated.plan import spec_digest
from hanse.vitess.federated.refusing import REPLACE_ETCD_ANNOTATION, refusals
from tests.unit.vitess.federated.shop import SITES, cell, keyspace, plan_of, planned, pool, shop

_PEERS = [{"cluster": name, "peerURL": f"https://{name}.example:2380"} for name in ("east", "west", "south")]
_THREE = (*SITES, Site("south"))


def _cells(spec: Obj) -> list[Obj]:
    cells: list[Obj] = spec["cells"]
    return cells


def _quorum(spec: Obj, members: list[Obj], address: str = "etcd.example:2379") -> None:
    spec["globalLockserver"] = {}
    spec["federation"] = {"lockserver": {"clientAddress": address, "members": members}}


def _in_two_clusters(spec: Obj) -> None:
    _cells(spec).append(cell("useast1a", "west"))


def _listed_twice(spec: Obj) -> None:
    _cells(spec).append(cell("useast1a", "east"))


def _in_no_registered_cluster(spec: Obj) -> None:
    _cells(spec)[0]["cluster"] = "mars"


def _pool_elsewhere(spec: Obj) -> None:
    spec["keyspaces"].append(keyspace("audit", [pool("mars1a")]))


def _no_eligible_pool(spec: Obj) -> None:
    spec["keyspaces"].append(keyspace("audit", [pool("useast1a", "rdonly")], parts=1))


def _initializer_without_pool(spec: Obj) -> None:
    spec["federation"] = {"initializer": {"clusters": ["west"]}}
    spec["keyspaces"].append(keyspace("audit", [pool("useast1a")], parts=1))


def _same_pool_twice(spec: Obj) -> None:
    spec["keyspaces"] = [keyspace("orders", [pool("useast1a")]), keyspace("orders", [pool("useast1a")])]


def _two_members(spec: Obj) -> None:
    _quorum(spec, _PEERS[:2])


def _four_members(spec: Obj) -> None:
    _quorum(spec, [*_PEERS, {"cluster": "north", "peerURL": "https://north.example:2380"}])


def _one_cluster_twice(spec: Obj) -> None:
    _quorum(spec, [_PEERS[0], _PEERS[0], _PEERS[1]])


def _peer_without_url(spec: Obj) -> None:
    _quorum(spec, [*_PEERS[:2], {"cluster": "south"}])


def _quorum_without_address(spec: Obj) -> None:
    _quorum(spec, _PEERS, address="")


def _quorum_and_external(spec: Obj) -> None:
    external = spec["globalLockserver"]
    _quorum(spec, _PEERS)
    spec["globalLockserver"] = external


def _own_etcd(spec: Obj) -> None:
    spec["globalLockserver"] = {"etcd": {}}


def _local_global_address(spec: Obj) -> None:
    spec["globalLockserver"] = {
        "external": {"implementation": "etcd2", "address": "etcd.vt.svc:2379", "rootPath": "/v"}
    }


def _local_cell_address(spec: Obj) -> None:
    _cells(spec)[1]["lockserver"]["cellInfoAddress"] = "etcd.vt.svc.cluster.local:2379"


def _cell_etcd_without_address(spec: Obj) -> None:
    _cells(spec)[1]["lockserver"] = {"etcd": {}}


def _same_root_twice(spec: Obj) -> None:
    external = {"implementation": "etcd2", "address": "a.example:2379", "rootPath": "/cells"}
    for place in (0, 1):
        _cells(spec)[place]["lockserver"] = {"external": dict(external)}


def _unseeded_location(spec: Obj) -> None:
    spec["backup"] = {"locations": [{"name": "east"}, {"name": "west"}]}
    pools = [pool("useast1a", backupLocationName="east"), pool("uswest2a", backupLocationName="west")]
    spec["keyspaces"] = [keyspace("orders", pools, parts=1)]


def _too_many_parts(spec: Obj) -> None:
    spec["keyspaces"] = [keyspace("orders", [pool("useast1a")], parts=70000)]


def _alias_twice(spec: Obj) -> None:
    spec["federation"] = {"aliases": [{"name": "a", "cells": ["useast1a"]}, {"name": "b", "cells": ["useast1a"]}]}


def _alias_of_nobody(spec: Obj) -> None:
    spec["federation"] = {"aliases": [{"name": "a", "cells": ["mars1a"]}]}


def _a_gap(spec: Obj) -> None:
    template = spec["keyspaces"][0]["partitionings"][0]["equal"]["shardTemplate"]
    shards = [{"keyRange": {"end": "40"}, **template}, {"keyRange": {"start": "80"}, **template}]
    spec["keyspaces"][0]["partitionings"] = [{"custom": {"shards": shards}}]


def _too_many_tablets(spec: Obj) -> None:
    spec["keyspaces"] = [keyspace("orders", [pool("useast1a", replicas=2**31 - 1)])]


def _too_many_shards(spec: Obj) -> None:
    spec["keyspaces"] = [keyspace(f"orders{number}", [pool("useast1a")], parts=65536) for number in range(1000)]


_CASES: list[tuple[Callable[[Obj], None], str, str]] = [
    (_in_two_clusters, "spec.cells[6].cluster", "cell useast1a is in clusters east and west"),
    (_listed_twice, "spec.cells[6].name", "listed twice"),
    (_in_no_registered_cluster, "spec.cells[0].cluster", "no cluster 'mars' is registered"),
    (
        _pool_elsewhere,
        "spec.keyspaces[1].partitionings[0].equal.shardTemplate.tabletPools[0].cell",
        "there is no cell 'mars1a' in spec.cells",
    ),
    (
        _no_eligible_pool,
        "spec.keyspaces[1].partitionings[0].equal.shardTemplate.tabletPools",
        "none that can be its primary",
    ),
    (_initializer_without_pool, "spec.federation.initializer.clusters", "has a replica pool of shard audit/-"),
    (_two_members, "spec.federation.lockserver.members", "and not 2"),
    (_four_members, "spec.federation.lockserver.members", "and not 4"),
    (_one_cluster_twice, "spec.federation.lockserver.members", "cluster east has two members"),
    (_peer_without_url, "spec.federation.lockserver.members[2].peerURL", "give the URL"),
    (_quorum_without_address, "spec.federation.lockserver.clientAddress", "give the host and port"),
    (_quorum_and_external, "spec.globalLockserver.external", "give one of them"),
    (_own_etcd, "spec.globalLockserver", "not shared by others"),
    (_local_global_address, "spec.globalLockserver.external.address", "only in its own cluster"),
    (_local_cell_address, "spec.cells[1].lockserver.cellInfoAddress", "only in its own cluster"),
    (_cell_etcd_without_address, "spec.cells[1].lockserver.cellInfoAddress", "has a name of its own cluster"),
    (_same_root_twice, "spec.cells[1].lockserver.external.rootPath", "the same address and root path"),
    (
        _unseeded_location,
        "spec.keyspaces[0].partitionings[0].equal.shardTemplate.tabletPools[1].backupLocationName",
        "would wait for one in 'west' for ever",
    ),
    (_too_many_parts, "spec.keyspaces[0].partitionings", "parts must be from 1 to 65536"),
    (_a_gap, "spec.keyspaces[0].partitionings[0].custom.shards", "no shard has the keys from 40 to 80"),
    (_too_many_tablets, "spec.keyspaces", "4294967294 tablets are asked for"),
    (_too_many_shards, "spec.keyspaces", "65536000 shards are asked for"),
    (_alias_twice, "spec.federation.aliases[1].cells", "is in alias a already"),
    (_alias_of_nobody, "spec.federation.aliases[0].cells", "no cell 'mars1a'"),
]


@pytest.mark.parametrize(("spoil", "field", "words"), _CASES, ids=[case[0].__name__[1:] for case in _CASES])
def test_it_is_refused_in_a_sentence_that_names_the_field(spoil: Callable[[Obj], None], field: str, words: str):
    before = plan_of(shop())
    source = shop()
    spoil(source["spec"])
    found = planned(source, before, sites=_THREE)
    assert [each.field for each in found.refusals if words in each.message] == [field]
    assert found.plan == before, "what is refused changes nothing"


_POOLS = "spec.keyspaces[0].partitionings[0].equal.shardTemplate"


@pytest.mark.parametrize(
    ("pools", "field", "sentence"),
    [
        ([pool("useast1a", externalDatastore={})], "tabletPools[0]", "give either mysqld or externalDatastore"),
        ([pool("useast1a", mysqld=None)], "tabletPools[0]", "give either mysqld or externalDatastore"),
        ([pool("useast1a"), pool("useast1a")], "tabletPools", "2 pools have type replica, cell useast1a"),
        ([pool("useast1a", "master")], "tabletPools[0].type", "must be one of replica"),
        ([pool("useast1a"), pool("uswest2a", replicas=-1)], "tabletPools[1].replicas", "must be 0 or more"),
        ([pool("useast1a", backupLocationName="far")], "tabletPools[0].backupLocationName", "there is no 'far'"),
    ],
)
def test_pools_that_only_members_operators_would_refuse_are_refused_before_any_of_them_changes(pools, field, sentence):
    before, source = plan_of(shop()), shop(keyspaces=[keyspace("orders", pools)])
    found = planned(source, before)
    assert [each.field for each in found.refusals] == [f"{_POOLS}.{field}"]
    assert sentence in found.refusals[0].message
    assert found.plan == before


def _template(spec: Obj) -> Obj:
    found: Obj = spec["keyspaces"][0]["partitionings"][0]["equal"]["shardTemplate"]
    return found


@pytest.mark.parametrize("script", [None, {}, {"name": "init"}, {"key": "init.sql"}])
def test_a_database_without_an_init_script_is_refused(script):
    before, source = plan_of(shop()), shop()
    _template(source["spec"])["databaseInitScriptSecret"] = script
    found = planned(source, before)
    assert list(map(str, found.refusals)) == [
        f"{_POOLS}.databaseInitScriptSecret: give the name and the key of the Secret that sets up a new database"
    ]
    assert found.plan == before


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        (lambda spec: spec["cells"].append(cell("us-east", "east")), "spec.cells[6].name"),
        (lambda spec: spec["keyspaces"].append(keyspace("a.b", [pool("useast1a")])), "spec.keyspaces[1].name"),
        (
            lambda spec: _template(spec).update(replication={"initializeMaster": True, "initializePrimary": False}),
            f"{_POOLS}.replication",
        ),
    ],
)
def test_names_and_spellings_that_an_operator_refuses_are_refused_at_the_top(spoil, field):
    source = shop()
    spoil(source["spec"])
    assert [each.field for each in planned(source, plan_of(shop())).refusals] == [field]


def test_a_specification_that_is_planned_already_is_not_refused_afterwards_for_what_operators_learnt_to_refuse():
    source = shop()
    _template(source["spec"])["databaseInitScriptSecret"] = None
    before = replace(plan_of(shop()), spec=spec_digest(source))
    assert planned(source, before).refusals == ()


def test_a_new_cell_without_a_cluster_is_refused():
    source = shop()
    del source["spec"]["cells"][0]["cluster"]
    found = refusals(source, SITES)
    assert str(found[0]) == "spec.cells[0].cluster: name the cluster of cell useast1a, or give its zone or region"


def test_the_worked_example_is_not_refused():
    assert refusals(shop(), SITES) == []


def test_without_any_registered_cluster_nothing_is_planned():
    before = plan_of(shop())
    found = planned(shop(keyspaces=[]), before, sites=())
    assert found.plan == before
    assert "no cluster is registered at all" in found.refusals[0].message


def test_two_tablets_of_one_uid_are_refused():
    # Found by trying: the first tablets of these two cells have the same number.
    source = shop(
        cells=[cell("c27271", "east"), cell("c62638", "west")],
        keyspaces=[keyspace("orders", [pool("c27271"), pool("c62638")], parts=1)],
    )
    found = refusals(source, SITES)
    assert [each.field for each in found] == ["spec.keyspaces"]
    assert "would both be tablet 4154650548" in found[0].message


def test_a_cell_that_is_in_one_cluster_is_not_moved_to_another():
    before, source = plan_of(shop()), shop()
    source["spec"]["cells"][2]["cluster"] = "west"
    found = planned(source, before)
    assert [each.field for each in found.refusals] == ["spec.cells[2].cluster"]
    assert "its data does not move to west" in found.refusals[0].message


def test_a_lockserver_that_runs_keeps_its_members_unless_one_is_being_replaced():
    source = shop()
    _quorum(source["spec"], _PEERS)
    sites = (*_THREE, Site("north"))
    before = plan_of(source, sites=sites)
    moved = {"cluster": "north", "peerURL": "https://north.example:2380"}
    _quorum(source["spec"], [_PEERS[0], moved, _PEERS[2]])
    found = planned(source, before, sites=sites)
    assert [each.field for each in found.refusals] == ["spec.federation.lockserver.members[1]"]
    source["metadata"]["annotations"] = {REPLACE_ETCD_ANNOTATION: "west"}
    assert planned(source, before, sites=sites).refusals == ()


def test_a_lockserver_that_runs_is_not_taken_away():
    source = shop()
    _quorum(source["spec"], _PEERS)
    before = plan_of(source, sites=_THREE)
    found = planned(shop(), before, sites=_THREE)
    assert [each.field for each in found.refusals] == ["spec.federation.lockserver"]


def test_in_one_cluster_alone_any_lockserver_will_do():
    source = shop(
        globalLockserver={"etcd": {}},
        cells=[{"name": "useast1a", "cluster": "east", "lockserver": {"etcd": {}}}],
        keyspaces=[keyspace("orders", [pool("useast1a")])],
    )
    assert refusals(source, SITES) == []
