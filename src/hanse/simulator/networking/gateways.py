"""Gateways get addresses where gateway.networking.k8s.io is installed.

The kind may come and go with its CRD, so its objects are listed now and then rather than followed.
"""

from __future__ import annotations

from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.errors import Conflict, NotFound
from hanse.kube.manifest import Key, Obj, dig, is_deleting, uid_of
from hanse.kube.resources import CRDS, Resource
from hanse.kube.runtime import timestamp
from hanse.simulator.networking.addresses import AddressPool, gateway_network
from hanse.simulator.networking.providers import Provider, host_name
from hanse.simulator.world import World
from hanse.simulator.writing import write_status

GATEWAYS = Resource("gateway.networking.k8s.io", "v1", "gateways", "Gateway")
_CRD = Key("", GATEWAYS.group_resource)
_LOOK_SECONDS = 2.0


class Gateways:
    """Accepts every Gateway and gives it an address."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("gateway", self._reconcile, workers=1)
        self._client = world.client
        self._runtime = world.runtime
        self._name = world.settings.name
        self._provider = world.settings.load_balancers
        self._pool = AddressPool(gateway_network(world.settings.index))
        self._crds = world.cache(CRDS)
        self._known: set[str] = set()
        if self._provider is not Provider.NONE:
            self._crds.subscribe(lambda change: self.controller.queue.add(change.key) if change.key == _CRD else None)

    async def _reconcile(self, key: Key) -> float | None:
        if key not in self._crds:
            return None
        try:
            found = (await self._client.list(GATEWAYS)).items
        except NotFound:
            # Not served yet, or no longer in this version.
            return _LOOK_SECONDS
        present = {uid_of(gateway) for gateway in found}
        for gone in sorted(self._known - present):
            self._pool.release(gone)
        self._known = present
        for gateway in found:
            if address := _address_of(gateway):
                self._pool.hold(uid_of(gateway), address)
        for gateway in found:
            if not is_deleting(gateway):
                await self._settle(gateway)
        return _LOOK_SECONDS

    async def _settle(self, gateway: Obj) -> None:
        address = self._pool.take(uid_of(gateway))
        told: Obj = {"type": "IPAddress", "value": address}
        if self._provider is Provider.HOSTNAME:
            told = {"type": "Hostname", "value": host_name(address, self._name)}
        before = gateway.get("status") or {}
        generation = gateway["metadata"].get("generation")
        wanted = [
            condition("Accepted", True, "Accepted", "The Gateway is accepted", generation=generation),
            condition("Programmed", True, "Programmed", "The Gateway has its address", generation=generation),
        ]
        conditions = merge_conditions(before.get("conditions"), wanted, timestamp(self._runtime.now()))
        try:
            status = {**before, "addresses": [told], "conditions": conditions}
            await write_status(self._client, GATEWAYS, gateway, status)
        except (NotFound, Conflict):
            # Gone or written meanwhile: the next look is soon.
            return


def _address_of(gateway: Obj) -> str:
    entries: list[Obj] = dig(gateway, "status", "addresses", default=[])
    return str(entries[0].get("value", "")) if entries and entries[0].get("type") == "IPAddress" else ""
