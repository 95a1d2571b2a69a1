"""CronJobs: start a Job at each time that their schedule names."""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.cron import ScheduleError
from hanse.kube.errors import AlreadyExists, ApiError, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, controller_of, dig, name_of, namespace_of, uid_of
from hanse.simulator.index import Index, controller_uid
from hanse.simulator.workloads.cronjob_plan import (
    CronJobPlan,
    plan_cronjob,
    schedule_of,
    seconds_to_next,
    with_started,
)
from hanse.simulator.workloads.kinds import CRON_JOBS, JOBS
from hanse.simulator.workloads.telling import tell
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import changed_fields, write


class CronJobs:
    """Carries out the next step of each CronJob."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("cronjob", self._reconcile, owners=CRON_JOBS)
        self._client = world.client
        self._runtime = world.runtime
        self._cache = world.cache(CRON_JOBS)
        self._jobs = world.cache(JOBS)
        self._owned = Index(self._jobs, controller_uid)
        self._events = EventRecorder(world.client, "cronjob-controller")
        self._cache.subscribe(self._cron_job_changed)
        self._jobs.subscribe(self._job_changed)

    def _cron_job_changed(self, change: Change) -> None:
        old, new = change.old, change.new
        if old is not None and new is not None and _timing(old) != _timing(new):
            # Another schedule begins with its next time: what it would have named before now is not made up for.
            try:
                wait = seconds_to_next(new, schedule_of(new), self._runtime.now())
            except ScheduleError:
                wait = 0.0
            self.controller.queue.add_after(change.key, wait or 0.0)
        else:
            self.controller.queue.add(change.key)

    def _job_changed(self, change: Change) -> None:
        job = change.new or change.old
        owner = controller_of(job) if job else None
        if owner is not None and owner.get("kind") == CRON_JOBS.kind:
            self.controller.queue.add(Key(change.key.namespace, owner["name"]))

    async def _reconcile(self, key: Key) -> float | None:
        cron_job = self._cache.get(key)
        if cron_job is None:
            return None
        plan = plan_cronjob(cron_job, list(self._owned.objects(uid_of(cron_job))), self._runtime.now())
        for job in plan.delete:
            await self._delete(cron_job, job)
        status = await self._start(cron_job, plan)
        if patch := changed_fields(cron_job.get("status") or {}, status):
            # The next look must know what was started.
            self._cache.remember(
                await write(self._client, CRON_JOBS, cron_job, {"status": patch}, subresource="status")
            )
        await tell(self._events, cron_job, plan.events)
        wait = plan.look_again_seconds
        return None if wait is None else max(wait, SHORTEST_WAIT_SECONDS)

    async def _start(self, cron_job: Obj, plan: CronJobPlan) -> Obj:
        """Start the Job that is due; returns the status that tells of it."""
        if plan.create is None or plan.scheduled is None:
            return plan.status
        try:
            job = await self._client.create(JOBS, plan.create)
        except AlreadyExists:
            # Started before, and the answer or the note of it was lost; or somebody else's.
            there = await self._client.find(JOBS, name_of(plan.create), namespace_of(plan.create))
            if there is None or controller_uid(there) != uid_of(cron_job):
                return plan.status
            job = there
        except ApiError as error:
            await self._events.record(cron_job, "FailedCreate", f"Error creating job: {error}", warning=True)
            raise
        else:
            await self._events.record(cron_job, "SuccessfulCreate", f"Created job {name_of(job)}")
        self._jobs.remember(job)
        return with_started(plan.status, job, plan.scheduled)

    async def _delete(self, cron_job: Obj, job: Obj) -> None:
        try:
            await self._client.delete(JOBS, name_of(job), namespace_of(job), uid=uid_of(job))
        except NotFound:
            return
        await self._events.record(cron_job, "SuccessfulDelete", f"Deleted job {name_of(job)}")


def _timing(cron_job: Obj) -> tuple[object, object]:
    return dig(cron_job, "spec", "schedule"), dig(cron_job, "spec", "timeZone")
