"""`enable` and `disable` typed against a host that is served over HTTPS, with nobody but the kind keeper at work."""

import asyncio
import threading

import orjson
import pytest
import yaml
from click.testing import CliRunner

from hanse.api.federated_kinds import FEDERATED_KINDS
from hanse.api.names import FINALIZER
from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage
from hanse.apiserver.credentials import kubeconfig_cluster, kubeconfig_user
from hanse.cli.control_plane import prepare_host
from hanse.cli.main import main
from hanse.kube.client import Client
from hanse.kube.manifest import finalizers_of
from hanse.kube.resources import SECRETS
from hanse.kube.runtime import SystemRuntime
from hanse.native import KindKeeper

ADMINISTRATOR = Identity("admin", ("system:masters",))


class Stage:
    """A host on a thread of its own; `ask` runs a coroutine there."""

    def __init__(self, folder):
        self.config = folder / "config"
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.ask(self._open(CertificateAuthority.open(folder / "pki", runtime=SystemRuntime())))

    def ask(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def _open(self, authority):
        runtime = SystemRuntime()
        self.server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
        await self.server.serve(credentials=authority.serving(runtime=runtime))
        self.host = Client(self.server.connect(ADMINISTRATOR), runtime)
        await prepare_host(self.host)
        self.keeper = asyncio.create_task(KindKeeper(self.host).run())
        cluster = kubeconfig_cluster(self.server.url, authority.certificate_pem)
        user = kubeconfig_user(token=self.server.token_for(ADMINISTRATOR))
        self.config.write_text(
            yaml.safe_dump(
                {
                    "current-context": "host",
                    "clusters": [{"name": "host", "cluster": cluster}],
                    "users": [{"name": "host", "user": user}],
                    "contexts": [{"name": "host", "context": {"cluster": "host", "user": "host"}}],
                }
            )
        )

    async def _close(self):
        self.keeper.cancel()
        await asyncio.gather(self.keeper, return_exceptions=True)
        await self.server.close()

    def close(self):
        self.ask(self._close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def type(self, *words):
        return CliRunner().invoke(main, [*words, "--host-kubeconfig", str(self.config)])

    def enabled(self):
        return [obj["metadata"]["name"] for obj in self.ask(self.host.list(FEDERATED_KINDS)).items]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    stage = Stage(tmp_path_factory.mktemp("kinds"))
    yield stage
    stage.close()


def test_a_kind_is_enabled_and_disabled(stage):
    answer = stage.type("enable", "roles.v1.rbac.authorization.k8s.io", "-o", "json")

    assert answer.exit_code == 0, answer.output
    assert orjson.loads(answer.stdout)["spec"]["plural"] == "roles"
    assert "roles.rbac.authorization.k8s.io" in stage.enabled()

    answer = stage.type("disable", "roles")

    assert answer.exit_code == 0, answer.output
    assert "let go" in answer.stdout
    assert "roles.rbac.authorization.k8s.io" not in stage.enabled()


def test_a_dry_run_says_it_and_changes_nothing(stage):
    answer = stage.type("enable", "rolebindings", "--dry-run", "-o", "yaml")

    assert yaml.safe_load(answer.stdout)["metadata"]["name"] == "rolebindings.rbac.authorization.k8s.io"
    assert "would be let go" in stage.type("disable", "services", "--dry-run").stdout
    assert not {"rolebindings.rbac.authorization.k8s.io", "services"} & set(stage.enabled())


def test_what_is_still_held_in_a_cluster_is_named(stage):
    """No engine runs here, so nothing is ever let go; the kind is marked and the command says what it waits for."""
    held = {"name": "s", "namespace": "default", "finalizers": [FINALIZER]}
    made = stage.ask(stage.host.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": held}))

    answer = stage.type("disable", "secrets", "--wait", "0")

    assert answer.exit_code == 1
    assert "1 secrets are still held after 0 s, secrets/default/s among them" in answer.stderr
    written = stage.ask(stage.host.get(FEDERATED_KINDS, "secrets"))
    assert written["spec"]["enabled"] is False

    assert stage.type("enable", "secrets").exit_code == 0
    assert stage.ask(stage.host.get(FEDERATED_KINDS, "secrets"))["spec"]["enabled"] is True
    assert FINALIZER in finalizers_of(made)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("enable", "pods"), "pods cannot be federated: pods are made in the clusters by what is federated"),
        (("enable", "clusters.clusterregistry.k8s.io"), "it is one of the federation's own kinds"),
        (("enable", "things.v1.example.com"), "the federation serves no things in example.com/v1"),
        (("enable", "things"), 'the server doesn\'t have a resource type "things"'),
        (("disable", "roles"), "roles.rbac.authorization.k8s.io are not federated"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(stage, words, sentence):
    answer = stage.type(*words)

    assert answer.exit_code == 1
    assert sentence in answer.stderr
