"""What a release waits for, in one sentence."""

import pytest

from hanse.rollouts.releases.explaining import what_it_waits_for

CHOSEN = {"shipper.booking.com/release.clusters": "a"}


def condition(kind, status, message="", reason=""):
    return {"type": kind, "status": status, "reason": reason, "message": message}


def release(*conditions, annotations=CHOSEN, stages=(), progress=None, **metadata):
    status = {"conditions": list(conditions), "strategy": {"conditions": list(stages)}, "progress": progress or {}}
    return {"metadata": {"name": "app-0", "annotations": annotations, **metadata}, "status": status}


def target(message):
    return {"status": {"conditions": [condition("Ready", "False", message)]}}


SCHEDULED = condition("Scheduled", "True")
CAPACITY = condition("ContenderAchievedCapacity", "False", "hasn't achieved capacity")
PAUSED = {**CHOSEN, "hanse.dev/rollout-paused": "true"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (release(annotations={}), "its clusters are yet to be chosen"),
        (release(), "its manifests are being rendered"),
        (release(SCHEDULED), ""),
        (release(condition("Blocked", "True", "x exists")), "x exists; delete the block, or override it"),
        (release(condition("Scheduled", "False", "", "ChartError"), annotations={}), "ChartError"),
        (release(SCHEDULED, condition("StrategyExecuted", "False", "no step 2")), "no step 2"),
        (release(SCHEDULED, stages=[CAPACITY]), "hasn't achieved capacity (a: InProgress)"),
        (release(SCHEDULED, stages=[CAPACITY], progress={"waitsFor": "pods in a"}), "pods in a (a: InProgress)"),
        (release(SCHEDULED, progress={"failure": {"message": "late"}}), "late; a person decides"),
        (release(SCHEDULED, progress={"failure": {"message": "late", "overridden": True}}), ""),
        (release(SCHEDULED, annotations=PAUSED), "it is paused; `hanse rollout resume` lets it go on"),
        (
            release(SCHEDULED, annotations=PAUSED, stages=[CAPACITY]),
            "it is paused; `hanse rollout resume` lets it go on (hasn't achieved capacity (a: InProgress))",
        ),
        (release(deletionTimestamp="2030-01-01T00:00:00Z"), "it is being deleted"),
        (release(deletionTimestamp="2030-01-01T00:00:00Z", progress={"waitsFor": "app-1"}), "app-1"),
    ],
)
def test_one_sentence_says_what_stands_in_the_way(given, sentence):
    assert what_it_waits_for(given, None, target("a: InProgress"), target("never")) == sentence
