"""Upgrades reach one member after the other; what is no upgrade is not held back."""

from __future__ import annotations

from hanse.kube.manifest import Obj
from hanse.vitess.federated.splitting import split
from hanse.vitess.federated.staging import Standing, stage, version_of, with_version
from tests.unit.vitess.federated.shop import keyspace, plan_of, planned, pool, shop

_BY_MEMBER = {"upgrade": {"type": "MemberByMember"}}
_FINE = {"east": Standing(), "west": Standing()}


def _upgraded(**more: object) -> Obj:
    return shop(images={"vttablet": "vitess/lite:v22"}, **more)


def _images(source: Obj, plan: object) -> dict[str, str]:
    return {member: each["spec"]["images"]["vttablet"] for member, each in split(source, plan).items()}  # type: ignore[arg-type]


def test_without_a_policy_every_member_gets_it_at_once():
    plan = plan_of(_upgraded(), plan_of(shop()), standings=_FINE)
    assert set(_images(_upgraded(), plan).values()) == {"vitess/lite:v22"}


def test_member_by_member_the_next_waits_until_the_one_before_is_well():
    source = _upgraded(federation=_BY_MEMBER)
    first = planned(source, plan_of(shop(federation=_BY_MEMBER)), standings=_FINE)
    assert _images(source, first.plan) == {"east": "vitess/lite:v22", "west": "vitess/lite:v21"}
    assert first.notes == ("west keeps its version for now: east gets the new one first",)
    begun = planned(source, first.plan, standings={**_FINE, "east": Standing(settled=False)})
    assert _images(source, begun.plan) == {"east": "vitess/lite:v22", "west": "vitess/lite:v21"}
    assert begun.notes == ("west keeps its version for now: east has the new one and is not ready yet",)
    done = planned(source, begun.plan, standings=_FINE)
    assert _images(source, done.plan) == {"east": "vitess/lite:v22", "west": "vitess/lite:v22"}


def test_structure_is_not_held_back_with_the_images():
    source = _upgraded(
        federation=_BY_MEMBER, keyspaces=[keyspace("orders", [pool("useast1a"), pool("uswest2a", replicas=5)])]
    )
    plan = plan_of(source, plan_of(shop(federation=_BY_MEMBER)), standings={**_FINE, "east": Standing(settled=False)})
    west = split(source, plan)["west"]["spec"]
    assert west["images"] == {"vttablet": "vitess/lite:v21"}
    assert west["keyspaces"][0]["partitionings"][0]["equal"]["shardTemplate"]["tabletPools"][0]["replicas"] == 5


def test_a_member_that_is_lost_keeps_nobody_else_waiting():
    spec = _upgraded(federation=_BY_MEMBER)["spec"]
    given = dict.fromkeys(("east", "west"), version_of(shop()["spec"]))
    found = stage(spec, ["east", "west"], given, {"east": Standing(reachable=False), "west": Standing()})
    assert found.versions == {"east": given["east"], "west": version_of(spec)}
    assert found.sentence == "east keeps its version for now: it cannot be reached"


def test_members_with_primaries_come_last_where_that_is_asked():
    policy = {"type": "MemberByMember", "primariesLast": True}
    spec = _upgraded(federation={"upgrade": policy})["spec"]
    given = dict.fromkeys(("east", "west"), version_of(shop()["spec"]))
    found = stage(spec, ["east", "west"], given, {"east": Standing(primaries=2), "west": Standing(settled=False)})
    assert found.versions["west"] == version_of(spec)
    assert found.versions["east"] == given["east"]


def test_an_order_is_followed():
    spec = _upgraded(federation={"upgrade": {"type": "MemberByMember", "order": ["west"]}})["spec"]
    given = dict.fromkeys(("east", "west"), version_of(shop()["spec"]))
    found = stage(spec, ["east", "west"], given, {"east": Standing(), "west": Standing(settled=False)})
    assert found.versions == {"west": version_of(spec), "east": given["east"]}


def test_lockserver_members_change_one_at_a_time_whatever_the_policy():
    old = shop(globalLockserver={"etcd": {"image": "etcd:1"}})["spec"]
    new = shop(globalLockserver={"etcd": {"image": "etcd:2"}})["spec"]
    given, names = dict.fromkeys(("a", "b", "c"), version_of(old)), ("a", "b", "c")
    serving = {name: Standing(etcd=True) for name in names}
    begun = stage(new, names, given, serving, etcd_members=names)
    assert [begun.versions[name]["etcd"]["image"] for name in names] == ["etcd:2", "etcd:1", "etcd:1"]
    down = {**serving, "a": Standing(etcd=False)}
    waiting = stage(new, names, begun.versions, down, etcd_members=names)
    assert [waiting.versions[name]["etcd"]["image"] for name in names] == ["etcd:2", "etcd:1", "etcd:1"]
    assert waiting.sentence == "b keeps its version for now: the etcd member of a does not serve"


def test_a_version_is_put_back_as_it_was():
    old = shop(
        extraVitessFlags={"v": "1"}, keyspaces=[keyspace("orders", [pool("useast1a")], images={"vttablet": "x"})]
    )
    new = _upgraded(keyspaces=[keyspace("orders", [pool("useast1a")])])
    assert version_of(with_version(new["spec"], version_of(old["spec"]))) == version_of(old["spec"])
    assert with_version(new["spec"], None) is new["spec"]
