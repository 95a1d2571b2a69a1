"""Specs that cannot be meant are refused with a sentence that names the field, and nothing is done for them."""

import pytest

from hanse.vitess.operator.partitions import keyspace_shards, partitioning_problems
from hanse.vitess.operator.validation import cluster_problems
from tests.unit.vitess.operator import scenes
from tests.vitess_specs import keyspace, pool, template, vitess_cluster


def spec(**fields):
    return vitess_cluster(**fields)["spec"]


def with_pools(*pools):
    return spec(keyspaces=[keyspace("commerce", 1, *pools)])


def custom(*ranges):
    shards = [{"keyRange": dict(zip(("start", "end"), each.split("-"), strict=True))} for each in ranges]
    return {"custom": {"shards": shards}}


def equal(parts, **more):
    return {"equal": {"parts": parts, "shardTemplate": template(pool()), **more}}


def test_a_minimal_cluster_is_right():
    assert cluster_problems(spec()) == ()


@pytest.mark.parametrize(
    ("wrong", "field", "says"),
    [
        (spec(cells=[{"name": "us-east"}], keyspaces=[]), "cells[0].name", "a - would end the cell's part"),
        (spec(cells=[{"name": "a"}, {"name": "a"}], keyspaces=[]), "cells", "is there 2 times"),
        (spec(keyspaces=[keyspace("a.b")]), "keyspaces[0].name", "Vitess takes no dot"),
        (spec(keyspaces=[keyspace(), keyspace()]), "keyspaces", "is there 2 times"),
        (with_pools(pool("zone2")), "tabletPools[0].cell", "there is no cell 'zone2' in spec.cells"),
        (with_pools(pool(externalDatastore={})), "tabletPools[0]", "give either mysqld or externalDatastore"),
        (with_pools(pool(mysqld=None)), "tabletPools[0]", "give either mysqld or externalDatastore"),
        (with_pools(pool(), pool()), "tabletPools", "2 pools have type replica, cell zone1"),
        (with_pools(pool(replicas=-1)), "tabletPools[0].replicas", "must be 0 or more"),
        (with_pools(pool(type="master")), "tabletPools[0].type", "must be one of replica"),
        (with_pools(pool(backupLocationName="far")), "backupLocationName", "there is no 'far'"),
        (with_pools(pool(name="a"), pool(name="b")), "tabletPools", "only pools of external databases"),
        (
            spec(globalLockserver={"etcd": {"advertisePeerURLs": ["http://a:2380", "http://b:2380"]}}),
            "globalLockserver.etcd.advertisePeerURLs",
            "give exactly 3",
        ),
        (spec(globalLockserver={"etcd": {"localMemberIndex": 4}}), "localMemberIndex", "must be 1 to 3"),
    ],
)
def test_23_to_28_what_is_wrong_is_said_with_its_field(wrong, field, says):
    (problem,) = cluster_problems(wrong)
    assert field in problem
    assert says in problem


@pytest.mark.parametrize(
    ("keyspaces", "says"),
    [
        ([keyspace("a", 1, pool(replicas=2**31 - 1))], "2147483647 tablets are asked for"),
        ([keyspace(f"a{number}", 65536, pool()) for number in range(1000)], "65536000 shards are asked for"),
        ([keyspace("a", 4096, pool(replicas=5))], "20480 tablets are asked for"),
    ],
)
def test_a_cluster_that_is_too_large_is_refused_before_anything_is_made_of_it(keyspaces, says):
    (problem,) = cluster_problems(spec(keyspaces=keyspaces))
    assert problem.startswith("keyspaces: ")
    assert says in problem


def test_both_spellings_of_one_switch_must_agree():
    both = {"initializeMaster": True, "initializePrimary": False}
    wrong = spec(
        keyspaces=[
            {
                "name": "a",
                "partitionings": [{"equal": {"parts": 1, "shardTemplate": template(pool(), replication=both)}}],
            }
        ]
    )
    (problem,) = cluster_problems(wrong)
    assert "initializeMaster and initializePrimary mean the same and differ" in problem


@pytest.mark.parametrize(
    ("partitionings", "says"),
    [
        ([equal(0)], "parts must be from 1"),
        ([equal(65537)], "parts must be from 1"),
        ([equal(300, hexWidth=2)], "room for 256 parts"),
        ([equal(2, hexWidth=3)], "even number of digits"),
        ([custom("-40", "80-")], "no shard has the keys from 40 to 80"),
        ([custom("-80", "40-")], "overlap"),
        ([custom("-8", "8-")], "even number of lower-case hex digits"),
        ([equal(1), equal(2), equal(4)], "give one, or two while resharding"),
        ([], "give one, or two while resharding"),
        ([{**equal(1), **custom("-80", "80-")}], "give either equal or custom"),
    ],
)
def test_6_to_12_partitionings_that_divide_nothing_are_refused(partitionings, says):
    (problem,) = partitioning_problems({"partitionings": partitionings})
    assert says in problem


def test_11_a_shard_of_two_partitionings_is_one_and_the_later_template_counts():
    first = {"equal": {"parts": 2, "shardTemplate": {"annotations": {"from": "first"}}}}
    second = {
        "custom": {
            "shards": [
                {"keyRange": {"start": "80"}, "annotations": {"from": "second"}},
                {"keyRange": {"end": "40"}, "annotations": {"from": "second"}},
                {"keyRange": {"start": "40", "end": "80"}, "annotations": {"from": "second"}},
            ]
        }
    }
    shards = keyspace_shards({"partitionings": [first, second]})
    assert [(str(each.key_range), each.template["annotations"]["from"]) for each in shards] == [
        ("-40", "second"),
        ("-80", "first"),
        ("40-80", "second"),
        ("80-", "second"),
    ]


def test_13_an_empty_partitioning_says_nothing():
    spec_ = {"partitionings": [{}, equal(2)]}
    assert list(partitioning_problems(spec_)) == []
    assert [str(each.key_range) for each in keyspace_shards(spec_)] == ["-80", "80-"]


def test_17_the_name_of_a_pool_counts_only_with_an_external_database():
    named = scenes.shard(scenes.shard_of(vitess_cluster(keyspaces=[keyspace("commerce", 1, pool(name="x"))])))
    plain = scenes.shard(scenes.shard_of(vitess_cluster()))
    assert scenes.names(named, "Pod") == scenes.names(plain, "Pod")


def test_nothing_is_done_for_a_cluster_that_cannot_be_meant():
    before = scenes.grown_up(scenes.cluster(vitess_cluster()))
    verdict = scenes.cluster(vitess_cluster(cells=[{"name": "us-east"}]), *before)
    assert len(verdict.children) == len(before)
    assert scenes.reasons(verdict) == ["InvalidSpec"]
    (ready,) = verdict.status["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "InvalidSpec")
    assert "spec.cells[0].name" in ready["message"]
