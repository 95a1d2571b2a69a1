"""Clusters in this process with a Service on a node port, and what Google's ingress controller does in each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from hanse.api.plain_kinds import INGRESSES
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.resources import SERVICES
from hanse.kube.runtime import SystemRuntime
from hanse.services.ingress.copies import INSTANCE_GROUPS_ANNOTATION

ADMINISTRATOR = Identity("admin", ("system:masters",))
BACKEND = {"service": {"name": "zoneprinter", "port": {"number": 80}}}


class Hurried(SystemRuntime):
    """Time that does not pass: what waits looks again at once."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


def ingress(**spec: Any) -> dict[str, Any]:
    """Return the proposal's Ingress, with the defaults of an Ingress of many clusters."""
    annotations = {
        "kubernetes.io/ingress.class": "gce-multi-cluster",
        "kubernetes.io/ingress.global-static-ip-name": "shared-ip",
    }
    metadata = {"name": "zoneprinter", "namespace": "default", "annotations": annotations}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata,
        "spec": {"defaultBackend": BACKEND, **spec},
    }


def service(node_port: int = 30061, name: str = "zoneprinter") -> dict[str, Any]:
    """Return a Service on a node port."""
    port = {"port": 80, "nodePort": node_port}
    spec = {"type": "NodePort", "selector": {"app": name}, "ports": [port]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


@asynccontextmanager
async def clusters(*names: str) -> AsyncIterator[dict[str, Client]]:
    """Run clusters, each with the Service."""
    runtime, servers, clients = Hurried(), [], {}
    try:
        for name in names:
            server = await ApiServer.open(name=name, storage=MemoryStorage(), runtime=runtime)
            servers.append(server)
            clients[name] = Client(server.connect(ADMINISTRATOR), runtime)
            await clients[name].create(SERVICES, service())
        yield clients
    finally:
        for server in servers:
            await server.close()


async def tell_groups(client: Client, zone: str, group: str, name: str = "zoneprinter") -> None:
    """Note the instance group of a cluster on its Ingress."""
    text = orjson.dumps([{"Name": group, "Zone": zone}]).decode()
    await client.patch(INGRESSES, name, {"metadata": {"annotations": {INSTANCE_GROUPS_ANNOTATION: text}}}, "default")
