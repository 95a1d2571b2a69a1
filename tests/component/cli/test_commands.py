"""The command line: help, refusals in one sentence, exit codes, and nothing changed by a mistake."""

import json
import subprocess
import sys

import pytest
import yaml
from click.testing import CliRunner

from hanse.cli.main import _COMMANDS, main
from hanse.cli.output import Column, age, table


@pytest.fixture
def hanse(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "HANSE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)

    def hanse(*arguments):
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return hanse


def refused(result, sentence, code):
    lines = result.stderr.strip().splitlines()
    assert (lines[-1], result.exit_code) == (f"error: {sentence}", code)
    assert len(lines) == 1


@pytest.fixture
def kubeconfig(tmp_path):
    path = tmp_path / "config"
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "x",
                "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
                "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}],
                "users": [{"name": "x", "user": {"token": "s3cret"}}],
            }
        )
    )
    return path


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_command_has_help_that_begins_with_what_it_does(hanse, command):
    result = hanse(command, "--help")

    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: ")
    assert len(result.stdout.splitlines()[2].strip()) > 20


def test_help_lists_every_command(hanse):
    listed = hanse("--help").stdout

    assert all(f"  {command} " in listed for command in _COMMANDS)


def test_help_imports_no_heavy_module():
    probe = (
        "import sys; from hanse.cli.main import main; main(['--help'], standalone_mode=False); "
        "print(sorted({'aiohttp', 'rich', 'cryptography', 'yaml', 'structlog'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


def test_an_unknown_command_is_named(hanse):
    result = hanse("fly")

    assert result.exit_code == 2
    assert "there is no command 'fly'" in result.stderr


def test_commands_without_a_federation_say_how_to_start_one(hanse, tmp_path):
    refused(
        hanse("clusters"),
        "no federation was found: start one with `hanse up`, or name one with --host-kubeconfig",
        2,
    )
    empty = tmp_path / "empty"
    refused(
        hanse("get", "pods", "--data-dir", empty),
        f"there is no federation in {empty}: start one with `hanse up --data-dir {empty}`",
        2,
    )
    refused(
        hanse("status", "--data-dir", empty),
        f"there is no federation in {empty}; `hanse up --data-dir {empty}` starts one",
        1,
    )
    refused(
        hanse("cluster", "fail", "a", "--data-dir", empty),
        f"there is no federation in {empty}; `hanse up --data-dir {empty}` starts one",
        1,
    )
    assert hanse("down", "--data-dir", empty).stdout == f"no federation is running in {empty}\n"
    assert not empty.exists()


def test_an_unreachable_host_is_one_sentence(hanse, kubeconfig):
    result = hanse("clusters", "--host-kubeconfig", kubeconfig)

    assert result.exit_code == 1
    assert result.stderr.startswith("error: https://127.0.0.1:1 cannot be reached: ")
    assert "s3cret" not in result.output


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("[", "{path} is not valid YAML (line 1)"),
        ("clusters: 7", "{path}: clusters: must be a list of clusters"),
        ("clusters: []", "{path}: clusters: must name at least one cluster"),
        ("clusters: [{region: x}]", "{path}: clusters[0].name: is required"),
    ],
)
def test_a_clusters_file_with_a_mistake_changes_nothing(hanse, tmp_path, document, sentence):
    path, data = tmp_path / "clusters.yaml", tmp_path / "data"
    path.write_text(document)

    result = hanse("up", "--data-dir", data, "--clusters", path)

    refused(result, f"--clusters: {sentence.format(path=path)}", 2)
    assert not data.exists()


