"""The scheduler: binds each pod without a node to one with room, and says in its condition when there is none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hanse.kube.cache import Change
from hanse.kube.conditions import condition, find_condition
from hanse.kube.errors import Conflict, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, dig, name_of, uid_of
from hanse.kube.resources import NODES, PODS, Resource
from hanse.kube.runtime import timestamp
from hanse.simulator.nodes.fitting import Candidate, Room, Wish, candidate, choose_node, unschedulable_message
from hanse.simulator.pods import PodFacts
from hanse.simulator.world import World
from hanse.simulator.writing import write

SCHEDULER_NAME = "default-scheduler"


class Scheduler:
    """Places pods one after the other, each seeing where the one before it went."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("scheduler", self._reconcile, workers=1)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._nodes = world.cache(NODES)
        self._events = EventRecorder(world.client, SCHEDULER_NAME)
        self._offers: dict[str, Candidate] = {}
        self._taken: dict[str, Room] = {}
        # Bound by us and not yet shown so by the cache.
        self._assumed: dict[Key, tuple[str, PodFacts]] = {}
        self._unplaced: set[Key] = set()
        self._pods.listen(self._pod_changed)
        self._nodes.subscribe(self._node_changed)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        before, after = _load(old), _load(new)
        if before != after:
            self._move(before, after)
        if new is not None and not new.node and not new.deleting:
            if not new.finished:
                self.controller.queue.add(new.key)
        else:
            for facts in (old, new):
                if facts is not None:
                    self._assumed.pop(facts.key, None)
                    self._unplaced.discard(facts.key)
        if before is not None and after is None:
            self._try_unplaced()

    def _move(self, before: tuple[str, Room] | None, after: tuple[str, Room] | None) -> None:
        if before is not None:
            self._taken[before[0]] = self._taken[before[0]] - before[1]
        if after is not None:
            self._taken[after[0]] = self._taken.get(after[0], Room()) + after[1]

    def _node_changed(self, change: Change) -> None:
        node = change.new
        before = self._offers.pop(change.key.name, None)
        if node is not None:
            self._offers[change.key.name] = candidate(node)
        if before != self._offers.get(change.key.name):
            self._try_unplaced()

    def _try_unplaced(self) -> None:
        for key in sorted(self._unplaced):
            self.controller.queue.add(key)

    async def _reconcile(self, key: Key) -> None:
        pod, facts = self._pods.cache.get(key), self._pods.get(key)
        if pod is None or facts is None or facts.node or not facts.active or not _is_ours(pod):
            return
        if key in self._assumed and self._assumed[key][1].uid == facts.uid:
            return
        wish = Wish.of(pod, _room_of(facts))
        nodes = self._candidates(facts)
        chosen = choose_node(wish, nodes)
        if chosen is None:
            self._unplaced.add(key)
            await self._refuse(pod, unschedulable_message(wish, nodes))
        else:
            self._unplaced.discard(key)
            await self._bind(pod, facts, chosen.name)

    def _candidates(self, facts: PodFacts) -> list[Candidate]:
        taken = dict(self._taken)
        siblings: Counter[str] = Counter()
        if facts.owner_uid:
            siblings.update(pod.node for pod in self._pods.owned_by(facts.owner_uid) if not pod.finished)
        for node, pod in self._assumed.values():
            taken[node] = taken.get(node, Room()) + _room_of(pod)
            siblings[node] += bool(facts.owner_uid) and pod.owner_uid == facts.owner_uid
        return [
            replace(offer, taken=taken.get(name, Room()), siblings=siblings[name])
            for name, offer in self._offers.items()
        ]

    async def _bind(self, pod: Obj, facts: PodFacts, node: str) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name_of(pod), "namespace": facts.key.namespace, "uid": uid_of(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._assumed[facts.key] = (node, facts)
        try:
            await self._client.create(_binding_of(name_of(pod)), binding)
        except (NotFound, Conflict):
            # Deleted, replaced or bound by somebody else meanwhile: the cache will tell.
            self._assumed.pop(facts.key, None)
        except BaseException:
            self._assumed.pop(facts.key, None)
            raise

    async def _refuse(self, pod: Obj, message: str) -> None:
        conditions: list[Obj] = dig(pod, "status", "conditions", default=[])
        before = find_condition(conditions, "PodScheduled")
        if before is not None and before.get("status") == "False" and before.get("message") == message:
            return
        since = timestamp(self._runtime.now())
        if before is not None and before.get("status") == "False":
            since = before.get("lastTransitionTime", since)
        made = {**condition("PodScheduled", False, "Unschedulable", message), "lastTransitionTime": since}
        kept = [entry for entry in conditions if entry.get("type") != "PodScheduled"]
        status = {"phase": "Pending", "conditions": [*kept, made]}
        await write(self._client, PODS, pod, {"status": status}, subresource="status")
        await self._events.record(pod, "FailedScheduling", message, warning=True)


def _is_ours(pod: Obj) -> bool:
    spec = pod["spec"]
    return spec.get("schedulerName", SCHEDULER_NAME) == SCHEDULER_NAME and not spec.get("schedulingGates")


def _room_of(facts: PodFacts) -> Room:
    return Room(facts.cpu_millicores, facts.memory_bytes, 1)


def _load(facts: PodFacts | None) -> tuple[str, Room] | None:
    """Return which node a pod weighs on, and with how much."""
    return None if facts is None or not facts.node or facts.finished else (facts.node, _room_of(facts))


def _binding_of(name: str) -> Resource:
    """Return the subresource to which bindings of one pod are posted."""
    return Resource("", "v1", f"pods/{name}/binding", "Binding")
