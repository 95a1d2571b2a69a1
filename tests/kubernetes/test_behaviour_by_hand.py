"""kubectl on a simulated and on a real cluster: rollouts, drains, Jobs by hand."""

import asyncio
import os

import pytest

from hanse.apiserver import CertificateAuthority
from hanse.kube import SystemRuntime
from tests.behaviour.by_hand import SCENARIOS
from tests.component.simulator.harness import running, world, write_kubeconfig
from tests.kubernetes.real import RealCluster
from tests.kubernetes.real.components import find_kubectl


def kubectl_with(kubeconfig):
    """Return a way to call kubectl that lets this process's own server answer meanwhile."""

    async def kubectl(*arguments, input=None):  # noqa: A002 - as the scenarios call it
        process = await asyncio.create_subprocess_exec(
            str(find_kubectl()),
            f"--kubeconfig={kubeconfig}",
            *arguments,
            env={"HOME": str(kubeconfig.parent), "PATH": os.environ["PATH"]},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(120.0):
            out, err = await process.communicate(input.encode() if input else b"")
        assert process.returncode == 0, f"kubectl {' '.join(arguments)}: {err.decode()}"
        return out.decode()

    return kubectl


@pytest.fixture(scope="module")
def real(member: RealCluster) -> RealCluster:
    member.start_nodes()
    return member


async def test_kubectl_finds_a_simulated_cluster_to_behave(tmp_path):
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(tmp_path / "ca", runtime=runtime)
    quick = {"pod_start_seconds": (0.0, 0.1), "pod_stop_seconds": (0.0, 0.1)}
    async with world(runtime=runtime) as here, running(here.cluster(**quick)):
        await here.server.serve(credentials=authority.serving(runtime=runtime))
        kubectl = kubectl_with(write_kubeconfig(tmp_path / "kubeconfig", here.server, authority))
        await asyncio.gather(*(scenario(kubectl) for scenario in SCENARIOS))


async def test_kubectl_finds_a_real_cluster_to_behave_the_same(real):
    kubectl = kubectl_with(real.kubeconfig)
    await asyncio.gather(*(scenario(kubectl) for scenario in SCENARIOS))
