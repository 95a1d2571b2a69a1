"""A clusters file becomes settings, or one sentence that names the field."""

import pytest

from hanse.simulator.settings import ClusterSettings, SettingsError, parse_clusters


def test_an_entry_needs_nothing_but_a_name():
    assert ClusterSettings.from_mapping({"name": "us-east"}) == ClusterSettings("us-east")


def test_every_field_of_an_entry_is_read():
    entry = {
        "name": "eu-west",
        "region": "eu",
        "zones": ["eu-a", "eu-b"],
        "labels": {"tier": "prod"},
        "nodes": 5,
        "cpu": 4,
        "memory": "8Gi",
        "pods": 20,
        "index": 7,
        "podStartSeconds": [0, 1.5],
        "podStopSeconds": 2,
    }
    wanted = ClusterSettings(
        name="eu-west",
        index=7,
        region="eu",
        zones=("eu-a", "eu-b"),
        labels={"tier": "prod"},
        nodes=5,
        cpu="4",
        memory="8Gi",
        pods=20,
        pod_start_seconds=(0.0, 1.5),
        pod_stop_seconds=(2.0, 2.0),
    )
    assert ClusterSettings.from_mapping(entry) == wanted


def test_clusters_take_their_address_pools_in_the_order_of_the_file():
    found = parse_clusters({"clusters": [{"name": "a"}, {"name": "b", "zone": "z"}]})
    assert [(cluster.name, cluster.index, cluster.zones) for cluster in found] == [("a", 0, ()), ("b", 1, ("z",))]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"name": "b", "nodes": "x"}, "clusters[1].nodes: must be a whole number of at least 1, not 'x'"),
        ({"name": "b", "nodes": 0}, "clusters[1].nodes: must be a whole number of at least 1, not 0"),
        ({"name": "b", "nodes": True}, "clusters[1].nodes: must be a whole number of at least 1, not True"),
        ({"name": "b", "nodes": 9999}, "clusters[1].nodes: must be at most 4000, not 9999"),
        ({"name": "a"}, "clusters[1].name: 'a' is the name of clusters[0] already"),
        ({"name": "b", "index": 0}, "clusters[1].index: 0 is the index of clusters[0] already"),
        ({"nodes": 1}, "clusters[1].name: is required"),
        (
            {"name": "b", "cpu": "lots"},
            "clusters[1].cpu: must be a quantity above 0 such as 8, 500m or 32Gi, not 'lots'",
        ),
        ({"name": "b", "labels": ["x"]}, "clusters[1].labels: must be a mapping of label names to values, not ['x']"),
        ({"name": "b", "labels": {"x": 1}}, "clusters[1].labels.x: must be text, not 1"),
        ({"name": "b", "zone": "z", "zones": ["y"]}, "clusters[1].zones: cannot be given beside zone"),
        (
            {"name": "b", "podStartSeconds": [2, 1]},
            (
                "clusters[1].podStartSeconds: must be a number of seconds of at least 0, "
                "or two of them as [least, most], not [2, 1]"
            ),
        ),
        ("b", "clusters[1]: must be a mapping, not 'b'"),
    ],
)
def test_a_mistake_is_one_sentence_naming_the_field(entry, sentence):
    with pytest.raises(SettingsError) as refusal:
        parse_clusters({"clusters": [{"name": "a"}, entry]})
    assert str(refusal.value) == sentence


def test_an_unknown_field_is_named_with_those_that_are_known():
    with pytest.raises(
        SettingsError, match=r"^clusters\[0\]\.node: is not a field of a cluster; known are name, index,"
    ):
        parse_clusters({"clusters": [{"name": "a", "node": 3}]})


@pytest.mark.parametrize("document", [None, [], {}, {"clusters": {}}])
def test_a_file_without_a_list_of_clusters_is_refused(document):
    with pytest.raises(SettingsError, match="clusters: must be a list of clusters"):
        parse_clusters(document)


def test_a_provider_of_load_balancers_is_one_of_three():
    assert ClusterSettings.from_mapping({"name": "a", "loadBalancers": "hostname"}).load_balancers == "hostname"
    with pytest.raises(SettingsError, match="loadBalancers: must be one of ip, hostname, none, not 'cloud'"):
        ClusterSettings.from_mapping({"name": "a", "loadBalancers": "cloud"})
