"""Keeps one decision for each Service with a name in DNS: where its clients are led, stored on the host.

Everything about a Service is one key. What leads here is a change of the federation's object or of a copy of it, of the
number of endpoints that are ready, of the registry's word on a cluster, of the checkers' verdicts, and of the
Federation itself. DNS servers, providers and balancers read what is stored, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Protocol

from hanse.api.federation import FEDERATION_NAME, FEDERATIONS, FederationError, FederationSettings, parse_federation
from hanse.api.service_addresses import MIXED_LABEL, SERVICE_ADDRESSES
from hanse.clusters.registry import Registry
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, is_deleting, key_of, labels_of, owner_reference, uid_of
from hanse.kube.resources import SERVICES
from hanse.kube.runtime import timestamp
from hanse.propagation.intent import Ref
from hanse.propagation.viewing import Speaker, View
from hanse.services.addresses import addresses_manifest, parse_addresses
from hanse.services.deciding import Facts, Scene, decide
from hanse.services.departures import Departures
from hanse.services.endpoints import ReadyEndpoints
from hanse.services.health.standing import State
from hanse.services.health.votes import Verdict
from hanse.services.hostnames import Hostnames, Resolve, system_resolver
from hanse.services.judging import Judgement, Opinion
from hanse.services.naming import Federation
from hanse.services.observing import Sighting, Wish, is_absent, sighting_of, wish_of
from hanse.services.presence import FederatedService
from hanse.services.status import (
    conditions_of,
    ingresses_of,
    ingresses_text,
    published_status,
    told_ingresses,
    unpublished_status,
    with_ingresses,
)

# Pods that become ready one after the other are told of together.
_GATHER_SECONDS = 0.2
_LOOK_SECONDS = 0.5
_FEDERATION = Key("", FEDERATION_NAME)


class Health(Protocol):
    """What checkers say of addresses, as `HealthView` knows it."""

    def verdict(self, service: Key, cluster: str, address: str) -> Verdict:
        """Return what a majority says of an address."""

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a verdict may be another."""

    async def wait_settled(self) -> None:
        """Wait until a verdict says as much as the one that was acted on before."""


_OPINIONS = {State.ALIVE: True, State.DEAD: False, State.UNKNOWN: None}


