"""ReplicaSets and ReplicationControllers: as many pods as they ask for, theirs by owner reference, and counted."""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, namespace_of, uid_of
from hanse.kube.resources import REPLICASETS, Resource
from hanse.kube.runtime import timestamp
from hanse.kube.selectors import LabelSelector
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.kinds import REPLICATION_CONTROLLERS
from hanse.simulator.workloads.pod_writes import PodWrites, Refusal, new_pod
from hanse.simulator.workloads.replicas import (
    ReplicaPlan,
    min_ready_seconds,
    next_availability,
    plan_replicas,
    replica_set_status,
    selector_of,
)
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import write_status

_COMPONENTS = {"ReplicaSet": "replicaset-controller", "ReplicationController": "replication-controller"}


class ReplicaSets:
    """Keeps the pods and the status of each ReplicaSet, or of another kind that is one in all but name."""

    def __init__(self, world: World, kind: Resource = REPLICASETS) -> None:
        self.controller = world.controller(kind.kind.lower(), self._reconcile, owners=kind)
        self._kind = kind
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._cache = world.cache(kind)
        self._writes = PodWrites(world, events=EventRecorder(world.client, _COMPONENTS[kind.kind]))
        self._selectors: dict[str, dict[Key, LabelSelector]] = {}
        self._uids: dict[Key, str] = {}
        self._cache.subscribe(self._owner_changed)
        self._pods.listen(self._pod_changed)

    def _owner_changed(self, change: Change) -> None:
        selectors = self._selectors.setdefault(change.key.namespace, {})
        new = change.new
        before = self._uids.pop(change.key, "")
        if new is None:
            selectors.pop(change.key, None)
        else:
            selectors[change.key] = selector_of(new)
            self._uids[change.key] = uid_of(new)
        if before != self._uids.get(change.key):
            self._writes.forget(before)
        self.controller.queue.add(change.key)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        for facts in (old, new):
            if facts is not None and facts.owner_kind == self._kind.kind:
                self.controller.queue.add(Key(facts.key.namespace, facts.owner_name))
        if new is not None and not new.owner_uid and new.active:
            for key, selector in self._selectors.get(new.key.namespace, {}).items():
                if selector.matches(new.labels):
                    self.controller.queue.add(key)

    async def _reconcile(self, key: Key) -> float | None:
        owner = self._cache.get(key)
        if owner is None:
            return None
        plan = self._plan(owner)
        failure = await self._carry_out(owner, plan)
        now = self._runtime.now()
        status = replica_set_status(owner, plan, now=now, stamp=timestamp(now), failure=str(failure) if failure else "")
        await write_status(self._client, self._kind, owner, status)
        if failure is not None:
            raise failure
        wait = next_availability(plan.active, min_ready_seconds(owner), now)
        return None if wait is None else max(wait, SHORTEST_WAIT_SECONDS)

    def _plan(self, owner: Obj) -> ReplicaPlan:
        return plan_replicas(
            owner,
            owned=self._pods.owned_by(uid_of(owner)),
            orphans=self._pods.orphans(namespace_of(owner)),
            coming=self._writes.coming(owner),
            leaving=self._writes.leaving(owner),
        )

    async def _carry_out(self, owner: Obj, plan: ReplicaPlan) -> Refusal | None:
        """Do what was planned; the first refusal is returned, since the status tells of it too."""
        for pod in plan.release:
            await self._writes.release(owner, pod)
        for pod in plan.adopt:
            await self._writes.adopt(owner, pod)
        if plan.delete:
            return await self._writes.delete_all(owner, plan.delete)
        return await self._writes.create_all(owner, [new_pod(owner, owner["spec"]["template"])] * plan.create)


class ReplicationControllers(ReplicaSets):
    """Keeps the pods and the status of each ReplicationController; only the name of the kind is its own."""

    def __init__(self, world: World) -> None:
        super().__init__(world, REPLICATION_CONTROLLERS)
