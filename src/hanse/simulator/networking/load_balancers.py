"""Load balancers: every Service that asks for one gets an address of the cluster's own loopback network.

The address is kept in the Service's status, so that it stays the same when the simulator starts again. Behind it, a
listener on every TCP port answers for the Service's pods wherever the machine lets it.
"""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj, dig, is_deleting, uid_of
from hanse.kube.resources import SERVICES
from hanse.simulator.networking.addresses import AddressPool, load_balancer_network
from hanse.simulator.networking.listeners import Front, Listeners
from hanse.simulator.networking.providers import Provider, read_address, told_address
from hanse.simulator.networking.selection import ready_pods
from hanse.simulator.world import World
from hanse.simulator.writing import write_status


class LoadBalancers:
    """Gives Services their addresses and keeps listeners on them."""

    def __init__(self, world: World) -> None:
        # One worker: two Services never reach for the same address.
        self.controller = world.controller("load-balancer", self._reconcile, workers=1)
        self.listeners = Listeners(world.settings.name, self._backends)
        self._client = world.client
        self._pods = world.pods
        self._name = world.settings.name
        self._provider = world.settings.load_balancers
        self._pool = AddressPool(load_balancer_network(world.settings.index))
        self._uids: dict[Key, str] = {}
        self._cache = world.cache(SERVICES)
        self._cache.subscribe(self._service_changed)

    def _service_changed(self, change: Change) -> None:
        service = change.new
        before = self._uids.pop(change.key, "")
        if service is not None and (wants_address(service) or address_of(service)):
            self._uids[change.key] = uid_of(service)
            if address := address_of(service):
                self._pool.hold(uid_of(service), address)
        now = self._uids.get(change.key, "")
        if before and before != now:
            self._pool.release(before)
        if before or now:
            self.controller.queue.add(change.key)

    async def _reconcile(self, key: Key) -> None:
        service = self._cache.get(key)
        unwanted = self._provider is Provider.NONE or service is None or not wants_address(service)
        if service is None or is_deleting(service) or unwanted:
            self.listeners.close(key)
            if service is not None and address_of(service):
                self._pool.release(uid_of(service))
                status = {**(service.get("status") or {}), "loadBalancer": {}}
                await write_status(self._client, SERVICES, service, status)
            return
        address = self._pool.take(uid_of(service))
        told = told_address(self._provider, address, self._name)
        status = {**(service.get("status") or {}), "loadBalancer": {"ingress": [told]}}
        await write_status(self._client, SERVICES, service, status)
        await self.listeners.open(key, Front(address, tcp_ports(service)))

    def _backends(self, key: Key) -> list[str]:
        service = self._cache.get(key)
        return [pod.key.name for pod in ready_pods(service, self._pods)] if service is not None else []


def wants_address(service: Obj) -> bool:
    """Tell whether a Service asks for a load balancer, and for ours."""
    spec = service.get("spec") or {}
    return spec.get("type") == "LoadBalancer" and not spec.get("loadBalancerClass")


def address_of(service: Obj) -> str:
    """Return the load-balancer address that a Service's status shows, be it by name; "" where there is none."""
    ingress: list[Obj] = dig(service, "status", "loadBalancer", "ingress", default=[])
    return read_address(ingress[0]) if ingress else ""


def tcp_ports(service: Obj) -> frozenset[int]:
    """Return the ports on which a Service can be reached by TCP."""
    ports: list[Obj] = dig(service, "spec", "ports", default=[])
    return frozenset(int(port["port"]) for port in ports if port.get("protocol", "TCP") == "TCP")
