"""The commands around clusters that fetch their work, typed against an embedded host that is served over HTTPS."""

import base64
import stat
import threading

import pytest
import yaml
from click.testing import CliRunner

from hanse.api.clusters import CLUSTERS
from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION
from hanse.api.works import WORKS, agent_namespace
from hanse.cli.main import main
from hanse.clusters.host_credentials import AGENT_SECRET, CredentialsInFile, CredentialsInSecret, keep_token
from hanse.clusters.kubeconfigs import minified
from hanse.clusters.member_transport import MemberTransport
from hanse.clusters.tokens import token_life
from hanse.kube.client import Client
from hanse.kube.conditions import condition
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig, KubeconfigError
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, NAMESPACES, SECRETS
from hanse.kube.runtime import SystemRuntime
from hanse.propagation.comparison import Present
from hanse.propagation.intent import Ref
from hanse.propagation.works import Answer, work_manifest, work_status
from tests.component.served_federation import ServedFederation


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("pull"))
    yield opened
    opened.close()


@pytest.fixture
def hanse(servers):
    return servers.say


@pytest.fixture
def joined(servers, hanse):
    """The cluster north may fetch its work; returns the kubeconfig of its agent."""
    file = servers.folder / "agent.kubeconfig"
    code, told = hanse("join", "north", "--pull", "-l", "tier=gold", "--agent-kubeconfig", file)
    assert code == 0, told
    return file


class AtOnce(SystemRuntime):
    """A runtime in which nobody sleeps, and in which the clock is five days ahead."""

    def now(self):
        return super().now() + 5 * 86400

    async def sleep(self, seconds):
        await super().sleep(0)


async def _works_seen_with(kubeconfig):
    client = Client(HttpTransport(Kubeconfig.load(kubeconfig).endpoint()), SystemRuntime())
    try:
        return (await client.list(WORKS, agent_namespace("north"))).items
    finally:
        await client.close()


def test_joining_writes_a_kubeconfig_that_only_its_owner_reads_and_that_opens_its_works(servers, hanse, joined):
    again = hanse("join", "north", "--pull", "--agent-kubeconfig", joined)
    cluster = servers.ask(servers.host.get(CLUSTERS, "north"))

    assert stat.S_IMODE(joined.stat().st_mode) == 0o600
    assert Kubeconfig.load(joined).current_context == "north"
    assert servers.ask(_works_seen_with(joined)) == []
    assert again[0] == 0
    assert again[1].splitlines()[0] == "cluster north was a member already; its token is new"
    assert cluster["metadata"]["labels"] == {"tier": "gold"}
    assert cluster["spec"] == {}


def test_the_manifest_for_the_cluster_has_the_credentials_and_no_more_rights_than_a_joined_one(servers, hanse):
    file = servers.folder / "agent.yaml"
    address = "federation.example:6443"

    words = ("--agent-manifest", file, "--agent-image", "example/hanse:1", "--host-address", address)
    code, told = hanse("join", "north", "--pull", *words)
    objects = {(obj["kind"], obj["metadata"]["name"]): obj for obj in yaml.safe_load_all(file.read_text())}
    secret = objects["Secret", AGENT_SECRET.name]

    assert code == 0, told
    assert "kubectl apply" in told
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert yaml.safe_load(_plain(secret))["clusters"][0]["cluster"]["server"] == f"https://{address}"
    assert objects["Role", "hanse-agent"]["rules"][0]["resourceNames"] == [AGENT_SECRET.name]
    assert objects["Deployment", "hanse-agent"]["spec"]["template"]["spec"]["serviceAccountName"] == "hanse-north"
    assert ("ClusterRole", "hanse:north") in objects


def _plain(secret):
    return base64.b64decode(secret["data"]["kubeconfig"]).decode()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("a", "--pull"), "--agent-kubeconfig or --agent-manifest"),
        (("a", "b", "--pull", "--agent-kubeconfig", "x"), "one cluster at a time"),
        (("a", "--pull", "--agent-manifest", "x"), "--agent-image"),
        (("a", "--pull", "--context", "east", "--agent-kubeconfig", "x"), "needs no way into the cluster"),
        (("a", "--agent-kubeconfig", "x"), "are for --pull"),
        (("a", "--pull", "--dns-federation", "f=d.example", "--agent-kubeconfig", "x"), "--dns-federation"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(hanse, words, sentence):
    code, told = hanse("join", *words)

    assert code == 2
    assert sentence in told


def test_a_dry_run_shows_the_account_and_writes_nothing(servers, hanse):
    code, told = hanse("join", "south", "--pull", "--dry-run")

    assert code == 0
    assert "serviceaccounts/token" in told
    assert servers.ask(servers.host.find(CLUSTERS, "south")) is None


def test_a_cluster_is_reached_or_fetches_its_work_and_not_both(servers, hanse, joined):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "north", "namespace": "hanse-system"}}
    text = minified("north", servers.endpoints["host"])
    servers.ask(servers.host.apply(SECRETS, {**secret, "stringData": {"kubeconfig": text}}))

    code, told = hanse("join", "north", "--secret", "north")

    assert code == 1
    assert "fetches its work by an agent" in told


