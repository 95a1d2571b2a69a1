"""Metacontroller's YAML on a real kube-apiserver: the same tables as on the embedded one."""

import pytest

from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.http import HttpTransport
from tests.behaviour.kubefed_forms import refusal, taken
from tests.behaviour.metacontroller_kinds import ACCEPTED, REFUSED, serve_metacontroller
from tests.kubernetes.follower import closing

pytestmark = pytest.mark.kubernetes


async def test_a_real_api_server_takes_and_refuses_what_the_embedded_one_does(host):
    async with closing(Client(HttpTransport(Kubeconfig.load(host.kubeconfig).endpoint()), SystemRuntime())) as client:
        await serve_metacontroller(client)
        for name, manifest in ACCEPTED.items():
            written = await taken(client, manifest)
            assert {field: written.get(field) for field in manifest if field != "metadata"} == {
                field: value for field, value in manifest.items() if field != "metadata"
            }, name
        for name, case in REFUSED.items():
            said = await refusal(client, case.manifest)
            assert case.field in said, name
            assert case.says in said, (name, said)
        assert "catsets.ctl.example.com-0a1b" in host.kubectl("get", "metacontroller", "-A")
        assert "nodejobs" in host.kubectl("get", "mapc", "for-every-node")
