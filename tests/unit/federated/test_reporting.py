"""What is told in a federated object's status; numbers are lines of KubeFed's checklist."""

from dataclasses import replace

import pytest

from hanse.federated.reporting import refused_status, reported_status
from hanse.placement.decision import Decision, Verdict
from hanse.propagation.intent import Problem
from hanse.propagation.report import Report, Row
from tests.unit.federated.cases import federated
from tests.unit.propagation.builders import copy, deployment_intent

NOW, LATER = "2026-11-16T10:00:00Z", "2026-11-16T11:00:00Z"
COPY = copy(deployment_intent(), 3)
WANTED = {key: value for key, value in COPY.items() if key != "status"}
OTHER = copy(deployment_intent(image="web:2"), 3)


def row(cluster, *, wanted=WANTED, observed=COPY, live=True, **more):
    return Row(cluster, wanted, observed, live, **more)


def report(*rows, away=(), kept=(), notes=()):
    verdicts = [
        Verdict(each.cluster, each.cluster not in (*away, *kept), None, ("why",), keep=each.cluster in kept)
        for each in rows
    ]
    return Report(Decision(verdicts, notes=notes), rows)


def test_all_is_well_where_every_cluster_has_its_copy():
    """Line 76."""
    assert reported_status(federated(), report(row("a"), row("b")), NOW) == {
        "observedGeneration": 1,
        "conditions": [{"type": "Propagation", "status": "True", "lastUpdateTime": NOW, "lastTransitionTime": NOW}],
        "clusters": [{"name": "a"}, {"name": "b"}],
    }


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        pytest.param(
            row("b", live=False, reason="ClusterNotReady", trouble="it is offline"), "ClusterNotReady", id="77"
        ),
        pytest.param(row("b", reason="UpdateFailed", trouble="immutable"), "UpdateFailed", id="78"),
        pytest.param(row("b", observed=None, reason="AlreadyExists", trouble="theirs"), "AlreadyExists", id="64"),
        pytest.param(row("b", observed=None), "CreationTimedOut", id="79 still to be made"),
        pytest.param(row("b", observed=OTHER), "UpdateTimedOut", id="79 still to be changed"),
        pytest.param(
            row("b", wanted=None, observed=None, reason="ApplyOverridesFailed", trouble="x"),
            "ApplyOverridesFailed",
            id="41",
        ),
    ],
)
def test_a_cluster_that_is_not_in_sync_has_a_code_and_the_others_have_none(seen, code):
    status = reported_status(federated(), report(row("a"), seen, row("c")), NOW)
    assert [(each["name"], each.get("status")) for each in status["clusters"]] == [
        ("a", None),
        ("b", code),
        ("c", None),
    ]
    (condition,) = status["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "CheckClusters")
    assert condition["message"]


def test_a_cluster_that_was_asked_for_and_cannot_be_reached_is_not_ready():
    """Line 77."""
    lost = row("b", wanted=None, live=False)
    status = reported_status(federated(), report(row("a"), lost, kept=("b",)), NOW)
    assert status["clusters"] == [{"name": "a"}, {"name": "b", "status": "ClusterNotReady", "message": "why"}]
    back = row("b", wanted=None)
    assert reported_status(federated(), report(row("a"), back, kept=("b",)), NOW)["clusters"][1] == {"name": "b"}


def test_a_namespace_that_is_used_as_the_cluster_has_it_is_in_sync():
    """Line 65."""
    theirs = row("a", observed={"metadata": {"name": "shop"}}, shared=True)
    assert reported_status(federated(), report(theirs), NOW)["clusters"] == [{"name": "a"}]
    assert theirs.settled


def test_a_cluster_that_is_to_lose_its_copy_is_told_of_until_it_has():
    gone = row("b", wanted=None, observed=None)
    going = row("b", wanted=None)
    assert reported_status(federated(), report(row("a"), going, away=("b",)), NOW)["clusters"][1] == {
        "name": "b",
        "status": "WaitingForRemoval",
    }
    assert reported_status(federated(), report(row("a"), gone, away=("b",)), NOW)["clusters"] == [{"name": "a"}]


def test_a_cluster_that_was_not_asked_for_is_not_told_of_though_it_is_lost():
    lost = row("b", wanted=None, live=False)
    assert reported_status(federated(), report(row("a"), lost, away=("b",)), NOW)["clusters"] == [{"name": "a"}]


def test_a_name_that_nobody_knows_is_said_although_all_is_well():
    """Line 23."""
    status = reported_status(federated(), report(row("a"), notes=("the placement names ghost",)), NOW)
    (condition,) = status["conditions"]
    assert (condition["status"], condition["message"]) == ("True", "the placement names ghost")


def test_an_object_whose_namespace_is_not_federated_says_so():
    """Line 12."""
    nowhere = report(row("a", wanted=None, observed=None), away=("a",))
    status = reported_status(federated(), nowhere, NOW, reason="NamespaceNotFederated")
    assert (status["conditions"][0]["reason"], status.get("clusters")) == ("NamespaceNotFederated", None)


def test_nothing_new_leaves_a_status_as_it_is():
    """Line 81."""
    source = federated()
    source["status"] = reported_status(source, report(row("a")), NOW)
    assert reported_status(source, report(row("a")), LATER) is source["status"]
    more = reported_status(source, report(row("a"), row("b")), LATER)
    (condition,) = more["conditions"]
    assert (condition["lastUpdateTime"], condition["lastTransitionTime"]) == (LATER, NOW)


def test_a_new_generation_is_seen():
    source = federated()
    source["status"] = reported_status(source, report(row("a")), NOW)
    source["metadata"] = {**source["metadata"], "generation": 2}
    assert reported_status(source, report(row("a")), LATER)["observedGeneration"] == 2


def test_what_was_missing_and_is_there_again_turns_the_condition():
    """Line 82."""
    source = federated()
    source["status"] = reported_status(source, report(row("a", reason="UpdateFailed", trouble="no")), NOW)
    (condition,) = reported_status(source, report(row("a")), LATER)["conditions"]
    assert condition == {
        "type": "Propagation",
        "status": "True",
        "lastUpdateTime": LATER,
        "lastTransitionTime": LATER,
    }


def test_the_members_own_status_is_shown_where_it_is_collected():
    """Line 84, and the quirk of kinds without a status, which are in sync without one."""
    whole = reported_status(federated(), report(row("a")), NOW, remote=True)
    assert whole["clusters"][0]["remoteStatus"]["availableReplicas"] == 3
    bare = replace(row("a"), observed=WANTED)
    assert reported_status(federated(), report(bare), NOW, remote=True)["clusters"] == [{"name": "a"}]
    assert reported_status(federated(), report(bare), NOW, remote=True)["conditions"][0]["status"] == "True"


def test_an_object_of_which_nothing_can_be_made_says_why():
    """Line 24."""
    source = federated()
    source["status"] = reported_status(source, report(row("a")), NOW)
    problem = Problem("ComputePlacementFailed", "the cluster selector cannot be read")
    status = refused_status(source, problem, LATER)
    assert status == {
        "observedGeneration": 1,
        "conditions": [
            {
                "type": "Propagation",
                "status": "False",
                "reason": "ComputePlacementFailed",
                "message": "the cluster selector cannot be read",
                "lastUpdateTime": LATER,
                "lastTransitionTime": LATER,
            }
        ],
    }


def test_a_server_that_drops_messages_is_not_told_again():
    source = federated()
    troubled = report(row("a"), row("b", reason="UpdateFailed", trouble="it is immutable"))
    status = reported_status(source, troubled, NOW)
    assert status["clusters"][1] == {"name": "b", "status": "UpdateFailed", "message": "it is immutable"}
    dropped = {
        **status,
        "conditions": [{key: value for key, value in status["conditions"][0].items() if key != "message"}],
        "clusters": [{key: value for key, value in entry.items() if key != "message"} for entry in status["clusters"]],
    }
    source["status"] = dropped
    assert reported_status(source, troubled, LATER) is dropped
    source["status"] = status
    other = report(row("a"), row("b", reason="UpdateFailed", trouble="it is forbidden"))
    assert reported_status(source, other, LATER)["clusters"][1]["message"] == "it is forbidden"
