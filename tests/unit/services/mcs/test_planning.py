"""What a cluster shall hold of an exported service, decided from what all clusters show."""

import pytest

from hanse.api.mcs import SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Key, annotations_of, labels_of
from hanse.services.mcs.conditions import export_conditions, import_condition
from hanse.services.mcs.endpoints import MANAGED_BY_LABEL, SERVICE_LABEL
from hanse.services.mcs.exports import Export, ExportedPort, Refusal
from hanse.services.mcs.imports import import_manifest, import_status, service_manifest, service_name
from hanse.services.mcs.merging import Conflict, merge
from hanse.services.mcs.planning import Held, View, plan

KEY = Key("shop", "web")
HTTP = ExportedPort("http", "TCP", 80)
SINCE = "2026-01-01T00:00:00Z"


def export(cluster, *ports, **fields):
    return Export(cluster, SINCE, ports=ports or (HTTP,), families=("IPv4",), **fields)


def slices(address, *, ready=True, ports=("http",)):
    endpoint = {
        "addresses": [address],
        "conditions": {"ready": ready},
        "hostname": "web-0",
        "zone": "z",
        "nodeName": "n",
        "targetRef": {"kind": "Pod", "name": "web-0"},
    }
    listed = [{"name": name, "port": 8080, "protocol": "TCP"} for name in ports]
    return [
        {
            "metadata": {"name": "web-abc", "namespace": "shop"},
            "addressType": "IPv4",
            "endpoints": [endpoint],
            "ports": listed,
        }
    ]


def imported(*clusters, **metadata):
    merged = merge([export(cluster) for cluster in clusters])
    made = import_manifest(KEY, merged, None)
    made["metadata"] |= {"uid": "import-uid", **metadata}
    made["status"] = import_status({}, merged, import_condition("", usable=True), SINCE)
    return made


def seen(**addresses):
    """Return the view of clusters that export, each with one endpoint."""
    found = {cluster: slices(address) for cluster, address in addresses.items()}
    return {"exports": {cluster: export(cluster) for cluster in addresses}, "slices": found}


def sources(planned):
    return {labels_of(entry)[SOURCE_CLUSTER_LABEL]: entry["endpoints"][0]["addresses"][0] for entry in planned.slices}


def test_a_cluster_without_an_export_of_its_own_imports_those_of_others():
    planned = plan(View(KEY, **seen(a="10.1.0.1", b="10.2.0.1")), Held("c"))

    assert planned.import_["spec"] == {
        "type": "ClusterSetIP",
        "ports": [{"port": 80, "protocol": "TCP", "name": "http"}],
    }
    assert sources(planned) == {"a": "10.1.0.1", "b": "10.2.0.1"}


def test_a_derived_slice_names_its_service_its_source_and_who_looks_after_it_and_no_pod():
    (entry,) = plan(View(KEY, **seen(a="10.1.0.1")), Held("c")).slices

    assert labels_of(entry) == {
        SERVICE_NAME_LABEL: "web",
        SOURCE_CLUSTER_LABEL: "a",
        MANAGED_BY_LABEL: "multicluster.hanse.dev",
        SERVICE_LABEL: service_name(KEY),
    }
    assert entry["endpoints"] == [
        {"addresses": ["10.1.0.1"], "conditions": {"ready": True}, "hostname": "web-0", "zone": "z"}
    ]


def test_slices_of_one_name_in_two_clusters_have_two_names():
    names = {entry["metadata"]["name"] for entry in plan(View(KEY, **seen(a="1.1.1.1", b="2.2.2.2")), Held("c")).slices}

    assert len(names) == 2


def test_a_cluster_without_the_namespace_imports_nothing():
    planned = plan(View(KEY, **seen(a="10.1.0.1")), Held("c", has_namespace=False))

    assert (planned.import_, planned.slices, planned.remove) == (None, (), False)


def test_what_nobody_exports_any_more_is_removed():
    assert plan(View(KEY), Held("c", import_=imported("a"))).remove


def test_an_export_without_a_service_exports_nothing():
    refused = Refusal("NoService", "")

    assert plan(View(KEY, exports={"a": refused}), Held("c", import_=imported("a"))).remove


def test_somebody_elses_import_is_left_alone():
    theirs = imported("a", labels={}, annotations={})

    planned = plan(View(KEY), Held("c", import_=theirs))

    assert (planned.import_, planned.remove, planned.slices) == (None, False, ())


def test_a_port_that_lost_a_conflict_leads_nowhere():
    newer = Export("b", "2026-02-01T00:00:00Z", ports=(ExportedPort("http", "TCP", 81),), families=("IPv4",))
    found = {"exports": {"a": export("a"), "b": newer}, "slices": {"a": slices("1.1.1.1"), "b": slices("2.2.2.2")}}

    assert sources(plan(View(KEY, **found), Held("c"))) == {"a": "1.1.1.1"}


