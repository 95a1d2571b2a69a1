"""The door of pods put together: what runs for every cluster, and for every one whose pods may run elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.api.admiralty.keys import (
    ENABLED,
    HAS_FINALIZER,
    JOB_MANAGER,
    NAMESPACE_LABEL,
    POD_FINALIZER,
    PODS_DOOR,
)
from hanse.api.plain_kinds import JOBS
from hanse.cli.open_doors import OpenDoors
from hanse.clusters.access import Access
from hanse.clusters.member import Member, PullMember
from hanse.clusters.registry import Registry
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import NAMESPACES, PODS
from hanse.kube.transport import Transport
from hanse.pods.baggage.door import BaggageDoor
from hanse.pods.baggage.rerouting import Rerouter
from hanse.pods.baggage.services import GlobalDoor
from hanse.pods.chaperons.keeper import ChaperonKeeper
from hanse.pods.chaperons.makers import Makers
from hanse.pods.door import PodDoor
from hanse.pods.jobs.door import JobDoor
from hanse.pods.kubelet.kubelet import VirtualKubelet
from hanse.pods.neighbourhood import Neighbourhood
from hanse.pods.nodes.keeper import NodeKeeper
from hanse.pods.placeholder.keeper import PlaceholderKeeper
from hanse.pods.rights import PodAccess
from hanse.pods.senders.keeper import SenderKeeper
from hanse.pods.summaries.keeper import SummaryKeeper
from hanse.pods.sweeping import Sweeper
from hanse.pods.targets.board import Board
from hanse.pods.targets.roster import HostRoster, TargetRoster
from hanse.propagation.dependencies import NAMEABLE
from hanse.propagation.door import Door
from hanse.propagation.engine import Engine

log = Log("hanse")

# Of a source, only what has to do with pods that run elsewhere is read: placeholders, what they name, their namespaces.
_SELECTORS = {
    **dict.fromkeys((PODS, *NAMEABLE), f"{HAS_FINALIZER}=true"),
    NAMESPACES: f"{NAMESPACE_LABEL}={ENABLED}",
}


class PodParts:
    """Runs the door of pods for a federation: in every cluster what pods that are sent there need, and for every source
    what sends them. The federation itself is a source, too.
    """

    def __init__(
        self,
        host: Client,
        registry: Registry,
        access: Access,
        connect: Callable[[Endpoint], Transport],
        kubelet_host: str = "",
    ) -> None:
        """`kubelet_host` is where the API servers of sources reach this process, for logs and exec; "" says nowhere."""
        self._kubelet_host = kubelet_host
        self._host = host
        self._registry = registry
        self._access = access
        self._connect = connect
        self._makers = Makers()
        self._board = Board(self._makers)
        self._doors = OpenDoors(registry, PODS_DOOR)
        registry.attach(self._board.serve)
        registry.attach(self._serve)
        self._federation = PodSource("", host, HostRoster(registry, host), access, nodes=False)

    async def run(self) -> None:
        """Work until cancelled, along with the registry."""
        self._doors.follow()
        await self._needed()
        await self._federation.run()

    async def _needed(self) -> None:
        """Wait for the first pod or Job of the federation itself that is to run elsewhere: most have none."""
        found = asyncio.Event()
        pods, jobs = Cache(self._host, PODS, labels=_SELECTORS[PODS], metadata_only=True), Cache(self._host, JOBS)
        pods.subscribe(lambda _change: found.set())
        jobs.subscribe(lambda change: found.set() if _is_whole(change.new) else None)
        async with asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(cache.run()) for cache in (pods, jobs)]
            await found.wait()
            for task in following:
                task.cancel()

    async def _serve(self, member: Member | PullMember) -> None:
        if isinstance(member, PullMember):
            # Nobody here reaches it; what it needs runs in it.
            await asyncio.Event().wait()
            return
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep(member))
            tasks.create_task(SummaryKeeper(member.client).run())
            tasks.create_task(SenderKeeper(member.client).run())
            tasks.create_task(self._doors.while_open(member.name, lambda: self._send(member)))

    async def _keep(self, member: Member) -> None:
        keeper = ChaperonKeeper(member.client)
        with self._makers.at_work(member.name, keeper.word):
            await keeper.run()

    async def _send(self, member: Member) -> None:
        roster = TargetRoster(member.name, member.client, self._registry, self._board, self._connect)
        log.info("Pods of a cluster run elsewhere", member=member.name)
        async with asyncio.TaskGroup() as tasks:
            address = None
            if self._kubelet_host:
                kubelet = VirtualKubelet(member.name, member.client, roster, host=self._kubelet_host, port=0)
                tasks.create_task(kubelet.run())
                address = await kubelet.address()
            source = PodSource(member.name, member.client, roster, self._access, kubelet_address=address)
            tasks.create_task(roster.run())
            tasks.create_task(source.run())


class PodSource:
    """Everything that sends the pods of one source elsewhere."""

    def __init__(
        self,
        name: str,
        client: Client,
        roster: TargetRoster | HostRoster,
        access: Access,
        *,
        nodes: bool = True,
        kubelet_address: tuple[str, int] | None = None,
    ) -> None:
        """`nodes` says whether the source has virtual nodes for its targets; at `kubelet_address` their pods are
        answered for. It is made before its roster runs.
        """
        neighbourhood = Neighbourhood(name)
        doors: list[Door] = [
            PodDoor(name, roster, neighbourhood),
            JobDoor(name, roster),
            BaggageDoor(name, roster),
            GlobalDoor(name, roster),
        ]
        engine = Engine(
            client,
            roster,
            doors,
            PodAccess(access, roster),
            finalizer=POD_FINALIZER,
            selectors=_SELECTORS,
            guarded=False,
        )
        neighbourhood.watch(engine.view, engine.look_at)
        self._parts = [
            engine.run,
            PlaceholderKeeper(client, engine.view, roster, nodes=nodes, may_bind=neighbourhood.may_bind).run,
            Sweeper(name, client, roster).run,
        ]
        if nodes:
            self._parts += [NodeKeeper(client, roster, kubelet_address).run, Rerouter(client, roster).run]

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for part in self._parts:
                tasks.create_task(part())


def _is_whole(job: Obj | None) -> bool:
    return bool(dig(job, "spec", "managedBy") == JOB_MANAGER)
