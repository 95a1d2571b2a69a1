"""Nodes that are there: registered once, put right when changed, and alive by a Lease every ten or twenty seconds."""

from __future__ import annotations

import asyncio

from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Key, Obj, dig, labels_of, owner_reference
from hanse.kube.resources import LEASES, NODES
from hanse.kube.runtime import micro_timestamp, timestamp
from hanse.simulator.faults.node_troubles import REVIVAL_SECONDS
from hanse.simulator.nodes.machines import Machine, machines_of, node_manifest, node_status
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import write, write_status

LEASE_NAMESPACE = "kube-node-lease"
RENEW_SECONDS = 10.0
# Large clusters have thousands of Leases together: theirs are renewed less often, still twice before a node counts
# as lost.
_MANY_NODES = 20
_SPARING_SECONDS = 20.0
_LEASE_SECONDS = 40
_NOT_READY_TAINT = "node.kubernetes.io/not-ready"


class Nodes:
    """Keeps the cluster's Nodes registered and their Leases fresh.

    An API server taints new Nodes as not ready. Where no Kubernetes controller lifts that taint from ready ones,
    `lifts_taints` has it done here.
    """

    def __init__(self, world: World, *, lifts_taints: bool) -> None:
        self.controller = world.controller("node", self._reconcile)
        self._client = world.client
        self._runtime = world.runtime
        self._machines = machines_of(world.settings, world.kubelet_port)
        self._troubles = world.troubles
        self._cache = world.cache(NODES)
        self._lifts_taints = lifts_taints
        self._renew_seconds = RENEW_SECONDS if len(self._machines) <= _MANY_NODES else _SPARING_SECONDS
        self._renewed: dict[str, float] = {}
        self._registered = asyncio.Event()
        self._cache.subscribe(lambda change: self._look_at(change.key))
        for name in self._machines:
            self.controller.queue.add(Key("", name))

    async def wait_registered(self) -> None:
        """Wait until every node has been registered, is ready and has a Lease."""
        await self._registered.wait()

    def _look_at(self, key: Key) -> None:
        if key.name in self._machines:
            self.controller.queue.add(key)

    async def _reconcile(self, key: Key) -> float:
        if self._troubles.is_lost(key.name):
            return REVIVAL_SECONDS
        machine = self._machines[key.name]
        now = timestamp(self._runtime.now())
        node = self._cache.get(key)
        if node is None:
            node = await self._register(machine, now)
        if patch := self._repairs(machine, node):
            node = await write(self._client, NODES, node, patch)
        await write_status(self._client, NODES, node, node_status(machine, node.get("status") or {}, now))
        wait = await self._renew_if_due(machine, node)
        if len(self._renewed) == len(self._machines):
            self._registered.set()
        return wait

    def _repairs(self, machine: Machine, node: Obj) -> Obj:
        """Return the patch that puts a Node's labels and taints right; empty when they are."""
        patch: Obj = {}
        missing = {name: value for name, value in machine.labels.items() if labels_of(node).get(name) != value}
        if missing:
            patch["metadata"] = {"labels": missing}
        taints: list[Obj] = dig(node, "spec", "taints", default=[])
        kept = [taint for taint in taints if taint.get("key") != _NOT_READY_TAINT]
        if self._lifts_taints and kept != taints:
            patch["spec"] = {"taints": kept or None}
        return patch

    async def _register(self, machine: Machine, now: str) -> Obj:
        try:
            return await self._client.create(NODES, node_manifest(machine, now))
        except AlreadyExists:
            return await self._client.get(NODES, machine.name)

    async def _renew_if_due(self, machine: Machine, node: Obj) -> float:
        now = self._runtime.monotonic()
        renewed = self._renewed.get(machine.name)
        if renewed is not None and (wait := renewed + self._renew_seconds - now) > SHORTEST_WAIT_SECONDS:
            return wait
        renewal = {"spec": {"renewTime": micro_timestamp(self._runtime.now())}}
        try:
            await self._client.patch(LEASES, machine.name, renewal, LEASE_NAMESPACE)
        except NotFound:
            await self._create_lease(machine, node)
        self._renewed[machine.name] = now
        return self._renew_seconds

    async def _create_lease(self, machine: Machine, node: Obj) -> None:
        owner = owner_reference(node, controller=False)
        owner = {field: owner[field] for field in ("apiVersion", "kind", "name", "uid")}
        lease = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": machine.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": machine.name,
                "leaseDurationSeconds": _LEASE_SECONDS,
                "renewTime": micro_timestamp(self._runtime.now()),
            },
        }
        await self._client.create(LEASES, lease)
