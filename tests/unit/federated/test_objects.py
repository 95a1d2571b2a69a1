"""What federated objects of every form say; numbers are lines of KubeFed's checklist."""

import pytest

from hanse.api.kubefed.forms import FORM_A, FORM_B, FORM_C, FORM_D, FORM_D0
from hanse.api.kubefed.objects import (
    ClusterOverrides,
    FieldProblem,
    Operation,
    Setting,
    WrittenPlacement,
    read_overrides,
    read_placement,
    read_split,
    read_whole,
)
from hanse.api.kubefed.scheduling import ClusterPreference, SchedulingPreference, read_scheduling_preference
from tests.unit.federated.cases import federated, in_clusters, override, part, preference


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param(in_clusters("a", "b"), WrittenPlacement(("a", "b")), id="clusters"),
        pytest.param({"clusterNames": ["a"]}, WrittenPlacement(("a",)), id="clusterNames"),
        pytest.param({"clusternames": ["a"]}, WrittenPlacement(("a",)), id="the first release's spelling"),
        pytest.param({"clusters": []}, WrittenPlacement(()), id="an empty list"),
        pytest.param({"clusters": None}, WrittenPlacement(), id="null"),
        pytest.param(None, WrittenPlacement(), id="nothing"),
        pytest.param({"clusterSelector": {}}, WrittenPlacement(selector={}), id="an empty selector"),
        pytest.param(
            {"clusters": [], "clusterSelector": {"matchLabels": {"a": "b"}}},
            WrittenPlacement((), {"matchLabels": {"a": "b"}}),
            id="both",
        ),
    ],
)
def test_a_placement_tells_empty_from_missing(written, read):
    assert read_placement(written, "spec.placement") == read


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (7, "spec.placement must be an object with fields"),
        ({"clusters": "a"}, "spec.placement.clusters must be a list"),
        ({"clusters": [{}]}, "spec.placement.clusters[0].name must be the name of a cluster, not None"),
        ({"clusters": ["a"]}, "spec.placement.clusters[0] must be an object with fields"),
        ({"clusterNames": ["a", 7]}, "spec.placement.clusterNames[1] must be the name of a cluster, not 7"),
        (
            {"clusterSelector": {"matchLabels": {"a": 1}}},
            "spec.placement.clusterSelector.matchLabels[a] must be a label value in quotes, not 1",
        ),
        (
            {"clusterSelector": {"matchExpressions": [{"key": "a"}]}},
            "spec.placement.clusterSelector.matchExpressions[0].operator must be an operator such as In, not None",
        ),
        (
            {"clusterSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]}},
            "spec.placement.clusterSelector.matchExpressions[0].values must be a list of label values",
        ),
    ],
)
def test_a_placement_that_cannot_be_read_names_the_field(written, sentence):
    assert str(read_placement(written, "spec.placement")) == sentence


@pytest.mark.parametrize(
    ("form", "change", "read"),
    [
        (FORM_B, {"path": "spec.replicas", "value": 5}, Setting(("spec", "replicas"), 5)),
        (FORM_C, {"path": "data", "value": {}}, Setting(("data",), {})),
        (FORM_D0, {"path": "spec.replicas", "value": 5}, Setting(("spec", "replicas"), 5)),
        (FORM_D0, {"path": "/spec/replicas", "value": 5}, Operation("replace", "/spec/replicas", 5)),
        pytest.param(FORM_D, {"path": "/a", "value": 5}, Operation("replace", "/a", 5), id="33 no op is replace"),
        (FORM_D, {"op": "", "path": "/a", "value": 5}, Operation("replace", "/a", 5)),
        (FORM_D, {"op": "remove", "path": "/a"}, Operation("remove", "/a")),
        pytest.param(FORM_D, {"path": "a.b", "value": 1}, Operation("replace", "a.b", 1), id="47 dots are no pointer"),
    ],
)
def test_overrides_are_read_as_their_form_means_them(form, change, read):
    entries = [override("c2", change)]
    assert read_overrides(entries, form) == (ClusterOverrides("c2", (read,), "spec.overrides[0]"),)


