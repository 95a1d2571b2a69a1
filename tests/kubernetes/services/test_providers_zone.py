"""A DNSZone on a real API server, published into real BIND: made, in conflict, mended and deleted by kubectl."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
import yaml

from hanse.api.federation import federation_manifest
from hanse.cli.control_plane import prepare_host
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.http import HttpTransport
from hanse.kube.manifest import Key
from hanse.services.addresses import addresses_manifest
from hanse.services.presence import FederatedService, Port, Presence
from hanse.services.providers.publisher import ZonePublisher
from tests.kubernetes.real import KubectlError, wait_until
from tests.kubernetes.services.name_servers import KEY_NAME, SECRET, ZONE, bind

PATIENCE_SECONDS = 60.0
NAME = f"web.default.fed.{ZONE}"


@asynccontextmanager
async def publishing(host):
    client = Client(HttpTransport(Kubeconfig.load(host.kubeconfig).endpoint("")), SystemRuntime())
    await prepare_host(client)
    publisher = asyncio.create_task(ZonePublisher(client).run())
    try:
        yield
    finally:
        publisher.cancel()
        await asyncio.gather(publisher, return_exceptions=True)
        await client.close()


def zone(port):
    return {
        "apiVersion": "hanse.dev/v1alpha1",
        "kind": "DNSZone",
        "metadata": {"name": "main"},
        "spec": {
            "zone": ZONE,
            "provider": "rfc2136",
            "secretRef": {"name": "dns-key"},
            "resyncSeconds": 10,
            "rfc2136": {"server": f"127.0.0.1:{port}", "tsigKeyName": KEY_NAME},
        },
    }


def found_at(*addresses):
    presences = tuple(Presence(f"c{index}", (each,)) for index, each in enumerate(addresses))
    return addresses_manifest(FederatedService(Key("default", "web"), (Port("http", "TCP", 80),), presences))


async def test_a_zone_is_published_told_and_withdrawn(host):
    async def kubectl(*arguments, obj=None):
        return await asyncio.to_thread(host.kubectl, *arguments, input=json.dumps(obj) if obj else None)

    async def until(holds, what):
        await asyncio.to_thread(wait_until, lambda: asyncio.run(holds()), seconds=PATIENCE_SECONDS, what=what)

    async def until_ready(status, reason):
        path = "jsonpath={.status.conditions[0].status} {.status.conditions[0].reason}"

        async def holds():
            return await kubectl("get", "dnszone", "main", "-o", path) == f"{status} {reason}"

        await until(holds, f"the zone is {reason}")

    with bind() as server:
        async with publishing(host):
            await kubectl("create", "-f", "-", obj=federation_manifest("fed", ZONE))
            await kubectl("apply", "-f", "-", obj=found_at("192.0.2.1", "192.0.2.2"))
            await kubectl("create", "-f", "-", obj=zone(server.port))
            await until_ready("False", "ProviderFailed")
            told = yaml.safe_load(await kubectl("get", "dnszone", "main", "-o", "yaml"))
            assert "there is no Secret 'dns-key'" in told["status"]["conditions"][0]["message"]
            secret = f"--from-literal=tsig-secret={SECRET}"
            await kubectl("create", "secret", "generic", "dns-key", "-n", "hanse-system", secret)
            await until_ready("True", "Published")
            assert await server.ask(NAME, "A") == {"192.0.2.1", "192.0.2.2"}
            assert len(await server.ask(f"_http._tcp.{NAME}", "SRV")) == 2

            await kubectl("apply", "-f", "-", obj=found_at("192.0.2.2", "192.0.2.3"))

            async def moved():
                return await server.ask(NAME, "A") == {"192.0.2.2", "192.0.2.3"}

            await until(moved, "the address is exchanged")
            with pytest.raises(KubectlError, match="make another DNSZone for another zone"):
                await kubectl("patch", "dnszone", "main", "--type=merge", "-p", '{"spec":{"zone":"example.org"}}')
            listed = await kubectl("get", "dnszones")
            assert listed.split()[:6] == ["NAME", "ZONE", "PROVIDER", "READY", "RECORDS", "AGE"]
            await kubectl("delete", "dnszone", "main", "--wait=true")
            assert await server.ask(NAME, "A") == set()
            assert await server.ask(f"_hanse.{NAME}", "TXT") == set()
            assert await server.ask(f"mail.{ZONE}", "TXT") == {'"v=spf1 -all"'}
