"""`hanse mcs` and `hanse dns cluster-config`, typed against embedded API servers that are served over HTTPS."""

import pytest
import yaml

from hanse.api.clusters import CLUSTERS
from hanse.api.federation import FEDERATION_NAME, FEDERATIONS, federation_manifest
from hanse.api.mcs import MCS_ANNOTATION, SERVICE_IMPORTS
from hanse.clusters.account import CLUSTER_ROLES
from hanse.kube.manifest import Key, annotations_of
from hanse.kube.resources import CONFIGMAPS
from hanse.services.mcs.exports import Export, ExportedPort
from hanse.services.mcs.imports import import_manifest
from hanse.services.mcs.installing import serves_mcs
from hanse.services.mcs.merging import merge
from tests.component.served_federation import ServedFederation

THEIRS = ".:53 {\n    forward . /etc/resolv.conf\n}\n"


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("services"), "east")
    code, told = opened.say("join", "east", "--kubeconfig", opened.config)
    assert code == 0, told
    yield opened
    opened.close()


@pytest.fixture
def named(servers):
    """The federation has a name in DNS."""
    servers.ask(servers.host.create(FEDERATIONS, federation_manifest("myfed", "example.com")))
    yield
    servers.ask(servers.host.delete(FEDERATIONS, FEDERATION_NAME))


def said(servers):
    return annotations_of(servers.ask(servers.host.get(CLUSTERS, "east"))).get(MCS_ANNOTATION)


def corefile(servers):
    return servers.ask(servers.clients["east"].get(CONFIGMAPS, "coredns", "kube-system"))["data"]["Corefile"]


def test_a_cluster_is_given_the_kinds_and_hanses_account_the_rights_to_take_part(servers):
    shown = list(yaml.safe_load_all(servers.say("mcs", "enable", "east", "--dry-run")[1]))
    servers.say("mcs", "disable", "east")
    first = servers.say("mcs", "enable", "east", "--kubeconfig", servers.config)
    again = servers.say("mcs", "enable", "east")

    assert [each["kind"] for each in shown] == [*["CustomResourceDefinition"] * 2, "ClusterRole", "ClusterRoleBinding"]
    assert (first, again) == ((0, "cluster east takes part\n"), (0, "cluster east takes part already\n"))
    assert servers.ask(serves_mcs(servers.clients["east"]))
    assert servers.ask(servers.clients["east"].find(CLUSTER_ROLES, "hanse:east:mcs")) is not None
    assert said(servers) == "true"
    assert servers.say("mcs", "disable", "east") == (0, "cluster east takes part no longer\n")
    assert said(servers) == "false"
    assert servers.say("mcs", "enable", "west")[0] == 1


def test_a_cluster_that_leaves_is_asked_what_becomes_of_its_imports(servers):
    assert servers.say("mcs", "enable", "east", "--kubeconfig", servers.config)[0] == 0
    export = Export("west", "2026-01-01T00:00:00Z", ports=(ExportedPort("http", "TCP", 80),), families=("IPv4",))
    made = import_manifest(Key("default", "web"), merge([export]), None)
    servers.ask(servers.clients["east"].apply(SERVICE_IMPORTS, made))

    asked, rehearsed = servers.say("unjoin", "east"), servers.say("unjoin", "east", "--delete", "--dry-run")
    servers.ask(servers.clients["east"].delete(SERVICE_IMPORTS, "web", "default"))

    assert asked[0] == 1
    assert "say --keep to leave them there or --delete to remove them" in asked[1]
    assert "delete serviceimports.multicluster.x-k8s.io/default/web in cluster east" in rehearsed[1]


def test_a_federation_without_a_name_has_nothing_to_configure(servers):
    code, told = servers.say("dns", "cluster-config", "east")

    assert code == 1
    assert "there is no Federation object" in told


def test_a_clusters_dns_is_configured_and_left_as_it_was(servers, named):
    config = {"metadata": {"name": "coredns", "namespace": "kube-system"}, "data": {"Corefile": THEIRS}}
    missing = servers.say("dns", "cluster-config", "east", "--apply")
    servers.ask(servers.clients["east"].create(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", **config}))
    words = ("dns", "cluster-config", "east", "--server", "10.0.0.53")

    printed = servers.say(*words)[1]
    assert corefile(servers) == THEIRS
    for told in ("changed", "unchanged"):
        assert told in servers.say(*words, "--apply")[1]
    written = corefile(servers)
    servers.say(*words, "--apply", "--remove")

    assert "has no ConfigMap kube-system/coredns" in missing[1]
    assert printed.startswith("myfed.svc.cluster.local:53 {")
    assert written.startswith(THEIRS)
    assert printed in written
    assert corefile(servers) == THEIRS


def test_kube_dns_is_told_by_its_own_fields(servers, named):
    words = ("dns", "cluster-config", "east", "--server", "10.0.0.53", "--for", "kube-dns")
    wanted = {"federations": "myfed=example.com", "stubDomains": '{"example.com": ["10.0.0.53"]}'}

    assert yaml.safe_load(servers.say(*words)[1]) == wanted
    assert servers.say(*words, "--apply")[0] == 0
    found = servers.ask(servers.clients["east"].get(CONFIGMAPS, "kube-dns", "kube-system"))
    assert found["data"] == wanted
    assert servers.say(*words, "--apply", "--remove")[0] == 0
    found = servers.ask(servers.clients["east"].get(CONFIGMAPS, "kube-dns", "kube-system"))
    assert found["data"] == {"federations": ""}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--server", "ns.example.com"), "--server: 'ns.example.com' must be IP or IP:PORT"),
        (("--remove",), "--remove: needs --apply"),
    ],
)
def test_what_cannot_be_configured_is_refused(servers, options, told):
    code, said_ = servers.say("dns", "cluster-config", "east", *options)

    assert code == 2
    assert told in said_