def test_joining_can_be_rehearsed_without_showing_a_secret(hanse, kubeconfig):
    result = hanse("join", "east", "--kubeconfig", kubeconfig, "--label", "tier=gold", "--dry-run")

    *in_member, namespace, secret, cluster = yaml.safe_load_all(result.stdout)
    assert [each["kind"] for each in in_member][:2] == ["ClusterRole", "ClusterRoleBinding"]
    assert (namespace["metadata"]["name"], secret["data"]) == ("hanse-system", {"kubeconfig": "<hidden>"})
    assert cluster["metadata"] == {"name": "east", "labels": {"tier": "gold"}}
    assert "s3cret" not in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["East"], "NAME: 'East' is not a cluster name; use up to 63 lower-case letters, digits and -"),
        (["-east-"], None),
        (["east", "--label", "x"], "--label: 'x' must be KEY=VALUE"),
        (["east", "--context", "y"], "kubeconfig {path}: contexts has no entry named 'y' (it has: x)"),
    ],
)
def test_a_wrong_join_is_refused(hanse, kubeconfig, arguments, sentence):
    result = hanse("join", *arguments, "--kubeconfig", kubeconfig)

    assert result.exit_code == 2
    if sentence:
        refused(result, sentence.format(path=kubeconfig), 2)


def test_joining_a_cluster_that_cannot_be_reached_writes_nothing(hanse, kubeconfig):
    result = hanse("join", "east", "--kubeconfig", kubeconfig, "--host-kubeconfig", kubeconfig)

    assert result.exit_code == 1
    assert result.stderr.startswith("error: the cluster was not joined: https://127.0.0.1:1 cannot be reached")


def test_the_controller_shows_what_it_would_apply(hanse, kubeconfig):
    named = ("--federation-name", "hansa", "--domain", "example.com")
    text = hanse("controller", "--kubeconfig", kubeconfig, "--dry-run", *named).stdout
    shown = {each["metadata"]["name"]: each for each in yaml.load_all(text, Loader=yaml.CSafeLoader)}

    assert {"clusters.clusterregistry.k8s.io", "kubefedclusters.core.kubefed.io"} <= shown.keys()
    assert shown["federation"]["spec"] == {"name": "hansa", "domain": "example.com"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--domain", "example.com"], "--federation-name and --domain belong together: give both, or neither"),
        (["--federation-name", "a.b", "--domain", "x"], "--federation-name: 'a.b' must be a DNS label"),
        (["--federation-name", "a", "--domain", "x."], "--domain: 'x.' must be a DNS domain"),
        (["--dns-listen", "here"], "--dns-listen: 'here' must be an IP address and a port"),
    ],
)
def test_names_that_cannot_be_are_refused_before_anything_is_done(hanse, kubeconfig, options, sentence):
    result = hanse("controller", "--kubeconfig", kubeconfig, *options)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {sentence}")


def test_tables_are_laid_out_as_kubectl_does():
    columns = (Column("NAME"), Column("STATE"), Column("WHY", wide=True))
    rows = [["a", "Ready", "fine"], ["longer", "", "x"]]

    assert table(columns, rows) == "NAME     STATE\na        Ready\nlonger   -\n"
    assert table(columns, rows, wide=True).splitlines()[0] == "NAME     STATE   WHY"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (119, "119s"), (120, "2m"), (3599, "59m"), (3600, "1h"), (90000, "1d")]
)
def test_ages_are_short(seconds, text):
    assert age(seconds) == text


def test_a_data_folder_in_use_is_named_with_its_process(hanse, tmp_path):
    import fcntl
    import os

    data = tmp_path / "data"
    data.mkdir()
    with (data / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()}\n")
        lock.flush()

        result = hanse("up", "--data-dir", data)

    assert result.exit_code == 1
    assert f"the data folder {data} is in use by process {os.getpid()}" in result.stderr


def test_an_impossible_data_folder_is_refused(hanse, tmp_path):
    (tmp_path / "file").write_text("")

    result = hanse("up", "--data-dir", tmp_path / "file" / "data")

    refused(result, f"the data folder {tmp_path}/file/data cannot be made: Not a directory", 2)


def test_status_of_a_stopped_federation_is_readable_by_programs(hanse, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "federation.json").write_text(json.dumps({"name": "hansa", "host": "https://127.0.0.1:2"}))

    told = json.loads(hanse("status", "--data-dir", data, "-o", "json").stdout)

    assert (told["name"], told["state"], told["pid"]) == ("hansa", "Stopped", None)
    assert told["dns"] == {"address": ""}
