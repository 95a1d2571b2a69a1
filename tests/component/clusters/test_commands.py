"""The commands of the registry, typed against embedded API servers that are served over HTTPS."""

import stat

import pytest
import yaml
from click.testing import CliRunner

from hanse.api.clusters import CLUSTERS
from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION
from hanse.cli.main import main
from hanse.kube.resources import CONFIGMAPS, SECRETS
from tests.component.served_federation import ServedFederation


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("registry"), "east", "west")
    yield opened
    opened.close()


@pytest.fixture
def hanse(servers):
    return servers.say


@pytest.fixture
def joined(servers, hanse):
    """Both clusters have joined, with service accounts of their own."""
    code, told = hanse("join", "east", "west", "--kubeconfig", servers.folder / "config", "-l", "tier=gold")
    assert code == 0, told
    return servers


def cluster(servers, name="east"):
    return servers.ask(servers.clients["host"].get(CLUSTERS, name))


def test_several_clusters_join_at_once_and_joining_again_renews(joined, hanse):
    code, told = hanse("join", "east", "--kubeconfig", joined.folder / "config")

    assert (code, told) == (0, "cluster east was a member already; its credentials are renewed\n")
    assert cluster(joined, "west")["metadata"]["labels"] == {"tier": "gold"}
    assert hanse("join", "east", "--rotate") == (0, "cluster east has a new token\n")


def test_117_a_context_of_the_host_may_be_called_anything(joined, hanse, tmp_path):
    """Nothing in a member is called after the host's context, so that a / in it does no harm."""
    config = yaml.safe_load(joined.config.read_text())
    host = next(each for each in config["contexts"] if each["name"] == "host")
    config["contexts"].append({**host, "name": "team/host:6443/admin"})
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))

    words = ["join", "east", "--kubeconfig", path, "--host-kubeconfig", path, "--host-context", "team/host:6443/admin"]
    done = CliRunner().invoke(main, list(map(str, words)))

    assert (done.exit_code, done.output) == (0, "cluster east was a member already; its credentials are renewed\n")


def test_cordon_and_taints_are_written_once_and_taken_back(joined, hanse):
    first = hanse("clusters", "cordon", "east"), hanse("clusters", "cordon", "east")
    hanse("clusters", "taint", "east", "upgrade=tonight:NoSchedule")
    spec = cluster(joined)["spec"]
    shown = hanse("clusters", "-o", "wide")[1]
    last = hanse("clusters", "uncordon", "east"), hanse("clusters", "taint", "east", "upgrade-")

    assert [told for _, told in first] == ["cluster east cordoned\n", "cluster east unchanged\n"]
    assert spec["unschedulable"] is True
    assert [(each["key"], each["effect"], "timeAdded" in each) for each in spec["taints"]] == [
        ("upgrade", "NoSchedule", True)
    ]
    assert "NotReady,SchedulingDisabled" in shown
    assert "upgrade=tonight:NoSchedule" in shown
    assert [code for code, _ in last] == [0, 0]
    assert cluster(joined)["spec"].keys() & {"unschedulable", "taints"} == set()
    assert hanse("clusters", "taint", "east", "upgrade")[0] == 2
    assert hanse("clusters", "cordon", "nowhere")[0] == 1


def test_contexts_are_shown_without_secrets_and_merged_with_them(joined, hanse, tmp_path):
    target = tmp_path / "config"
    target.write_text(yaml.safe_dump({"current-context": "mine", "contexts": [{"name": "mine", "context": {}}]}))

    shown = yaml.safe_load(hanse("kubeconfig")[1])
    raw = yaml.safe_load(hanse("kubeconfig", "east", "--raw")[1])
    merging = hanse("kubeconfig", "--merge", target), hanse("kubeconfig", "--merge", target)
    merged = yaml.safe_load(target.read_text())
    target.write_text(target.read_text().replace("https://", "https://other."))
    clash = hanse("kubeconfig", "--merge", target)

    assert [each["name"] for each in shown["contexts"]] == ["federation", "east", "west"]
    assert {each["user"]["token"] for each in shown["users"]} == {"<hidden>"}
    assert raw["users"][0]["user"]["token"].count(".") == 2
    assert [code for code, _ in merging] == [0, 0]
    assert [each["name"] for each in merged["contexts"]] == ["mine", "federation", "east", "west"]
    assert merged["current-context"] == "mine"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert clash[0] == 1
    assert "--overwrite replaces them" in clash[1]


def test_a_cluster_joins_by_a_secret_that_is_on_the_host(joined, hanse):

    east = joined.ask(joined.clients["host"].get(SECRETS, "cluster-east", "hanse-system"))
    metadata = {"name": "by-hand", "namespace": "default"}
    joined.ask(joined.clients["host"].apply(SECRETS, {**_plain(east), "metadata": metadata}))

    rehearsed = hanse("join", "third", "--secret", "default/by-hand", "--dry-run")
    code, told = hanse("join", "third", "--secret", "default/by-hand")
    spec = cluster(joined, "third")["spec"]
    left = hanse("unjoin", "third", "--keep")

    assert yaml.safe_load(rehearsed[1])["spec"] == spec
    assert (code, told) == (0, "cluster third joined\n")
    assert spec["authInfo"]["controller"] == {"kind": "Secret", "name": "by-hand", "namespace": "default"}
    assert spec["kubernetesApiEndpoints"]["serverEndpoints"][0]["serverAddress"].startswith("https://127.0.0.1:")
    assert left == (0, "cluster third has left the federation\n")
    assert joined.ask(joined.clients["host"].find(SECRETS, "by-hand", "default")) is not None


