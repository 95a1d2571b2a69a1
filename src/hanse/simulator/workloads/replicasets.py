"""ReplicaSets: as many pods as they ask for, theirs by owner reference, counted in their status."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable

from hanse.kube.cache import Change
from hanse.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound, ServerError
from hanse.kube.manifest import Key, Obj, controller_of, key_of, name_of, namespace_of, owner_reference, uid_of
from hanse.kube.resources import PODS, REPLICASETS
from hanse.kube.runtime import timestamp
from hanse.kube.selectors import LabelSelector
from hanse.kube.transport import Unreachable
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.expectations import Expectations
from hanse.simulator.workloads.replicas import (
    ReplicaPlan,
    min_ready_seconds,
    next_availability,
    plan_replicas,
    replica_set_status,
)
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import write, write_status

# A generated name keeps room for its five random characters.
_LONGEST_NAME_PREFIX = 58


class ReplicaSets:
    """Keeps each ReplicaSet's pods and status right."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("replicaset", self._reconcile)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._cache = world.cache(REPLICASETS)
        self._expectations: dict[str, Expectations] = {}
        self._selectors: dict[str, dict[Key, LabelSelector]] = {}
        self._uids: dict[Key, str] = {}
        self._cache.subscribe(self._replica_set_changed)
        self._pods.listen(self._pod_changed)

    def _replica_set_changed(self, change: Change) -> None:
        selectors = self._selectors.setdefault(change.key.namespace, {})
        new = change.new
        before = self._uids.pop(change.key, "")
        if new is None:
            selectors.pop(change.key, None)
        else:
            selectors[change.key] = LabelSelector.from_object(new["spec"].get("selector"))
            self._uids[change.key] = uid_of(new)
        if before != self._uids.get(change.key):
            self._expectations.pop(before, None)
        self.controller.queue.add(change.key)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        for facts in (old, new):
            if facts is None:
                continue
            if facts.owner_uid in self._expectations:
                expectations = self._expectations[facts.owner_uid]
                (expectations.gone if new is None or new.deleting else expectations.seen)(facts.key)
            if facts.owner_kind == "ReplicaSet":
                self.controller.queue.add(Key(facts.key.namespace, facts.owner_name))
        if new is not None and not new.owner_uid and new.active:
            for key, selector in self._selectors.get(new.key.namespace, {}).items():
                if selector.matches(new.labels):
                    self.controller.queue.add(key)

    async def _reconcile(self, key: Key) -> float | None:
        replica_set = self._cache.get(key)
        if replica_set is None:
            return None
        plan = self._plan(replica_set)
        failure = await self._carry_out(replica_set, plan)
        now = self._runtime.now()
        status = replica_set_status(
            replica_set, plan, now=now, stamp=timestamp(now), failure=str(failure) if failure else ""
        )
        await write_status(self._client, REPLICASETS, replica_set, status)
        if failure is not None:
            raise failure
        wait = next_availability(plan.active, min_ready_seconds(replica_set), now)
        return None if wait is None else max(wait, SHORTEST_WAIT_SECONDS)

    def _plan(self, replica_set: Obj) -> ReplicaPlan:
        expectations = self._expectations_of(replica_set)
        now = self._runtime.monotonic()
        return plan_replicas(
            replica_set,
            owned=self._pods.owned_by(uid_of(replica_set)),
            orphans=self._pods.orphans(namespace_of(replica_set)),
            coming=expectations.coming(now),
            leaving=expectations.leaving(now),
        )

    def _expectations_of(self, replica_set: Obj) -> Expectations:
        return self._expectations.setdefault(uid_of(replica_set), Expectations())

    async def _carry_out(self, replica_set: Obj, plan: ReplicaPlan) -> ApiError | Unreachable | None:
        """Do what was planned; the first refusal is returned, since the status tells of it too."""
        for pod in plan.release:
            await self._release(pod, replica_set)
        for pod in plan.adopt:
            await self._adopt(pod, replica_set)
        if plan.delete:
            return await _first_failure(self._delete(pod, replica_set) for pod in plan.delete)
        batch, left = 1, plan.create
        # Small batches first: where a quota refuses one pod it would refuse hundreds.
        while left > 0:
            size = min(batch, left)
            failure = await _first_failure(self._create(replica_set) for _ in range(size))
            if failure is not None:
                return failure
            batch, left = batch * 2, left - size
        return None

    async def _create(self, replica_set: Obj) -> None:
        expectations = self._expectations_of(replica_set)
        repeated = expectations.take_uncertain()
        prefix = f"{name_of(replica_set)}-"
        name = prefix[:_LONGEST_NAME_PREFIX] + self._runtime.name_suffix()
        key = repeated or Key(namespace_of(replica_set), name)
        expectations.expect(key, self._runtime.monotonic())
        try:
            await self._client.create(PODS, new_pod(replica_set, key.name, prefix))
        except (Unreachable, ServerError):
            expectations.unanswered(key)
            raise
        except AlreadyExists:
            # The creation whose answer was lost had reached the server; the cache will show it.
            if repeated is None:
                expectations.refused(key)
                raise
        except Forbidden as error:
            expectations.refused(key)
            if not _is_namespace_terminating(error):
                raise
        except ApiError:
            expectations.refused(key)
            raise

    async def _delete(self, pod: PodFacts, replica_set: Obj) -> None:
        expectations = self._expectations_of(replica_set)
        expectations.expect_gone(pod.key, self._runtime.monotonic())
        try:
            await self._client.delete(PODS, pod.key.name, pod.key.namespace, uid=pod.uid)
        except (NotFound, Conflict):
            # Gone already, or another pod by that name: the cache will show which.
            return
        except (ApiError, Unreachable):
            expectations.refused(pod.key)
            raise

    async def _adopt(self, pod: PodFacts, replica_set: Obj) -> None:
        seen = self._pods.cache.get(pod.key)
        if seen is not None and controller_of(seen) is None:
            owners = [*(seen["metadata"].get("ownerReferences") or ()), owner_reference(replica_set)]
            await write(self._client, PODS, seen, {"metadata": {"ownerReferences": owners}})

    async def _release(self, pod: PodFacts, replica_set: Obj) -> None:
        seen = self._pods.cache.get(pod.key)
        if seen is not None:
            owners = seen["metadata"].get("ownerReferences") or ()
            kept = [owner for owner in owners if owner.get("uid") != uid_of(replica_set)]
            await write(self._client, PODS, seen, {"metadata": {"ownerReferences": kept or None}})


def new_pod(replica_set: Obj, name: str, prefix: str) -> Obj:
    """Return a pod made from a ReplicaSet's template."""
    template = replica_set["spec"]["template"]
    metadata = template.get("metadata") or {}
    kept = {field: metadata[field] for field in ("labels", "annotations", "finalizers") if metadata.get(field)}
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            **kept,
            "name": name,
            "generateName": prefix,
            "namespace": key_of(replica_set).namespace,
            "ownerReferences": [owner_reference(replica_set)],
        },
        "spec": template["spec"],
    }


def _is_namespace_terminating(error: ApiError) -> bool:
    causes = (error.status.get("details") or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


async def _first_failure(writes: Iterable[Awaitable[None]]) -> ApiError | Unreachable | None:
    """Do all writes at once and return the first refusal; anything else that is raised is a bug and goes on up."""
    for result in await asyncio.gather(*writes, return_exceptions=True):
        if isinstance(result, ApiError | Unreachable):
            return result
        if isinstance(result, BaseException):
            raise result
    return None
