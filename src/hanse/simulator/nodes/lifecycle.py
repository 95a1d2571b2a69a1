"""The node lifecycle: a node whose heartbeats stop is called unknown, tainted, and its pods are called not ready.

How old a Lease is counts from when this controller first saw it so: a cluster that was down as a whole does not lose
all its nodes when it comes back.
"""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.conditions import condition, find_condition, is_true, merge_conditions
from hanse.kube.errors import Conflict, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.resources import LEASES, NODES, PODS
from hanse.kube.runtime import timestamp
from hanse.simulator.nodes.registration import LEASE_NAMESPACE
from hanse.simulator.nodes.taints import wanted_taints
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import write, write_status

# What kube-controller-manager waits by default.
GRACE_SECONDS = 50.0
_DEAF_SECONDS = 1.0
_JUDGED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class NodeLifecycle:
    """Watches over the heartbeats of the cluster's nodes."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("node-lifecycle", self._reconcile)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._nodes = world.cache(NODES)
        self._events = EventRecorder(world.client, "node-controller")
        self._heard: dict[str, float] = {}
        self._silent: set[str] = set()
        self._nodes.subscribe(lambda change: self.controller.queue.add(change.key))
        self._leases = world.cache(LEASES)
        self._leases.subscribe(self._lease_changed)
        self._leases.on_connected(self._listening)

    def _listening(self, connected: bool) -> None:
        # While nothing could be heard, silence says nothing.
        if connected:
            self._heard = dict.fromkeys(self._heard, self._runtime.monotonic())

    def _lease_changed(self, change: Change) -> None:
        if change.key.namespace != LEASE_NAMESPACE:
            return
        name = change.key.name
        if change.new_bytes is None:
            self._heard.pop(name, None)
            return
        self._heard[name] = self._runtime.monotonic()
        if name in self._silent:
            self._silent.discard(name)
            self.controller.queue.add(Key("", name))

    async def _reconcile(self, key: Key) -> float | None:
        node = self._nodes.get(key)
        if node is None:
            self._silent.discard(key.name)
            return None
        if not self._leases.connected:
            return _DEAF_SECONDS
        now = self._runtime.monotonic()
        if key.name in self._silent and is_true(dig(node, "status", "conditions"), "Ready"):
            # Its kubelet has put the status right: that is a sign of life too.
            self._silent.discard(key.name)
            self._heard[key.name] = now
        left = self._heard.setdefault(key.name, now) + GRACE_SECONDS - now
        silent = left <= SHORTEST_WAIT_SECONDS
        if silent:
            self._silent.add(key.name)
            node = await self._call_unknown(node)
        await self._taint(node)
        if silent and not is_true(dig(node, "status", "conditions"), "Ready"):
            await self._call_pods_unready(key.name)
        return None if silent else left

    async def _call_unknown(self, node: Obj) -> Obj:
        now = timestamp(self._runtime.now())
        conditions: list[Obj] = dig(node, "status", "conditions", default=[])
        told = [find_condition(conditions, kind) for kind in _JUDGED]
        if all(entry is not None and entry.get("status") == "Unknown" for entry in told):
            return node
        message = "Kubelet stopped posting node status."
        unknown = [condition(kind, None, "NodeStatusUnknown", message) for kind in _JUDGED]
        merged = merge_conditions(conditions, unknown, now)
        for entry in merged:
            before = find_condition(conditions, entry["type"]) or {}
            entry["lastHeartbeatTime"] = before.get("lastHeartbeatTime", now)
        written = await write(self._client, NODES, node, {"status": {"conditions": merged}}, subresource="status")
        name = node["metadata"]["name"]
        await self._events.record(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        return written

    async def _taint(self, node: Obj) -> None:
        wanted = wanted_taints(node, timestamp(self._runtime.now()))
        if wanted != dig(node, "spec", "taints", default=[]):
            await write(self._client, NODES, node, {"spec": {"taints": wanted or None}})

    async def _call_pods_unready(self, node: str) -> None:
        for facts in self._pods.on_node(node):
            pod = self._pods.cache.get(facts.key)
            if pod is None or not facts.ready:
                continue
            conditions: list[Obj] = dig(pod, "status", "conditions", default=[])
            unready = [{"type": "Ready", "status": "False"}]
            merged = merge_conditions(conditions, unready, timestamp(self._runtime.now()))
            try:
                await write_status(self._client, PODS, pod, {**pod["status"], "conditions": merged})
            except (NotFound, Conflict):
                # Gone or written by somebody else: its node is looked at again when the pod's change arrives.
                self.controller.queue.add_after(Key("", node), 1.0)
