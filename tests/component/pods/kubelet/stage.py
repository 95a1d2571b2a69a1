"""Two API servers: a source with a virtual node, and a target in which its pod really runs."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from hanse.api.admiralty.keys import PARENT_UID
from hanse.api.admiralty.names import TargetName, child_name
from hanse.api.clusters import Cluster
from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage
from hanse.apiserver.pod_doors import PodSession
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, uid_of
from hanse.kube.resources import CONFIGMAPS, NODES, PODS
from hanse.kube.runtime import SystemRuntime
from hanse.pods.kubelet.kubelet import VirtualKubelet
from hanse.pods.nodes.manifests import Kubelet, Shown, node_of

ADMIN = Identity("admin", ("system:masters",))
NAMESPACE = "default"
TARGET = TargetName("", "eu")
_NOW = "2026-11-16T00:00:00Z"


class Roster:
    """One target, of which a test says whether it is reached."""

    def __init__(self, *members: Member) -> None:
        self.members = {member.name: member for member in members}
        self.known = [Cluster(name, ready=True) for name in sorted(self.members)]

    def attach(self, work: Any) -> None:
        raise NotImplementedError

    def subscribe(self, listener: Any) -> None:
        raise NotImplementedError

    def clusters(self) -> list[Cluster]:
        return self.known

    async def wait_synced(self) -> None:
        return

    def member(self, name: str) -> Member | None:
        return self.members.get(name)


@dataclass
class Side:
    """One API server, its authority and its administrator."""

    server: ApiServer
    authority: CertificateAuthority
    client: Client
    runtime: SystemRuntime

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority.certificate_pem.decode())

    def session(self) -> aiohttp.ClientSession:
        headers = {"Authorization": f"Bearer {self.server.token_for(ADMIN)}"}
        connector = aiohttp.TCPConnector(ssl=self.trust())
        return aiohttp.ClientSession(self.server.url, headers=headers, connector=connector)

    def identity(self, user: str, *groups: str) -> tuple[bytes, bytes]:
        return self.authority.client(Identity(user, groups), runtime=self.runtime)


@dataclass
class Stage:
    """A source and a target with the kubelet between them."""

    source: Side
    target: Side
    roster: Roster
    kubelet: tuple[str, int]
    virtual: VirtualKubelet

    @property
    def url(self) -> str:
        return f"https://{self.kubelet[0]}:{self.kubelet[1]}"

    async def place(self, name: str = "web", *, bound: bool = True, child: bool = True) -> Obj:
        """Make a placeholder in the source, on the virtual node where it is bound, and the pod that runs for it."""
        spec: Obj = {"containers": [{"name": "app", "image": "i"}], "schedulerName": "admiralty-proxy"}
        if bound:
            spec["nodeName"] = TARGET.node
        metadata: Obj = {"name": name, "namespace": NAMESPACE}
        made = await self.source.client.create(
            PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )
        if child:
            await self.run_for(uid_of(made), name)
        return made

    async def clear(self) -> None:
        """Put everything back that a test may have changed."""
        for side in (self.source, self.target):
            for pod in (await side.client.list(PODS, NAMESPACE)).items:
                await side.client.delete(PODS, pod["metadata"]["name"], NAMESPACE, grace_seconds=0)
        authority = {"data": {"client-ca-file": self.source.authority.certificate_pem.decode()}}
        await self.source.client.patch(CONFIGMAPS, "extension-apiserver-authentication", authority, "kube-system")
        node = node_of(TARGET, Cluster("eu", ready=True), Shown(), Kubelet(*self.kubelet), now=_NOW)
        await self.source.client.patch(NODES, TARGET.node, {"status": node["status"]}, subresource="status")
        self.roster.members = {"eu": Member("eu", self.target.client)}
        self.roster.known = [Cluster("eu", ready=True)]
        doors = self.target.server.pods
        doors.logs, doors.exec, doors.attach, doors.dial = logs, shell, shell, None
        async with asyncio.timeout(60):
            await self.virtual.wait_known(self.source.authority.certificate_pem)

    async def run_for(self, uid: str, name: str) -> None:
        spec = {"containers": [{"name": "app", "image": "i"}], "nodeName": "n"}
        metadata = {"name": child_name("here", NAMESPACE, name), "namespace": NAMESPACE, "labels": {PARENT_UID: uid}}
        await self.target.client.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


@asynccontextmanager
async def side(name: str, folder: Path) -> AsyncIterator[Side]:
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(folder / name, runtime=runtime, name=name)
    server = await ApiServer.open(
        name=name, storage=MemoryStorage(), runtime=runtime, root_certificate=authority.certificate_pem
    )
    await server.serve(credentials=authority.serving(runtime=runtime))
    endpoint = Endpoint(server.url, ca=authority.certificate_pem, token=server.token_for(ADMIN))
    client = Client(HttpTransport(endpoint), runtime)
    server.show_kubelets(*authority.client(Identity("apiserver", ("system:masters",)), runtime=runtime))
    try:
        yield Side(server, authority, client, runtime)
    finally:
        await client.close()
        await server.close()


async def logs(namespace: str, name: str, asked: Mapping[str, str]) -> bytes | AsyncIterator[bytes]:
    """Print what was asked for, in the order of names."""
    told = "&".join(f"{key}={value}" for key, value in sorted(asked.items()))
    return f"{namespace}/{name} {told}".encode()


async def shell(session: PodSession) -> int:
    """Send everything back in capitals, and end with 3 where the command says so."""
    await session.write(f"{session.pod}/{session.container} {' '.join(session.command)}\n".encode())
    while data := await session.read():
        await session.write(data.upper())
    return 3 if "fail" in session.command else 0


@asynccontextmanager
async def stage(folder: Path) -> AsyncIterator[Stage]:
    """Serve both sides; the target answers logs, exec and attach with the functions of this module."""
    async with side("here", folder) as source, side("there", folder) as target:
        target.server.pods.logs, target.server.pods.exec, target.server.pods.attach = logs, shell, shell
        roster = Roster(Member("eu", target.client))
        kubelet = VirtualKubelet("here", source.client, roster, host="127.0.0.1", port=0, csr=False)
        running = asyncio.create_task(kubelet.run())
        try:
            async with asyncio.timeout(60):
                address = await kubelet.address()
                await kubelet.wait_known()
            assert address is not None
            node = node_of(TARGET, roster.known[0], Shown(), Kubelet(*address), now=_NOW)
            await source.client.create(NODES, node)
            yield Stage(source, target, roster, address, kubelet)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
