"""Deployments: rolls their templates out through ReplicaSets and keeps the history that `kubectl rollout` reads."""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import (
    Key,
    Obj,
    controller_of,
    dig,
    is_deleting,
    key_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from hanse.kube.resources import DEPLOYMENTS, REPLICASETS
from hanse.simulator.index import Index, controller_uid
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.deployment_plan import DeploymentPlan, ReplicaSetChange, plan_deployment
from hanse.simulator.workloads.revisions import REVISION, same_template, selects
from hanse.simulator.world import World
from hanse.simulator.writing import changed_fields, write, write_status


class Deployments:
    """Carries out the next step of each Deployment."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("deployment", self._reconcile, owners=DEPLOYMENTS)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._cache = world.cache(DEPLOYMENTS)
        self._replica_sets = world.cache(REPLICASETS)
        self._owned = Index(self._replica_sets, controller_uid)
        self._events = EventRecorder(world.client, "deployment-controller")
        self._cache.subscribe(lambda change: self.controller.queue.add(change.key))
        self._replica_sets.subscribe(self._replica_set_changed)
        self._pods.listen(self._pod_changed)

    def _replica_set_changed(self, change: Change) -> None:
        obj = change.new or change.old
        owner = controller_of(obj) if obj else None
        if owner is not None:
            if owner.get("kind") == "Deployment":
                self.controller.queue.add(Key(change.key.namespace, owner["name"]))
        elif obj is not None and self._cache.synced:
            for deployment in self._cache.objects(change.key.namespace):
                if selects(deployment, obj):
                    self.controller.queue.add(key_of(deployment))

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        # Only a Recreate waits for pods themselves, and only for their end.
        if new is not None or old is None or old.owner_kind != "ReplicaSet":
            return
        replica_set = self._replica_sets.get(Key(old.key.namespace, old.owner_name))
        owner = controller_of(replica_set) if replica_set else None
        if owner is not None:
            self.controller.queue.add(Key(old.key.namespace, owner["name"]))

    async def _reconcile(self, key: Key) -> float | None:
        deployment = self._cache.get(key)
        if deployment is None:
            return None
        replica_sets = list(self._owned.objects(uid_of(deployment)))
        await self._adopt(deployment)
        plan = plan_deployment(
            deployment,
            replica_sets,
            old_running=self._old_running(deployment, replica_sets),
            now=self._runtime.now(),
        )
        await self._carry_out(deployment, plan)
        await self._write_status(deployment, plan)
        return plan.look_again_seconds

    async def _adopt(self, deployment: Obj) -> None:
        if is_deleting(deployment):
            return
        for replica_set in self._owned.objects(""):
            if namespace_of(replica_set) == namespace_of(deployment) and selects(deployment, replica_set):
                owners = [*(replica_set["metadata"].get("ownerReferences") or ()), owner_reference(deployment)]
                await write(self._client, REPLICASETS, replica_set, {"metadata": {"ownerReferences": owners}})

    def _old_running(self, deployment: Obj, replica_sets: list[Obj]) -> bool:
        old = [entry for entry in replica_sets if not same_template(deployment, entry)]
        if any(dig(entry, "status", "replicas", default=0) for entry in old):
            return True
        return any(not pod.finished for entry in old for pod in self._pods.owned_by(uid_of(entry)))

    async def _carry_out(self, deployment: Obj, plan: DeploymentPlan) -> None:
        if plan.create is not None:
            await self._create(deployment, plan.create)
        for change in plan.changes:
            await self._change(deployment, change)
        for replica_set in plan.forget:
            try:
                await self._client.delete(
                    REPLICASETS, name_of(replica_set), namespace_of(replica_set), uid=uid_of(replica_set)
                )
            except NotFound:
                continue

    async def _create(self, deployment: Obj, replica_set: Obj) -> None:
        try:
            # The next step is reckoned from all sizes: it must not be from those before this one.
            self._replica_sets.remember(await self._client.create(REPLICASETS, replica_set))
        except AlreadyExists:
            there = await self._client.find(REPLICASETS, name_of(replica_set), namespace_of(replica_set))
            if there is None or (controller_uid(there) == uid_of(deployment) and same_template(deployment, there)):
                return
            collisions = int(dig(deployment, "status", "collisionCount", default=0)) + 1
            status = {**(deployment.get("status") or {}), "collisionCount": collisions}
            await write_status(self._client, DEPLOYMENTS, deployment, status)
            raise
        await self._tell_scaling(deployment, name_of(replica_set), 0, replica_set["spec"]["replicas"])

    async def _change(self, deployment: Obj, change: ReplicaSetChange) -> None:
        patch: Obj = {"spec": {}}
        if change.annotations:
            patch["metadata"] = {"annotations": change.annotations}
        if change.replicas is not None:
            patch["spec"]["replicas"] = change.replicas
        if change.min_ready_seconds is not None:
            patch["spec"]["minReadySeconds"] = change.min_ready_seconds
        self._replica_sets.remember(await write(self._client, REPLICASETS, change.replica_set, patch))
        if change.replicas is not None:
            before = dig(change.replica_set, "spec", "replicas", default=0)
            await self._tell_scaling(deployment, name_of(change.replica_set), before, change.replicas)

    async def _tell_scaling(self, deployment: Obj, name: str, before: int, after: int) -> None:
        if before != after:
            direction = "up" if before < after else "down"
            message = f"Scaled {direction} replica set {name} from {before} to {after}"
            await self._events.record(deployment, "ScalingReplicaSet", message)

    async def _write_status(self, deployment: Obj, plan: DeploymentPlan) -> None:
        """Write status and revision in one patch: of its metadata, the status subresource takes the annotations."""
        patch: Obj = {}
        if status := changed_fields(deployment.get("status") or {}, plan.status):
            patch["status"] = status
        if plan.revision:
            patch["metadata"] = {"annotations": {REVISION: plan.revision}}
        if patch:
            await write(self._client, DEPLOYMENTS, deployment, patch, subresource="status")
