"""The pod that a chaperon asks for."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.api.admiralty.keys import UNRECORDED_FINALIZER
from hanse.kube.manifest import Obj
from hanse.pods.chaperons.pods import added_annotations, is_own, pod_of

PARENT = {"multicluster.admiralty.io/parent-uid": "parent"}


def chaperon(spec: Any = None, **metadata: Any) -> Obj:
    return {
        "apiVersion": "multicluster.admiralty.io/v1alpha1",
        "kind": "PodChaperon",
        "metadata": {"name": "web", "namespace": "default", "uid": "chaperon", **metadata},
        "spec": {} if spec is None else spec,
    }


def test_labels_of_the_engine_stay_behind_and_prefixed_ones_come_along() -> None:
    given = {"app": "a", "multicluster.admiralty.io/app": "a", "hanse.dev/managed": "true", **PARENT}
    assert pod_of(chaperon(labels=given))["metadata"]["labels"] == {
        "app": "a",
        "multicluster.admiralty.io/app": "a",
        **PARENT,
    }


def test_internal_annotations_stay_behind_but_for_the_parents_name() -> None:
    kept = {"team": "blue", "multicluster.admiralty.io/parent-name": "web"}
    given = {**kept, "hanse.dev/owner-uid": "x", "pods.hanse.dev/gang": "3", "multicluster.admiralty.io/elect": ""}
    assert pod_of(chaperon(annotations=given))["metadata"]["annotations"] == kept


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [(None, None), ("Always", None), ("Never", [UNRECORDED_FINALIZER]), ("OnFailure", [UNRECORDED_FINALIZER])],
)
def test_only_a_pod_that_must_not_run_twice_is_held_until_it_is_recorded(policy: str, finalizers: list[str]) -> None:
    made = pod_of(chaperon({"restartPolicy": policy} if policy else {}))
    assert made["metadata"].get("finalizers") == finalizers


@pytest.mark.parametrize("spec", ["nonsense", [], 7])
def test_a_spec_that_is_none_gives_a_pod_for_the_server_to_refuse(spec: Any) -> None:
    assert pod_of(chaperon(spec))["spec"] == {}


@pytest.mark.parametrize(
    ("owner", "recorded", "own"),
    [
        ("chaperon", None, True),
        ("former", None, False),
        (None, None, False),
        (None, "pod", True),
        ("former", "another", False),
    ],
)
def test_a_pod_is_the_chaperons_by_its_owner_or_by_what_was_recorded(owner: Any, recorded: Any, own: bool) -> None:
    pod: Obj = {"metadata": {"name": "web", "uid": "pod"}}
    if owner:
        pod["metadata"]["ownerReferences"] = [{"uid": owner, "controller": True}]
    parent = {**chaperon(), "status": {"fence": {"podUid": recorded}}}
    assert is_own(pod, parent) is own


def test_only_what_the_pod_got_itself_is_told() -> None:
    pod = {"metadata": {"annotations": {"a": "1", "b": "2", "c": "3", "multicluster.admiralty.io/x": "y"}}}
    assert added_annotations(pod, chaperon(annotations={"a": "1", "b": "1"})) == {"b": "2", "c": "3"}
