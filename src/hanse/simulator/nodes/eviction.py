"""Pods leave nodes that are tainted against them, at once or as long after as they tolerate."""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.conditions import condition, is_true, merge_conditions
from hanse.kube.errors import NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, dig, is_deleting, uid_of
from hanse.kube.resources import NODES, PODS
from hanse.kube.runtime import parse_timestamp, timestamp
from hanse.simulator.nodes.taints import seconds_until_eviction
from hanse.simulator.pods import PodFacts
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import write

_WHY = "Taint manager: deleting due to NoExecute taint"


class TaintEviction:
    """Deletes pods whose node has a NoExecute taint that they do not tolerate, or no longer."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("taint-eviction", self._reconcile)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._nodes = world.cache(NODES)
        self._events = EventRecorder(world.client, "taint-eviction-controller")
        self._evicting: dict[str, list[Obj]] = {}
        self._nodes.subscribe(self._node_changed)
        self._pods.listen(self._pod_changed)

    def _node_changed(self, change: Change) -> None:
        node = change.new
        taints: list[Obj] = dig(node, "spec", "taints", default=[]) if node is not None else []
        before = self._evicting.pop(change.key.name, [])
        evicting = [self._timed(taint, before) for taint in taints if taint.get("effect") == "NoExecute"]
        if evicting:
            self._evicting[change.key.name] = evicting
        if evicting != before:
            for facts in self._pods.on_node(change.key.name):
                self.controller.queue.add(facts.key)

    def _timed(self, taint: Obj, before: list[Obj]) -> Obj:
        """Give a taint that came without its time the one at which it was first seen."""
        if taint.get("timeAdded"):
            return taint
        known = (entry["timeAdded"] for entry in before if {**entry, "timeAdded": None} == {**taint, "timeAdded": None})
        return {**taint, "timeAdded": next(known, timestamp(self._runtime.now()))}

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        if new is not None and new.node in self._evicting and (old is None or old.node != new.node):
            self.controller.queue.add(new.key)

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.cache.get(key)
        if pod is None or is_deleting(pod):
            return None
        taints = self._evicting.get(dig(pod, "spec", "nodeName", default=""))
        if not taints:
            return None
        tolerations: list[Obj] = pod["spec"].get("tolerations") or []
        created = parse_timestamp(pod["metadata"]["creationTimestamp"])
        left = seconds_until_eviction(taints, tolerations, created=created, now=self._runtime.now())
        if left is None or left > SHORTEST_WAIT_SECONDS:
            return left
        await self._evict(pod)
        return None

    async def _evict(self, pod: Obj) -> None:
        key = Key(pod["metadata"]["namespace"], pod["metadata"]["name"])
        try:
            conditions: list[Obj] = dig(pod, "status", "conditions", default=[])
            if not is_true(conditions, "DisruptionTarget"):
                made = condition("DisruptionTarget", True, "DeletionByTaintManager", _WHY)
                merged = merge_conditions(conditions, [made], timestamp(self._runtime.now()))
                await write(self._client, PODS, pod, {"status": {"conditions": merged}}, subresource="status")
            await self._events.record(pod, "TaintManagerEviction", f"Marking for deletion Pod {key}")
            await self._client.delete(PODS, key.name, key.namespace, uid=uid_of(pod))
        except NotFound:
            return
