"""Ingresses get an address each, from a part of the cluster's loopback network that is theirs."""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj, dig, is_deleting, uid_of
from hanse.kube.resources import Resource
from hanse.simulator.networking.addresses import AddressPool, ingress_network
from hanse.simulator.networking.providers import Provider, read_address, told_address
from hanse.simulator.world import World
from hanse.simulator.writing import write_status

INGRESSES = Resource("networking.k8s.io", "v1", "ingresses", "Ingress")


class Ingresses:
    """Gives Ingresses their addresses, as an ingress controller does; a cluster without load balancers has none."""

    def __init__(self, world: World) -> None:
        # One worker: two Ingresses never reach for the same address.
        self.controller = world.controller("ingress", self._reconcile, workers=1)
        self._client = world.client
        self._name = world.settings.name
        self._provider = world.settings.load_balancers
        self._pool = AddressPool(ingress_network(world.settings.index))
        self._cache = world.cache(INGRESSES)
        self._cache.subscribe(self._changed)

    def _changed(self, change: Change) -> None:
        before, ingress = change.old, change.new
        if before is not None and (ingress is None or uid_of(ingress) != uid_of(before)):
            self._pool.release(uid_of(before))
        if ingress is not None:
            if address := _address_of(ingress):
                self._pool.hold(uid_of(ingress), address)
            self.controller.queue.add(change.key)

    async def _reconcile(self, key: Key) -> None:
        ingress = self._cache.get(key)
        if ingress is None or is_deleting(ingress) or self._provider is Provider.NONE:
            return
        told = told_address(self._provider, self._pool.take(uid_of(ingress)), self._name)
        # An Ingress has no ipMode.
        told.pop("ipMode", None)
        status = {**(ingress.get("status") or {}), "loadBalancer": {"ingress": [told]}}
        await write_status(self._client, INGRESSES, ingress, status)


def _address_of(ingress: Obj) -> str:
    entries: list[Obj] = dig(ingress, "status", "loadBalancer", "ingress", default=[])
    return read_address(entries[0]) if entries else ""
