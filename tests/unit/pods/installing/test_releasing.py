"""What a door that closes takes off objects, so that nothing waits for somebody who is gone."""

import pytest

from hanse.api.admiralty.keys import (
    CILIUM_GLOBAL,
    GATE,
    GLOBAL,
    HAS_FINALIZER,
    JOB_MANAGER,
    MANIFEST,
    ORIGINAL_SELECTOR,
    PARENT_UID,
    POD_FINALIZER,
    PREFIX,
    PROXY_SCHEDULER,
)
from hanse.cli.door_closing import warning
from hanse.kube.patches.merge_patch import apply_merge_patch
from hanse.pods.installing.closing import Remaining, is_unfinished, remaining
from hanse.pods.installing.releasing import release_patch

OURS = [f"{PREFIX}eu", POD_FINALIZER]


def held(*, finalizers=(), labels=None, annotations=None, **fields):
    metadata = {"name": "one", "namespace": "batch", "resourceVersion": "7", "finalizers": list(finalizers)}
    return {
        "metadata": {**metadata, "labels": labels or {HAS_FINALIZER: "true"}, "annotations": annotations or {}},
        **fields,
    }


def released(obj):
    patch = release_patch(obj)
    assert patch["metadata"]["resourceVersion"] == "7"
    return apply_merge_patch(obj, patch)


def test_52_finalizers_of_ours_go_and_those_of_others_stay():
    after = released(held(finalizers=["batch.kubernetes.io/job-tracking", *OURS]))

    assert after["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert HAS_FINALIZER not in after["metadata"]["labels"]


def test_52_the_last_finalizer_leaves_no_empty_list():
    assert "finalizers" not in released(held(finalizers=OURS))["metadata"]


def test_52_a_placeholder_loses_our_gate_and_keeps_others():
    pod = held(finalizers=OURS, spec={"schedulingGates": [{"name": GATE}, {"name": "example.com/wait"}]})

    assert released(pod)["spec"]["schedulingGates"] == [{"name": "example.com/wait"}]


def test_a_service_selects_again_what_it_selected_before():
    marks = {GLOBAL: "true", CILIUM_GLOBAL: "true", ORIGINAL_SELECTOR: "app=web,tier=front", "theirs": "kept"}
    selector = {f"{PREFIX}app": "web", f"{PREFIX}tier": "front"}
    after = released(held(annotations=marks, spec={"selector": selector, "ports": [{"port": 80}]}))

    assert after["spec"] == {"selector": {"app": "web", "tier": "front"}, "ports": [{"port": 80}]}
    assert after["metadata"]["annotations"] == {"theirs": "kept"}


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(held(labels={"app": "web"}, finalizers=["example.com/theirs"]), id="nothing of ours"),
        pytest.param(held(finalizers=OURS, labels={PARENT_UID: "u1"}), id="a copy that another source has here"),
    ],
)
def test_what_is_not_ours_is_left_alone(obj):
    assert release_patch(obj) is None


def placeholder(phase="", node="", owner="Job"):
    owners = [{"kind": owner, "name": "o", "uid": "o", "controller": True}] if owner else []
    return {
        "metadata": {"name": "p", "annotations": {MANIFEST: "{}"}, "ownerReferences": owners},
        "spec": {"schedulerName": PROXY_SCHEDULER, **({"nodeName": node} if node else {})},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("manager", "conditions", "unfinished"),
    [
        (JOB_MANAGER, [], True),
        (JOB_MANAGER, [{"type": "Complete", "status": "True"}], False),
        ("kubernetes.io/job-controller", [], False),
    ],
)
def test_jobs_that_nobody_would_ever_end_are_found_before_a_door_closes(manager, conditions, unfinished):
    assert is_unfinished({"spec": {"managedBy": manager}, "status": {"conditions": conditions}}) is unfinished


def test_a_person_is_told_first_what_becomes_of_everything():
    found = Remaining(running=(placeholder("Running", "n"),), waiting=(placeholder(owner=""),), jobs=({},))

    told = warning("eu", found)

    assert "1 pods of eu that run elsewhere are stopped and 1 that wait for a place are deleted" in told
    assert "1 of them have no controller and are not made again" in told
    assert "1 Jobs that run whole elsewhere are stopped and never end" in told
    assert warning("eu", Remaining()) == "no pod of eu runs elsewhere"


def test_placeholders_are_told_apart_by_what_closing_does_to_them():
    found = remaining(
        [
            placeholder("Running", "admiralty-us"),
            placeholder("Pending", owner=""),
            placeholder("Succeeded", "admiralty-us"),
            {"metadata": {"name": "ordinary"}, "spec": {}},
        ]
    )

    assert (len(found.running), len(found.waiting), len(found.ended), found.ownerless) == (1, 1, 1, 1)
