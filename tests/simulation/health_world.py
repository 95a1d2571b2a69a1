"""A host, checkers that may lie or be cut off, and addresses that live and die: health by quorum on virtual time.

The host is an embedded API server; leader, checkers and votes are the real ones. Only what a probe finds is made up.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum

from hanse.api.federation import FEDERATION_CRD, FEDERATIONS, HealthSettings, federation_manifest
from hanse.api.health_reports import HEALTH_REPORT_CRD, HOST_CHECKER, cluster_checker
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.service_addresses import SERVICE_ADDRESSES, SERVICE_ADDRESSES_CRD
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.resources import CRDS, NAMESPACES
from hanse.kube.runtime import SeededRuntime
from hanse.services.addresses import addresses_manifest
from hanse.services.health.assigner import Assigner
from hanse.services.health.checker import Checker
from hanse.services.health.checks import Check
from hanse.services.health.standing import Finding, State
from hanse.services.health.view import HealthView
from hanse.services.judging import Evidence, Judgement, Opinion, judge
from hanse.services.presence import FederatedService, Port, Presence
from tests.simulation.agents import CutWire
from tests.simulation.world import ADMINISTRATOR

_OPINIONS = {State.ALIVE: True, State.DEAD: False, State.UNKNOWN: None}


class Temper(StrEnum):
    """What a checker says of what it sees."""

    HONEST = "honest"
    ALL_DEAD = "says that everything is dead"
    ALL_ALIVE = "says that everything is alive"
    CONTRARY = "says the contrary"


@dataclass(slots=True)
class Vantage:
    """A checker's place: what it is like, what it cannot reach, and its way to the host."""

    checker: str
    wire: CutWire
    temper: Temper = Temper.HONEST
    unreachable: set[str] = field(default_factory=set)
    task: asyncio.Task[None] | None = None

    @property
    def heard(self) -> bool:
        """Whether what it says reaches the host."""
        return self.task is not None and not self.wire.hanging


class HealthWorld:
    """Some clusters, their checkers and the leader."""

    def __init__(
        self, runtime: SeededRuntime, clusters: int, services: int = 1, terms: HealthSettings | None = None
    ) -> None:
        self.runtime = runtime
        self.clusters = [f"c{index}" for index in range(clusters)]
        self.services = {
            Key("shop", f"web{number}"): {
                name: f"10.{index}.0.{number + 1}" for index, name in enumerate(self.clusters)
            }
            for number in range(services)
        }
        self.dead: set[str] = set()
        self.offline: set[str] = set()
        self.vantages: dict[str, Vantage] = {}
        self.terms = terms or HealthSettings()
        self._leader: list[asyncio.Task[None]] = []

    async def start(self, view: type[HealthView] = HealthView, terms: HealthSettings | None = None) -> None:
        """Start everything; other terms than `self.terms` are those of a federation that is set up wrongly."""
        self.server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=self.runtime)
        self.host = Client(self.server.connect(ADMINISTRATOR), self.runtime)
        namespaces = (SYSTEM_NAMESPACE, "shop")
        for name in namespaces:
            await self.host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for crd in (FEDERATION_CRD, SERVICE_ADDRESSES_CRD, HEALTH_REPORT_CRD):
            await self.host.create(CRDS, crd)
        await self._configure(terms or self.terms)
        for service in self.services:
            await self.host.create(SERVICE_ADDRESSES, addresses_manifest(self._federated(service)))
        for checker in (HOST_CHECKER, *map(cluster_checker, self.clusters)):
            self.vantages[checker] = Vantage(checker, self._wire())
            self.start_checker(checker)
        self.lead(view)
        await self.view.wait_settled()

    async def _configure(self, terms: HealthSettings) -> None:
        federation = federation_manifest("fed", "example.com")
        federation["spec"]["health"] = {
            "intervalSeconds": terms.interval_seconds,
            "timeoutSeconds": terms.timeout_seconds,
            "fall": terms.fall,
            "rise": terms.rise,
        }
        await self.host.create(FEDERATIONS, federation)

    def _federated(self, service: Key) -> FederatedService:
        addresses = self.services[service]
        presences = tuple(Presence(cluster, (address,)) for cluster, address in addresses.items())
        return FederatedService(service, (Port("http", "TCP", 80),), presences)

    def _wire(self) -> CutWire:
        return CutWire(self.server.connect(ADMINISTRATOR, as_remote=True), self.runtime)

    def lead(self, view: type[HealthView] = HealthView) -> None:
        """Begin to assign and to count votes."""
        self.leader_wire = self._wire()
        client = Client(self.leader_wire, self.runtime)
        self.view = view(client, offline=self.offline.__contains__)
        parts = (self.view, Assigner(client, self.view))
        self._leader = [asyncio.create_task(part.run()) for part in parts]

    async def depose(self) -> None:
        """End the leader."""
        await _end(self._leader)

    def start_checker(self, checker: str) -> None:
        """Begin to probe from somewhere, with nothing remembered but what the host has."""
        vantage = self.vantages[checker]
        client = Client(vantage.wire, self.runtime)
        vantage.task = asyncio.create_task(Checker(client, checker, _Probes(self, vantage), width=16).run())

    async def kill_checker(self, checker: str) -> None:
        """End a checker as a crash does: it says nothing more, and its Lease stays as it is."""
        vantage = self.vantages[checker]
        before, vantage.wire.hanging = vantage.wire.hanging, True
        task, vantage.task = vantage.task, None
        await _end([task] if task else [])
        vantage.wire.hanging = before

    async def close(self) -> None:
        """End everything."""
        await self.depose()
        for vantage in self.vantages.values():
            await _end([vantage.task] if vantage.task else [])
        await self.server.close()

    # What is seen

    def finds(self, vantage: Vantage, address: str, well: bool) -> bool:
        """Tell what a probe from somewhere says of an address that is well, or is not."""
        found = well and address not in vantage.unreachable
        said = {Temper.HONEST: found, Temper.CONTRARY: not found, Temper.ALL_DEAD: False, Temper.ALL_ALIVE: True}
        return said[vantage.temper]

    def judged(self, service: Key) -> Judgement:
        """Return where clients of a Service are led at this moment, as the services controller decides it."""
        return judge(self.evidence(service))

    def evidence(self, service: Key) -> list[Evidence]:
        """Return all that is known of a Service."""
        return [
            Evidence(
                cluster,
                (address,),
                offline="its cluster is Offline" if cluster in self.offline else "",
                opinions={address: self.opinion(service, cluster, address)},
            )
            for cluster, address in self.services[service].items()
        ]

    def opinion(self, service: Key, cluster: str, address: str) -> Opinion:
        """Return what the checkers together say of an address."""
        verdict = self.view.verdict(service, cluster, address)
        return Opinion(_OPINIONS[verdict.state], verdict.why)

    def electorate(self, service: Key) -> list[Vantage]:
        """Return those that are asked about a Service, also the silent ones."""
        return [self.vantages[report.checker] for report in self.view.reports.of(service).values()]


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class _Probes:
    """Finds what the world makes of it; every other address that is dead is silent rather than refusing."""

    world: HealthWorld
    vantage: Vantage

    async def probe(self, check: Check, address: str) -> Finding:
        runtime = self.world.runtime
        await runtime.sleep(runtime.uniform(0.001, 0.1))
        if self.world.finds(self.vantage, address, address not in self.world.dead):
            return Finding(alive=True)
        if address.split(".")[1] in "13579":
            await runtime.sleep(check.terms.timeout_seconds - 0.1)
            return Finding(alive=False, why="no answer")
        return Finding(alive=False, why="the connection was refused")
