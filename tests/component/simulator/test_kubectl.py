"""The real kubectl follows rollouts on a simulated cluster, looks into its pods and sees what they use."""

import asyncio
import os

import pytest

from hanse.apiserver import CertificateAuthority
from hanse.kube import SystemRuntime
from tests.component.simulator.harness import running, world, write_kubeconfig
from tests.kubernetes.real.components import find_kubectl

KUBECTL = find_kubectl()


async def kubectl(kubeconfig, *arguments):
    process = await asyncio.create_subprocess_exec(
        str(KUBECTL),
        f"--kubeconfig={kubeconfig}",
        *arguments,
        env={"HOME": str(kubeconfig.parent), "PATH": os.environ["PATH"]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30.0):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


@pytest.mark.skipif(KUBECTL is None, reason="kubectl is neither built nor installed")
async def test_kubectl_follows_a_rollout_and_takes_it_back(tmp_path):
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(tmp_path / "ca", runtime=runtime)
    async with (
        world(runtime=runtime) as here,
        running(here.cluster(pod_start_seconds=(0.0, 0.1), pod_stop_seconds=(0.0, 0.1))) as cluster,
    ):
        cluster.serve_through(here.server)
        await here.server.serve(credentials=authority.serving(runtime=runtime))
        config = write_kubeconfig(tmp_path / "kubeconfig", here.server, authority)
        await kubectl(config, "create", "deployment", "web", "--image=nginx:1", "--replicas=3")
        done = await kubectl(config, "rollout", "status", "deployment/web", "--timeout=20s")
        assert 'deployment "web" successfully rolled out' in done
        await kubectl(config, "set", "image", "deployment/web", "nginx=nginx:2")
        await kubectl(config, "rollout", "status", "deployment/web", "--timeout=20s")
        await kubectl(config, "rollout", "undo", "deployment/web")
        await kubectl(config, "rollout", "status", "deployment/web", "--timeout=20s")
        history = await kubectl(config, "rollout", "history", "deployment/web")
        assert [line.split()[0] for line in history.splitlines() if line[:1].isdigit()] == ["2", "3"]
        await kubectl(config, "wait", "--for=condition=Available", "deployment/web", "--timeout=20s")
        assert "started nginx:1 on node us-east-node-" in await kubectl(config, "logs", "deployment/web")
        said = await kubectl(config, "exec", "deployment/web", "--", "sh", "-c", "echo on $NODE_NAME")
        assert said.startswith("on us-east-node-")
        assert (await kubectl(config, "top", "pods", "--no-headers")).count("web-") == 3
        assert "us-east-node-1" in await kubectl(config, "top", "nodes")
