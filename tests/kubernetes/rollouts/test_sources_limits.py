"""Values that are too large are refused by the API server already, by the embedded one as by a real one."""

import pytest

from hanse.kube.errors import ApiError
from hanse.kube.resources import DEPLOYMENTS
from hanse.rollouts.sources.settings import MEGABYTE
from tests.component.rollouts.sources.stores import host_client
from tests.kubernetes.rollouts.federation import client_of

pytestmark = [pytest.mark.timeout(120), pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")]


def sized(megabytes):
    """An object that holds so much text."""
    labels = {"app": "large"}
    container = {"name": "c", "image": "i", "env": [{"name": "A", "value": "x" * int(megabytes * MEGABYTE)}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "large", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


async def refusal_of(client, megabytes):
    with pytest.raises(ApiError) as caught:
        await client.create(DEPLOYMENTS, sized(megabytes))
    return caught.value.code, str(caught.value)


async def test_values_of_five_megabytes_do_not_get_past_the_api_server(host):
    real = client_of(host.kubeconfig)
    try:
        for client in (real, await host_client()):
            assert await refusal_of(client, 5) == (413, "Request entity too large: limit is 3145728")
        assert await refusal_of(real, 1.7) == (500, "etcdserver: request is too large")
    finally:
        await real.close()
