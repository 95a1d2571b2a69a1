"""StatefulSets: pods with ordinals and claims of their own, made and replaced in order."""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.errors import AlreadyExists, Conflict, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, controller_of, dig, is_deleting, name_of, namespace_of, uid_of
from hanse.kube.resources import PODS
from hanse.simulator.index import Index, controller_uid
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.controller_revisions import (
    POD_REVISION,
    forget_revisions,
    forgotten_revisions,
    settle_history,
)
from hanse.simulator.workloads.kinds import CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS
from hanse.simulator.workloads.pod_writes import PodWrites
from hanse.simulator.workloads.replicas import min_ready_seconds, next_availability, selector_of
from hanse.simulator.workloads.statefulset_plan import StatefulSetPlan, plan_statefulset
from hanse.simulator.workloads.statefulset_pods import ordinal_of
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import write, write_status


class StatefulSets:
    """Carries out the next step of each StatefulSet."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("statefulset", self._reconcile, owners=STATEFUL_SETS)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._cache = world.cache(STATEFUL_SETS)
        self._claims = world.cache(PERSISTENT_VOLUME_CLAIMS)
        self._revisions = Index(world.cache(CONTROLLER_REVISIONS), controller_uid)
        self._events = EventRecorder(world.client, "statefulset-controller")
        self._writes = PodWrites(world)
        self._cache.subscribe(lambda change: self.controller.queue.add(change.key))
        self._claims.subscribe(self._claim_changed)
        self._pods.listen(self._pod_changed)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        for facts in (old, new):
            if facts is None:
                continue
            if facts.owner_kind == STATEFUL_SETS.kind:
                self.controller.queue.add(Key(facts.key.namespace, facts.owner_name))
            elif not facts.owner_uid:
                # Who it may belong to is in its name: the ordinal follows the last dash.
                self._look_at(Key(facts.key.namespace, facts.key.name.rpartition("-")[0]))

    def _claim_changed(self, change: Change) -> None:
        # Only a claim that goes with an earlier pod is waited for, and only for its end.
        if change.new_bytes is None and (claim := change.old) is not None:
            owner = controller_of(claim) or {}
            self._look_at(Key(change.key.namespace, str(owner.get("name", "")).rpartition("-")[0]))

    def _look_at(self, key: Key) -> None:
        if self._cache.synced and key in self._cache:
            self.controller.queue.add(key)

    async def _reconcile(self, key: Key) -> float | None:
        stateful_set = self._cache.get(key)
        if stateful_set is None:
            return None
        pods = await self._own_pods(stateful_set)
        history = list(self._revisions.objects(uid_of(stateful_set)))
        history = await settle_history(self._client, STATEFUL_SETS, stateful_set, history)
        known = {name_of(entry): entry for entry in history}
        current = known.get(dig(stateful_set, "status", "currentRevision", default=""), history[-1])
        now = self._runtime.now()
        plan = plan_statefulset(
            stateful_set, pods, current=current, update=history[-1], claims=self._claims_near(stateful_set), now=now
        )
        await self._carry_out(stateful_set, plan)
        await write_status(self._client, STATEFUL_SETS, stateful_set, plan.status)
        live = {name_of(current), name_of(history[-1]), *(pod.labels.get(POD_REVISION, "") for pod in pods)}
        limit = dig(stateful_set, "spec", "revisionHistoryLimit")
        await forget_revisions(self._client, forgotten_revisions(history, live, limit))
        wait = next_availability(pods, min_ready_seconds(stateful_set), now)
        return None if wait is None else max(wait, SHORTEST_WAIT_SECONDS)

    async def _own_pods(self, stateful_set: Obj) -> list[PodFacts]:
        """Return the pods that are the set's, after taking over and letting go of what its selector says."""
        selector = selector_of(stateful_set)
        kept = []
        for pod in self._pods.owned_by(uid_of(stateful_set)):
            if selector.matches(pod.labels):
                kept.append(pod)
            elif not pod.deleting:
                await self._writes.release(stateful_set, pod)
        if not is_deleting(stateful_set):
            for pod in self._pods.orphans(namespace_of(stateful_set)):
                named = ordinal_of(stateful_set, pod.key.name) is not None
                if named and pod.active and selector.matches(pod.labels):
                    await self._writes.adopt(stateful_set, pod)
                    kept.append(pod)
        return kept

    def _claims_near(self, stateful_set: Obj) -> dict[Key, Obj]:
        if not dig(stateful_set, "spec", "volumeClaimTemplates"):
            return {}
        found = self._claims.objects(namespace_of(stateful_set))
        return {Key(namespace_of(claim), name_of(claim)): claim for claim in found}

    async def _carry_out(self, stateful_set: Obj, plan: StatefulSetPlan) -> None:
        for change in plan.reown:
            owners = {"metadata": {"ownerReferences": change.owners or None}}
            await write(self._client, PERSISTENT_VOLUME_CLAIMS, change.claim, owners)
        for claim in plan.claims:
            await self._create_claim(stateful_set, claim)
        for pod in plan.create:
            await self._create_pod(stateful_set, pod)
        for facts in plan.delete:
            await self._delete_pod(stateful_set, facts)

    async def _create_claim(self, stateful_set: Obj, claim: Obj) -> None:
        try:
            await self._client.create(PERSISTENT_VOLUME_CLAIMS, claim)
        except AlreadyExists:
            return
        name = name_of(stateful_set)
        pod = f"{name}-{name_of(claim).rpartition('-')[2]}"
        message = f"Create Claim {name_of(claim)} Pod {pod} in StatefulSet {name} success"
        await self._events.record(stateful_set, "SuccessfulCreate", message)

    async def _create_pod(self, stateful_set: Obj, pod: Obj) -> None:
        try:
            await self._client.create(PODS, pod)
        except AlreadyExists:
            # Made a moment ago; the cache will show it.
            return
        await self._tell(stateful_set, "Create", name_of(pod))

    async def _delete_pod(self, stateful_set: Obj, pod: PodFacts) -> None:
        try:
            await self._client.delete(PODS, pod.key.name, pod.key.namespace, uid=pod.uid)
        except (NotFound, Conflict):
            return
        await self._tell(stateful_set, "Delete", pod.key.name)

    async def _tell(self, stateful_set: Obj, verb: str, pod: str) -> None:
        message = f"{verb} Pod {pod} in StatefulSet {name_of(stateful_set)} successful"
        await self._events.record(stateful_set, f"Successful{verb}", message)
