"""`hanse approve` typed against a host that is served over HTTPS."""

import asyncio
import threading

import orjson
import pytest
import yaml
from click.testing import CliRunner

from hanse.api.held_changes import HELD_CHANGES, held_change
from hanse.api.names import ROLLOUT_ANNOTATION, ROLLOUT_APPROVED_ANNOTATION
from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage
from hanse.apiserver.credentials import kubeconfig_cluster, kubeconfig_user
from hanse.cli.control_plane import prepare_host
from hanse.cli.main import main
from hanse.kube.client import Client
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import SystemRuntime

ADMINISTRATOR = Identity("admin", ("system:masters",))
CHANGE = {
    "objects": 30,
    "of": 40,
    "clusters": [{"name": "eu", "objects": 30}],
    "examples": ["configmaps/shop/settings"],
    "approved": False,
}
ROLLING = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "settings",
        "namespace": "shop",
        "annotations": {ROLLOUT_ANNOTATION: '{"template": "abc", "asksFor": 2}'},
    },
}


class Stage:
    """A host on a thread of its own; `ask` runs a coroutine there."""

    def __init__(self, folder):
        self.config = folder / "config"
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.ask(self._open(folder))

    def ask(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def _open(self, folder):
        runtime = SystemRuntime()
        authority = CertificateAuthority.open(folder / "pki", runtime=runtime)
        self.server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
        await self.server.serve(credentials=authority.serving(runtime=runtime))
        self.host = Client(self.server.connect(ADMINISTRATOR), runtime)
        cluster = kubeconfig_cluster(self.server.url, authority.certificate_pem)
        user = kubeconfig_user(token=self.server.token_for(ADMINISTRATOR))
        config = {
            "current-context": "host",
            "clusters": [{"name": "host", "cluster": cluster}],
            "users": [{"name": "host", "user": user}],
            "contexts": [{"name": "host", "context": {"cluster": "host", "user": "host"}}],
        }
        self.config.write_text(yaml.safe_dump(config))
        await prepare_host(self.host)

    def close(self):
        self.ask(self.server.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = Stage(tmp_path_factory.mktemp("approve"))
    yield opened
    opened.close()


@pytest.fixture
def hanse(stage):
    def hanse(*arguments):
        done = CliRunner().invoke(main, ["approve", *arguments, "--host-kubeconfig", str(stage.config)])
        return done.exit_code, done.output

    return hanse


def test_what_waits_is_listed_and_approved_one_by_one(stage, hanse):
    assert hanse() == (0, "nothing waits for approval\n")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    stage.ask(stage.host.create(stage.ask(stage.host.discovery.named("namespaces")), namespace))
    stage.ask(stage.host.create(HELD_CHANGES, held_change("native", CHANGE)))
    stage.ask(stage.host.create(CONFIGMAPS, ROLLING))

    code, listed = hanse()
    assert code == 0
    assert listed.splitlines() == [
        "WHAT                 NAMESPACE   WAITS FOR",
        "native               -           30 of 40 objects would leave clusters that have them: eu (30)",
        "configmap/settings   shop        its new version goes on to group 3 of its rollout",
    ]
    code, document = hanse("-o", "json")
    assert orjson.loads(document)["items"][0]["examples"] == ["configmaps/shop/settings"]

    code, said = hanse("native", "--dry-run")
    assert (code, said.split(":")[0]) == (0, "native would be approved")
    assert not stage.ask(stage.host.get(HELD_CHANGES, "native"))["spec"]["approved"]

    code, said = hanse("native")
    assert (code, said.split(":")[0]) == (0, "native approved")
    assert stage.ask(stage.host.get(HELD_CHANGES, "native"))["spec"]["approved"]

    assert hanse("configmap", "settings")[0] == 0
    source = stage.ask(stage.host.get(CONFIGMAPS, "settings", "shop"))
    assert source["metadata"]["annotations"][ROLLOUT_APPROVED_ANNOTATION] == "abc/2"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("federated",), 1, "no change 'federated' waits for approval; `hanse approve` lists what does"),
        (("configmap", "kube-root-ca.crt", "-n", "kube-system"), 1, "waits for approval"),
        (("configmap", "nothing"), 1, 'configmaps "nothing" not found'),
        (("unicorn", "x"), 1, "serves no kind 'unicorn'"),
        (("a", "b", "c"), 2, "names no object"),
    ],
)
def test_what_does_not_wait_is_refused_in_one_sentence(hanse, words, code, sentence):
    ended, said = hanse(*words)

    assert ended == code
    assert sentence in said
    assert len(said.splitlines()) == 1
