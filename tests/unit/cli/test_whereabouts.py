"""Where elected pods really run, told from what clusters show."""

import pytest

from hanse.api.admiralty.keys import (
    ANSWERS,
    ATTEMPT,
    ELECT,
    MANIFEST,
    PARENT_CLUSTER,
    PARENT_UID,
    PROXY_SCHEDULER,
    REASON,
    TARGET,
)
from hanse.api.clusters import Cluster
from hanse.cli.door_status import door_states
from hanse.cli.elsewhere import Elsewhere, Sight
from hanse.cli.pod_explaining import not_elected, paragraph
from hanse.cli.pods import _row
from hanse.cli.whereabouts import telling, whereabouts

REFUSAL = '{"ap": {"at": "2026-01-01T00:00:00Z", "why": "0/3 nodes are available"}}'


def placeholder(name, uid, *, phase="Pending", conditions=(), **annotations):
    return {
        "metadata": {"name": name, "namespace": "batch", "uid": uid, "annotations": {MANIFEST: "{}", **annotations}},
        "spec": {"schedulerName": PROXY_SCHEDULER},
        "status": {"phase": phase, "conditions": list(conditions)},
    }


def target(name, namespace="", ready=None, **spec):
    conditions = [] if ready is None else [{"type": "Ready", "status": ready, "message": "it does not answer"}]
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}


def chaperon(name, source, uid):
    labels = {PARENT_CLUSTER: source, PARENT_UID: uid}
    return {"metadata": {"name": name, "namespace": "batch", "labels": labels}}


def federation(placeholders, **chaperons):
    targets = (target("eu", self=True, ready="True"), target("west", clusterName="us", ready="False"))
    seen = {name: Sight(chaperons=tuple(chaperons.get(name, ()))) for name in ("", "ap", "us")}
    eu = Sight(tuple(placeholders), targets, tuple(chaperons.get("eu", ())))
    return Elsewhere({name: Cluster(name) for name in ("ap", "eu", "us")}, frozenset({"eu"}), {**seen, "eu": eu})


def test_a_pod_runs_in_its_target_under_its_chaperons_name():
    bound = {TARGET: "west", REASON: "it has most room", ATTEMPT: "2", ANSWERS: REFUSAL}
    (found,) = whereabouts(
        federation([placeholder("job", "u1", phase="Running", **bound)], us=[chaperon("job-jwf2g", "eu", "u1")])
    )

    assert (found.source, found.target, found.cluster, found.child) == ("eu", "west", "us", "job-jwf2g")
    assert (found.phase, found.attempt, found.why) == ("Running", 2, "it has most room")
    assert found.answers == {"ap": "0/3 nodes are available"}


def test_a_pod_that_is_offered_to_a_target_is_told_before_it_is_bound():
    (found,) = whereabouts(federation([placeholder("job", "u1")], us=[chaperon("job-jwf2g", "eu", "u1")]))

    assert (found.target, found.cluster, found.child) == ("west", "us", "job-jwf2g")


def test_a_pod_without_a_place_says_what_it_waits_for():
    waits = {"type": "PodScheduled", "status": "False", "message": "no target has room"}
    (found,) = whereabouts(federation([placeholder("job", "u1", conditions=[waits])]))

    assert (found.target, found.child, found.why) == ("", "", "no target has room")


def test_another_sources_chaperon_of_the_same_uid_is_not_taken_for_its_own():
    (found,) = whereabouts(federation([placeholder("job", "u1")], us=[chaperon("job-jwf2g", "ap", "u1")]))

    assert found.child == ""


def test_a_cluster_that_is_no_target_is_not_believed_to_have_a_pod():
    forged = [chaperon("job-jwf2g", "eu", "u1")]
    (waiting,) = whereabouts(federation([placeholder("job", "u1")], ap=forged))
    (bound,) = whereabouts(federation([placeholder("job", "u1", **{TARGET: "west"})], ap=forged))
    (offered,) = whereabouts(federation([placeholder("job", "u1")], ap=forged, us=forged))

    assert (waiting.target, waiting.cluster, waiting.child) == ("", "", "")
    assert [(each.target, each.cluster) for each in (bound, offered)] == [("west", "us"), ("west", "us")]


