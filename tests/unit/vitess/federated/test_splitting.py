"""One VitessCluster into those of its members: the worked split comes out exactly, names and identities included."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.homes import Site
from hanse.vitess.federated.plan import plan_manifest, stored_plan
from hanse.vitess.federated.reading import ShardId, all_shards, shards_of
from hanse.vitess.federated.splitting import PARENT_LABEL, PART_ANNOTATION, split
from hanse.vitess.naming import initial_backup_name, shard_name, tablet_name, vtorc_name
from tests.unit.vitess.federated.shop import (
    CELLS,
    EAST_CELLS,
    GLOBAL,
    WEST_CELLS,
    keyspace,
    plan_of,
    pool,
    shop,
)


def _split(source: Obj) -> dict[str, Obj]:
    return split(source, plan_of(source))


def test_every_member_gets_an_object_of_the_same_name_that_says_of_what_it_is_a_part():
    for made in _split(shop()).values():
        assert (made["apiVersion"], made["kind"]) == ("planetscale.com/v2", "VitessCluster")
        metadata = {name: value for name, value in made["metadata"].items() if name != "annotations"}
        assert metadata == {"name": "shop", "namespace": "vt", "labels": {PARENT_LABEL: "shop"}}


def test_a_member_gets_its_own_cells_alone_and_no_word_of_clusters():
    made = _split(shop())
    assert [each["name"] for each in made["east"]["spec"]["cells"]] == list(EAST_CELLS)
    assert [each["name"] for each in made["west"]["spec"]["cells"]] == list(WEST_CELLS)
    assert all("cluster" not in each for member in made.values() for each in member["spec"]["cells"])
    assert made["west"]["spec"]["cells"][0]["lockserver"]["cellInfoAddress"] == "etcd-uswest2a.vt.example:2379"


def test_a_keyspace_has_all_its_shards_and_the_members_own_pools():
    made = _split(shop())
    pools = {member: _template(each)["tabletPools"] for member, each in made.items()}
    assert [(each["cell"], each["type"], each["replicas"]) for each in pools["east"]] == [("useast1a", "replica", 2)]
    assert [(each["cell"], each["type"], each["replicas"]) for each in pools["west"]] == [
        ("uswest2a", "replica", 1),
        ("uswest2b", "rdonly", 1),
    ]
    for each in made.values():
        assert dig(each, "spec", "keyspaces")[0]["partitionings"][0]["equal"]["parts"] == 2


def test_all_share_the_global_lockserver():
    for each in _split(shop()).values():
        assert each["spec"]["globalLockserver"] == {"external": GLOBAL}


def test_exactly_one_member_begins_each_shard_and_the_others_say_so_explicitly():
    made = _split(shop())
    assert _template(made["east"])["replication"] == {"initializeMaster": True, "initializeBackup": True}
    assert _template(made["west"])["replication"] == {"initializeMaster": False, "initializeBackup": False}


def test_the_four_switches_are_off_everywhere_and_no_other():
    off = dict.fromkeys(("registerCellsAliases", "pruneCells", "pruneKeyspaces", "pruneShards"), False)
    for each in _split(shop()).values():
        assert each["spec"]["topologyReconciliation"] == off


def test_a_switch_that_somebody_turned_off_stays_off_and_one_turned_on_does_not_stay_on():
    source = shop(topologyReconciliation={"pruneTablets": False, "pruneCells": True})
    switches = _split(source)["east"]["spec"]["topologyReconciliation"]
    assert (switches["pruneTablets"], switches["pruneCells"]) == (False, False)


def test_gateways_watch_the_cells_of_every_member():
    for each in _split(shop()).values():
        for cell in each["spec"]["cells"]:
            assert cell["gateway"]["extraFlags"]["cells_to_watch"] == ",".join(CELLS)


@pytest.mark.parametrize("flag", ["cells_to_watch", "--cells_to_watch"])
def test_the_cells_that_somebody_wants_watched_are_those_that_are(flag: str):
    source = shop()
    source["spec"]["cells"][0]["gateway"] = {"replicas": 3, "extraFlags": {flag: "useast1a"}}
    gateway = _split(source)["east"]["spec"]["cells"][0]["gateway"]
    assert gateway == {"replicas": 3, "extraFlags": {flag: "useast1a"}}


def test_tablets_have_the_identities_that_one_big_cluster_would_give_them():
    made, aliases = _split(shop()), dict[tuple[str, str], list[str]]()
    for member, each in made.items():
        for shard in shards_of(each["spec"]["keyspaces"][0]):
            aliases[member, shard.id.shard] = [identity.alias for identity in shard.identities()]
    assert aliases == {
        ("east", "-80"): ["useast1a-2244051001", "useast1a-1362584625"],
        ("east", "80-"): ["useast1a-0838873728", "useast1a-0321174680"],
        ("west", "-80"): ["uswest2a-0394942161", "uswest2b-2088132781"],
        ("west", "80-"): ["uswest2a-4209214293", "uswest2b-1647412108"],
    }
    assert len({alias for listed in aliases.values() for alias in listed}) == 8


def test_objects_of_the_example_are_called_as_worked_out():
    assert tablet_name("shop", "useast1a-2244051001") == "shop-vttablet-useast1a-2244051001-68c79155"
    assert tablet_name("shop", "uswest2a-0394942161") == "shop-vttablet-uswest2a-0394942161-1cea71ac"
    assert shard_name("shop", "orders", "x-80") == "shop-orders-x-80-5e59d8a5"
    assert shard_name("shop", "orders", "80-x") == "shop-orders-80-x-a88c9533"
    assert vtorc_name("shop", "orders", "x-80", "useast1a") == "shop-orders-x-80-useast1a-vtorc-95b79fe7"
    assert vtorc_name("shop", "orders", "x-80", "uswest2a") == "shop-orders-x-80-uswest2a-vtorc-6b0ae8cb"
    assert initial_backup_name("shop", "orders", "x-80") == "shop-orders-x-80-vtbackup-init-09a11ce2"


def test_a_keyspace_of_one_member_is_not_in_the_others():
    source = shop()
    source["spec"]["keyspaces"].append(keyspace("audit", [pool("useast1b")], parts=1))
    made = _split(source)
    assert [each["name"] for each in made["east"]["spec"]["keyspaces"]] == ["orders", "audit"]
    assert [each["name"] for each in made["west"]["spec"]["keyspaces"]] == ["orders"]


def test_shards_that_are_begun_in_different_members_are_written_out():
    source = shop()
    plan = plan_of(source)
    source["status"] = {"federation": {"plan": plan_manifest(plan)}}
    stored = stored_plan(source)
    assert stored == plan
    moved = replace(plan, initializers={**plan.initializers, ShardId("orders", "80-"): "west"})
    for member, begins in (("east", [True, False]), ("west", [False, True])):
        partitioning = split(source, moved)[member]["spec"]["keyspaces"][0]["partitionings"][0]
        shards = partitioning["custom"]["shards"]
        assert "equal" not in partitioning
        assert [each["keyRange"] for each in shards] == [{"start": "", "end": "80"}, {"start": "80", "end": ""}]
        assert [each["replication"]["initializeMaster"] for each in shards] == begins
    before, after = _split(source)["east"]["spec"], split(source, moved)["east"]["spec"]
    assert [shard.pools for shard in all_shards(after)] == [shard.pools for shard in all_shards(before)]


def test_nobody_begins_what_is_not_to_be_begun():
    source = shop()
    template = _template(source)
    template["replication"] = {"initializeMaster": False, "recoverRestartedMaster": True}
    for each in _split(source).values():
        assert _template(each)["replication"] == {
            "initializeMaster": False,
            "initializeBackup": False,
            "recoverRestartedMaster": True,
        }


def test_dashboards_are_in_the_members_own_cells_of_those_asked_for():
    source = shop(
        vitessDashboard={"cells": ["useast1a", "useast1b"], "replicas": 2},
        vtadmin={"cells": ["useast1c", "uswest2a"], "apiAddresses": ["a.example", "b.example"]},
    )
    made = _split(source)
    assert made["east"]["spec"]["vitessDashboard"] == {"cells": ["useast1a", "useast1b"], "replicas": 2}
    assert made["west"]["spec"]["vitessDashboard"] == {"cells": [], "replicas": 0}
    assert made["west"]["spec"]["vtadmin"] == {"cells": ["uswest2a"], "apiAddresses": ["b.example"]}
    only_east = _split(shop(vtadmin={"cells": ["useast1c"]}))
    assert "vtadmin" not in only_east["west"]["spec"]


def test_what_is_between_the_federation_and_its_users_is_not_copied():
    source = shop(federation={"upgrade": {"type": "MemberByMember"}})
    source["metadata"] |= {"labels": {"team": "shop"}, "annotations": {"hanse.dev/x": "y", "note": "z"}}
    for each in _split(source).values():
        assert each["metadata"]["labels"] == {"team": "shop", PARENT_LABEL: "shop"}
        assert {name: text for name, text in each["metadata"]["annotations"].items() if name != PART_ANNOTATION} == {
            "note": "z"
        }
        assert "federation" not in each["spec"]


def test_a_lockserver_over_three_clusters_gives_each_its_member_and_the_fourth_the_address():
    peers = [f"https://etcd-{name}.vt.example:2380" for name in ("east", "west", "south")]
    members = [{"cluster": name, "peerURL": url} for name, url in zip(("east", "west", "south"), peers, strict=True)]
    lockserver = {"clientAddress": "etcd.vt.example:2379", "members": members}
    source = shop(
        globalLockserver={"etcd": {"image": "etcd:v3.5", "createPDB": True}}, federation={"lockserver": lockserver}
    )
    source["spec"]["cells"].append({"name": "eu1", "cluster": "north"})
    sites = [Site(name) for name in ("east", "west", "south", "north")]
    made = split(source, plan_of(source, sites=sites))
    for index, member in enumerate(("east", "west", "south"), start=1):
        assert made[member]["spec"]["globalLockserver"] == {
            "etcd": {"image": "etcd:v3.5", "createPDB": False, "localMemberIndex": index, "advertisePeerURLs": peers},
            "cellInfoAddress": "etcd.vt.example:2379",
        }
    assert made["south"]["spec"]["cells"] == []
    assert made["north"]["spec"]["globalLockserver"] == {
        "external": {
            "implementation": "etcd2",
            "address": "etcd.vt.example:2379",
            "rootPath": "/vitess/shop/global",
        }
    }


def _template(cluster: Obj) -> Obj:
    template: Obj = cluster["spec"]["keyspaces"][0]["partitionings"][0]["equal"]["shardTemplate"]
    return template
