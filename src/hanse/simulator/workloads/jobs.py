"""Jobs: pods that run to their end, counted once each, until enough have succeeded or too many have failed."""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.client import PatchType
from hanse.kube.errors import Conflict, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, dig, finalizers_of, is_deleting, name_of, namespace_of, uid_of
from hanse.kube.resources import PODS
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.job_failures import seconds_to_expiry
from hanse.simulator.workloads.job_plan import JobPlan, is_finished, is_stray, plan_job
from hanse.simulator.workloads.job_pods import JOB_NAME, TRACKING, JobPod
from hanse.simulator.workloads.kinds import JOBS
from hanse.simulator.workloads.pod_writes import PodWrites, Refusal
from hanse.simulator.workloads.telling import tell
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import changed_fields, write

_OUR_NAME = "kubernetes.io/job-controller"
# What the cache should show any moment is asked for again after this long at the latest.
_UNSEEN_SECONDS = 10.0


class Jobs:
    """Carries out the next step of each Job."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("job", self._reconcile, owners=JOBS)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._cache = world.cache(JOBS)
        self._events = EventRecorder(world.client, "job-controller")
        self._writes = PodWrites(world, events=self._events)
        self._cache.subscribe(self._job_changed)
        self._pods.listen(self._pod_changed)

    def _job_changed(self, change: Change) -> None:
        if change.new_bytes is None and (gone := change.old) is not None:
            self._writes.forget(uid_of(gone))
        self.controller.queue.add(change.key)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        for facts in (old, new):
            if facts is not None and (name := _job_name(facts)):
                self.controller.queue.add(Key(facts.key.namespace, name))

    async def _reconcile(self, key: Key) -> float | None:
        job = self._cache.get(key)
        if job is not None and dig(job, "spec", "managedBy") not in (None, _OUR_NAME):
            # Whoever runs it, its time is over when it says so.
            return await self._expire(job) if is_finished(job) else None
        await self._release_strays(key, job)
        if job is None:
            return None
        if is_finished(job):
            return await self._expire(job)
        seen = self._writes.are_seen(job)
        plan = plan_job(job, self._own_pods(job), seen=seen, now=self._runtime.now())
        failure = await self._size(job, plan)
        await self._write_status(job, plan.status)
        for pod in plan.release:
            await self._release(pod.facts.key)
        await tell(self._events, job, plan.events)
        if failure is not None:
            raise failure
        waits = [plan.look_again_seconds, None if seen else _UNSEEN_SECONDS]
        return min((max(wait, SHORTEST_WAIT_SECONDS) for wait in waits if wait is not None), default=None)

    def _own_pods(self, job: Obj) -> list[JobPod]:
        found = (self._pods.cache.get(facts.key) for facts in self._pods.owned_by(uid_of(job)))
        pods = [JobPod.of(pod) for pod in found if pod is not None]
        return sorted(pods, key=lambda pod: (pod.index or 0, pod.facts.created, pod.facts.key))

    async def _size(self, job: Obj, plan: JobPlan) -> Refusal | None:
        for pod in plan.drop:
            # Without its finalizer first it would be counted as a failure.
            await self._release(pod.facts.key)
        failure = await self._writes.delete_all(job, (*plan.end, *(pod.facts for pod in plan.drop)))
        return failure or await self._writes.create_all(job, plan.create)

    async def _write_status(self, job: Obj, status: Obj) -> None:
        if patch := changed_fields(job.get("status") or {}, status):
            # The next look must not count again what this one counted.
            self._cache.remember(await write(self._client, JOBS, job, {"status": patch}, subresource="status"))

    async def _release(self, key: Key) -> None:
        pod = self._pods.cache.get(key)
        if pod is None or TRACKING not in finalizers_of(pod):
            return
        # Not on the version that was seen: a pod that is being deleted changes under our hands.
        patch = {"metadata": {"uid": uid_of(pod), "$deleteFromPrimitiveList/finalizers": [TRACKING]}}
        try:
            answer = await self._client.patch(PODS, key.name, patch, key.namespace, patch_type=PatchType.STRATEGIC)
        except (NotFound, Conflict):
            # Gone, or another pod has the name by now.
            return
        self._pods.cache.remember(answer)

    async def _release_strays(self, key: Key, job: Obj | None) -> None:
        for facts in self._pods.in_namespace(key.namespace):
            if _job_name(facts) == key.name and is_stray(facts, job):
                await self._release(facts.key)

    async def _expire(self, job: Obj) -> float | None:
        """Delete a finished Job once its time is over; until then return the seconds left."""
        left = seconds_to_expiry(job, self._runtime.now())
        if left is None or is_deleting(job):
            return None
        if left > SHORTEST_WAIT_SECONDS:
            return left
        try:
            await self._client.delete(JOBS, name_of(job), namespace_of(job), uid=uid_of(job), propagation="Foreground")
        except (NotFound, Conflict):
            return None
        return None


def _job_name(facts: PodFacts) -> str:
    """Return the Job that a pod is of; one that was orphaned still has its label."""
    if facts.owner_kind == JOBS.kind:
        return facts.owner_name
    return "" if facts.owner_uid else facts.labels.get(JOB_NAME, "")
