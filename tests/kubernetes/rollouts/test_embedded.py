"""The seed's Application by kubectl on simulated clusters: `hanse up`, with the real Helm."""

import asyncio

import yaml

from tests.behaviour.rollouts import CLUSTER, REGION, the_seeds_application_goes_through_its_steps
from tests.behaviour.stage import Stage
from tests.e2e.federation import EmbeddedFederation
from tests.kubernetes.rollouts.federation import ByKubectl, client_of, programs
from tests.rollout_charts.repository import chart_repository


async def test_the_seeds_application_goes_through_its_steps_on_a_simulated_cluster(tmp_path, monkeypatch):
    federation = EmbeddedFederation(tmp_path)
    clusters = tmp_path / "clusters.yaml"
    clusters.write_text(yaml.safe_dump({"clusters": [{"name": CLUSTER, "region": "nowhere"}]}))

    def kubectl(*arguments, input=None):  # noqa: A002 - as kubectl's other callers do
        return federation.kubectl("federation", *arguments, input=input)

    with chart_repository() as repository:
        for name, value in programs(repository).items():
            monkeypatch.setenv(name, value)
        await asyncio.to_thread(federation.up, "--clusters", str(clusters))
        try:
            kubeconfig = federation.data_dir / "kubeconfig"
            host, member = client_of(kubeconfig, "federation"), client_of(kubeconfig, CLUSTER)

            async def join():
                label = f"topology.kubernetes.io/region={REGION}"
                await asyncio.to_thread(
                    kubectl, "label", "--overwrite", "clusters.clusterregistry.k8s.io", CLUSTER, label
                )
                return Stage(member, "default")

            await the_seeds_application_goes_through_its_steps(ByKubectl(host, "default", kubectl), join)
            await host.close()
            await member.close()
        finally:
            await asyncio.to_thread(federation.down)
