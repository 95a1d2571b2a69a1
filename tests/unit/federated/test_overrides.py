"""What differs from cluster to cluster; numbers are lines of KubeFed's checklist."""

import pytest

from hanse.api.kubefed.forms import FORM_A, FORM_C, FORM_D
from hanse.api.kubefed.objects import FieldProblem, read_overrides
from hanse.federated.overrides import overrides_of
from hanse.federated.template import template_for
from hanse.kube.manifest import dig
from hanse.kube.patches.json_patch import apply_json_patch
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from tests.unit.federated.cases import DEPLOYMENT, KEY, override

LABEL = "kubefed.io/managed"
WEB = template_for(DEPLOYMENT, DEPLOYMENTS, KEY, label=LABEL).manifest


def overridden(*entries, template=WEB, form=FORM_D, field=()):
    """Each cluster's object, or the sentence that says why it has none; * speaks for every cluster."""
    found = overrides_of(read_overrides(list(entries), form, field), template, LABEL)
    return {
        ",".join(each.clusters.names) if each.clusters.names is not None else "*": (
            each.problem or apply_json_patch(template, each.patch)
        )
        for each in found
    }


def changed(*changes, **more):
    return overridden(override("c", *changes), **more)["c"]


def args(obj):
    return dig(obj, "spec", "template", "spec", "containers")[0]["args"]


def test_no_operation_means_replace():
    """Line 33."""
    assert changed({"path": "/spec/replicas", "value": 5})["spec"]["replicas"] == 5


def test_elements_of_lists_are_removed_and_inserted():
    """Lines 34 and 35."""
    where = "/spec/template/spec/containers/0/args"
    assert args(changed({"op": "remove", "path": f"{where}/1"})) == ["a", "c"]
    assert args(changed({"op": "add", "path": f"{where}/0", "value": "z"})) == ["z", "a", "b", "c"]
    assert args(WEB) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "path", ["/metadata/name", "/metadata/namespace", "/metadata/generateName", pytest.param("/kind", id="38")]
)
def test_what_must_be_the_same_everywhere_spoils_the_overrides_of_every_cluster(path):
    """Lines 37 and 38."""
    found = overridden(
        override("a", {"path": "/spec/replicas", "value": 1}), override("b", {"path": path, "value": "x"})
    )
    assert found == {
        "*": f"spec.overrides[1].clusterOverrides[0].path must not be {path}, which is the same in every cluster"
    }


def test_the_version_of_the_kind_may_differ():
    """Line 38."""
    assert changed({"path": "/apiVersion", "value": "apps/v1beta2"})["apiVersion"] == "apps/v1beta2"


def test_a_cluster_or_a_path_that_is_named_twice_spoils_the_overrides_of_every_cluster():
    """Lines 39 and 40."""
    once = {"path": "/spec/replicas", "value": 1}
    assert overridden(override("a", once), override("a", once)) == {
        "*": "spec.overrides[1].clusterName names a a second time; write both into one"
    }
    assert overridden(override("a", once, once)) == {
        "*": "spec.overrides[0].clusterOverrides[1].path names /spec/replicas a second time; keep one of them"
    }
    assert list(overridden(override("a", once), override("b", once))) == ["a", "b"]


def test_overrides_that_cannot_be_read_count_for_every_cluster():
    (found,) = overrides_of(FieldProblem("spec.overrides", "must be a list"), WEB)
    assert (found.clusters.names, found.problem) == (None, "spec.overrides must be a list")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param({"path": "/spec/nosuch/deep", "value": 1}, "doc is missing path: /spec/nosuch/deep", id="41"),
        pytest.param(
            {"op": "add", "path": "/metadata/annotations/foo", "value": "bar"},
            "; add /metadata/annotations with a map of them",
            id="44",
        ),
        ({"op": "remove", "path": "/spec/nosuch"}, "Unable to remove nonexistent key: nosuch"),
        ({"path": "/spec/template/spec/containers/7", "value": {}}, "doc is missing key"),
        pytest.param({"path": "spec.replicas", "value": 5}, "must be a JSON pointer such as /spec/replicas", id="47"),
        (
            {"path": "/metadata", "value": {"name": "other"}},
            "changes metadata.name, which is the same in every cluster",
        ),
    ],
)
def test_what_does_not_fit_the_template_spoils_the_overrides_of_its_own_cluster(change, sentence):
    found = overridden(override("good", {"path": "/spec/replicas", "value": 5}), override("bad", change))
    assert found["good"]["spec"]["replicas"] == 5
    assert sentence in found["bad"]
    assert found["bad"].startswith("spec.overrides[1]")