def test_words_of_a_cluster_do_not_command_the_terminal():
    loud = {"type": "PodScheduled", "status": "False", "message": "\x1b[2J\x1b]0;owned\x07no\nroom \u202edne"}
    (found,) = whereabouts(federation([placeholder("job", "u1", conditions=[loud])]))
    shown = "\\x1b[2J\\x1b]0;owned\\x07no room \\u202edne"

    assert shown in _row(found, 0.0)
    assert paragraph(found, placeholder("job", "u1")).endswith(f": {shown}")


def test_only_the_pods_of_one_source_are_told_where_one_is_named():
    assert whereabouts(federation([placeholder("job", "u1")]), "us") == []


def test_a_doors_state_counts_targets_and_pods():
    pods = [placeholder("a", "u1", **{TARGET: "west"}), placeholder("b", "u2")]
    states = door_states(federation(pods, us=[chaperon("a-x", "eu", "u1")]), {"eu": ("batch",)})

    assert [state.row() for state in states] == [
        ["ap", "closed", "closed", "closed", "", "0", "0", "0", "", ""],
        ["eu", "open", "closed", "closed", "1/2", "1", "1", "0", "batch", "west: it does not answer"],
        ["us", "closed", "closed", "closed", "", "0", "0", "1", "", ""],
    ]


def test_a_cluster_that_does_not_answer_has_a_state_all_the_same():
    silent = Elsewhere({}, frozenset({"eu"}), {"": Sight()}, {"eu": "connection refused"})

    assert [state.row()[:2] + state.row()[-1:] for state in door_states(silent, {})] == [
        ["eu", "open", "eu: connection refused"]
    ]


def test_of_the_reasons_for_a_place_those_are_told_that_set_it_apart():
    said = "it is named; it is ready; of 1 replicas it gets 1 after 0: those in use come first"

    assert telling(said) == "those in use come first"
    assert telling("it is named; it is in group low, the first with room") == "it is in group low, the first with room"


PLACED = {TARGET: "west", REASON: "it has most room"}


@pytest.mark.parametrize(
    ("pod", "hosted", "told"),
    [
        (
            placeholder("job", "u1", phase="Running", **PLACED, **{ATTEMPT: "2"}),
            [chaperon("job-jwf2g", "eu", "u1")],
            "runs in west (cluster us) as job-jwf2g, at the second attempt, since it has most room",
        ),
        (
            placeholder("job", "u1", phase="Succeeded", **PLACED),
            [chaperon("job-jwf2g", "eu", "u1")],
            "ran in west (cluster us) as job-jwf2g, at the first attempt, since it has most room",
        ),
        (
            placeholder("job", "u1"),
            [chaperon("job-jwf2g", "eu", "u1")],
            "is offered to west (cluster us) as job-jwf2g, at the first attempt",
        ),
        (placeholder("job", "u1"), [], "has no place yet (first attempt): no target has answered yet"),
    ],
)
def test_one_sentence_says_where_a_pod_is(pod, hosted, told):
    (found,) = whereabouts(federation([pod], us=hosted))

    assert paragraph(found, pod) == told


ANNOTATED = {"metadata": {"name": "p", "namespace": "batch", "annotations": {ELECT: ""}}}
ENABLED = {"metadata": {"name": "batch", "labels": {"multicluster-scheduler": "enabled"}}}


@pytest.mark.parametrize(
    ("pod", "namespace", "door", "told"),
    [
        ({"metadata": {"name": "p"}}, ENABLED, True, "its template has no annotation multicluster.admiralty.io/elect"),
        (ANNOTATED, {"metadata": {"name": "batch"}}, True, "batch has no label multicluster-scheduler=enabled"),
        (ANNOTATED, ENABLED, False, "`hanse doors enable pods` lets them"),
        (ANNOTATED, ENABLED, True, "it was made before the door was open"),
    ],
)
def test_an_ordinary_pod_is_told_why_it_was_not_sent_elsewhere(pod, namespace, door, told):
    assert told in not_elected(pod, namespace, door=door)
