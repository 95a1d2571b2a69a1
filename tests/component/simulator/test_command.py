"""`python -m hanse.simulator` runs against any API server and ends cleanly."""

import asyncio
import signal
import sys

import pytest

from hanse.apiserver import CertificateAuthority
from hanse.kube import SystemRuntime
from hanse.kube.conditions import is_true
from hanse.kube.resources import NODES, PODS
from hanse.simulator.__main__ import main
from tests.component.simulator.harness import NAMESPACE, world, write_kubeconfig

BOUND_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "solo", "namespace": NAMESPACE},
    "spec": {"nodeName": "edge-node-2", "containers": [{"name": "main", "image": "busybox:1"}]},
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_command_gives_an_api_server_nodes_until_it_is_told_to_stop(tmp_path, number):
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(tmp_path / "ca", runtime=runtime)
    async with world(runtime=runtime) as here:
        await here.server.serve(credentials=authority.serving(runtime=runtime))
        config = write_kubeconfig(tmp_path / "kubeconfig", here.server, authority)
        arguments = ("--kubeconfig", str(config), "--name", "edge", "--nodes", "2", "--nodes-only", "--index", "9")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "hanse.simulator", *arguments, stderr=asyncio.subprocess.PIPE
        )
        try:
            await here.until(
                NODES, "edge-node-2", lambda node: is_true(node["status"].get("conditions"), "Ready"), namespace=""
            )
            await here.client.create(PODS, BOUND_POD)
            await here.until(PODS, "solo", lambda pod: pod["status"].get("phase") == "Running")
            process.send_signal(number)
            async with asyncio.timeout(10.0):
                _, told = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        assert (process.returncode, told.decode()) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--name", "edge", "--nodes", "0"], "error: nodes: must be a whole number of at least 1, not 0\n"),
        (["--name", "Edge"], "error: name: must be lower case letters"),
        (["--name", "edge", "--index", "240"], "error: index: must be at most 239, not 240\n"),
        (["--name", "edge"], "error: "),
    ],
)
def test_what_cannot_work_is_one_sentence_and_exit_code_one(tmp_path, capsys, arguments, sentence):
    assert main(["--kubeconfig", str(tmp_path / "missing"), *arguments]) == 1
    told = capsys.readouterr().err
    assert told.startswith(sentence)
    assert told.count("\n") == 1
