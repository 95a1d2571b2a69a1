"""What hooks return, written to a real API server: once, and then never again."""

import pytest

from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.http import HttpTransport
from tests.behaviour.composite_writing import CHILDREN, differences_after_applying, differences_after_merging
from tests.kubernetes.follower import closing
from tests.kubernetes.real import wait_until

pytestmark = pytest.mark.kubernetes


async def test_a_real_api_server_keeps_children_so_that_nothing_is_written_again(member):
    wait_until(
        lambda: "default" in member.kubectl("get", "serviceaccounts", "-n", "default", "-o", "name"),
        seconds=60,
        what="the service account of pods",
    )
    left = {}
    async with closing(Client(HttpTransport(Kubeconfig.load(member.kubeconfig).endpoint()), SystemRuntime())) as client:
        for name, child in CHILDREN.items():
            left[name] = await differences_after_merging(client, child) + await differences_after_applying(
                client, child
            )

    assert left == {name: [] for name in CHILDREN}
