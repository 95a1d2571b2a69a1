"""The history of templates: one revision each, the present one on top."""

import pytest

from hanse.kube.manifest import labels_of, name_of
from hanse.simulator.workloads.controller_revisions import (
    forgotten_revisions,
    new_revision,
    plan_history,
    revision_data,
    template_of,
)
from tests.unit.simulator.workload_builders import revision_of, workload

SET = workload("StatefulSet", {})
PRESENT, OTHER = revision_of(SET, 1), revision_of(SET, 2, "nginx:2")


def test_a_first_template_becomes_the_first_revision():
    plan = plan_history(SET, [])
    assert plan.create["revision"] == 1
    assert template_of(plan.create) == SET["spec"]["template"]
    assert plan.create["data"]["spec"]["template"]["$patch"] == "replace"


def test_a_present_template_needs_nothing():
    plan = plan_history(SET, [PRESENT])
    assert (plan.create, plan.present, plan.number) == (None, PRESENT, 1)


def test_a_return_to_an_old_template_gives_it_the_next_number():
    plan = plan_history(SET, [PRESENT, OTHER])
    assert (plan.create, plan.present, plan.number) == (None, PRESENT, 3)


@pytest.mark.parametrize(
    ("kind", "label"),
    [("StatefulSet", "controller.kubernetes.io/hash"), ("DaemonSet", "controller-revision-hash")],
)
def test_a_revision_is_named_for_its_template(kind, label):
    made = new_revision(workload(kind, {}, annotations={"why": "because"}), 1)
    assert name_of(made) == f"web-{labels_of(made)[label]}"
    assert made["metadata"]["annotations"] == {"why": "because"}
    again = new_revision(workload(kind, {}, status={"collisionCount": 1}), 1)
    assert name_of(again) != name_of(made)


def test_history_forgets_the_oldest_that_nobody_uses():
    history = [revision_of(SET, number, f"nginx:{number}") for number in range(1, 7)]
    live = {name_of(history[0]), name_of(history[5])}
    assert [entry["revision"] for entry in forgotten_revisions(history, live, 2)] == [2, 3]
    assert forgotten_revisions(history, live, 4) == []
    assert forgotten_revisions(history, live, None) == []


def test_the_keys_of_a_revision_are_in_order_since_clients_compare_bytes():
    template = {"spec": {"containers": [{"name": "a", "image": "b"}]}, "metadata": {"labels": {"z": "1", "a": "2"}}}
    data = revision_data({"spec": {"template": template}})
    assert list(data["spec"]["template"]) == ["$patch", "metadata", "spec"]
    assert list(data["spec"]["template"]["spec"]["containers"][0]) == ["image", "name"]
    assert list(data["spec"]["template"]["metadata"]["labels"]) == ["a", "z"]