def test_replacing_what_is_missing_adds_it():
    """Line 42."""
    bare = template_for({"data": {"A": "1"}}, CONFIGMAPS, KEY).manifest
    found = changed({"path": "/metadata/labels", "value": {"team": "x"}}, template=bare)
    assert found["metadata"]["labels"] == {"team": "x", LABEL: "true"}


def test_operations_count_in_order():
    """Line 43."""
    found = changed(
        {"op": "add", "path": "/metadata/annotations", "value": {"foo": "bar", "other": "1"}},
        {"op": "remove", "path": "/metadata/annotations/foo"},
    )
    assert found["metadata"]["annotations"] == {"other": "1"}


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/metadata/labels/kubefed.io~1managed", "value": "false"},
        {"op": "remove", "path": "/metadata/labels/kubefed.io~1managed"},
        {"op": "remove", "path": "/metadata/labels"},
        {"path": "/metadata/labels", "value": None},
    ],
)
def test_no_override_takes_the_managed_label_away(change):
    """Line 45."""
    assert changed(change)["metadata"]["labels"][LABEL] == "true"


def test_a_map_is_replaced_whole():
    """Line 48."""
    shared = template_for({"data": {"A": "ala ma kota"}}, CONFIGMAPS, KEY).manifest
    assert changed({"path": "/data", "value": {"foo": "bar"}}, template=shared)["data"] == {"foo": "bar"}


def test_the_projects_own_sample():
    """Line 49."""
    found = changed(
        {"path": "/spec/replicas", "value": 5},
        {"path": "/spec/template/spec/containers/0/image", "value": "nginx:1.17.0-alpine"},
        {"op": "add", "path": "/metadata/annotations", "value": {"foo": "bar"}},
        {"op": "remove", "path": "/metadata/annotations/foo"},
    )
    assert found["spec"]["replicas"] == 5
    assert dig(found, "spec", "template", "spec", "containers")[0]["image"] == "nginx:1.17.0-alpine"
    assert "kubefed.io/managed" in found["metadata"]["labels"]


@pytest.mark.parametrize(
    ("change", "where", "value"),
    [
        pytest.param({"path": "spec.replicas", "value": 5}, ("spec", "replicas"), 5, id="9"),
        (
            {"path": "spec.strategy.rollingUpdate.maxSurge", "value": 1},
            ("spec", "strategy"),
            {"rollingUpdate": {"maxSurge": 1}},
        ),
        ({"path": "metadata.labels", "value": {"x": "y"}}, ("metadata", "labels"), {"x": "y", LABEL: "true"}),
    ],
)
def test_paths_with_dots_make_the_maps_on_their_way(change, where, value):
    assert dig(changed(change, form=FORM_C), *where) == value


def test_a_path_with_dots_cannot_lead_through_a_list():
    sentence = changed({"path": "spec.template.spec.containers.image", "value": "x"}, form=FORM_C)
    assert sentence.endswith("path leads to image within something that is no map")


@pytest.mark.parametrize("path", ["metadata.name", "metadata.namespace", "metadata.generateName"])
def test_paths_with_dots_have_the_same_limits(path):
    found = overridden(override("a", {"path": path, "value": "x"}), form=FORM_C)
    assert f"must not be {path}" in found["*"]


def test_a_typed_override_sets_the_one_field_that_may_differ():
    """Lines 1 and 7."""
    entry = {"clusterName": "cluster2", "replicas": 10}
    found = overridden(entry, form=FORM_A, field=("spec", "replicas"))
    assert found["cluster2"]["spec"]["replicas"] == 10


def test_nulls_of_overrides_say_nothing():
    assert "paused" not in changed({"op": "add", "path": "/spec/paused", "value": None})["spec"]
