"""An embedded federation put together: host, simulated clusters, control plane.

The clusters join by the same road as any other: over HTTPS, with credentials in a Secret. Which of them are broken is
said on their Cluster objects, so it survives a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION
from hanse.api.federation import FEDERATIONS, federation_manifest
from hanse.api.mcs import MCS_ANNOTATION, TAKES_PART
from hanse.api.names import FAULT_ANNOTATION, REGION_LABEL, ZONE_LABEL
from hanse.cli.authorship import stamp_authors
from hanse.cli.control_plane import (
    campaign,
    prepare_host,
    serve_applications,
    serve_composites,
    serve_federated_types,
)
from hanse.cli.embedded.breaking import Keeper, play
from hanse.cli.embedded.checking import run_checkers
from hanse.cli.embedded.composite_doors import serve_composites_in
from hanse.cli.embedded.defaults import LARGEST_MESH, doors_at_first
from hanse.cli.embedded.folder import Folder, Record
from hanse.cli.embedded.kept_lockservers import FILE as LOCKSERVER_FILE
from hanse.cli.embedded.kept_lockservers import KeptLockservers
from hanse.cli.embedded.kubeconfig import kubeconfig_for
from hanse.cli.embedded.pod_doors import LOOPBACK, run_pod_doors
from hanse.cli.embedded.resolving import simulated_resolver
from hanse.cli.embedded.servers import ADMINISTRATOR, Server
from hanse.cli.embedded.simulated_vitess import SimulatedVitess
from hanse.cli.failures import Failure
from hanse.cli.vitess_parts import VitessMeans, serve_vitess, serve_vitess_in
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.log import Log
from hanse.kube.manifest import Key, annotations_of, dig
from hanse.kube.runtime import Runtime
from hanse.propagation.teaching import Teaching
from hanse.rollouts.sources import ManifestSources, SourceSettings
from hanse.services.dns.server import DnsServer
from hanse.services.dns.serving import DnsOptions, parse_address, serve_dns
from hanse.simulator.faults.breakable import BreakableCluster
from hanse.simulator.faults.clock import ClusterClock
from hanse.simulator.faults.schedule import Planned
from hanse.simulator.faults.values import Fault
from hanse.simulator.settings import ClusterSettings

log = Log("hanse")
Progress = Callable[[str], None]
# How often a port is tried again that somebody else took while a cluster was down.
_PORT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one start asks for and the next need not."""

    # The port of the federation's API server and no other; 0 takes the former one, or any.
    port: int = 0
    ephemeral: bool = False
    schedule: tuple[Planned, ...] = ()
    teachings: tuple[Teaching, ...] = ()


class SimulatedMember:
    """One simulated cluster: an API server and what makes it behave."""

    def __init__(self, server: Server, settings: ClusterSettings, clock: ClusterClock, runtime: Runtime) -> None:
        self.server = server
        self.settings = settings
        # The view's own way in, which no fault stands in.
        self.client = Client(server.api.connect(ADMINISTRATOR), runtime)
        self._breakable = BreakableCluster(server.api, settings, clock, self)
        self._runtime = runtime
        self.cluster = self._breakable.cluster
        self.keeper = Keeper(settings.name, runtime, self._breakable.breakage.set)
        self.cluster.serve_through(server.api)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is broken at this moment."""
        return self._breakable.breakage.faults

    def is_down(self) -> bool:
        """Tell whether the whole cluster is down."""
        return self.cluster.failed

    def labels(self) -> dict[str, str]:
        """Return the labels with which its Cluster object begins."""
        labels = dict(self.settings.labels)
        if self.settings.region:
            labels.setdefault(REGION_LABEL, self.settings.region)
        if self.settings.zones:
            labels.setdefault(ZONE_LABEL, self.settings.zones[0])
        return labels

    async def stop(self) -> None:
        """End the API server, as a crash does."""
        await self.server.api.stop_serving()

    async def start(self) -> None:
        """Start the API server again on what it stored, where it was: that is where everybody looks for it."""
        while True:
            try:
                await self.server.serve(0, self._runtime, exactly=True)
            except OSError as error:
                log.warning("Cannot listen again", cluster=self.settings.name, port=self.server.port, error=str(error))
                await self._runtime.sleep(_PORT_SECONDS)
                continue
            return

    async def run(self) -> None:
        """Live until cancelled, and break and come back as asked."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._breakable.run())
            tasks.create_task(self.keeper.run())


