"""Taints that follow from a node's condition, and how long pods put up with them."""

import pytest

from hanse.kube.runtime import parse_timestamp
from hanse.simulator.nodes.taints import NOT_READY, UNREACHABLE, seconds_until_eviction, wanted_taints

NOW = "2026-01-01T00:00:00Z"
OWN = {"key": "team", "value": "data", "effect": "NoSchedule"}
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def pair(key):
    return [{"key": key, "effect": "NoSchedule"}, {"key": key, "effect": "NoExecute", "timeAdded": NOW}]


def node(ready="True", *, taints=(), cordoned=False, **conditions):
    found = [{"type": kind, "status": status} for kind, status in {"Ready": ready, **conditions}.items()]
    return {"spec": {"taints": list(taints), "unschedulable": cordoned}, "status": {"conditions": found}}


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (node(), []),
        (node(taints=[OWN]), [OWN]),
        (node("False"), pair(NOT_READY)),
        (node("Unknown", taints=[OWN]), [OWN, *pair(UNREACHABLE)]),
        (node("True", taints=[OWN, *pair(UNREACHABLE)]), [OWN]),
        (node("Unknown", taints=pair(NOT_READY)), pair(UNREACHABLE)),
        (node(cordoned=True), [CORDONED]),
        (node(taints=[CORDONED]), []),
        (node(MemoryPressure="True"), [{"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}]),
    ],
)
def test_a_node_is_tainted_as_its_condition_calls_for(found, wanted):
    assert wanted_taints(found, NOW) == wanted


def test_a_taint_that_is_there_keeps_its_time():
    [_, earlier] = pair(UNREACHABLE)
    before = [{"key": UNREACHABLE, "effect": "NoSchedule"}, {**earlier, "timeAdded": "2025-12-31T23:00:00Z"}]
    assert wanted_taints(node("Unknown", taints=before), NOW) == before


def tolerating(seconds=None, key=UNREACHABLE):
    entry = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    return entry if seconds is None else {**entry, "tolerationSeconds": seconds}


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0.0),
        ([tolerating()], None),
        ([tolerating(300)], 200.0),
        ([tolerating(300), tolerating(150)], 50.0),
        ([tolerating(20)], 0.0),
        ([tolerating(300, key=NOT_READY)], 0.0),
        ([{"operator": "Exists"}], None),
    ],
)
def test_a_pod_leaves_when_it_tolerates_no_longer(tolerations, seconds):
    now = parse_timestamp(NOW) + 100.0
    assert seconds_until_eviction(pair(UNREACHABLE), tolerations, created=0.0, now=now) == seconds


def test_a_pod_that_came_later_tolerates_a_taint_as_long_as_others_did():
    came = parse_timestamp(NOW) + 90.0
    assert seconds_until_eviction(pair(UNREACHABLE), [tolerating(30)], created=came, now=came + 10.0) == 20.0
