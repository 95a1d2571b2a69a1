"""Pods that nobody will end any more: those of nodes that are gone, and the oldest of too many that have ended."""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.errors import Conflict, NotFound
from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.resources import NODES, PODS
from hanse.kube.runtime import timestamp
from hanse.simulator.pods import PodFacts
from hanse.simulator.world import World
from hanse.simulator.writing import write_status

# A node that is registered again within this time keeps its pods.
QUARANTINE_SECONDS = 40.0
# What kube-controller-manager keeps by default.
KEPT_TERMINATED = 12_500

_TOO_MANY = Key("", "")


class PodGarbage:
    """Removes the pods of nodes that are gone, and ended ones beyond the number that is kept."""

    def __init__(self, world: World, *, kept: int = KEPT_TERMINATED) -> None:
        self.controller = world.controller("pod-garbage-collector", self._reconcile, workers=1)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._nodes = world.cache(NODES)
        self._kept = kept
        self._ended: dict[Key, PodFacts] = {}
        self._nodes.subscribe(self._node_changed)
        self._pods.listen(self._pod_changed)

    def _node_changed(self, change: Change) -> None:
        if change.new_bytes is None:
            self.controller.queue.add_after(change.key, QUARANTINE_SECONDS)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        if old is not None:
            self._ended.pop(old.key, None)
        if new is None:
            return
        if new.finished and not new.deleting:
            self._ended[new.key] = new
            if len(self._ended) > self._kept:
                self.controller.queue.add(_TOO_MANY)
        if new.node and not (self._nodes.synced and Key("", new.node) in self._nodes):
            self.controller.queue.add_after(Key("", new.node), QUARANTINE_SECONDS)

    async def _reconcile(self, key: Key) -> None:
        if key == _TOO_MANY:
            oldest = sorted(self._ended.values(), key=lambda facts: (facts.created, facts.key))
            for facts in oldest[: max(0, len(oldest) - self._kept)]:
                await self._remove(facts)
        elif key not in self._nodes and await self._client.find(NODES, key.name) is None:
            for facts in self._pods.on_node(key.name):
                await self._give_up(facts)
                await self._remove(facts)

    async def _give_up(self, facts: PodFacts) -> None:
        """Call a pod failed whose node will never say what became of it."""
        pod = self._pods.cache.get(facts.key)
        if pod is None or facts.finished:
            return
        told = condition("DisruptionTarget", True, "DeletionByPodGC", "PodGC: node no longer exists")
        conditions: list[Obj] = dig(pod, "status", "conditions", default=[])
        merged = merge_conditions(conditions, [told], timestamp(self._runtime.now()))
        await write_status(self._client, PODS, pod, {**pod["status"], "phase": "Failed", "conditions": merged})

    async def _remove(self, facts: PodFacts) -> None:
        try:
            await self._client.delete(PODS, facts.key.name, facts.key.namespace, uid=facts.uid, grace_seconds=0)
        except (NotFound, Conflict):
            # Gone already, or another pod has the name by now.
            return
