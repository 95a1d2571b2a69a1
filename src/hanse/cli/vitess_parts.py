"""Vitess put together: VitessClusters of the federation are split over members, those of a cluster are run in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from hanse.api.names import YIELDS_ANNOTATION
from hanse.api.planetscale.definitions import (
    PLANETSCALE_CRDS,
    PRIORITY_CLASSES,
    VITESS_CLUSTER_CRD,
    VITESS_PRIORITY_CLASS,
)
from hanse.api.planetscale.kinds import VITESS_CLUSTERS, VITESS_DOOR
from hanse.api.vitess.definitions import VITESS_CLUSTER_CRD as FIRST_VITESS_CLUSTER_CRD
from hanse.cli.open_doors import OpenDoors
from hanse.clusters.member import Member, PullMember
from hanse.clusters.registry import Registry
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, annotations_of, dig, name_of
from hanse.kube.resources import CRDS
from hanse.kube.runtime import Runtime
from hanse.propagation.viewing import View
from hanse.vitess.federated.controller import FederatedVitess
from hanse.vitess.federated.definition import federated_definition, first_definition
from hanse.vitess.federated.reading import FEDERATION_FIELD
from hanse.vitess.federated.reparenting import Tablets
from hanse.vitess.federated.spoken_tablets import SpokenTablets, vtctld_address
from hanse.vitess.operator.replicating import Caller
from hanse.vitess.operator.running import VitessOperator
from hanse.vitess.operator.shaping import Settings
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.etcd import EtcdStores
from hanse.vitess.topology.name_claims import NameClaims
from hanse.vitess.topology.store import Stores

log = Log("hanse")


def is_for_federations(definition: Obj) -> bool:
    """Tell whether a definition of VitessClusters has the fields that say in which clusters cells are."""
    return any(
        FEDERATION_FIELD in dig(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", default={})
        for version in dig(definition, "spec", "versions", default=())
    )


async def serve_vitess(host: Client) -> None:
    """Have a host serve VitessClusters of both generations; one that has an operator keeps its definition."""
    for definition in (federated_definition(VITESS_CLUSTER_CRD), first_definition(FIRST_VITESS_CLUSTER_CRD)):
        name = name_of(definition)
        found = await host.find(CRDS, name)
        if found is None or is_for_federations(found):
            await host.apply(CRDS, definition)
        else:
            log.warning("VitessClusters are left to the host's own operator", host=host.address, definition=name)


async def serve_vitess_in(member: Client) -> None:
    """Have a cluster serve all kinds of Vitess.

    Whoever installs the first generation there means that one by a kind's bare name, as its guide does.
    """
    for crd in PLANETSCALE_CRDS:
        annotations = {**annotations_of(crd), YIELDS_ANNOTATION: "true"}
        await member.apply(CRDS, {**crd, "metadata": {**crd["metadata"], "annotations": annotations}})
    await member.apply(PRIORITY_CLASSES, VITESS_PRIORITY_CLASS)


def calling() -> Caller | None:
    """Return what speaks with tablets; None where the extra `hanse[vitess]` is not installed."""
    try:
        from hanse.vitess.tablets.grpc_calling import GrpcCaller
    except ImportError:
        return None
    return GrpcCaller()


@dataclass(frozen=True, slots=True)
class VitessMeans:
    """How lockservers are reached from a cluster ("" is the federation), who asks tablets and vtctld, and how the
    operators are set up.
    """

    stores: Callable[[str], Stores]
    caller: Caller | None
    settings: Settings = field(default_factory=Settings)


def over_network(runtime: Runtime, settings: Settings | None = None) -> VitessMeans:
    """Reach lockservers and tablets by their addresses."""
    claims = NameClaims()
    return VitessMeans(
        cache(lambda cluster: EtcdStores(runtime, names=claims.of(cluster))), calling(), settings or Settings()
    )


class VitessParts:
    """All that runs Vitess: the federation's own controller, and an operator in each cluster whose door is open."""

    def __init__(self, host: Client, registry: Registry, view: View, means: VitessMeans | None = None) -> None:
        """Made before the registry runs. Without `means` lockservers and tablets are reached over the network."""
        self._means = means or over_network(host.runtime)
        self._caller = self._means.caller
        self._doors = OpenDoors(registry, VITESS_DOOR)
        self._federated = FederatedVitess(host, registry, view, self._means.stores(""), self._reach)
        registry.attach(self._serve)

    async def run(self) -> None:
        """Work until cancelled, along with the registry."""
        self._doors.follow()
        await self._federated.run()

    def _reach(self, source: Obj, topology: Topology) -> Tablets | None:
        address = vtctld_address(source)
        if self._caller is None or not address:
            return None
        return SpokenTablets(topology, self._caller, Vtctld(self._caller, address))

    async def _serve(self, member: Member | PullMember) -> None:
        if isinstance(member, PullMember):
            # Nobody here reaches it.
            await asyncio.Event().wait()
            return
        await self._doors.while_open(member.name, lambda: self._operate(member))

    async def _operate(self, member: Member) -> None:
        await _first(member.client)
        log.info("VitessClusters of a cluster are run", member=member.name)
        stores = self._means.stores(member.name)
        await VitessOperator(member.client, stores, self._means.settings, self._caller, member.name).run()


async def _first(client: Client) -> None:
    """Wait until a cluster has a VitessCluster: before that nothing else in it has to be followed."""
    cache, found = Cache(client, VITESS_CLUSTERS), asyncio.Event()
    cache.subscribe(lambda _change: found.set())
    following = asyncio.create_task(cache.run())
    try:
        await found.wait()
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
