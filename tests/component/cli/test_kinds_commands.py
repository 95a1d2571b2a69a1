"""`enable` and `disable` typed against a host that is served over HTTPS, with nobody but the kind keeper at work."""

import asyncio

import orjson
import pytest
import yaml
from click.testing import CliRunner

from hanse.api.federated_kinds import FEDERATED_KINDS, federated_kind_manifest
from hanse.api.names import FINALIZER
from hanse.cli.kinds_file import KINDS_VARIABLE
from hanse.cli.main import main
from hanse.kube.conditions import find_condition
from hanse.kube.errors import Invalid
from hanse.kube.manifest import dig, finalizers_of
from hanse.kube.resources import SECRETS
from hanse.native import KindKeeper
from tests.component.served_federation import ServedFederation


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("kinds"))
    keeper = opened.ask(started(KindKeeper(opened.host).run()))
    yield opened
    opened.ask(ended(keeper))
    opened.close()


async def started(work):
    return asyncio.create_task(work)


async def ended(task):
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def enabled(stage):
    return [obj["metadata"]["name"] for obj in stage.ask(stage.host.list(FEDERATED_KINDS)).items]


def test_a_kind_is_enabled_and_disabled(stage):
    answer = stage.type("enable", "roles.v1.rbac.authorization.k8s.io", "-o", "json")

    assert answer.exit_code == 0, answer.output
    assert orjson.loads(answer.stdout)["spec"]["plural"] == "roles"
    assert "roles.rbac.authorization.k8s.io" in enabled(stage)

    answer = stage.type("disable", "roles")

    assert answer.exit_code == 0, answer.output
    assert "let go" in answer.stdout
    assert "roles.rbac.authorization.k8s.io" not in enabled(stage)


def test_a_dry_run_says_it_and_changes_nothing(stage):
    answer = stage.type("enable", "rolebindings", "--dry-run", "-o", "yaml")

    assert next(yaml.safe_load_all(answer.stdout))["metadata"]["name"] == "rolebindings.rbac.authorization.k8s.io"
    assert "would be let go" in stage.type("disable", "services", "--dry-run").stdout
    assert not {"rolebindings.rbac.authorization.k8s.io", "services"} & set(enabled(stage))


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
        (("enable", "things"), "the federation serves no kind 'things'"),
        (("disable", "roles"), "roles.rbac.authorization.k8s.io are not federated"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(stage, words, sentence):
    answer = stage.type(*words)

    assert answer.exit_code == 1
    assert sentence in answer.stderr


TAUGHT = ("--replicas-path", "spec.size", "--ready", "size(self.status.pods)", "--available", "status.on")


def test_a_kind_is_taught_by_options(stage):
    fields = ("--status", "status.up=Max", "--status", "status.phase=clusters[0].status.phase")
    answer = stage.type("enable", "roles", *TAUGHT, "--health", "self.ok", *fields, "--dry-run", "-o", "json")

    spec = orjson.loads(answer.stdout)["spec"]
    assert spec["replicas"] == {
        "path": "spec.size",
        "readyExpression": "size(self.status.pods)",
        "availablePath": "status.on",
    }
    assert spec["health"] == "self.ok"
    assert spec["status"] == [
        {"path": "status.up", "combine": "Max"},
        {"path": "status.phase", "expression": "clusters[0].status.phase"},
    ]


MISTAKEN = {
    "health": (("--health", "self.status.phase =="), "spec.health is left out"),
    "ready": (("--ready", "status.up"), "say with --replicas-path where"),
    "status": (("--status", "up"), "must be like status.up=Sum"),
}


@pytest.mark.parametrize("case", MISTAKEN.values(), ids=MISTAKEN.keys())
def test_what_cannot_be_understood_is_refused_before_anything_is_written(stage, case):
    options, sentence = case
    answer = stage.type("enable", "clusterroles", *options)

    assert answer.exit_code == 2
    assert sentence in answer.stderr
    assert "clusterroles.rbac.authorization.k8s.io" not in enabled(stage)


def test_a_kind_that_is_not_understood_says_so_in_its_status(stage):
    stage.type("enable", "clusterrolebindings")
    name = "clusterrolebindings.rbac.authorization.k8s.io"

    async def told():
        await stage.host.patch(FEDERATED_KINDS, name, {"spec": {"health": "self.status ="}})
        async with asyncio.timeout(60):
            while True:
                kind = await stage.host.get(FEDERATED_KINDS, name)
                found = find_condition(dig(kind, "status", "conditions"), "Understood") or {}
                if found.get("status") == "False":
                    return found["message"]
                await asyncio.sleep(0.02)

    assert stage.ask(told()).startswith("spec.health is left out: self.status = cannot be understood: column 13")


EXCLUSIVE = {
    "status": {"status": [{"path": "status.up", "combine": "Sum", "expression": "size(clusters)"}]},
    "ready": {"replicas": {"path": "spec.size", "readyPath": "status.up", "readyExpression": "1"}},
}


@pytest.mark.parametrize("taught", EXCLUSIVE.values(), ids=EXCLUSIVE.keys())
def test_a_field_is_taught_in_one_way(stage, taught):
    kind = federated_kind_manifest(SECRETS, taught=taught)

    with pytest.raises(Invalid, match="exclude each other"):
        stage.ask(stage.host.create(FEDERATED_KINDS, kind))


def test_a_controller_refuses_a_file_that_teaches_nothing_before_it_starts(tmp_path):
    path = tmp_path / "kinds.py"
    path.write_text("import hanse")
    answer = CliRunner().invoke(main, ["controller", "--kubeconfig", str(tmp_path / "none"), "--kinds", str(path)])

    assert answer.exit_code == 2
    assert "teaches no kind; give a name to a hanse.Teaching" in answer.stderr


def test_what_explains_a_federation_reads_the_files_that_the_environment_names(stage, tmp_path, monkeypatch):
    monkeypatch.setenv(KINDS_VARIABLE, str(tmp_path / "none.py"))
    answer = stage.type("explain", "deployment", "web")

    assert answer.exit_code == 2
    assert "none.py is no Python file" in answer.stderr
