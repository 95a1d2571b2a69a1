"""PodDisruptionBudgets: keeps their status, by which the API server grants or refuses evictions."""

from __future__ import annotations

from hanse.kube.cache import Cache, Change
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, controller_of, dig, namespace_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, REPLICASETS
from hanse.kube.selectors import LabelSelector
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.disruption_plan import (
    UnknownScale,
    budget_status,
    needs_scale,
    seconds_to_doubt,
    unknown_status,
)
from hanse.simulator.workloads.kinds import DISRUPTION_BUDGETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from hanse.simulator.workloads.replicas import wanted_replicas
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import write_status


class DisruptionBudgets:
    """Brings each budget's status up to date with its pods."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("disruption", self._reconcile)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._cache = world.cache(DISRUPTION_BUDGETS)
        self._scaled: dict[str, Cache] = {
            kind.kind: world.cache(kind) for kind in (DEPLOYMENTS, REPLICASETS, REPLICATION_CONTROLLERS, STATEFUL_SETS)
        }
        self._events = EventRecorder(world.client, "controllermanager")
        self._selectors: dict[str, dict[Key, LabelSelector]] = {}
        self._cache.subscribe(self._budget_changed)
        self._pods.listen(self._pod_changed)
        for cache in self._scaled.values():
            cache.subscribe(self._owner_changed)

    def _budget_changed(self, change: Change) -> None:
        selectors = self._selectors.setdefault(change.key.namespace, {})
        selectors.pop(change.key, None)
        if (budget := change.new) is not None:
            selectors[change.key] = LabelSelector.from_object(dig(budget, "spec", "selector"))
            self.controller.queue.add(change.key)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        for facts in (old, new):
            if facts is not None:
                for key, selector in self._selectors.get(facts.key.namespace, {}).items():
                    if selector.matches(facts.labels):
                        self.controller.queue.add(key)

    def _owner_changed(self, change: Change) -> None:
        # Most namespaces have no budget: only where there is one does it matter how many replicas are asked for.
        if self._selectors.get(change.key.namespace):
            old, new = change.old, change.new
            if old is None or new is None or wanted_replicas(old) != wanted_replicas(new):
                for key in self._selectors[change.key.namespace]:
                    self.controller.queue.add(key)

    async def _reconcile(self, key: Key) -> float | None:
        budget = self._cache.get(key)
        if budget is None:
            return None
        now = self._runtime.now()
        selector = LabelSelector.from_object(dig(budget, "spec", "selector"))
        pods = [pod for pod in self._pods.in_namespace(key.namespace) if selector.matches(pod.labels)]
        if not pods:
            await self._events.record(budget, "NoPods", "No matching pods found")
        try:
            scales = self._scales(budget, pods) if needs_scale(budget) else {}
            status = budget_status(budget, pods, scales, now)
        except UnknownScale as error:
            await self._events.record(budget, "CalculateExpectedPodCountFailed", str(error), warning=True)
            status = unknown_status(budget, str(error), now)
        await write_status(self._client, DISRUPTION_BUDGETS, budget, status)
        wait = seconds_to_doubt(budget, now)
        return None if wait is None else max(wait, SHORTEST_WAIT_SECONDS)

    def _scales(self, budget: Obj, pods: list[PodFacts]) -> dict[str, int]:
        """Return the wanted replicas of the pods' controllers; raises UnknownScale where one has none."""
        found: dict[str, int] = {}
        for pod in pods:
            if not pod.owner_uid:
                continue
            owner = self._owner(namespace_of(budget), pod.owner_kind, pod.owner_name, pod.owner_uid)
            if owner is None:
                raise UnknownScale(f'found no controllers for pod "{pod.key.name}"')
            found[uid_of(owner)] = wanted_replicas(owner)
        return found

    def _owner(self, namespace: str, kind: str, name: str, uid: str) -> Obj | None:
        cache = self._scaled.get(kind)
        owner = cache.get(Key(namespace, name)) if cache else None
        if owner is None or uid_of(owner) != uid:
            return None
        above = controller_of(owner)
        if kind == REPLICASETS.kind and above is not None and above.get("kind") == DEPLOYMENTS.kind:
            return self._owner(namespace, DEPLOYMENTS.kind, above["name"], above["uid"])
        return owner