@pytest.mark.parametrize(
    ("form", "entries", "sentence"),
    [
        (FORM_D, {}, "spec.overrides must be a list"),
        (FORM_D, [{}], "spec.overrides[0].clusterName must be the name of a cluster, not None"),
        (
            FORM_D,
            [override("a", {})],
            "spec.overrides[0].clusterOverrides[0].path must be the path of a field, not None",
        ),
        pytest.param(
            FORM_D,
            [override("a", {"op": "move", "path": "/x"})],
            "spec.overrides[0].clusterOverrides[0].op must be one of add, remove, replace, not move",
            id="36",
        ),
        (
            FORM_C,
            [override("a", {"op": "remove", "path": "x.y"})],
            "spec.overrides[0].clusterOverrides[0].op cannot be remove where the path has dots; write it as /a/b",
        ),
        (
            FORM_A,
            [{"clusterName": "a", "x": 1}],
            "spec.overrides must be empty, since no field of this kind may differ in this form",
        ),
    ],
)
def test_overrides_that_cannot_be_read_name_the_field(form, entries, sentence):
    assert str(read_overrides(entries, form)) == sentence


def test_a_typed_override_sets_its_field_by_the_first_entry_of_a_cluster():
    entries = [
        {"clusterName": "a", "replicas": 10},
        {"clusterName": "a", "replicas": 11},
        {"clusterName": "b"},
        {"clusterName": "c", "replicas": 0},
    ]
    read = read_overrides(entries, FORM_A, ("spec", "replicas"))
    assert [(each.cluster, each.changes) for each in read] == [
        ("a", (Setting(("spec", "replicas"), 10),)),
        ("c", (Setting(("spec", "replicas"), 0),)),
    ]


def test_three_objects_are_one_and_without_a_placement_there_is_no_cluster():
    source = {"metadata": {"name": "web"}, "spec": {"template": {"spec": {"replicas": 5}}}}
    placement = part("ReplicaSet", "Placement", {"clusterNames": ["a"]})
    changes = part("ReplicaSet", "Override", {"overrides": [{"clusterName": "a", "replicas": 10}]})
    read = read_split(source, placement, changes, FORM_A, ("spec", "replicas"))
    assert read.template == {"spec": {"replicas": 5}}
    assert read.placement == WrittenPlacement(("a",))
    assert read.overrides[0].changes == (Setting(("spec", "replicas"), 10),)
    alone = read_split(source, None, None, FORM_A, ("spec", "replicas"))
    assert (alone.placement, alone.overrides) == (WrittenPlacement(), ())


def test_a_whole_object_is_read_in_parts_so_that_one_bad_part_leaves_the_others():
    read = read_whole(federated(placement=7, overrides=[], retainReplicas=True), FORM_D)
    assert isinstance(read.placement, FieldProblem)
    assert (read.overrides, read.retain_replicas) == ((), True)
    assert isinstance(read_whole(federated(template=[]), FORM_D).template, FieldProblem)
    assert read_whole({"metadata": {"name": "x"}}, FORM_D).template == {}


def test_a_preference_without_clusters_gives_every_cluster_the_same_weight():
    """Line 86."""
    read = read_scheduling_preference(preference(4))
    assert read == SchedulingPreference("FederatedDeployment", 4, {"*": ClusterPreference(weight=1)})


def test_a_preference_reads_all_of_its_fields():
    clusters = {"a": {"weight": 2, "minReplicas": 1, "maxReplicas": 5}, "b": None}
    read = read_scheduling_preference(preference(6, clusters, rebalance=True, intersectWithClusterSelector=True))
    assert read == SchedulingPreference(
        "FederatedDeployment",
        6,
        {"a": ClusterPreference(2, 1, 5), "b": ClusterPreference()},
        rebalance=True,
        intersect=True,
    )


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        pytest.param(
            preference(kind="Deployment"),
            "spec.targetKind must be FederatedDeployment or FederatedReplicaSet, not Deployment",
            id="96",
        ),
        pytest.param(preference(-1), "spec.totalReplicas must be a whole number that is not negative, not -1", id="97"),
        (preference(1, {"a": 7}), "spec.clusters[a] must be an object with weight, minReplicas and maxReplicas"),
        (
            preference(1, {"a": {"weight": -2}}),
            "spec.clusters[a].weight must be a whole number that is not negative, not -2",
        ),
        (preference(1, ["a"]), "spec.clusters must map names of clusters, or *, to their preferences"),
    ],
)
def test_a_preference_that_makes_no_sense_names_the_field(written, sentence):
    assert str(read_scheduling_preference(written)) == sentence
