"""What clusters export under one name becomes one service, by the rules of KEP-1645."""

import pytest

from hanse.services.mcs.exports import Export, ExportedPort, Refusal, read_export
from hanse.services.mcs.merging import merge

HTTP, UDP = ExportedPort("http", "TCP", 80), ExportedPort("dns", "UDP", 80)


def export(cluster, created="2026-01-01T00:00:00Z", **fields):
    return Export(cluster, created, **{"ports": (HTTP,), "families": ("IPv4",), **fields})


def old(**fields):
    return export("old", "2025-01-01T00:00:00Z", **fields)


def new(**fields):
    return export("new", "2026-01-01T00:00:00Z", **fields)


def reasons(*exports):
    return [conflict.reason for conflict in merge(exports).conflicts]


def test_nothing_is_merged_out_of_nothing():
    assert merge([]) is None


def test_clusters_that_agree_have_no_conflict():
    merged = merge([new(), old()])

    assert merged.conflicts == ()
    assert merged.clusters == ("new", "old")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("type", "Headless", "TypeConflict"),
        ("affinity", "ClientIP", "SessionAffinityConflict"),
        ("affinity_config", {"clientIP": {"timeoutSeconds": 9}}, "SessionAffinityConfigConflict"),
        ("traffic_policy", "Local", "InternalTrafficPolicyConflict"),
        ("traffic_distribution", "PreferClose", "TrafficDistributionConflict"),
        ("labels", {"tier": "web"}, "LabelsConflict"),
        ("annotations", {"team": "shop"}, "AnnotationsConflict"),
        ("families", ("IPv4", "IPv6"), "IPFamilyConflict"),
    ],
)
def test_on_what_clusters_disagree_the_oldest_is_right(field, value, reason):
    for exports in ([new(), old(**{field: value})], [old(), new(**{field: value})]):
        merged = merge(exports)
        assert merged.model.cluster == "old"
        assert reasons(*exports) == [reason]


@pytest.mark.parametrize(
    ("theirs", "joined", "told"),
    [
        ((HTTP,), (HTTP,), []),
        ((HTTP, UDP), (HTTP, UDP), ["PortConflict"]),
        ((UDP,), (HTTP, UDP), ["PortConflict"]),
        ((ExportedPort("http", "TCP", 81),), (HTTP,), ["PortConflict"]),
        ((ExportedPort("web", "TCP", 80),), (HTTP,), ["PortConflict"]),
        ((ExportedPort("http", "TCP", 80, "kubernetes.io/h2c"),), (HTTP,), ["PortConflict"]),
    ],
)
def test_ports_are_joined_and_a_name_or_number_that_is_taken_stays_with_the_oldest(theirs, joined, told):
    merged = merge([new(ports=theirs), old()])

    assert merged.ports == joined
    assert reasons(new(ports=theirs), old()) == told


def test_of_exports_made_in_the_same_second_the_first_by_name_is_right():
    assert merge([export("b", affinity="ClientIP"), export("a")]).model.cluster == "a"


def test_several_conflicts_are_all_told():
    assert reasons(old(), new(type="Headless", ports=())) == ["PortConflict", "TypeConflict"]


@pytest.mark.parametrize(
    ("service", "reason"),
    [
        (None, "NoService"),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}}, "NoService"),
        ({"metadata": {}, "spec": {"type": "ExternalName", "externalName": "example.com"}}, "InvalidServiceType"),
    ],
)
def test_what_cannot_be_exported_is_refused_with_the_apis_own_reason(service, reason):
    found = read_export("a", {"metadata": {}}, service)

    assert isinstance(found, Refusal)
    assert found.reason == reason


def test_an_export_says_what_its_service_is():
    wish = {
        "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"exportedLabels": {"tier": "web"}, "exportedAnnotations": {"team": "shop"}},
    }
    spec = {
        "clusterIP": "None",
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
        "ipFamilies": ["IPv6"],
        "sessionAffinity": "ClientIP",
        "internalTrafficPolicy": "Local",
        "trafficDistribution": "PreferClose",
    }

    found = read_export("a", wish, {"metadata": {}, "spec": spec})

    assert found == Export(
        "a",
        "2026-01-01T00:00:00Z",
        type="Headless",
        ports=(HTTP,),
        families=("IPv6",),
        affinity="ClientIP",
        traffic_policy="Local",
        traffic_distribution="PreferClose",
        labels={"tier": "web"},
        annotations={"team": "shop"},
    )
