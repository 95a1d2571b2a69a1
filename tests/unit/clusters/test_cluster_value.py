"""A Cluster object read into a value, and written."""

from hanse.api.clusters import Address, Taint, cluster_manifest, parse_cluster, taint_manifest
from hanse.kube.manifest import Key

OBJ = {
    "metadata": {"name": "east", "labels": {"tier": "gold"}, "deletionTimestamp": "2030-01-01T00:00:00Z"},
    "spec": {
        "kubernetesApiEndpoints": {
            "caBundle": "Y2E=",
            "serverEndpoints": [{"serverAddress": "10.8.8.8"}, {"clientCIDR": "10.0.0.0/8"}],
        },
        "authInfo": {"controller": {"kind": "Secret", "name": "s"}},
        "unschedulable": True,
        "taints": [{"key": "a", "effect": "NoExecute", "timeAdded": "2030-01-01T00:00:00Z"}],
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}], "free": {"cpu": "2"}, "nodes": 3},
}


def test_everything_that_placement_may_look_at_is_read():
    cluster = parse_cluster(OBJ)

    assert (cluster.unschedulable, cluster.leaving, cluster.nodes, cluster.free) == (True, True, 3, {"cpu": "2"})
    assert cluster.taints == (Taint("a", "", "NoExecute", "2030-01-01T00:00:00Z"),)
    assert taint_manifest(cluster.taints[0]) == OBJ["spec"]["taints"][0]
    assert str(Taint("a", "b", "NoSchedule")) == "a=b:NoSchedule"


def test_an_address_without_a_scheme_is_https_and_an_entry_without_an_address_is_none():
    assert parse_cluster(OBJ).addresses == (Address("https://10.8.8.8"),)


def test_a_secret_without_a_namespace_is_in_hanses_own():
    assert parse_cluster(OBJ).credentials == Key("hanse-system", "s")


def test_a_joined_server_is_for_every_client():
    written = cluster_manifest("foo", server="10.8.8.8", ca_bundle="", secret=Key("n", "s"), labels={})

    assert written["spec"]["kubernetesApiEndpoints"] == {
        "serverEndpoints": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "https://10.8.8.8"}]
    }


def test_an_empty_object_is_a_cluster_that_is_not_ready():
    cluster = parse_cluster({"metadata": {"name": "bare"}})

    assert (cluster.state, cluster.credentials, cluster.addresses) == ("NotReady", None, ())


def test_what_applications_choose_a_cluster_by_is_read_and_a_weight_that_is_no_number_says_nothing():
    def read(**said):
        names = {"capabilities": "capabilities", "weight": "rollout-weight", "identity": "rollout-identity"}
        annotations = {f"hanse.dev/{names[name]}": value for name, value in said.items()}
        return parse_cluster({"metadata": {"name": "east", "annotations": annotations}})

    said = read(capabilities="gpu, ssd,,gpu", weight="7", identity="west")

    assert (said.capabilities, said.rollout_weight, said.rollout_identity) == (frozenset({"gpu", "ssd"}), 7, "west")
    assert [read(weight=each).rollout_weight for each in ("", "many", "-1", "0")] == [100, 100, 100, 0]


def test_a_cluster_was_reached_once_anything_is_known_of_its_server():
    known = ({"version": "v1.36.0"}, {"clusterUID": "u"}, {"conditions": [{"type": "Ready", "status": "True"}]}, {})

    assert [parse_cluster({"metadata": {"name": "east"}, "status": each}).was_reached for each in known] == [
        True,
        True,
        True,
        False,
    ]
