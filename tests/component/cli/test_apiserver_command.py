"""`hanse apiserver`: it runs in the foreground, says where it is, ends cleanly, and is saved and brought back."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from hanse.cli.main import main
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.manifest import Obj
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import SystemRuntime

COMMAND = [sys.executable, "-m", "hanse", "apiserver"]


def hanse(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["apiserver", *map(str, arguments)])


@contextmanager
def running(folder: Path, *options: str) -> Iterator[list[str]]:
    """Run one until the block ends; yields what it printed until it was ready."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([*COMMAND, "--data-dir", folder, *options], stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None
    lines: list[str] = []
    while not (lines and lines[-1].startswith("Ctrl-C")):
        line = process.stdout.readline()
        if not line:
            process.wait(60)
            pytest.fail(process.communicate()[1])
        lines.append(line)
    try:
        yield lines
    finally:
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "the API server has stopped\n")


@contextmanager
def free_port() -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    yield port


async def _configs(folder: Path, *, make: str = "") -> set[str]:
    endpoint = Kubeconfig.load(folder / "kubeconfig").endpoint("")
    client = Client(HttpTransport(endpoint, user_agent="test"), SystemRuntime())
    try:
        if make:
            manifest: Obj = {"apiVersion": "v1", "kind": "ConfigMap"}
            await client.create(CONFIGMAPS, {**manifest, "metadata": {"name": make, "namespace": "default"}})
        listed = await client.list(CONFIGMAPS, "default")
        return {one["metadata"]["name"] for one in listed.items} - {"kube-root-ca.crt"}
    finally:
        await client.close()


def configs(folder: Path, *, make: str = "") -> set[str]:
    """Return the names of the ConfigMaps that a running server holds, after making one."""
    return asyncio.run(_configs(folder, make=make))


def test_it_says_where_it_is_and_is_where_it_was_when_started_again(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running(folder, "--name", "solo") as lines:
        url = next(word for word in lines[0].split() if word.startswith("https://")).rstrip(".")
        config = yaml.safe_load((folder / "kubeconfig").read_text())
        assert (config["current-context"], config["clusters"][0]["cluster"]["server"]) == ("solo", url)
        assert f"export KUBECONFIG={folder}/kubeconfig" in "".join(lines)
        assert configs(folder, make="kept") == {"kept"}
    with running(folder) as lines:
        assert url in lines[0]
        assert "solo" in lines[0]
        assert configs(folder) == {"kept"}
    private = [folder / "kubeconfig", folder / "store.db", folder / "pki" / "sa.key", folder / "pki" / "admin.key"]
    assert {file.stat().st_mode & 0o077 for file in private} == {0}


def test_in_memory_nothing_stays(tmp_path: Path) -> None:
    with running(tmp_path, "--in-memory") as lines:
        assert "its objects are gone then" in lines[-1]
        assert configs(tmp_path, make="a") == {"a"}
    assert not (tmp_path / "store.db").exists()
    with running(tmp_path, "--in-memory"):
        assert configs(tmp_path) == set()


def test_a_named_port_is_used_and_a_taken_one_refused(tmp_path: Path) -> None:
    with free_port() as port, running(tmp_path / "a", "--port", str(port)) as lines:
        assert f":{port}." in lines[0]
        refused = subprocess.run(
            [*COMMAND, "--data-dir", tmp_path / "b", "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert refused.returncode == 1
        assert refused.stderr == (
            f"error: port {port} cannot be listened on: address already in use; "
            "choose another --port, or none to take any that is free\n"
        )
        busy = hanse("--data-dir", tmp_path / "a")
        assert busy.exit_code == 1
        assert f"the data folder {tmp_path / 'a'} is in use by process" in busy.stderr


def test_a_running_server_is_saved_and_brought_back_elsewhere(tmp_path: Path) -> None:
    with running(tmp_path / "a"):
        configs(tmp_path / "a", make="saved")
        done = hanse("backup", tmp_path / "backup", "--data-dir", tmp_path / "a")
        assert done.exit_code == 0, done.output
        configs(tmp_path / "a", make="later")
        assert hanse("backup", tmp_path / "backup", "--data-dir", tmp_path / "a").exit_code == 2
        locked = hanse("restore", tmp_path / "backup", "--data-dir", tmp_path / "a", "--force")
        assert (locked.exit_code, "is in use by process" in locked.stderr) == (1, True)
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o600
    for folder, options in (("b", []), ("a", ["--force"])):
        restored = hanse("restore", tmp_path / "backup", "--data-dir", tmp_path / folder, *options)
        assert restored.exit_code == 0, restored.output
        with running(tmp_path / folder):
            assert configs(tmp_path / folder) == {"saved"}


def test_a_stopped_server_is_saved_too(tmp_path: Path) -> None:
    with running(tmp_path / "a"):
        configs(tmp_path / "a", make="x")
    done = hanse("backup", tmp_path / "backup", "--data-dir", tmp_path / "a")
    assert (done.exit_code, (tmp_path / "backup").exists()) == (0, True)
    kept = hanse("restore", tmp_path / "backup", "--data-dir", tmp_path / "a")
    assert kept.exit_code == 2
    assert "holds objects already; --force replaces them" in kept.stderr


REFUSALS = [
    ((), 2, "Missing option '--data-dir'"),
    (("--data-dir", "{0}/x", "--name", "A b"), 2, "--name: 'A b' must be lower-case letters"),
    (("--data-dir", "{0}/x", "--port", "99999"), 2, "99999 is not in the range 1<=x<=65535"),
    (("--data-dir", "{0}/federation"), 2, "is the folder of a federation"),
    (("--data-dir", "/proc/none"), 2, "the data folder /proc/none cannot be made"),
    (("--data-dir", "/proc"), 2, "the data folder /proc cannot be written"),
    (("backup", "{0}/f", "--data-dir", "{0}/empty"), 2, "there is no API server in"),
    (("restore", "{0}/none", "--data-dir", "{0}/x"), 1, "there is no backup"),
    (("restore", "{0}/text", "--data-dir", "{0}/x"), 1, "is not a backup of an API server"),
]


@pytest.mark.parametrize(("arguments", "code", "sentence"), REFUSALS)
def test_what_cannot_be_done_is_said_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    for name in ("federation", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "federation" / "federation.json").write_text(json.dumps({}))
    (tmp_path / "text").write_text("nothing" * 300)
    result = hanse(*(one.format(tmp_path) for one in arguments))
    assert result.exit_code == code
    assert sentence in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("arguments", [(), ("backup",), ("restore",)])
def test_help_tells_what_it_does(arguments: tuple[str, ...]) -> None:
    told = hanse(*arguments, "--help")
    assert told.exit_code == 0
    assert "--data-dir" in told.stdout
    if not arguments:
        assert all(word in told.stdout for word in ("--port", "--in-memory", "--name", "backup", "restore"))
