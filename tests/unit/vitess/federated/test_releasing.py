"""Waiting changes that the federation lets go by itself: of keyspaces that leave, and of shards that nobody leads."""

from __future__ import annotations

import pytest

from hanse.api.planetscale.kinds import KEYSPACE_LABEL, RELEASED_ANNOTATION, SCHEDULED_ANNOTATION
from hanse.kube.manifest import Obj, name_of
from hanse.vitess.federated.member_parts import MemberParts
from hanse.vitess.federated.picture import Picture, ShardRecord
from hanse.vitess.federated.plan import Entries, Plan
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.releasing import to_release

_LED = Picture(shards={ShardId("orders", "-"): ShardRecord("useast1a-0000000001")})
_NOT_LED = Picture(shards={ShardId("orders", "-"): ShardRecord()})


def _object(kind: str, **annotations: str) -> Obj:
    named = {SCHEDULED_ANNOTATION: annotations.get("scheduled"), RELEASED_ANNOTATION: annotations.get("released")}
    kept = {name: text for name, text in named.items() if text is not None}
    return {"kind": kind, "metadata": {"name": kind, "labels": {KEYSPACE_LABEL: "orders"}, "annotations": kept}}


def _released(plan: Plan, picture: Picture | None, **annotations: str) -> list[str]:
    parts = MemberParts(
        keyspaces=(_object("VitessKeyspace", **annotations),), shards=(_object("VitessShard", **annotations),)
    )
    return [name_of(obj) for obj in to_release(plan, "east", parts, picture)]


_LEAVING = Plan(leaving={"east": Entries(keyspaces={"orders": {}})})


@pytest.mark.parametrize(
    ("plan", "picture", "free"),
    [
        (_LEAVING, _LED, True),
        (_LEAVING, None, True),
        (Plan(leaving={"west": Entries(keyspaces={"orders": {}})}), _LED, False),
        (Plan(), _NOT_LED, True),
        (Plan(), _LED, False),
        (Plan(), None, False),
    ],
    ids=["leaving", "leaving, unread", "leaves another", "nobody leads", "led", "unread"],
)
def test_changes_go_where_nobody_is_disturbed_or_all_of_it_leaves(plan: Plan, picture: Picture | None, free: bool):
    assert _released(plan, picture, scheduled="x") == (["VitessKeyspace", "VitessShard"] if free else [])


def test_what_does_not_wait_or_is_released_already_is_left_alone():
    assert _released(_LEAVING, _LED) == []
    assert _released(_LEAVING, _LED, scheduled="x", released="y") == []
