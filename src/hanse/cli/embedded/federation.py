"""An embedded federation put together: host, simulated clusters, control plane.

The clusters join by the same road as any other: over HTTPS, with credentials in a Secret. Which of them are broken is
said on their Cluster objects, so it survives a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from hanse.api.clusters import CLUSTERS
from hanse.api.names import FAULT_ANNOTATION, REGION_LABEL, ZONE_LABEL
from hanse.cli.control_plane import campaign, prepare_host
from hanse.cli.embedded.folder import Folder, Record
from hanse.cli.embedded.kubeconfig import kubeconfig_for
from hanse.cli.embedded.servers import ADMINISTRATOR, Server
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Key, annotations_of, dig
from hanse.kube.runtime import Runtime
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.settings import ClusterSettings

Progress = Callable[[str], None]


class SimulatedMember:
    """One simulated cluster: an API server and what makes it behave."""

    def __init__(self, server: Server, settings: ClusterSettings, runtime: Runtime) -> None:
        self.server = server
        self.settings = settings
        self.client = Client(server.api.connect(ADMINISTRATOR), runtime, manager=SIMULATOR)
        self.cluster = SimulatedCluster(self.client, settings, runtime)
        self._runtime = runtime
        self._wanted_down = asyncio.Event()
        self._wanted_up = asyncio.Event()
        server.api.pod_logs = self.cluster.pod_logs

    def labels(self) -> dict[str, str]:
        """Return the labels with which its Cluster object begins."""
        labels = dict(self.settings.labels)
        if self.settings.region:
            labels.setdefault(REGION_LABEL, self.settings.region)
        if self.settings.zones:
            labels.setdefault(ZONE_LABEL, self.settings.zones[0])
        return labels

    def want(self, *, down: bool) -> None:
        """Say whether the cluster shall be dead."""
        (self._wanted_down if down else self._wanted_up).set()
        (self._wanted_up if down else self._wanted_down).clear()

    async def run(self) -> None:
        """Live until cancelled, and die and come back as asked."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.cluster.run())
            while True:
                await self._wanted_down.wait()
                self.cluster.fail()
                await self.server.api.stop_serving()
                await self._wanted_up.wait()
                await self.server.serve(0, self._runtime)
                self.cluster.heal()


class EmbeddedFederation:
    """Everything that `hanse up` runs."""

    def __init__(self, folder: Folder, record: Record, clusters: Sequence[ClusterSettings], runtime: Runtime) -> None:
        self._folder = folder
        self._record = record
        self._settings = clusters
        self._runtime = runtime
        self._servers: list[Server] = []
        self.members: dict[str, SimulatedMember] = {}

    async def run(self, started: Callable[[EmbeddedFederation], None], progress: Progress) -> None:
        """Start everything, say so, and work until cancelled."""
        try:
            await self._run(started, progress)
        finally:
            await asyncio.gather(*(server.api.close() for server in self._servers))
            self._folder.write(self._record.but(ready=False, pid=0))

    async def _run(self, started: Callable[[EmbeddedFederation], None], progress: Progress) -> None:
        progress("starting the federation's API server")
        host_server = await self._open(self._record.name, "")
        host = Client(host_server.api.connect(ADMINISTRATOR), self._runtime)
        self._host = host
        self._clusters = Cache(host, CLUSTERS)
        await prepare_host(host)
        for settings in self._settings:
            progress(f"starting cluster {settings.name}")
            server = await self._open(settings.name, settings.name)
            self.members[settings.name] = SimulatedMember(server, settings, self._runtime)
        self._save(host_server)
        async with asyncio.TaskGroup() as tasks:
            for member in self.members.values():
                tasks.create_task(member.run())
            for member in self.members.values():
                await join(host, self._joining(member))
            tasks.create_task(self._clusters.run())
            await self._clusters.wait_synced()
            self._clusters.subscribe(self._cluster_changed)
            tasks.create_task(self._control(host))
            progress("waiting for the clusters to be ready")
            await self._wait_ready()
            self._record = self._record.but(ready=True)
            self._folder.write(self._record)
            started(self)

    async def _control(self, host: Client) -> None:
        """Lead; the folder's lock makes this process the only one of its identity, so a crash costs no waiting."""
        while True:
            await campaign(host, f"hanse-up:{self._folder.path}")

    async def _open(self, name: str, cluster: str) -> Server:
        server = await Server.open(name, self._folder.server(cluster), self._runtime)
        self._servers.append(server)
        await server.serve(self._record.ports.get(cluster, 0), self._runtime)
        return server

    def _save(self, host_server: Server) -> None:
        endpoints = {self._record.name: host_server.endpoint(self._runtime)}
        endpoints |= {name: member.server.endpoint(self._runtime) for name, member in self.members.items()}
        ports = {"": host_server.port} | {name: member.server.port for name, member in self.members.items()}
        self._folder.write_file("kubeconfig", kubeconfig_for(endpoints, self._record.name))
        self._record = self._record.but(ports=ports, host=endpoints[self._record.name].server)
        self._folder.write(self._record)

    def _joining(self, member: SimulatedMember) -> list[dict[str, object]]:
        return joining_manifests(member.settings.name, member.server.endpoint(self._runtime), member.labels())

    def _cluster_changed(self, change: Change) -> None:
        member = self.members.get(change.key.name)
        if member is not None and (obj := change.new) is not None:
            member.want(down=annotations_of(obj).get(FAULT_ANNOTATION) == "down")

    async def _wait_ready(self) -> None:
        """Wait until the registry has judged every cluster that is not meant to be dead."""
        for name, member in self.members.items():
            obj = self._clusters.get(Key("", name)) or {"metadata": {}}
            if annotations_of(obj).get(FAULT_ANNOTATION) == "down":
                continue
            await member.cluster.ready()
            while not self.is_ready(name):
                await self._runtime.sleep(0.05)

    def is_ready(self, cluster: str) -> bool:
        """Tell whether the registry calls a cluster ready."""
        obj = self._clusters.get(Key("", cluster))
        return is_true(dig(obj, "status", "conditions"), "Ready")
