"""What is shown: who is ready, who waits, and why; what is not known is not taken for either."""

import pytest

from hanse.kube.conditions import find_condition
from tests.unit.vitess.operator.scenes import (
    child,
    cluster,
    grown_up,
    keyspace,
    live,
    picture,
    shard,
    shard_of,
)
from tests.vitess_specs import vitess_cluster

ONE = "zone1-0790125915"


def condition(verdict, kind="Ready"):
    found = find_condition(verdict.status["conditions"], kind)
    return found["status"], found["reason"]


def after(found, **changes):
    """Return what a keyspace shows whose shard has shown what it does under a topology."""
    stored = shard_of(vitess_cluster())
    status = shard(stored, *grown_up(shard(stored)), picture=found).status
    shown = {**stored, "status": {**status, **changes, "observedGeneration": 1}}
    return keyspace(live(child(cluster(vitess_cluster()), "VitessKeyspace")), shown)


@pytest.mark.parametrize(
    ("found", "changes", "expected"),
    [
        (picture(ONE), {}, ("True", "TabletsReady")),
        (picture(""), {}, ("False", "NoPrimary")),
        (picture(ONE), {"tablets": {}}, ("False", "TabletsNotReady")),
        (picture(ONE), {"servingWrites": "False"}, ("False", "NoServingPartitioning")),
        (None, {}, ("False", "NoServingPartitioning")),
    ],
)
def test_a_keyspace_is_ready_when_those_who_take_writes_can(found, changes, expected):
    assert condition(after(found, **changes)) == expected


def test_a_keyspace_counts_its_tablets():
    told = after(picture(ONE)).status
    assert told["shards"]["-"] == {
        "hasMaster": "True",
        "servingWrites": "True",
        "desiredTablets": 3,
        "tablets": 3,
        "readyTablets": 3,
        "updatedTablets": 3,
        "cells": ["zone1"],
    }
    assert told["partitionings"][0]["servingWrites"] == "True"


def test_without_topology_nothing_is_claimed_of_a_shard():
    status = shard(shard_of(vitess_cluster()), picture=None).status
    assert [status[name] for name in ("hasMaster", "servingWrites", "idle", "hasInitialBackup")] == ["Unknown"] * 4
    assert "masterAlias" not in status
    assert {each["ready"] for each in status["tablets"].values()} == {"Unknown"}


def test_a_cluster_says_in_one_sentence_what_is_missing():
    (ready, updated) = cluster(vitess_cluster()).status["conditions"]
    assert ready["message"] == (
        "the global lockserver has no quorum yet; vtgate in cell zone1 is not available; vtctld is not available; "
        "keyspace commerce is not ready (0 of 0 tablets are)"
    )
    assert updated["type"] == "Updated"


def test_85_resharding_is_told_of_a_keyspace():
    verdict = after(picture(ONE))
    assert condition(verdict, "ReshardingActive") == ("False", "NoActiveReshardingWorkflows")
