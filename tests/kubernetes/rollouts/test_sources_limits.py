"""Values that are too large are refused by the API server already, by the embedded one as by a real one."""

import pytest

from hanse.kube import Client, SystemRuntime
from hanse.kube.errors import ApiError
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.resources import CONFIGMAPS
from hanse.rollouts.sources.settings import MEGABYTE
from tests.component.rollouts.sources.stores import host_client

pytestmark = pytest.mark.timeout(120)


async def refusal_of(client, megabytes):
    """What a server says to an object of that size."""
    metadata = {"name": "large", "namespace": "default"}
    large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    large["metadata"]["annotations"] = {}
    with pytest.raises(ApiError) as caught:
        await client.create(CONFIGMAPS, {**large, "data": {"values": "x" * int(megabytes * MEGABYTE)}})
    return caught.value.code, str(caught.value)


async def test_values_of_five_megabytes_do_not_get_past_the_api_server(host):
    runtime = SystemRuntime()
    real = Client(HttpTransport(Kubeconfig.load(host.kubeconfig).endpoint(), runtime), runtime)
    try:
        said = [await refusal_of(client, 5) for client in (real, await host_client())]
        print(said, await refusal_of(real, 2))
    finally:
        await real.close()
    assert said[0] == said[1]