class EmbeddedFederation:
    """Everything that `hanse up` runs."""

    def __init__(
        self,
        folder: Folder,
        record: Record,
        clusters: Sequence[ClusterSettings],
        runtime: Runtime,
        wishes: Wishes,
    ) -> None:
        self._folder = folder
        self._record = record
        self._settings = clusters
        self._wishes = wishes
        self._runtime = runtime
        self._servers: list[Server] = []
        self._answering = asyncio.Event()
        self._doors_open = asyncio.Event()
        self._vitess = SimulatedVitess(runtime, self._lockservers())
        self.members: dict[str, SimulatedMember] = {}

    async def run(self, started: Callable[[EmbeddedFederation], None], progress: Progress) -> None:
        """Start everything, say so, and work until cancelled."""
        try:
            await self._run(started, progress)
        finally:
            await asyncio.gather(*(server.api.close() for server in self._servers))
            self._folder.write(self._record.but(ready=False, pid=0))

    def _lockservers(self) -> KeptLockservers:
        if self._wishes.ephemeral:
            return KeptLockservers(self._runtime)
        kept = KeptLockservers(self._runtime, lambda content: self._folder.write_file(LOCKSERVER_FILE, content))
        kept.load(self._folder.path)
        return kept

    async def _run(self, started: Callable[[EmbeddedFederation], None], progress: Progress) -> None:
        progress("starting the federation's API server")
        host_server = await self._open(self._record.name, "", self._runtime, progress)
        host = Client(host_server.api.connect(ADMINISTRATOR), self._runtime)
        self._host = host
        self._clusters = Cache(host, CLUSTERS)
        await prepare_host(host)
        await serve_federated_types(host)
        await serve_applications(host)
        await serve_composites(host)
        await serve_vitess(host)
        await stamp_authors(host)
        await host.apply(FEDERATIONS, federation_manifest(self._record.name, self._record.domain))
        for settings in self._settings:
            progress(f"starting cluster {settings.name}")
            clock = ClusterClock(self._runtime)
            server = await self._open(settings.name, settings.name, clock, progress)
            self.members[settings.name] = SimulatedMember(server, settings, clock, self._runtime)
        if len(self.members) > LARGEST_MESH:
            progress(
                f"with more than {LARGEST_MESH} clusters, no pod runs elsewhere until its cluster's door is opened "
                "(docs/reference/pods.md)"
            )
        self._save(host_server)
        async with asyncio.TaskGroup() as tasks:
            for member in self.members.values():
                tasks.create_task(member.run())
            for member in self.members.values():
                await join(host, self._joining(member))
            clients = {name: member.client for name, member in self.members.items()}
            await serve_composites_in(clients)
            await asyncio.gather(*map(serve_vitess_in, clients.values()))
            for name, member in self.members.items():
                tasks.create_task(self._vitess.live(name, member.client, member.is_down))
            tasks.create_task(self._vitess.orchestrate())
            tasks.create_task(run_pod_doors(host, clients, self._doors_open))
            tasks.create_task(self._clusters.run())
            await self._clusters.wait_synced()
            self._tell_forgotten(progress)
            self._clusters.subscribe(self._cluster_changed)
            tasks.create_task(self._control(host))
            tasks.create_task(self._answer(host, progress))
            tasks.create_task(run_checkers(host, {name: each.is_down for name, each in self.members.items()}))
            progress("waiting for the clusters to be ready")
            await self._wait_ready()
            await self._answering.wait()
            await self._doors_open.wait()
            self._record = self._record.but(ready=True)
            self._folder.write(self._record)
            started(self)
            await play(host, self._wishes.schedule)

    async def _control(self, host: Client) -> None:
        """Lead; the folder's lock makes this process the only one of its identity, so a crash costs no waiting."""
        identity, resolve = f"hanse-up:{self._folder.path}", simulated_resolver(self._runtime)
        charts = SourceSettings(cache_dir=self._folder.path / "chart-cache", folder=self._folder.path / "charts")
        (self._folder.path / "charts").mkdir(exist_ok=True)
        async with ManifestSources(host, charts) as sources:
            while True:
                await campaign(
                    host,
                    identity,
                    teachings=self._wishes.teachings,
                    resolve=resolve,
                    sources=sources,
                    kubelet_host=LOOPBACK,
                    vitess_means=VitessMeans(self._vitess.stores, self._vitess),
                )

    async def _answer(self, host: Client, progress: Progress) -> None:
        """Answer for the federation's domain, on the port that it had before where that is free."""

        def listening(server: DnsServer) -> None:
            if self._record.dns not in ("", server.address):
                progress(f"{self._record.dns} is taken by another program; DNS answers on {server.address} instead")
            self._record = self._record.but(dns=server.address)
            self._answering.set()

        former = parse_address(self._record.dns, 0)[1] if self._record.dns else 0
        try:
            await serve_dns(host, DnsOptions(port=former), listening=listening)
        except OSError:
            await serve_dns(host, DnsOptions(), listening=listening)

    @property
    def dns_address(self) -> str:
        """Where the built-in DNS server answers."""
        return self._record.dns

    async def _open(self, name: str, cluster: str, runtime: Runtime, progress: Progress) -> Server:
        folder = self._folder.server(cluster)
        in_memory = self._wishes.ephemeral
        server = await Server.open(name, folder, runtime, in_memory=in_memory, cluster_ips=bool(cluster))
        self._servers.append(server)
        if self._wishes.port and not cluster:
            await _serve_exactly(server, self._wishes.port, self._runtime)
            return server
        former = self._record.ports.get(cluster, 0)
        await server.serve(former, self._runtime)
        if former not in (0, server.port):
            progress(f"port {former} of {name} is taken by another program; it listens on {server.port} instead")
        return server

    def _tell_forgotten(self, progress: Progress) -> None:
        """Say which clusters were simulated here once, are members still and are not simulated any more."""
        for name in self._folder.simulated():
            if name not in self.members and self._clusters.get(Key("", name)) is not None:
                progress(
                    f"cluster {name} is a member still but is not in the clusters file any more, so it will be "
                    f"Offline; `hanse unjoin {name} --force` takes it out of the federation"
                )

    def _save(self, host_server: Server) -> None:
        endpoints = {self._record.name: host_server.endpoint(self._runtime)}
        endpoints |= {name: member.server.endpoint(self._runtime) for name, member in self.members.items()}
        ports = {"": host_server.port} | {name: member.server.port for name, member in self.members.items()}
        self._folder.write_file("kubeconfig", kubeconfig_for(endpoints, self._record.name))
        self._record = self._record.but(ports=ports, host=endpoints[self._record.name].server)
        self._folder.write(self._record)

    def _joining(self, member: SimulatedMember) -> list[dict[str, object]]:
        manifests = joining_manifests(member.settings.name, member.server.endpoint(self._runtime), member.labels())
        doors = ",".join(doors_at_first(len(self._settings)))
        manifests[-1]["metadata"]["annotations"] = {MCS_ANNOTATION: TAKES_PART, DOORS_ANNOTATION: doors}
        return manifests

    def _cluster_changed(self, change: Change) -> None:
        member = self.members.get(change.key.name)
        if member is not None and (obj := change.new) is not None:
            member.keeper.read(obj)

    async def _wait_ready(self) -> None:
        """Wait until the registry has judged every cluster that is not meant to be broken."""
        for name, member in self.members.items():
            obj = self._clusters.get(Key("", name)) or {"metadata": {}}
            if annotations_of(obj).get(FAULT_ANNOTATION):
                continue
            await member.cluster.ready()
            while not self.is_ready(name):
                await self._runtime.sleep(0.05)

    def is_ready(self, cluster: str) -> bool:
        """Tell whether the registry calls a cluster ready."""
        obj = self._clusters.get(Key("", cluster))
        return is_true(dig(obj, "status", "conditions"), "Ready")


async def _serve_exactly(server: Server, port: int, runtime: Runtime) -> None:
    try:
        await server.serve(port, runtime, exactly=True)
    except OSError as error:
        raise Failure(f"port {port} cannot be used: {error.strerror}; choose another --port, or none") from error
