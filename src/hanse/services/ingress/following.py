"""Following what the clusters behind an entrance have: traffic goes where the Services of its rules are ready.

The control plane writes it into the status of each GlobalIngress, and only when it is another than before. Balancers
read that, so that they need no credentials of any cluster. What shall leave a cluster altogether waits until balancers
have led its clients elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from hanse.api.clusters import Cluster
from hanse.api.global_ingresses import GLOBAL_INGRESSES
from hanse.api.plain_kinds import INGRESSES
from hanse.clusters.registry import Registry
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.resources import SERVICES
from hanse.propagation.intent import Ref
from hanse.propagation.planning import UNSEEN, Observation
from hanse.propagation.viewing import View
from hanse.services.departures import Departures
from hanse.services.endpoints import ReadyEndpoints
from hanse.services.ingress.copies import addresses
from hanse.services.ingress.entrance import Behind, Entrance, parse_entrance, told_status
from hanse.services.observing import is_absent, wish_of
from hanse.services.presence import FederatedService, Presence

# Pods that become ready one after the other are told of together.
_GATHER_SECONDS = 0.2


def behind_now(cluster: Cluster, known: Behind, copy: Obj | None, missing: tuple[str, ...]) -> Behind:
    """Return what is told of a cluster: what it lacks, and the addresses that its Ingress was last seen with."""
    why = "the cluster is offline" if cluster.offline else ""
    found = tuple(addresses(copy)) if copy is not None else ()
    return Behind(cluster.name, found or known.addresses, missing, why)


class EntranceFollowing:
    """Keeps the status of every GlobalIngress true."""

    def __init__(self, host: Client, registry: Registry, view: View) -> None:
        self._host = host
        self._registry = registry
        self._view = view
        self._entrances = Cache(host, GLOBAL_INGRESSES)
        self._controller: Controller[Key] = Controller("entrances", self._reconcile, host.runtime, workers=1)
        self._endpoints = ReadyEndpoints(host.runtime, lambda _service: self._look_at_all(), self._look_at_all)
        self._departures = Departures(host.runtime, self._services_in, lambda _namespace: self._look_at_all())
        view.farewells.ushers.append(self._departures)
        registry.attach(self._endpoints.serve)
        registry.subscribe(lambda _name: self._look_at_all())
        view.subscribe(SERVICES, lambda _target: self._look_at_all())
        view.subscribe(INGRESSES, lambda _target: self._look_at_all())

    async def run(self) -> None:
        """Follow until cancelled."""
        self._entrances.subscribe(lambda change: self._controller.queue.add(change.key))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._entrances.run())
            await self._registry.wait_synced()
            await self._entrances.wait_synced()
            tasks.create_task(self._controller.run())

    def _look_at_all(self) -> None:
        for key in self._entrances if self._entrances.synced else ():
            self._controller.queue.add_after(key, _GATHER_SECONDS)

    async def _reconcile(self, key: Key) -> float | None:
        obj = self._entrances.get(key)
        if obj is None:
            return None
        self._endpoints.want()
        entrance = parse_entrance(obj)
        clusters = {each.name: each for each in self._registry.clusters()}
        if any(self._endpoints.awaits(each.cluster) for each in entrance.clusters if each.cluster in clusters):
            return _GATHER_SECONDS
        copies = self._observed(Ref(INGRESSES, Key(key.namespace, entrance.ingress)))
        missing = self._missing(entrance)
        told = told_status(
            [
                behind_now(
                    clusters[each.cluster],
                    each,
                    copies.get(each.cluster, UNSEEN).copy,
                    tuple(name for name in entrance.services if each.cluster in missing[name]),
                )
                for each in entrance.clusters
                if each.cluster in clusters
            ]
        )
        if told != (obj.get("status") or {}):
            written = await self._host.update(GLOBAL_INGRESSES, {**obj, "status": told}, subresource="status")
            self._entrances.remember(written, quietly=True)
        return None

    def _missing(self, entrance: Entrance) -> dict[str, set[str]]:
        """Return for each Service the clusters that are known to have none, or none of it that is ready."""
        found: dict[str, set[str]] = {}
        for name in entrance.services:
            key = Key(entrance.key.namespace, name)
            observed = self._observed(Ref(SERVICES, key))
            lacking = {cluster for cluster, each in observed.items() if self._lacks(cluster, key, each)}
            backends = {cluster: self._endpoints.count(cluster, key) for cluster in observed}
            leaving = lacking | self._departures.left(key.namespace, self._selector(key), backends)
            # Where clients go instead may not have told yet that it is ready.
            found[name] = leaving if observed.keys() - leaving else lacking
        return found

    def _services_in(self, namespace: str) -> Iterator[tuple[Mapping[str, str], FederatedService]]:
        """Yield the Services behind entrances of a namespace with what they select, in every cluster that is there.

        Whether they are ready is not looked at: pods leave one place when they are ready in another, which may take a
        moment to be told here.
        """
        for obj in self._entrances.objects(namespace) if self._entrances.synced else ():
            entrance = parse_entrance(obj)
            for name in entrance.services:
                key = Key(namespace, name)
                presences = tuple(
                    Presence(each.cluster, each.addresses, serving=not each.why) for each in entrance.clusters
                )
                yield self._selector(key), FederatedService(key, (), presences)

    def _selector(self, service: Key) -> Mapping[str, str]:
        speaker = self._view.speaker(Ref(SERVICES, service))
        return dict(wish_of(speaker.source).selector) if speaker is not None else {}

    def _lacks(self, cluster: str, service: Key, observation: Observation) -> bool:
        if is_absent(observation):
            return True
        # Without a selector nobody says when its endpoints are ready.
        return bool(dig(observation.copy, "spec", "selector")) and self._endpoints.count(cluster, service) == 0

    def _observed(self, target: Ref) -> Mapping[str, Observation]:
        """Return what clusters have of an object of the federation; nothing is known of what is not one."""
        speaker = self._view.speaker(target) if self._view.knows(target) else None
        return self._view.observe(target, speaker) if speaker is not None else {}
