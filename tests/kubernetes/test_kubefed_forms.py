"""KubeFed's YAML on a real kube-apiserver: the same tables as on the embedded one."""

import asyncio

import orjson
import pytest
from click.testing import CliRunner

from hanse.api.kubefed.config import CONFIGS
from hanse.api.kubefed.forms import FORM_D
from hanse.cli.control_plane import prepare_host
from hanse.cli.main import main
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.errors import Invalid
from hanse.kube.http import HttpTransport
from hanse.kube.resources import CRDS
from tests.behaviour.kubefed_forms import (
    CONFIG_DEFAULTS,
    REFUSED,
    accepted,
    config,
    refusal,
    serve_kubefed,
    taken,
    until_listed,
    without_nulls,
)
from tests.kubernetes.follower import closing
from tests.kubernetes.real import RealCluster

pytestmark = pytest.mark.kubernetes

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["crew", "mode"],
                                "properties": {
                                    "crew": {"type": "integer", "format": "int32", "minimum": 1},
                                    "mode": {"type": "string", "enum": ["calm", "wild"], "default": "calm"},
                                    "port": {
                                        "x-kubernetes-int-or-string": True,
                                        "anyOf": [{"type": "integer"}, {"type": "string"}],
                                    },
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


def test_a_real_server_takes_and_refuses_what_the_embedded_one_does(host):
    async def tried() -> None:
        endpoint = Kubeconfig.load(host.kubeconfig).endpoint()
        async with closing(Client(HttpTransport(endpoint), SystemRuntime(), timeout=60.0)) as client:
            await serve_kubefed(client)
            for name, manifest in accepted().items():
                written = await taken(client, manifest)
                assert without_nulls(manifest.get("spec")) == without_nulls(written.get("spec")), name
            for name, case in REFUSED.items():
                said = await refusal(client, case.manifest)
                assert case.field in said, name
                assert case.says in said, name
            await _configured(client)

    asyncio.run(tried())


async def _configured(client: Client) -> None:
    written = await taken(client, config())
    assert written["spec"] == CONFIG_DEFAULTS
    written["spec"]["scope"] = "Namespaced"
    with pytest.raises(Invalid, match=r"spec\.scope: .*must stay what it is"):
        await client.update(CONFIGS, written)


def test_commands_federate_on_a_real_host(host):
    """Runs after the tables above or alone: whatever of KubeFed's kinds the host lacks is made first."""

    async def prepared() -> None:
        endpoint = Kubeconfig.load(host.kubeconfig).endpoint()
        async with closing(Client(HttpTransport(endpoint), SystemRuntime(), timeout=60.0)) as client:
            await prepare_host(client)
            await serve_kubefed(client, (FORM_D,))
            await client.create(CRDS, WIDGETS)
            await until_listed(client, {"widgets.example.com"})

    asyncio.run(prepared())
    assert "federatedwidgets.types.kubefed.io created" in _hanse(host, "enable", "widgets")
    assert "federatedwidgets.types.kubefed.io updated" in _hanse(host, "enable", "widgets.v1.example.com")
    assert "federatedstatefulsets.types.kubefed.io created" in _hanse(host, "enable", "sts")

    host.kubectl("create", "namespace", "shop")
    host.kubectl("create", "configmap", "settings", "--from-literal=a=1", "--namespace=shop")
    host.kubectl("create", "service", "clusterip", "web", "--tcp=80:8080", "--namespace=shop")
    host.kubectl("create", "deployment", "web", "--image=web:1", "--replicas=3", "--namespace=shop")
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"crew": 2}}
    host.kubectl("apply", "--namespace=shop", "-f", "-", input=orjson.dumps(widget).decode())

    told = _hanse(host, "federate", "namespace", "shop", "--contents")

    made = {line.split()[1] for line in told.splitlines()[1:] if "skipped" not in line}
    assert {
        f"federated{kind}.types.kubefed.io" for kind in ("namespaces", "configmaps", "services", "deployments")
    } < made
    assert "federatedwidgets.types.kubefed.io" in made
    service = host.get("federatedservices.types.kubefed.io", "web", "--namespace=shop")
    assert not {"clusterIP", "clusterIPs"} & set(service["spec"]["template"]["spec"])
    widget = host.get("federatedwidgets", "w", "--namespace=shop")
    assert widget["spec"]["template"]["spec"] == {
        "crew": 2,
        "mode": "calm",
    }


def _hanse(host: RealCluster, *words: str) -> str:
    done = CliRunner().invoke(main, [*words, "--host-kubeconfig", str(host.kubeconfig)])
    assert done.exit_code == 0, done.output
    return done.stdout
