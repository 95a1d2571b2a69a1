"""The federation that clients ask: `hanse up` with three simulated clusters, a service in each, and a balancer."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.clients.asking import Place, Unserved, look_up, request
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.resources import DEPLOYMENTS, SERVICES
from hanse.kube.runtime import SystemRuntime
from hanse.services.addresses import parse_addresses
from hanse.services.presence import FederatedService

NAME, DOMAIN = "fed", "example.test"
SERVICE = "web"
PORT = 8080
CLUSTERS = 3
_HANSE = [sys.executable, "-m", "hanse"]
_PATIENCE_SECONDS = 120.0
_GLANCE_SECONDS = 0.1
_PROBE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Scene:
    """A federation that is up and serves."""

    folder: Path
    host: Client
    place: Place
    # Where the balancer listens.
    balancer: tuple[str, int]

    async def service(self) -> FederatedService:
        """Return where the control plane leads clients now."""
        return parse_addresses(await self.host.get(SERVICE_ADDRESSES, SERVICE, "default"))

    async def address(self, cluster: str) -> str:
        """Return the address of the service in a cluster."""
        return {each.cluster: each.addresses[0] for each in (await self.service()).presences}[cluster]

    async def kill(self, cluster: str) -> None:
        """Have a cluster lose its power."""
        await _hanse(self.folder, "cluster", "fail", cluster)

    async def heal(self, cluster: str) -> None:
        """Give a cluster its power back."""
        await _hanse(self.folder, "cluster", "heal", cluster)


@asynccontextmanager
async def federation(folder: Path, listen: int) -> AsyncIterator[Scene]:
    """Start everything, wait until the service is served from every cluster by every way, and end it again."""
    await _hanse(folder, "up", "--detach", "--name", NAME, "--domain", DOMAIN)
    try:
        status = json.loads(await _hanse(folder, "status", "-o", "json"))
        dns_host, _, dns_port = status["dns"]["address"].rpartition(":")
        place = Place(f"{SERVICE}.default.{NAME}.{DOMAIN}", PORT, dns_host, int(dns_port))
        endpoint = Kubeconfig.load(folder / "kubeconfig").endpoint(NAME)
        host = Client(HttpTransport(endpoint, user_agent="bench"), SystemRuntime())
        try:
            for resource, manifest in _manifests(listen):
                await host.create(resource, manifest)
            async with _balancer(folder):
                scene = Scene(folder, host, place, ("127.0.0.1", listen))
                await _served(scene)
                yield scene
        finally:
            await host.close()
    finally:
        await _hanse(folder, "down")


def _manifests(listen: int) -> list[tuple[Any, dict[str, Any]]]:
    metadata = {"name": SERVICE, "namespace": "default"}
    labels = {"app": SERVICE}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": 2 * CLUSTERS, "selector": {"matchLabels": labels}, "template": pod},
    }
    wish = json.dumps({"mode": "http", "listen": {"http": listen}})
    ports = [{"name": "http", "port": PORT, "targetPort": 80, "protocol": "TCP"}]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, "annotations": {"hanse.dev/balancer": wish}},
        "spec": {"type": "LoadBalancer", "selector": labels, "ports": ports},
    }
    return [(DEPLOYMENTS, deployment), (SERVICES, service)]


async def _served(scene: Scene) -> None:
    """Wait until DNS has an address of every cluster, and every address and the balancer answer."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        await seconds_until(lambda addresses: len(addresses) == CLUSTERS, scene.place)
        for address in await look_up(scene.place):
            await _answers(address, PORT)
        await _answers(*scene.balancer)


async def _answers(address: str, port: int) -> None:
    while True:
        try:
            await request([address], port)
        except Unserved:
            await asyncio.sleep(_GLANCE_SECONDS)
        else:
            return


async def seconds_until(condition: Callable[[list[str]], bool], place: Place) -> float:
    """Return how long it takes until the answers of DNS are so."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while True:
        try:
            if condition(await look_up(place)):
                return loop.time() - begun
        except Unserved:
            pass
        await asyncio.sleep(_GLANCE_SECONDS)


async def refused_at(address: str, port: int) -> float:
    """Return when, on the loop's clock, an address took no more connections."""
    while True:
        try:
            _, writer = await asyncio.open_connection(address, port)
        except OSError:
            return asyncio.get_running_loop().time()
        writer.close()
        await asyncio.sleep(_PROBE_SECONDS)


@asynccontextmanager
async def _balancer(folder: Path) -> AsyncIterator[None]:
    with (folder / "balancer.log").open("ab") as log:
        command = [*_HANSE, "balancer", "run", "--data-dir", str(folder)]
        process = await asyncio.create_subprocess_exec(*command, stderr=log)
    try:
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await _hanse(folder, "balancer", "stop")


async def _hanse(folder: Path, *words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "HANSE_DATA_DIR")}
    process = await asyncio.create_subprocess_exec(
        *_HANSE,
        *words,
        "--data-dir",
        str(folder),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    said, complained = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"hanse {' '.join(words)}: {complained.decode().strip()}")
    return said.decode()
