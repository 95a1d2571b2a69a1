"""Server-side apply and the tracking of updates, against results of Kubernetes' own field manager."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from hanse.kube.patches.field_sets import FieldSet
from hanse.kube.patches.server_side_apply import LAST_APPLIED, ApplyConflict, apply, track_update
from hanse.kube.schemas import schema_for, schema_from_crd

# Steps of random histories with what apimachinery's field manager made of them; NEW stands for the time of the step.
VECTORS = json.loads((Path(__file__).parent / "vectors/server_side_apply.json").read_text())
DEPLOYMENT = schema_for("apps", "v1", "Deployment")
SERVICE = schema_for("", "v1", "Service")
EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def deployment(containers=None, labels=None, **spec):
    metadata = {"name": "web", "namespace": "shop"} | ({} if labels is None else {"labels": labels})
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    if containers is not None:
        spec["template"] = {"spec": {"containers": containers}}
    return {**obj, "spec": spec}


def applied(live, config, manager="hanse", *, force=False, now=NOW, schema=DEPLOYMENT, **more):
    return apply(live, config, manager=manager, force=force, schema=schema, now=now, **more)


def updated(live, new, manager="editor", *, now=NOW, schema=DEPLOYMENT, **more):
    return track_update(live, new, manager=manager, schema=schema, now=now, **more)


def stored(obj):
    return {**obj, "metadata": {**obj["metadata"], "uid": "u1"}}


def owners(obj):
    return {
        (entry["manager"], entry["operation"]): list(FieldSet.from_v1(entry["fieldsV1"]))
        for entry in obj["metadata"].get("managedFields", [])
    }


def times(obj):
    return {entry["manager"]: entry.get("time") for entry in obj["metadata"]["managedFields"]}


def settled(value):
    """An object without what Go prints and JSON leaves out: empty structs and null times."""
    if isinstance(value, dict):
        inner = {key: each if key == "fieldsV1" else settled(each) for key, each in value.items()}
        return {key: each for key, each in inner.items() if key == "fieldsV1" or each not in (None, {}, [], "")}
    return [settled(each) for each in value] if isinstance(value, list) else value


def by_manager(obj):
    obj = settled(obj)
    obj["metadata"].get("managedFields", []).sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    return obj


@pytest.mark.parametrize("case", VECTORS, ids=range(len(VECTORS)))
def test_every_step_of_a_history_ends_as_in_kubernetes(case):
    before = copy.deepcopy(case)
    arguments = {
        "manager": case["manager"],
        "schema": schema_for(*case["gvk"]),
        "now": "NEW",
        "subresource": case["subresource"],
        "ignore": tuple(tuple(path) for path in case["ignore"]),
    }
    if "refusal" in case:
        with pytest.raises(ApplyConflict) as refused:
            apply(case["live"], case["object"], force=case["force"], **arguments)
        assert case["refusal"] == str(refused.value)
    elif case["operation"] == "apply":
        result = apply(case["live"], case["object"], force=case["force"], **arguments)
        assert by_manager(case["result"]) == by_manager(result)
    else:
        assert by_manager(case["result"]) == by_manager(track_update(case["live"], case["object"], **arguments))
    assert before == case


def test_a_first_apply_owns_what_it_lists():
    result = applied(None, deployment(replicas=3, labels={"app": "web"}))
    assert owners(result) == {("hanse", "Apply"): [".metadata.labels.app", ".spec.replicas"]}
    assert times(result) == {"hanse": NOW}


def test_a_field_that_is_no_longer_applied_goes():
    live = applied(None, deployment(replicas=3, paused=True, labels={"a": "1", "b": "2"}))
    result = applied(live, deployment(replicas=3, labels={"b": "2"}))
    assert result["spec"] == {"replicas": 3}
    assert result["metadata"]["labels"] == {"b": "2"}


def test_a_field_that_somebody_else_owns_too_stays():
    live = applied(None, deployment(replicas=3))
    live = applied(live, deployment(replicas=3), "other")
    result = applied(live, deployment(paused=True))
    assert result["spec"] == {"replicas": 3, "paused": True}
    assert owners(result) == {("hanse", "Apply"): [".spec.paused"], ("other", "Apply"): [".spec.replicas"]}


def test_fields_that_others_wrote_are_left_alone():
    live = stored(applied(None, deployment(labels={"a": "1"})))
    live = updated(live, {**live, "spec": {"replicas": 7}}, "autoscaler")
    result = applied(live, deployment(labels={"a": "2"}))
    assert result["spec"] == {"replicas": 7}


def test_another_managers_field_is_a_conflict_in_the_servers_words():
    live = updated(None, deployment(replicas=1), "kubectl-client-side-apply")
    with pytest.raises(ApplyConflict) as refused:
        applied(live, deployment(replicas=2))
    text = 'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas'
    assert (str(refused.value), refused.value.conflicts) == (
        text,
        [('"kubectl-client-side-apply" using apps/v1', ".spec.replicas")],
    )


def test_several_conflicts_are_listed_by_manager():
    live = applied(None, deployment(replicas=1, paused=True), "a")
    live = updated(
        stored(live), {**stored(live), "spec": {**live["spec"], "minReadySeconds": 5}}, "b", subresource="status"
    )
    with pytest.raises(ApplyConflict) as refused:
        applied(live, deployment(replicas=2, paused=False, minReadySeconds=6))
    assert str(refused.value) == (
        'Apply failed with 3 conflicts: conflicts with "a":\n- .spec.paused\n- .spec.replicas\n'
        'conflicts with "b" with subresource "status" using apps/v1:\n- .spec.minReadySeconds'
    )


def test_force_takes_the_field_over():
    live = applied(None, deployment(replicas=1, paused=True), "a")
    result = applied(live, deployment(replicas=2), force=True)
    assert result["spec"] == {"replicas": 2, "paused": True}
    assert owners(result) == {("a", "Apply"): [".spec.paused"], ("hanse", "Apply"): [".spec.replicas"]}


def test_the_same_value_is_shared_not_fought_over():
    live = applied(None, deployment(replicas=2), "a")
    assert {("a", "Apply"), ("hanse", "Apply")} == owners(applied(live, deployment(replicas=2))).keys()


def test_applying_the_same_again_changes_nothing_not_even_the_time():
    live = applied(None, deployment([{"name": "app", "image": "a"}], replicas=2), now=EARLIER)
    assert live == applied(live, deployment([{"name": "app", "image": "a"}], replicas=2), now=NOW)


def test_elements_of_a_keyed_list_belong_to_whoever_lists_them():
    live = applied(None, deployment([{"name": "app", "image": "a"}]))
    live = applied(live, deployment([{"name": "side", "image": "s"}]), "injector")
    result = applied(live, deployment([{"name": "app", "image": "b"}]))
    assert [(each["name"], each["image"]) for each in result["spec"]["template"]["spec"]["containers"]] == [
        ("app", "b"),
        ("side", "s"),
    ]
    gone = applied(result, deployment([]))
    assert [each["name"] for each in gone["spec"]["template"]["spec"]["containers"]] == ["side"]


def test_keys_with_a_default_identify_the_element_that_leaves_them_out():
    ports = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    live = applied(None, {**ports, "spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "a"}]}}, schema=SERVICE)
    result = applied(live, {**ports, "spec": {"ports": [{"port": 80, "name": "b"}]}}, schema=SERVICE)
    assert [{key: value for key, value in port.items() if key != "protocol"} for port in result["spec"]["ports"]] == [
        {"port": 80, "name": "b"}
    ]


def test_an_atomic_part_has_one_owner():
    live = applied(None, deployment(selector={"matchLabels": {"a": "1"}}), "a")
    with pytest.raises(ApplyConflict, match=r"\.spec\.selector"):
        applied(live, deployment(selector={"matchLabels": {"a": "1", "b": "2"}}))


def test_sets_are_owned_element_by_element():
    def with_finalizers(*names):
        obj = deployment()
        return {**obj, "metadata": {**obj["metadata"], "finalizers": list(names)}}

    live = applied(None, with_finalizers("x/a", "x/b"), "a")
    live = applied(live, with_finalizers("x/c"), "b")
    result = applied(live, with_finalizers("x/a"), "a")
    assert result["metadata"]["finalizers"] == ["x/a", "x/c"]


def test_without_a_schema_lists_are_atomic_and_maps_are_not():
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    live = applied(None, {**widget, "spec": {"list": [1], "map": {"a": 1}}}, "a", schema=None)
    result = applied(live, {**widget, "spec": {"map": {"b": 2}}}, "b", schema=None)
    assert result["spec"] == {"list": [1], "map": {"a": 1, "b": 2}}
    with pytest.raises(ApplyConflict, match=r"\.spec\.list"):
        applied(live, {**widget, "spec": {"list": [1, 2]}}, "b", schema=None)


def test_a_crds_own_markers_count():
    keyed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        "items": {"type": "object", "properties": {"id": {"type": "integer"}, "text": {"type": "string"}}},
    }
    schema = schema_from_crd(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": {"rows": keyed}}}}
    )
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    live = applied(None, {**widget, "spec": {"rows": [{"id": 1, "text": "a"}]}}, "a", schema=schema)
    result = applied(live, {**widget, "spec": {"rows": [{"id": 2, "text": "b"}]}}, "b", schema=schema)
    assert [row["id"] for row in result["spec"]["rows"]] == [1, 2]
    assert owners(result)["b", "Apply"] == [".spec.rows[id=2]", ".spec.rows[id=2].id", ".spec.rows[id=2].text"]


@pytest.mark.parametrize(
    ("config", "refusal"),
    [
        (deployment(bogus=1), ".spec.bogus: field not declared in schema"),
        (
            deployment([{"name": "a"}, {"name": "a"}]),
            '.spec.template.spec.containers: duplicate entries for key [name="a"]',
        ),
        (
            deployment(["x"]),
            ".spec.template.spec.containers: element 0: associative list with keys may not have non-map elements",
        ),
    ],
)
def test_a_configuration_that_the_schema_cannot_hold_is_refused(config, refusal):
    with pytest.raises(ValueError, match="failed to create typed patch object") as refused:
        applied(None, config)
    assert f"failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): {refusal}" == str(refused.value)


def test_fields_of_an_untracked_object_belong_to_those_before_the_first_apply():
    result = applied(stored(deployment(replicas=1)), deployment(paused=True))
    assert owners(result) == {
        ("before-first-apply", "Update"): [".spec.replicas"],
        ("hanse", "Apply"): [".spec.paused"],
    }


def test_kubectl_moves_from_client_side_to_server_side_apply_without_conflicts():
    manifest = deployment(replicas=1)
    annotated = copy.deepcopy(manifest)
    annotated["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(manifest)}
    live = stored(updated(None, annotated, "kubectl-client-side-apply"))
    result = applied(live, deployment(replicas=2), "kubectl")
    assert result["spec"] == {"replicas": 2}
    assert json.loads(result["metadata"]["annotations"][LAST_APPLIED])["spec"] == {"replicas": 2}


def test_what_an_endpoint_resets_is_nobodys():
    obj = {**deployment(replicas=1), "status": {"replicas": 1}}
    assert owners(updated(None, obj, ignore=(("status",),))) == {("editor", "Update"): [".spec.replicas"]}


def test_an_update_owns_what_it_changed_and_only_then_gets_a_new_time():
    live = stored(updated(None, deployment(replicas=1, paused=True), "a", now=EARLIER))
    same = updated(live, live, "b")
    assert owners(same) == {("a", "Update"): [".spec.paused", ".spec.replicas"]}
    result = updated(live, {**live, "spec": {"replicas": 2, "paused": True}}, "b")
    assert owners(result) == {("a", "Update"): [".spec.paused"], ("b", "Update"): [".spec.replicas"]}
    assert times(result) == {"a": EARLIER, "b": NOW}


def test_a_removed_field_has_no_owner():
    live = stored(updated(None, deployment(replicas=1, paused=True), "a"))
    assert owners(updated(live, {**live, "spec": {"replicas": 1}}, "b")) == {("a", "Update"): [".spec.replicas"]}


def test_a_client_that_sends_no_managed_fields_keeps_them_and_one_that_empties_them_resets_them():
    live = stored(updated(None, deployment(replicas=1), "a"))
    silent = {**live, "metadata": {key: value for key, value in live["metadata"].items() if key != "managedFields"}}
    assert owners(updated(live, silent, "b")) == {("a", "Update"): [".spec.replicas"]}
    assert owners(updated(live, {**live, "metadata": {**live["metadata"], "managedFields": []}}, "b")) == {}


def test_the_oldest_updaters_are_folded_into_one():
    live: Any = None
    for index in range(12):
        labels = {f"l{number}": "x" for number in range(index + 1)}
        live = stored(updated(live, deployment(labels=labels), f"m{index:02d}", now=f"2026-01-01T00:00:{index:02d}Z"))
    assert [entry["manager"] for entry in live["metadata"]["managedFields"]] == [
        "ancient-changes",
        *(f"m{index:02d}" for index in range(3, 12)),
    ]
