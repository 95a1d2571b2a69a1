"""What a target gets of a submitted pod (lines 29 to 35 of the checklist)."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.kube.manifest import Obj
from hanse.pods.placeholder.template import chaperon_of, home_labels, prefixed

M = "multicluster.admiralty.io/"
TOKEN = {"name": "kube-api-access-x", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
DATA = {"name": "data", "mountPath": "/data"}


def _pod(**changes: Any) -> Obj:
    metadata = {"name": "web-1", "namespace": "shop"} | changes.pop("metadata", {})
    return {"metadata": metadata, "spec": {"containers": [{"name": "a", "image": "i"}]} | changes}


def _placeholder() -> Obj:
    return {"metadata": {"name": "web-1", "namespace": "shop", "uid": "u1"}, "spec": {}}


def test_it_is_named_after_its_placeholder_in_the_same_namespace() -> None:
    metadata = chaperon_of("c1", _placeholder(), _pod())["metadata"]
    assert metadata["name"].startswith("web-1-")
    assert len(metadata["name"]) == len("web-1-") + 5
    assert metadata["namespace"] == "shop"


def test_labels_stay_in_another_cluster_beside_those_of_the_parent() -> None:
    pod = _pod(metadata={"labels": {"app": "a", "foo.com/bar": "b"}})
    labels = chaperon_of("c1", _placeholder(), pod)["metadata"]["labels"]
    assert labels == {"app": "a", "foo.com/bar": "b", f"{M}parent-uid": "u1", f"{M}parent-cluster-name": "c1"}


def test_labels_are_prefixed_in_the_source_itself() -> None:
    pod = _pod(metadata={"labels": {"app": "a", "foo.com/bar": "b"}})
    assert home_labels("c1", _placeholder(), pod) == {
        f"{M}app": "a",
        f"{M}bar": "b",
        f"{M}parent-uid": "u1",
        f"{M}parent-cluster-name": "c1",
    }


@pytest.mark.parametrize(
    ("keep", "labels"),
    [("^a=d$", {"a": "d", f"{M}x": "1"}), (None, {f"{M}a": "d", f"{M}x": "1"}), (".", {"a": "d", "x": "1"})],
)
def test_a_pattern_keeps_labels_as_they_are(keep: str | None, labels: dict[str, str]) -> None:
    assert prefixed({"a": "d", "x": "1"}, keep) == labels


def test_the_token_of_the_source_is_taken_out_and_other_mounts_stay() -> None:
    pod = _pod(
        serviceAccountName="robot",
        containers=[{"name": "a", "volumeMounts": [TOKEN, DATA]}],
        initContainers=[{"name": "i", "volumeMounts": [TOKEN]}],
        volumes=[{"name": "kube-api-access-x", "projected": {}}, {"name": "data", "emptyDir": {}}],
    )
    spec = chaperon_of("c1", _placeholder(), pod)["spec"]
    assert spec["containers"] == [{"name": "a", "volumeMounts": [DATA]}]
    assert spec["initContainers"] == [{"name": "i", "volumeMounts": []}]
    assert spec["volumes"] == [{"name": "data", "emptyDir": {}}]
    assert spec["serviceAccountName"] == "robot"


def test_a_volume_of_a_token_that_something_else_mounts_stays() -> None:
    elsewhere = {"name": "kube-api-access-x", "mountPath": "/mine"}
    pod = _pod(
        containers=[{"name": "a", "volumeMounts": [TOKEN]}, {"name": "b", "volumeMounts": [elsewhere]}],
        volumes=[{"name": "kube-api-access-x", "projected": {}}],
    )
    spec = chaperon_of("c1", _placeholder(), pod)["spec"]
    assert spec["volumes"] == [{"name": "kube-api-access-x", "projected": {}}]


def test_what_the_source_gave_the_pod_is_the_targets_to_give() -> None:
    pod = _pod(priority=0, priorityClassName="high", nodeName="n", schedulingGates=[{"name": "g"}])
    spec = chaperon_of("c1", _placeholder(), pod)["spec"]
    assert {"priority", "nodeName", "schedulingGates"}.isdisjoint(spec)
    assert spec["priorityClassName"] == "high"


def test_neither_elect_nor_owners_nor_finalizers_of_the_source_go_along() -> None:
    metadata = {
        "annotations": {f"{M}elect": "", "note": "hi"},
        "ownerReferences": [{"kind": "ReplicaSet"}],
        "finalizers": ["foo.io/x"],
    }
    made = chaperon_of("c1", _placeholder(), _pod(metadata=metadata))["metadata"]
    assert made["annotations"] == {"note": "hi", f"{M}parent-namespace": "shop", f"{M}parent-name": "web-1"}
    assert "ownerReferences" not in made
    assert made["finalizers"] == ["pods.hanse.dev/pod"]


@pytest.mark.parametrize(
    ("annotations", "selector"),
    [
        ({}, {"a": "b"}),
        ({f"{M}use-constraints-from-spec-for-proxy-pod-scheduling": ""}, None),
        (
            {
                f"{M}use-constraints-from-spec-for-proxy-pod-scheduling": "",
                f"{M}proxy-pod-scheduling-constraints": "{}",
            },
            {"a": "b"},
        ),
    ],
    ids=["neither", "those of the spec", "its own"],
)
def test_constraints_that_choose_the_cluster_do_not_choose_the_node(
    annotations: dict[str, str], selector: dict[str, str] | None
) -> None:
    pod = _pod(metadata={"annotations": annotations}, nodeSelector={"a": "b"})
    assert chaperon_of("c1", _placeholder(), pod)["spec"].get("nodeSelector") == selector


@pytest.mark.parametrize(
    ("annotations", "fence"),
    [({}, {"attempt": 1}), ({"pods.hanse.dev/expires-after": "60"}, {"attempt": 1, "expirySeconds": 60})],
)
def test_it_says_after_how_long_a_silence_its_pod_is_to_be_stopped(annotations: dict[str, str], fence: Obj) -> None:
    assert chaperon_of("c1", _placeholder(), _pod(metadata={"annotations": annotations}))["fence"] == fence
