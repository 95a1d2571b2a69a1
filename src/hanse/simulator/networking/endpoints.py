"""Endpoints and EndpointSlices: the addresses behind each Service that selects pods.

Changes are gathered for a moment before they are written, since a rollout moves many pods at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.cache import Change
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Key, Obj, dig, is_deleting, key_of, labels_of, name_of, namespace_of, uid_of
from hanse.kube.resources import ENDPOINT_SLICES, ENDPOINTS, NODES, SERVICES, Resource
from hanse.kube.selectors import LabelSelector
from hanse.simulator.index import Index
from hanse.simulator.networking.endpoint_manifests import SERVICE_NAME, Backends, endpoints_of, slices_of
from hanse.simulator.networking.selection import selected_pods, selector_of
from hanse.simulator.nodes.machines import ZONE
from hanse.simulator.pods import PodFacts
from hanse.simulator.world import World
from hanse.simulator.writing import changed_fields, write

_GATHERING_SECONDS = 0.1
_OWN_FIELDS = ("endpoints", "ports", "subsets")


class ServiceEndpoints:
    """Keeps the endpoints of Services with selectors."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("endpoint-slice", self._reconcile)
        self._client = world.client
        self._pods = world.pods
        self._nodes = world.cache(NODES)
        self._services = world.cache(SERVICES)
        self._endpoints = world.cache(ENDPOINTS)
        self._slices = Index(world.cache(ENDPOINT_SLICES), _service_of_slice)
        self._selectors: dict[str, dict[Key, LabelSelector]] = {}
        self._services.subscribe(self._service_changed)
        world.cache(ENDPOINT_SLICES).subscribe(self._slice_changed)
        self._pods.listen(self._pod_changed)

    def _service_changed(self, change: Change) -> None:
        selectors = self._selectors.setdefault(change.key.namespace, {})
        service = change.new
        selector = selector_of(service) if service is not None else None
        known = selectors.pop(change.key, None)
        if selector is not None:
            selectors[change.key] = selector
        if selector is not None or known is not None:
            self.controller.queue.add_after(change.key, _GATHERING_SECONDS)

    def _slice_changed(self, change: Change) -> None:
        """Make a slice anew that somebody took away."""
        if change.new is None and (gone := change.old) is not None:
            key = _service_key(gone)
            if key in self._selectors.get(key.namespace, {}):
                self.controller.queue.add_after(key, _GATHERING_SECONDS)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        if _traffic_facts(old) == _traffic_facts(new):
            return
        for facts in (old, new):
            if facts is None:
                continue
            for key, selector in self._selectors.get(facts.key.namespace, {}).items():
                if selector.matches(facts.labels):
                    self.controller.queue.add_after(key, _GATHERING_SECONDS)

    async def _reconcile(self, key: Key) -> None:
        service = self._services.get(key)
        # Of a Service that is gone, the garbage collector takes the slices; Endpoints bear its name and go here.
        if service is None or is_deleting(service):
            await self._forget_endpoints(key)
            return
        if selector_of(service) is None:
            return
        pods = selected_pods(service, self._pods)
        zones = {pod.node: self._zone(pod.node) for pod in pods if pod.node}
        backends = self._backends(service, pods)
        await self._write(ENDPOINTS, self._endpoints.get(key), endpoints_of(service, backends))
        await self._write_slices(service, slices_of(service, backends, zones))

    def _backends(self, service: Obj, pods: Sequence[PodFacts]) -> list[Backends]:
        """Group the pods by the numbers that they have for the names of the Service's ports; few use names."""
        targets = {port.get("targetPort") for port in dig(service, "spec", "ports", default=None) or ()}
        wanted = {target for target in targets if isinstance(target, str)}
        if not wanted:
            return [Backends({}, pods)] if pods else []
        groups: dict[tuple[tuple[str, int], ...], list[PodFacts]] = {}
        for pod in pods:
            named = _named_ports(self._pods.cache.get(pod.key))
            groups.setdefault(tuple(sorted((name, named[name]) for name in wanted & named.keys())), []).append(pod)
        return [Backends(dict(named), group) for named, group in sorted(groups.items(), key=lambda entry: entry[0])]

    def _zone(self, node: str) -> str:
        found = self._nodes.get(Key("", node))
        return labels_of(found).get(ZONE, "") if found else ""

    async def _write_slices(self, service: Obj, wanted: Sequence[Obj]) -> None:
        present = {name_of(entry): entry for entry in self._slices.objects(str(key_of(service)))}
        for made in wanted:
            await self._write(ENDPOINT_SLICES, present.pop(name_of(made), None), made)
        for name, surplus in present.items():
            if dig(surplus, "metadata", "ownerReferences", default=[{}])[0].get("uid") == uid_of(service):
                await self._delete(ENDPOINT_SLICES, Key(namespace_of(service), name))

    async def _write(self, resource: Resource, present: Obj | None, wanted: Obj) -> None:
        if present is None:
            try:
                await self._client.create(resource, wanted)
            except AlreadyExists:
                # The cache lags behind our own creation, or an older Service's slice is about to be collected.
                self.controller.queue.add_after(_service_key(wanted), 1.0)
            return
        ours = {name: wanted[name] for name in _OWN_FIELDS if name in wanted}
        patch = changed_fields({name: present[name] for name in _OWN_FIELDS if name in present}, ours)
        if patch:
            await write(self._client, resource, present, patch)

    async def _forget_endpoints(self, key: Key) -> None:
        if self._endpoints.get(key) is not None:
            await self._delete(ENDPOINTS, key)

    async def _delete(self, resource: Resource, key: Key) -> None:
        try:
            await self._client.delete(resource, key.name, key.namespace)
        except NotFound:
            return


def _service_of_slice(endpoint_slice: Obj) -> str:
    return f"{namespace_of(endpoint_slice)}/{labels_of(endpoint_slice).get(SERVICE_NAME, '')}"


def _service_key(made: Obj) -> Key:
    return Key(namespace_of(made), labels_of(made).get(SERVICE_NAME) or name_of(made))


def _traffic_facts(facts: PodFacts | None) -> tuple[object, ...]:
    if facts is None:
        return ()
    return facts.uid, facts.labels, facts.ip, facts.node, facts.ready, facts.deleting, facts.finished


def _named_ports(pod: Obj | None) -> dict[str, int]:
    containers: list[Obj] = dig(pod, "spec", "containers", default=[])
    ports = [port for container in containers for port in container.get("ports") or ()]
    return {port["name"]: port["containerPort"] for port in ports if port.get("name")}
