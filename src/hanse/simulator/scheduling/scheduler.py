"""The scheduler: binds each pod without a node to the best one, or says in its condition why there is none.

One pod is placed after the other, each seeing where the one before it went. A pod that fits nowhere is tried again
when something changes that can help it.
"""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.errors import Conflict, NotFound
from hanse.kube.manifest import Key, Obj, labels_of, name_of, uid_of
from hanse.kube.resources import NAMESPACES, NODES, Resource
from hanse.simulator.pods import PodFacts
from hanse.simulator.scheduling.board import Board, NodeOffer, PlacedPod
from hanse.simulator.scheduling.decision import Chosen, decide
from hanse.simulator.scheduling.telling import Telling
from hanse.simulator.scheduling.volume_filters import SELECTED_NODE, Storage
from hanse.simulator.scheduling.waiting import Waiting
from hanse.simulator.scheduling.wishes import Wish
from hanse.simulator.volumes.kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from hanse.simulator.world import World
from hanse.simulator.writing import write

SCHEDULER_NAME = "default-scheduler"


class Scheduler:
    """Places the pods of a cluster."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("scheduler", self._reconcile, workers=1)
        self._client = world.client
        self._pods = world.pods
        self._claims = world.cache(CLAIMS)
        volumes, classes = world.cache(VOLUMES), world.cache(STORAGE_CLASSES)
        self._storage = Storage(self._claims.get, volumes.get, classes.get, volumes.objects)
        self._telling = Telling(world.client, world.runtime, SCHEDULER_NAME)
        self._board = Board()
        self._namespaces: dict[str, dict[str, str]] = {}
        self._board.namespaces = self._namespaces
        # Bound by us and not yet shown so by the cache, with their uid.
        self._assumed: dict[Key, str] = {}
        self._waiting = Waiting()
        self._unplaced: dict[Key, Wish] = {}
        self._pods.listen(self._pod_changed)
        world.cache(NODES).subscribe(self._node_changed)
        world.cache(NAMESPACES).subscribe(self._namespace_changed)
        for cache in (self._claims, volumes, classes):
            cache.subscribe(self._storage_changed)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        key = new.key if new is not None else old.key if old is not None else Key("", "")
        if new is None or new.finished or (new.deleting and not new.node):
            self._forget(key)
        elif new.node:
            self._assumed.pop(key, None)
            self._unplaced.pop(key, None)
            self._waiting.discard(key)
            self._place(new)
        elif self._assumed.get(key) != new.uid:
            self._await_turn(new)

    def _forget(self, key: Key) -> None:
        self._assumed.pop(key, None)
        self._unplaced.pop(key, None)
        self._waiting.discard(key)
        if self._board.remove(key) is not None:
            self._try_unplaced()

    def _place(self, facts: PodFacts) -> None:
        known = self._board.get(facts.key)
        seen = (facts.uid, facts.node, facts.labels, facts.deleting)
        if known is not None and (known.uid, known.node, known.labels, known.deleting) == seen:
            return
        pod = self._pods.cache.get(facts.key)
        if pod is not None:
            self._board.place(PlacedPod.of(pod, facts.node))
            self._try_unplaced(by_neighbour=True)

    def _node_changed(self, change: Change) -> None:
        node = change.new
        before = self._board.nodes.pop(change.key.name, None)
        if node is not None:
            self._board.nodes[change.key.name] = NodeOffer.of(node)
        if before != self._board.nodes.get(change.key.name):
            self._try_unplaced()

    def _namespace_changed(self, change: Change) -> None:
        namespace = change.new
        self._namespaces.pop(change.key.name, None)
        if namespace is not None:
            self._namespaces[change.key.name] = labels_of(namespace)

    def _storage_changed(self, _change: Change) -> None:
        for key, wish in list(self._unplaced.items()):
            if wish.claims:
                self._try(key)

    def _try_unplaced(self, *, by_neighbour: bool = False) -> None:
        for key, wish in list(self._unplaced.items()):
            if not by_neighbour or wish.minds_others:
                self._try(key)

    def _try(self, key: Key) -> None:
        facts = self._pods.get(key)
        if facts is not None:
            self._await_turn(facts)

    def _await_turn(self, facts: PodFacts) -> None:
        self._line_up(facts)
        self.controller.queue.add(facts.key)

    def _line_up(self, facts: PodFacts) -> None:
        known = self._unplaced.get(facts.key)
        pod = None if known is not None else self._pods.cache.get(facts.key)
        priority = known.priority if known is not None else int(((pod or {}).get("spec") or {}).get("priority") or 0)
        self._waiting.add(facts.key, priority=priority, created=facts.created)

    async def _reconcile(self, key: Key) -> None:
        turn = self._waiting.pop()
        if turn is None:
            return
        try:
            await self._schedule(turn)
        except BaseException:
            if (facts := self._pods.get(turn)) is not None and not facts.node:
                # Its turn comes with this key's next, after the pause that failing brings about.
                self._line_up(facts)
            raise
        if self._waiting:
            # Whichever key comes next stands for the pod whose turn it then is.
            self.controller.queue.add(key)

    async def _schedule(self, key: Key) -> None:
        pod, facts = self._pods.cache.get(key), self._pods.get(key)
        if pod is None or facts is None or facts.node or not facts.active or self._assumed.get(key) == facts.uid:
            return
        if pod["spec"].get("schedulerName", SCHEDULER_NAME) != SCHEDULER_NAME:
            return
        if pod["spec"].get("schedulingGates"):
            await self._telling.gated(pod)
            return
        wish = Wish.of(pod)
        decision = decide(wish, self._board, self._storage)
        self._unplaced[key] = wish
        if not isinstance(decision, Chosen):
            await self._telling.refused(pod, decision)
        elif not await self._wait_for_volumes(wish, decision.node):
            self._unplaced.pop(key, None)
            await self._bind(pod, decision.node)

    async def _wait_for_volumes(self, wish: Wish, node: str) -> bool:
        """Say where the volumes of claims that waited shall be; True while any of them is not bound."""
        unbound = False
        for name in wish.claims:
            claim = self._claims.get(Key(wish.namespace, name))
            if claim is not None and not claim["spec"].get("volumeName"):
                unbound = True
                if SELECTED_NODE not in (claim["metadata"].get("annotations") or {}):
                    await write(self._client, CLAIMS, claim, {"metadata": {"annotations": {SELECTED_NODE: node}}})
        return unbound

    async def _bind(self, pod: Obj, node: str) -> None:
        key = Key(pod["metadata"]["namespace"], name_of(pod))
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": key.name, "namespace": key.namespace, "uid": uid_of(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._assumed[key] = uid_of(pod)
        self._board.place(PlacedPod.of(pod, node))
        try:
            await self._client.create(_binding_of(key.name), binding)
        except (NotFound, Conflict):
            # Deleted, replaced or bound by somebody else meanwhile: the cache will tell.
            self._undo(key)
        except BaseException:
            self._undo(key)
            raise

    def _undo(self, key: Key) -> None:
        # The cache may have shown the truth by now, and then the truth stays.
        if self._assumed.pop(key, None) is not None:
            self._board.remove(key)


def _binding_of(name: str) -> Resource:
    """Return the subresource to which bindings of one pod are posted."""
    return Resource("", "v1", f"pods/{name}/binding", "Binding")