class ServiceController:
    """Decides where the clients of each Service are led, and tells it."""

    def __init__(
        self,
        host: Client,
        registry: Registry,
        view: View,
        *,
        health: Health | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        """`health` is asked for the checkers' word; `resolve` finds the addresses of load balancers with names."""
        self._host = host
        self._registry = registry
        self._view = view
        self._health = health
        runtime = host.runtime
        self._controller: Controller[Key] = Controller("services", self._reconcile, runtime)
        self._settling: Controller[Key] = Controller("federation", self._settle, runtime, workers=1)
        self._hostnames = Hostnames(runtime, resolve or system_resolver(runtime), self._controller.queue.add)
        self._endpoints = ReadyEndpoints(runtime, self._soon, self._look_at_stored)
        self._stored = Cache(host, SERVICE_ADDRESSES)
        self._federations = Cache(host, FEDERATIONS)
        self._settings: FederationSettings | None = None
        self._misunderstood = False
        # Set once a Service shall have a name: before that nobody needs to look after any address.
        self.needed = asyncio.Event()
        self._heard = asyncio.Event()
        self._departures = Departures(runtime, self._decided_in, self._look_at_namespace)
        view.farewells.ushers.append(self._departures)
        registry.attach(self._endpoints.serve)
        registry.subscribe(lambda _cluster: self._look_at_stored())
        view.subscribe(SERVICES, lambda target: self._soon(target.key))
        if health is not None:
            health.subscribe(self._look_at_stored)

    async def run(self) -> None:
        """Work until cancelled."""
        self._stored.subscribe(lambda change: self._controller.queue.add(change.key))
        self._federations.subscribe(self._federation_changed)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._stored.run())
            tasks.create_task(self._federations.run())
            await self._registry.wait_synced()
            await self._stored.wait_synced()
            await self._federations.wait_synced()
            tasks.create_task(self._hear())
            tasks.create_task(self._hostnames.run())
            tasks.create_task(self._settling.run())
            tasks.create_task(self._controller.run())

    async def _hear(self) -> None:
        """Begin to decide once the checkers had their say: until then what was decided before is better founded."""
        await self.needed.wait()
        if self._health is not None:
            await self._health.wait_settled()
        self._heard.set()
        self._look_at_everything()

    # What leads here

    def _soon(self, service: Key) -> None:
        self._controller.queue.add_after(service, _GATHER_SECONDS)

    def _look_at_stored(self) -> None:
        for key in self._stored if self._stored.synced else ():
            self._controller.queue.add(key)

    def _look_at_namespace(self, namespace: str) -> None:
        for key in self._stored if self._stored.synced else ():
            if key.namespace == namespace:
                self._controller.queue.add(key)

    def _look_at_everything(self) -> None:
        self._look_at_stored()
        for target in self._view.targets(SERVICES):
            self._controller.queue.add(target.key)

    def _federation_changed(self, change: Change) -> None:
        if change.key == _FEDERATION:
            self._read_federation(change.new)
            self._settling.queue.add(_FEDERATION)
            self._look_at_everything()

    def _read_federation(self, obj: Obj | None) -> None:
        """Take the settings in; those that cannot be understood leave everything as it is."""
        self._misunderstood = False
        try:
            self._settings = None if obj is None or is_deleting(obj) else parse_federation(obj)
        except FederationError:
            self._misunderstood = True

    # The paragraph: observe, decide, act, report

    async def _reconcile(self, key: Key) -> float | None:
        target, settings = Ref(SERVICES, key), self._settings
        if self._misunderstood or self._is_mixed(key):
            return None
        if not self._view.knows(target):
            return _LOOK_SECONDS
        speaker = self._view.speaker(target)
        wish = wish_of(speaker.source, key) if speaker is not None and settings is not None else None
        if speaker is None or settings is None or wish is None or wish.unpublished or is_deleting(speaker.source):
            await self._withdraw(key, speaker)
            return None
        self.needed.set()
        self._endpoints.want()
        if not self._heard.is_set():
            return None
        observed = self._view.observe(target, speaker)
        sightings = {name: sighting_of(each.copy) for name, each in observed.items() if each.copy is not None}
        if any(map(self._endpoints.awaits, sightings)):
            return _GATHER_SECONDS
        gone = {name for name, each in observed.items() if is_absent(each)}
        service, judgement = self._decide(wish, sightings, gone, settings.ttl)
        hostname = Federation(settings.name, settings.domain).hostname(key)
        await self._store(service, hostname, speaker.source)
        if speaker.ref.resource == SERVICES:
            # A federated type has no place for what is told of its Service.
            ingresses = ingresses_of(service.presences, sightings, told_ingresses(speaker.source))
            annotated = with_ingresses(speaker.source, ingresses_text(ingresses))
            now = timestamp(self._host.runtime.now())
            conditions = conditions_of(service, judgement, wish, hostname)
            await self._tell(speaker, annotated, published_status(annotated, service, hostname, conditions, now))
        return None

    def _is_mixed(self, key: Key) -> bool:
        """Tell whether the clients of a Service are led to its application's releases, which is decided elsewhere."""
        stored = self._stored.get(key)
        return stored is not None and MIXED_LABEL in labels_of(stored)

    def _decide(
        self, wish: Wish, sightings: Mapping[str, Sighting], gone: Collection[str], ttl: int
    ) -> tuple[FederatedService, Judgement]:
        key, stored = wish.key, self._stored.get(wish.key)
        before = {each.cluster: each for each in parse_addresses(stored).presences} if stored is not None else {}
        clusters = {each.name: each for each in self._registry.clusters()}
        facts = {
            name: Facts(sightings.get(name), self._endpoints.count(name, key))
            for name in clusters
            if name in sightings or (name in before and name not in gone)
        }
        names = [name for each in sightings.values() for name in each.hostnames]
        self._hostnames.use(key, names, ttl if wish.ttl is None else wish.ttl)
        backends = {name: each.backends for name, each in facts.items()}
        leaving = self._departures.left(key.namespace, dict(wish.selector), backends)
        scene = Scene(clusters, facts, before, self._hostnames.resolved, self._opinion(key), leaving)
        return decide(wish, scene, ttl)

    def _decided_in(self, namespace: str) -> Iterator[tuple[dict[str, str], FederatedService]]:
        """Yield the services of a namespace with what they select, as they were decided on."""
        for stored in self._stored.objects(namespace) if self._stored.synced else ():
            speaker = self._view.speaker(Ref(SERVICES, key_of(stored)))
            if speaker is not None:
                yield dict(wish_of(speaker.source).selector), parse_addresses(stored)

    def _opinion(self, service: Key) -> Callable[[str, str], Opinion]:
        def said(cluster: str, address: str) -> Opinion:
            if self._health is None:
                return Opinion()
            verdict = self._health.verdict(service, cluster, address)
            return Opinion(_OPINIONS[verdict.state], verdict.why)

        return said

    async def _store(self, service: FederatedService, hostname: str, source: Obj) -> None:
        """Write the decision down where it is another than the one that is there."""
        wanted = addresses_manifest(service, hostname, owner_reference(source))
        known = self._stored.get(service.key)
        if known is None:
            self._stored.remember(await self._host.create(SERVICE_ADDRESSES, wanted), quietly=True)
            return
        owners = known["metadata"].get("ownerReferences")
        if known["spec"] == wanted["spec"] and owners == wanted["metadata"]["ownerReferences"]:
            return
        metadata = {**known["metadata"], **wanted["metadata"]}
        written = await self._host.update(SERVICE_ADDRESSES, {**wanted, "metadata": metadata})
        self._stored.remember(written, quietly=True)

    async def _withdraw(self, key: Key, speaker: Speaker | None) -> None:
        """Take away what was told of a Service that has no names in DNS, or that is going; the decision at last."""
        self._hostnames.use(key, (), 0)
        if speaker is not None and speaker.ref.resource == SERVICES and not is_deleting(speaker.source):
            await self._tell(speaker, with_ingresses(speaker.source, None), unpublished_status(speaker.source))
        known = self._stored.get(key)
        if known is not None:
            try:
                await self._host.delete(SERVICE_ADDRESSES, key.name, key.namespace, uid=uid_of(known))
            except NotFound:
                pass

    async def _tell(self, speaker: Speaker, annotated: Obj, status: Obj) -> None:
        """Write into a Service what is new in it; the annotation first, which says who speaks of its addresses."""
        current = speaker.source
        if annotated is not speaker.source:
            current = await self._host.update(SERVICES, annotated)
            self._view.remember(speaker.ref, current)
        if status != (speaker.source.get("status") or {}):
            written = await self._host.update(SERVICES, {**current, "status": status}, subresource="status")
            self._view.remember(speaker.ref, written, quietly=True)

    async def _settle(self, key: Key) -> None:
        """Say in the Federation whether it can be understood."""
        obj = self._federations.get(key)
        if obj is None or is_deleting(obj):
            return
        told = condition("Ready", True, "Understood", "services of type LoadBalancer have names in DNS")
        try:
            parse_federation(obj)
        except FederationError as error:
            told = condition("Ready", False, "Misunderstood", f"{error}; names in DNS stay as they are")
        status = dict(obj.get("status") or {})
        merged = merge_conditions(status.get("conditions"), [told], timestamp(self._host.runtime.now()))
        if merged != status.get("conditions"):
            written = await self._host.update(
                FEDERATIONS, {**obj, "status": {**status, "conditions": merged}}, subresource="status"
            )
            self._federations.remember(written, quietly=True)