def test_an_agent_with_the_wrong_credentials_says_so_in_one_sentence(servers, joined):
    def agent(*words):
        done = CliRunner().invoke(main, ["agent", *map(str, words)])
        return done.exit_code, done.output

    assert agent("--context", "x")[0] == 2
    assert "not in a pod" in agent()[1]
    code, told = agent("--kubeconfig", servers.config, "--host-kubeconfig", joined, "--cluster", "south")
    assert code == 1
    assert "agents.hanse.dev" in told
    assert "Traceback" not in told
    code, told = agent("--kubeconfig", servers.config)
    assert code == 1
    assert "hanse-agent" in told


def test_an_agents_token_is_renewed_after_half_of_its_life_and_kept(servers, joined):
    async def renew():
        runtime = AtOnce()
        endpoint = Kubeconfig.load(joined).endpoint()
        transport = MemberTransport(HttpTransport, [endpoint])
        host = Client(transport, runtime)

        class Kept(Exception):
            pass

        class Once(CredentialsInFile):
            async def write(self, text):
                await super().write(text)
                raise Kept

        try:
            await keep_token(host, transport, "north", endpoint, Once(joined, runtime))
        except Kept:
            return endpoint.token, (await CredentialsInFile(joined, runtime).read()).endpoint().token
        finally:
            await host.close()

    before, after = servers.ask(renew())

    assert before != after
    assert token_life(after).seconds == token_life(before).seconds
    assert servers.ask(_works_seen_with(joined)) == []


def test_credentials_in_a_secret_are_read_and_kept_there(servers):
    key = Key("hanse-system", "somebody")
    empty = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": key.name, "namespace": key.namespace}}
    kept = CredentialsInSecret(servers.host, key)
    servers.ask(servers.host.apply(SECRETS, empty))

    with pytest.raises(KubeconfigError, match="has no kubeconfig"):
        servers.ask(kept.read())
    servers.ask(kept.write(minified("north", servers.endpoints["host"])))

    assert servers.ask(kept.read()).current_context == "north"


async def _told(host, *, gone):
    """Do as west's agent does: say that the cluster is well, and what it has; later that it has nothing any more."""
    ref = Ref(CONFIGMAPS, Key("default", "settings"))
    marks = {"labels": {MANAGED_LABEL: "true"}, "annotations": {OWNER_ANNOTATION: "u"}}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", **marks}}
    work = work_manifest("west", ref, Present(manifest, "u"))
    if gone:
        work = await host.get(WORKS, work["metadata"]["name"], agent_namespace("west"))
        answer = Answer(generation=work["metadata"]["generation"], confirmed=True)
    else:
        work = await host.create(WORKS, work)
        answer = Answer(generation=1, copy={**manifest, "metadata": {**manifest["metadata"], "uid": "c"}})
        ready = {**condition("Ready", True, "Answers", ""), "lastTransitionTime": "2026-01-01T00:00:00Z"}
        await host.patch(CLUSTERS, "west", {"status": {"conditions": [ready]}}, subresource="status")
    name, namespace = work["metadata"]["name"], agent_namespace("west")
    await host.patch(WORKS, name, {"status": work_status(answer)}, namespace, subresource="status")
    return work["spec"]["want"]


def test_a_cluster_that_leaves_has_its_copies_taken_away_by_its_agent(servers, hanse):
    hanse("join", "west", "--pull", "--agent-kubeconfig", servers.folder / "west")
    silent = hanse("unjoin", "west", "--delete")
    servers.ask(_told(servers.host, gone=False))
    undecided, rehearsed = hanse("unjoin", "west"), hanse("unjoin", "west", "--delete", "--dry-run")

    async def answer_when_asked():
        while await _want(servers.host) != "Absent":
            await servers.host.runtime.sleep(0.05)
        await _told(servers.host, gone=True)

    agent = threading.Thread(target=lambda: servers.ask(answer_when_asked()))
    agent.start()
    left = hanse("unjoin", "west", "--delete")
    agent.join()

    assert silent[0] == 1
    assert "--force" in silent[1]
    assert undecided[0] == 1
    assert "1 (1 configmaps) copies" in undecided[1]
    assert "delete configmaps/default/settings in cluster west" in rehearsed[1]
    assert left[0] == 0, left[1]
    assert "cluster west has left the federation" in left[1]
    assert servers.ask(servers.host.find(CLUSTERS, "west")) is None
    namespace = servers.ask(servers.host.find(NAMESPACES, agent_namespace("west")))
    assert namespace is None or "deletionTimestamp" in namespace["metadata"]


async def _want(host):
    works = (await host.list(WORKS, agent_namespace("west"))).items
    return works[0]["spec"]["want"] if works else "Absent"
