"""What a federated VitessCluster says of itself: members put together, primaries from topology."""

from __future__ import annotations

import pytest

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj
from hanse.vitess.federated.picture import Picture, ShardRecord, TabletRecord
from hanse.vitess.federated.plan import stored_plan
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.refusal import Refusal
from hanse.vitess.federated.sights import MemberSight, scene_of
from hanse.vitess.federated.splitting import split
from hanse.vitess.federated.status import MemberView, Told, merged_status
from tests.unit.vitess.federated.shop import EAST_CELLS, WEST_CELLS, plan_of, planned, shop

_LEFT, _RIGHT = ShardId("orders", "-80"), ShardId("orders", "80-")
_PICTURE = Picture(
    shards={_LEFT: ShardRecord("useast1a-2244051001", serving=True), _RIGHT: ShardRecord("uswest2a-4209214293")}
)
_NOW = "2026-11-18T00:00:00Z"
_PLAN = plan_of(shop())


def _copy(member: str, tablets: int, ready: int) -> Obj:
    cells = EAST_CELLS if member == "east" else WEST_CELLS
    numbers = {"desiredTablets": tablets, "tablets": tablets, "readyTablets": ready, "updatedTablets": tablets}
    counts = {"desiredShards": 2, "shards": 2, "readyShards": 2 if ready == tablets else 1, "updatedShards": 2}
    status = {
        "cells": {cell: {"gatewayAvailable": "True"} for cell in cells},
        "keyspaces": {"orders": {**numbers, **counts, "cells": [cells[0]]}},
    }
    return {**split(shop(), _PLAN)[member], "status": status}


def _members(east_ready: int = 4, *, west: bool = True) -> dict[str, MemberView]:
    return {
        "east": MemberView(_copy("east", 4, east_ready), reachable=True, settled=True),
        "west": MemberView(_copy("west", 4, 4), reachable=west, settled=True),
    }


def _status(**told: object) -> Obj:
    return merged_status(shop(), Told(**{"plan": _PLAN, "members": _members(), "picture": _PICTURE, **told}), _NOW)  # type: ignore[arg-type]


def _condition(status: Obj, kind: str) -> tuple[str, str, str]:
    found = find_condition(status["conditions"], kind)
    assert found is not None
    return found["status"], found["reason"], found["message"]


def test_it_is_ready_when_every_member_is_and_every_shard_has_a_primary():
    status = _status()
    assert _condition(status, "Ready")[:2] == ("True", "MembersReady")
    assert _condition(status, "Degraded")[0] == "False"
    assert status["observedGeneration"] == 1


def test_tablets_add_up_and_shards_are_ready_where_they_are_in_every_member():
    merged = _status(members=_members(east_ready=3))["keyspaces"]["orders"]
    assert (merged["desiredTablets"], merged["readyTablets"]) == (8, 7)
    assert (merged["desiredShards"], merged["readyShards"]) == (2, 1)
    assert merged["cells"] == ["useast1a", "uswest2a"]


def test_cells_say_in_which_cluster_they_are():
    cells = _status()["cells"]
    assert cells["useast1a"] == {"gatewayAvailable": "True", "cluster": "east"}
    assert cells["uswest2c"]["cluster"] == "west"


def test_shards_say_who_leads_them_and_where():
    assert _status()["federation"]["shards"]["orders/80-"] == {
        "hasPrimary": "True",
        "primary": "uswest2a-4209214293",
        "member": "west",
        "initializer": "east",
    }


def test_a_member_that_is_lost_makes_it_degraded_and_counts_for_nothing():
    status = _status(members=_members(west=False))
    assert _condition(status, "Degraded")[:2] == ("True", "MemberUnreachable")
    assert _condition(status, "Ready") == ("False", "MembersNotReady", "west: cannot be reached")
    assert status["keyspaces"]["orders"]["readyTablets"] == 4
    assert status["cells"]["uswest2a"]["gatewayAvailable"] == "Unknown"


def test_topology_that_cannot_be_read_leaves_it_unknown():
    status = _status(picture=None, unread="the lockserver does not answer")
    assert _condition(status, "Ready") == ("Unknown", "TopologyUnreadable", "the lockserver does not answer")
    assert status["federation"]["shards"]["orders/-80"]["hasPrimary"] == "Unknown"


def test_a_shard_without_a_primary_is_not_ready():
    status = _status(picture=Picture(shards={_LEFT: ShardRecord("useast1a-2244051001")}))
    assert _condition(status, "Ready") == ("False", "NoPrimary", "orders/80-: no primary yet")


def test_two_tablets_that_both_say_primary_are_told():
    tablets = {
        alias: TabletRecord(alias, alias.rpartition("-")[0], _LEFT, "PRIMARY")
        for alias in ("useast1a-2244051001", "uswest2a-0394942161")
    }
    status = _status(picture=Picture(shards=_PICTURE.shards, tablets=tablets))
    assert _condition(status, "Ready")[1] == "SeveralPrimaries"


def test_a_refusal_is_told_and_the_plan_stays():
    status = _status(refusals=[Refusal("spec.cells[0].cluster", "name it")])
    assert _condition(status, "Accepted") == (
        "False",
        "InvalidSpec",
        "spec.cells[0].cluster: name it; members keep what they have",
    )
    assert stored_plan({"status": status}) == _PLAN


def test_a_status_that_says_it_already_is_not_another():
    first = _status()
    source = {**shop(), "status": first}
    again = merged_status(source, Told(_PLAN, _members(), _PICTURE), "2026-11-18T09:00:00Z")
    assert again == first


@pytest.mark.parametrize("wrong", [{"parts": 300, "hexWidth": 2}, {"parts": 0}])
def test_a_specification_that_divides_nothing_is_told_as_well(wrong: Obj):
    source = shop()
    source["spec"]["keyspaces"][0]["partitionings"][0]["equal"] |= wrong
    scene = scene_of(source, _PLAN, {"east": MemberSight(reachable=True, copy=_copy("east", 4, 4))})
    assert not scene.is_current("east"), "nobody has taken in what cannot be given"
    refused = planned(source, _PLAN)
    status = merged_status(source, Told(refused.plan, _members(), _PICTURE, refusals=refused.refusals), _NOW)
    accepted = find_condition(status["conditions"], "Accepted")
    assert accepted is not None
    assert accepted["status"] == "False"
    assert "spec.keyspaces[0].partitionings" in accepted["message"]


def test_a_primary_in_a_lost_member_is_named_with_who_replaces_it():
    told = Told(_PLAN, _members(west=False), _PICTURE, notes=["first"])
    notes = merged_status(shop(), told, _NOW)["federation"]["notes"]
    assert notes[0] == "first"
    assert [note.partition(";")[0] for note in notes[1:]] == [
        "orders/80-: its primary uswest2a-4209214293 is in west, which cannot be reached"
    ]