class TestAClusterThatCannotBeSeen:
    def held(self, *clusters):
        shown = plan(
            View(KEY, **seen(**{cluster: f"10.0.0.{index}" for index, cluster in enumerate(clusters)})), Held("c")
        )
        return Held("c", import_=imported(*clusters), slices=shown.slices)

    def test_keeps_an_import_that_it_has_a_part_in(self):
        planned = plan(View(KEY, unknown=frozenset({"a"})), self.held("a"))

        assert not planned.remove
        assert len(planned.keep) == 1

    def test_keeps_no_import_that_it_has_no_part_in(self):
        assert plan(View(KEY, unknown=frozenset({"x"})), self.held("a")).remove

    def test_keeps_an_import_that_has_yet_to_say_who_has_a_part_in_it(self):
        fresh = {**imported("a"), "status": {}}

        assert not plan(View(KEY, unknown=frozenset({"a"})), Held("c", import_=fresh)).remove

    def test_changes_nothing_of_the_import_and_lets_endpoints_of_others_come(self):
        view = View(KEY, **seen(b="10.2.0.1"), unknown=frozenset({"a"}))

        planned = plan(view, self.held("a", "b"))

        assert planned.import_ is None
        assert sources(planned) == {"b": "10.2.0.1"}
        assert len(planned.keep) == 1

    def test_loses_its_endpoints_once_it_is_called_lost_and_others_have_some(self):
        view = View(KEY, **seen(b="10.2.0.1"), unknown=frozenset({"a"}), lost=frozenset({"a"}))

        assert plan(view, self.held("a", "b")).keep == frozenset()

    def test_keeps_its_endpoints_where_nobody_else_has_any(self):
        view = View(KEY, unknown=frozenset({"a"}), lost=frozenset({"a"}))

        assert len(plan(view, self.held("a")).keep) == 1


@pytest.mark.parametrize(
    ("lost", "ready_elsewhere", "led"),
    [({"a"}, True, {"b"}), ({"a"}, False, {"a", "b"}), ({"a", "b"}, True, {"a", "b"}), (set(), True, {"a", "b"})],
)
def test_a_lost_clusters_endpoints_leave_unless_that_would_leave_nobody(lost, ready_elsewhere, led):
    found = seen(a="10.1.0.1", b="10.2.0.1")
    found["slices"]["b"] = slices("10.2.0.1", ready=ready_elsewhere)

    assert set(sources(plan(View(KEY, **found, lost=frozenset(lost)), Held("c")))) == led


def test_a_headless_import_has_no_address_and_its_slices_no_service():
    found = {"exports": {"a": export("a", type="Headless")}, "slices": {"a": slices("10.1.0.1")}}

    planned = plan(View(KEY, **found), Held("c"))

    assert planned.import_["spec"]["type"] == "Headless"
    assert "ips" not in planned.import_["spec"]
    assert planned.import_["spec"]["ipFamilies"] == ["IPv4"]
    assert SERVICE_LABEL not in labels_of(planned.slices[0])


def test_an_import_has_the_address_that_its_cluster_gave_and_only_exported_labels():
    merged = merge([export("a", labels={"tier": "web"}, annotations={"team": "shop"}, affinity="ClientIP")])
    given = {"spec": {"clusterIPs": ["10.96.0.9", "fd00::9"], "ipFamilies": ["IPv4", "IPv6"]}}

    made = import_manifest(KEY, merged, given)

    assert (made["spec"]["ips"], made["spec"]["ipFamilies"]) == (["10.96.0.9", "fd00::9"], ["IPv4", "IPv6"])
    assert made["spec"]["sessionAffinity"] == "ClientIP"
    assert labels_of(made) == {"tier": "web", "hanse.dev/managed": "true"}
    assert annotations_of(made)["team"] == "shop"


@pytest.mark.parametrize(
    ("families", "asked"),
    [
        (("IPv6",), {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv6"]}),
        (("IPv4", "IPv6"), {"ipFamilyPolicy": "PreferDualStack"}),
    ],
)
def test_the_service_behind_an_import_has_no_selector_and_the_exports_families(families, asked):
    merged = merge([Export("a", SINCE, ports=(HTTP,), families=families)])

    made = service_manifest(KEY, merged, imported("a"))

    assert "selector" not in made["spec"]
    assert asked.items() <= made["spec"].items()
    assert ("ipFamilies" in made["spec"]) == ("ipFamilies" in asked)
    assert made["metadata"]["ownerReferences"][0]["uid"] == "import-uid"


@pytest.mark.parametrize(
    ("meaning", "conflicts", "in_the_way", "said"),
    [
        (export("a"), (), (), {"Valid": "Valid", "Ready": "Exported", "Conflict": "NoConflicts"}),
        (Refusal("NoService", "none"), (), (), {"Valid": "NoService", "Ready": "Pending", "Conflict": "NoConflicts"}),
        (
            export("a"),
            (Conflict("PortConflict", "x"), Conflict("TypeConflict", "y")),
            (),
            {"Valid": "Valid", "Ready": "Exported", "Conflict": "PortConflict,TypeConflict"},
        ),
        (export("a"), (), ("b",), {"Valid": "Valid", "Ready": "Failed", "Conflict": "NoConflicts"}),
    ],
)
def test_an_export_says_in_the_apis_words_how_it_stands(meaning, conflicts, in_the_way, said):
    told = export_conditions(meaning, conflicts, in_the_way, 3)

    assert {each["type"]: each["reason"] for each in told} == said
    assert {each["observedGeneration"] for each in told} == {3}


@pytest.mark.parametrize(
    ("refusal", "usable", "said"),
    [
        ("", True, ("True", "Ready")),
        ("", False, ("False", "Pending")),
        ("no IPv6", False, ("False", "IPFamilyNotSupported")),
    ],
)
def test_an_import_says_whether_it_can_be_used(refusal, usable, said):
    told = find_condition([import_condition(refusal, usable=usable)], "Ready")

    assert (told["status"], told["reason"]) == said
