"""What leaves a member does so in two steps, and nothing leaves because nobody was heard of."""

from __future__ import annotations

import pytest

from hanse.kube.manifest import Obj
from hanse.vitess.federated.leaving import MemberNews
from hanse.vitess.federated.plan import Plan
from hanse.vitess.federated.splitting import split
from tests.unit.vitess.federated.shop import keyspace, plan_of, planned, pool, shop

_NOT_IDLE = MemberNews(known=True, current=True)
_IDLE = MemberNews(known=True, current=True, idle_keyspaces=frozenset({"orders"}))


def _two() -> Obj:
    source = shop()
    source["spec"]["keyspaces"].append(keyspace("audit", [pool("useast1b")], parts=1))
    return source


def _without_orders() -> Obj:
    source = _two()
    del source["spec"]["keyspaces"][0]
    return source


def _keyspaces(source: Obj, plan: Plan, member: str) -> dict[str, Obj]:
    return {each["name"]: each for each in split(source, plan)[member]["spec"]["keyspaces"]}


def test_a_keyspace_that_goes_stays_without_tablets_first():
    before = plan_of(_two())
    plan = plan_of(_without_orders(), before, news={"east": _IDLE, "west": _IDLE})
    for member in ("east", "west"):
        template = _keyspaces(_without_orders(), plan, member)["orders"]["partitionings"][0]["equal"]["shardTemplate"]
        assert template["tabletPools"] == []
        assert template["replication"] == {"initializeMaster": False, "initializeBackup": False}


@pytest.mark.parametrize(
    ("news", "stays"),
    [
        (_NOT_IDLE, True),
        (MemberNews(known=False, current=True, idle_keyspaces=frozenset({"orders"})), True),
        (MemberNews(known=True, current=False, idle_keyspaces=frozenset({"orders"})), True),
        (_IDLE, False),
        (MemberNews(known=True, current=True, absent=True), False),
    ],
    ids=["busy", "not heard of", "has not taken it in", "idle", "has none at all"],
)
def test_it_goes_once_its_member_says_that_it_is_idle(news: MemberNews, stays: bool):
    leaving = plan_of(_without_orders(), plan_of(_two()), news={"east": _NOT_IDLE, "west": _NOT_IDLE})
    plan = plan_of(_without_orders(), leaving, news={"east": _IDLE, "west": news})
    assert "orders" not in _keyspaces(_without_orders(), plan, "east")
    assert ("orders" in _keyspaces(_without_orders(), plan, "west")) == stays


def test_what_is_waited_for_is_said():
    leaving = planned(_without_orders(), plan_of(_two()))
    assert leaving.notes == ("east has yet to let go of orders", "west has yet to let go of orders")


def test_a_keyspace_that_comes_back_before_it_is_gone_is_as_it_was():
    leaving = plan_of(_without_orders(), plan_of(_two()))
    plan = plan_of(_two(), leaving)
    assert plan.leaving == {}
    assert split(_two(), plan) == split(_two(), plan_of(_two()))


def test_a_keyspace_of_one_member_is_never_an_entry_of_another():
    before = plan_of(_two())
    gone = _two()
    del gone["spec"]["keyspaces"][1]
    plan = plan_of(gone, before)
    assert "audit" in _keyspaces(gone, plan, "east")
    assert "audit" not in _keyspaces(gone, plan, "west")


def test_a_cell_goes_after_its_keyspaces_and_may_be_elsewhere_only_then():
    before = plan_of(_two())
    source = _without_orders()
    del source["spec"]["cells"][3]
    leaving = plan_of(source, before)
    assert leaving.homes["uswest2a"] == "west"
    idle_cell = frozenset({"uswest2a"})
    busy = MemberNews(known=True, current=True, idle_cells=idle_cell)
    plan = plan_of(source, leaving, news={"west": busy})
    assert plan.homes["uswest2a"] == "west", "a keyspace there is not idle"
    quiet = MemberNews(known=True, current=True, idle_cells=idle_cell, idle_keyspaces=frozenset({"orders"}))
    keyspace_gone = plan_of(source, plan, news={"west": quiet})
    gone = plan_of(source, keyspace_gone, news={"west": quiet})
    assert "uswest2a" not in gone.homes
    again = _two()
    again["spec"]["cells"][3]["cluster"] = "east"
    assert planned(again, leaving).refusals != ()
    again["spec"]["keyspaces"] = []
    assert planned(again, gone).refusals == ()


def test_a_member_that_loses_its_last_cell_keeps_its_object_until_it_is_idle():
    source = shop(keyspaces=[])
    before = plan_of(source)
    source["spec"]["cells"] = source["spec"]["cells"][:3]
    leaving = plan_of(source, before)
    assert [each["name"] for each in split(source, leaving)["west"]["spec"]["cells"]] == [
        "uswest2a",
        "uswest2b",
        "uswest2c",
    ]
    idle = MemberNews(known=True, current=True, idle_cells=frozenset({"uswest2a", "uswest2b", "uswest2c"}))
    assert plan_of(source, leaving, news={"west": idle}).members == ("east",)
