"""The policy kinds on a real API server, which refuses what the embedded one refuses."""

import asyncio
import subprocess

import pytest

from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.cli.control_plane import prepare_host
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.errors import Invalid
from hanse.kube.http import HttpTransport
from tests.kubernetes.follower import closing
from tests.kubernetes.real.components import components_folder
from tests.unit.placement.policy_cases import REFUSED, WHOLE, policy

pytestmark = pytest.mark.kubernetes


def _shown(host):
    kubectl = [components_folder() / "kubectl", "--kubeconfig", host.kubeconfig]
    return subprocess.run([*kubectl, "get", "pp,cpp", "-A"], capture_output=True, text=True, check=True).stdout


async def test_a_real_api_server_judges_policies_as_the_embedded_one_does(host):
    endpoint = Kubeconfig.load(host.kubeconfig).endpoint()
    async with closing(Client(HttpTransport(endpoint), SystemRuntime())) as client:
        await prepare_host(client)
        for resource in (PLACEMENT_POLICIES, CLUSTER_PLACEMENT_POLICIES):
            made = await client.create(resource, policy(resource, "whole", **WHOLE))
            assert made["spec"] == {"selects": [{"kind": "Deployment"}], **WHOLE}
        for sentence, spec in REFUSED.items():
            with pytest.raises(Invalid, match=sentence):
                await client.create(PLACEMENT_POLICIES, policy(PLACEMENT_POLICIES, "odd", **spec))
        shown = await asyncio.to_thread(_shown, host)
        assert "Deployment" in shown
        assert "Preferences" in shown
        for resource in (PLACEMENT_POLICIES, CLUSTER_PLACEMENT_POLICIES):
            await client.delete(resource, "whole", "default" if resource.namespaced else "")