def _plain(secret):
    return {"apiVersion": "v1", "kind": "Secret", "data": secret["data"], "type": "Opaque"}


def test_leaving_asks_what_becomes_of_the_copies(joined, hanse):
    owned = {"labels": {MANAGED_LABEL: "true"}, "annotations": {OWNER_ANNOTATION: "x"}}
    copy = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default", **owned}}
    joined.ask(joined.clients["west"].create(CONFIGMAPS, copy))

    refused = hanse("unjoin", "west")
    told = hanse("unjoin", "west", "--keep")

    assert refused[0] == 1
    assert "has 1 (1 configmaps) copies" in refused[1]
    assert told == (
        0,
        f"cluster west has left the federation\nin it stay 1 (1 configmaps) copies, labelled {MANAGED_LABEL}=true\n",
    )
    assert joined.ask(joined.clients["host"].find(CLUSTERS, "west")) is None
    joined.ask(joined.clients["west"].delete(CONFIGMAPS, "c", "default"))


def test_a_dead_cluster_leaves_only_by_force(joined, hanse):
    patch = {
        "spec": {
            "kubernetesApiEndpoints": {
                "serverEndpoints": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "https://127.0.0.1:1"}]
            }
        }
    }
    joined.ask(joined.clients["host"].patch(CLUSTERS, "east", patch))

    refused = hanse("unjoin", "east")
    told = hanse("unjoin", "east", "--force")

    assert refused[0] == 1
    assert "--force lets it go and leaves what is in it" in refused[1]
    assert told[0] == 0
    assert "in it remains: the ClusterRole hanse:east and what belongs to it, and all copies" in told[1]


def dns_config(servers):
    config = servers.ask(servers.clients["east"].find(CONFIGMAPS, "kube-dns", "kube-system"))
    return None if config is None else config["data"]


def test_a_clusters_own_dns_hears_of_the_federation_and_forgets_it(servers, hanse):
    """Lines 102 and 103 of the federation-v1 checklist, and 104: without the option there is no DNS to set up."""
    join = ("join", "east", "--kubeconfig", servers.folder / "config")
    assert hanse(*join)[0] == 0
    assert dns_config(servers) is None

    config = {"metadata": {"name": "kube-dns", "namespace": "kube-system"}, "data": {"federations": "other=x.org"}}
    servers.ask(servers.clients["east"].create(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", **config}))
    for _ in range(2):
        assert hanse(*join, "--dns-federation", "myfed=example.com", "--dns-server", "10.0.0.53")[0] == 0
        assert dns_config(servers) == {
            "federations": "other=x.org,myfed=example.com",
            "stubDomains": '{"example.com": ["10.0.0.53"]}',
        }

    rehearsed = hanse("unjoin", "east", "--dry-run")[1]
    assert "take myfed=example.com out of configmap kube-system/kube-dns in cluster east" in rehearsed
    assert hanse("unjoin", "east") == (0, "cluster east has left the federation\n")
    assert dns_config(servers) == {"federations": "other=x.org"}


def test_a_federation_that_no_dns_would_take_is_refused(servers, hanse):
    code, told = hanse("join", "east", "--kubeconfig", servers.folder / "config", "--dns-federation", "a.b=x.org")

    assert code == 2
    assert "--dns-federation: 'a.b=x.org' must be NAME=DOMAIN" in told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--dns-server", "10.0.0.53"), "--dns-server: needs --dns-federation"),
        (("--dns-federation", "f=d.example", "--dns-server", "ns.d.example"), "must be IP or IP:PORT"),
    ],
)
def test_a_dns_server_that_no_cluster_could_ask_is_refused(servers, hanse, options, told):
    code, said = hanse("join", "east", "--kubeconfig", servers.folder / "config", *options)

    assert code == 2
    assert told in said


def test_a_server_without_a_scheme_is_spoken_to_by_https(servers, hanse, tmp_path):
    """Line 101 of the federation-v1 checklist."""
    document = {
        "current-context": "foo",
        "clusters": [{"name": "foo", "cluster": {"server": "10.8.8.8"}}],
        "users": [{"name": "foo", "user": {"token": "t"}}],
        "contexts": [{"name": "foo", "context": {"cluster": "foo", "user": "foo"}}],
    }
    (tmp_path / "config").write_text(yaml.safe_dump(document))

    code, told = hanse("join", "foo", "--kubeconfig", tmp_path / "config", "--dry-run", "--no-service-account")

    written = [each for each in yaml.safe_load_all(told) if each["kind"] == "Cluster"]
    assert code == 0
    assert written[0]["spec"]["kubernetesApiEndpoints"]["serverEndpoints"] == [
        {"clientCIDR": "0.0.0.0/0", "serverAddress": "https://10.8.8.8"}
    ]
