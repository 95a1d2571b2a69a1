"""Admiralty's YAML on a real kube-apiserver: the same tables as on the embedded one."""

import pytest

from hanse.api.admiralty.definitions import FORWARD_ONLY
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.errors import Invalid
from hanse.kube.http import HttpTransport
from tests.behaviour.admiralty_kinds import REFUSED, accepted, serve_admiralty
from tests.behaviour.kubefed_forms import refusal, taken
from tests.kubernetes.follower import closing

pytestmark = pytest.mark.kubernetes
ACCEPTED = accepted()


async def test_a_real_api_server_takes_and_refuses_what_the_embedded_one_does(host):
    async with closing(Client(HttpTransport(Kubeconfig.load(host.kubeconfig).endpoint()), SystemRuntime())) as client:
        await serve_admiralty(client)
        for name, manifest in ACCEPTED.items():
            written = await taken(client, manifest)
            assert {field: written.get(field) for field in manifest if field != "metadata"} == {
                field: value for field, value in manifest.items() if field != "metadata"
            }, name
        for name, case in REFUSED.items():
            said = await refusal(client, case.manifest)
            assert case.field in said, name
            assert case.says in said, (name, said)
        with pytest.raises(Invalid, match=FORWARD_ONLY):
            await client.patch(POD_CHAPERONS, "fenced", {"fence": {"attempt": 1}}, "default")
        assert "eu-west-1" in host.kubectl("get", "ctg", "registered")
        assert "Attempt" in host.kubectl("get", "chap", "fenced", "-n", "default").title()
