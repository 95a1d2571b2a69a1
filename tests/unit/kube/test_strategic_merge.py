"""Strategic merge patch, against results of Kubernetes' own implementation."""

import copy
import json
from pathlib import Path

import pytest

from hanse.kube.patches.strategic_merge import StrategicMergeError, apply_strategic_merge
from hanse.kube.schemas import schema_for

# Patches as kubectl computes them for `apply`, and hand-written ones, with what apimachinery made of them.
VECTORS = json.loads((Path(__file__).parent / "vectors/strategic_merge.json").read_text())
DEPLOYMENT = schema_for("apps", "v1", "Deployment")


def pod_template(**spec):
    return {"spec": {"template": {"spec": spec}}}


def without_nulls(value):
    """Nulls in new elements fall away when the server decodes the result."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("case", VECTORS, ids=range(len(VECTORS)))
def test_patches_apply_as_in_kubernetes(case):
    before = copy.deepcopy(case)
    if "refusal" in case:
        with pytest.raises(StrategicMergeError) as refused:
            apply_strategic_merge(case["live"], case["patch"], DEPLOYMENT)
        assert case["refusal"] == str(refused.value)
    else:
        result = apply_strategic_merge(case["live"], case["patch"], DEPLOYMENT)
        assert case["result"] == without_nulls(result)
    assert before == case


def test_a_keyed_list_is_merged_by_its_key():
    live = pod_template(containers=[{"name": "app", "image": "a:1", "args": ["x"]}, {"name": "side", "image": "s"}])
    result = apply_strategic_merge(live, pod_template(containers=[{"name": "app", "image": "a:2"}]), DEPLOYMENT)
    assert result == pod_template(
        containers=[{"name": "app", "image": "a:2", "args": ["x"]}, {"name": "side", "image": "s"}]
    )


def test_a_list_without_a_strategy_is_replaced():
    live = pod_template(containers=[{"name": "app", "args": ["x", "y"]}])
    result = apply_strategic_merge(live, pod_template(containers=[{"name": "app", "args": ["z"]}]), DEPLOYMENT)
    assert result == pod_template(containers=[{"name": "app", "args": ["z"]}])


def test_elements_that_only_the_server_has_keep_their_place():
    live = pod_template(containers=[{"name": "injected"}, {"name": "a"}, {"name": "b"}])
    order = {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}
    result = apply_strategic_merge(live, pod_template(**order), DEPLOYMENT)
    assert [each["name"] for each in result["spec"]["template"]["spec"]["containers"]] == ["injected", "b", "a"]


def test_retained_keys_drop_the_other_variant_of_a_union():
    live = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert apply_strategic_merge(live, patch, DEPLOYMENT) == {"spec": {"strategy": {"type": "Recreate"}}}


def test_scalars_leave_a_merged_list_by_name():
    live = {"metadata": {"finalizers": ["a", "b", "c"]}}
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b"]}}
    assert apply_strategic_merge(live, patch, DEPLOYMENT) == {"metadata": {"finalizers": ["a", "c"]}}


def test_without_a_schema_maps_merge_and_lists_are_replaced():
    result = apply_strategic_merge({"a": {"b": 1}, "l": [1, 2]}, {"a": {"c": 2}, "l": [3]}, None)
    assert result == {"a": {"b": 1, "c": 2}, "l": [3]}


def test_what_a_patch_does_not_reach_is_shared_not_copied():
    live = {"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 1}}
    assert apply_strategic_merge(live, {"spec": {"replicas": 2}}, DEPLOYMENT)["metadata"] is live["metadata"]
