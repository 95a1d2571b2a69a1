"""Creating, deleting, taking over and letting go of the pods of an owner; each write is known until the cache shows it.

Shared by the controllers whose pods have generated names. A creation without an answer is tried again under the same
name, so that a lost answer never makes two pods of one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence

from hanse.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound, ServerError
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, controller_of, name_of, namespace_of, owner_reference, uid_of
from hanse.kube.resources import PODS
from hanse.kube.transport import Unreachable
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.expectations import Expectations
from hanse.simulator.world import World
from hanse.simulator.writing import write

# A generated name keeps room for its five random characters.
_LONGEST_NAME_PREFIX = 58

Refusal = ApiError | Unreachable


class PodWrites:
    """The writes of one controller to pods; with `events` their owners' events tell of each."""

    def __init__(self, world: World, *, events: EventRecorder | None = None) -> None:
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._events = events
        self._expectations: dict[str, Expectations] = {}
        self._pods.listen(self._pod_changed)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        for facts in (old, new):
            if facts is not None and facts.owner_uid in self._expectations:
                expectations = self._expectations[facts.owner_uid]
                (expectations.gone if new is None or new.deleting else expectations.seen)(facts.key)

    def coming(self, owner: Obj) -> set[Key]:
        """Return the pods of an owner that were created and are not seen yet."""
        return self._expected(owner).coming(self._runtime.monotonic())

    def leaving(self, owner: Obj) -> set[Key]:
        """Return the pods of an owner that were deleted and are still shown as they were."""
        return self._expected(owner).leaving(self._runtime.monotonic())

    def are_seen(self, owner: Obj) -> bool:
        """Tell whether the cache shows all that was done for an owner."""
        return not self.coming(owner) and not self.leaving(owner)

    def forget(self, uid: str) -> None:
        """Expect nothing more of an owner that is gone."""
        self._expectations.pop(uid, None)

    def _expected(self, owner: Obj) -> Expectations:
        return self._expectations.setdefault(uid_of(owner), Expectations())

    async def create_all(self, owner: Obj, pods: Sequence[Obj]) -> Refusal | None:
        """Create pods, few at first: where a quota refuses one it would refuse hundreds. Returns the first refusal."""
        batch, done = 1, 0
        while done < len(pods):
            part = pods[done : done + batch]
            failure = await first_failure(self._create(owner, pod) for pod in part)
            if failure is not None:
                return failure
            batch, done = batch * 2, done + len(part)
        return None

    async def delete_all(self, owner: Obj, pods: Iterable[PodFacts]) -> Refusal | None:
        """Delete pods, all at once. Returns the first refusal."""
        return await first_failure(self._delete(owner, pod) for pod in pods)

    async def _create(self, owner: Obj, pod: Obj) -> None:
        expectations = self._expected(owner)
        repeated = expectations.take_uncertain()
        prefix = pod["metadata"]["generateName"]
        name = prefix[:_LONGEST_NAME_PREFIX] + self._runtime.name_suffix()
        key = repeated or Key(namespace_of(owner), name)
        expectations.expect(key, self._runtime.monotonic())
        try:
            await self._client.create(PODS, {**pod, "metadata": {**pod["metadata"], "name": key.name}})
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
                await self._tell(owner, "FailedCreate", f"Error creating: {error}", warning=True)
                raise
        except ApiError as error:
            expectations.refused(key)
            await self._tell(owner, "FailedCreate", f"Error creating: {error}", warning=True)
            raise
        else:
            await self._tell(owner, "SuccessfulCreate", f"Created pod: {key.name}")

    async def _delete(self, owner: Obj, pod: PodFacts) -> None:
        expectations = self._expected(owner)
        expectations.expect_gone(pod.key, self._runtime.monotonic())
        try:
            await self._client.delete(PODS, pod.key.name, pod.key.namespace, uid=pod.uid)
        except (NotFound, Conflict):
            # Gone already, or another pod by that name: the cache will show which.
            return
        except (ApiError, Unreachable):
            expectations.refused(pod.key)
            raise
        await self._tell(owner, "SuccessfulDelete", f"Deleted pod: {pod.key.name}")

    async def adopt(self, owner: Obj, pod: PodFacts) -> None:
        """Make a pod that nobody controls the owner's."""
        seen = self._pods.cache.get(pod.key)
        if seen is not None and controller_of(seen) is None:
            owners = [*(seen["metadata"].get("ownerReferences") or ()), owner_reference(owner)]
            await write(self._client, PODS, seen, {"metadata": {"ownerReferences": owners}})

    async def release(self, owner: Obj, pod: PodFacts) -> None:
        """Let a pod go that the owner's selector no longer covers."""
        seen = self._pods.cache.get(pod.key)
        if seen is not None:
            owners = seen["metadata"].get("ownerReferences") or ()
            kept = [reference for reference in owners if reference.get("uid") != uid_of(owner)]
            await write(self._client, PODS, seen, {"metadata": {"ownerReferences": kept or None}})

    async def _tell(self, owner: Obj, reason: str, message: str, *, warning: bool = False) -> None:
        if self._events is not None:
            await self._events.record(owner, reason, message, warning=warning)


def new_pod(owner: Obj, template: Obj) -> Obj:
    """Return a pod made from a template, its owner's by reference; its name is generated when it is created."""
    metadata = template.get("metadata") or {}
    kept = {field: metadata[field] for field in ("labels", "annotations", "finalizers") if metadata.get(field)}
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            **kept,
            "generateName": f"{name_of(owner)}-",
            "namespace": namespace_of(owner),
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": template["spec"],
    }


def _is_namespace_terminating(error: ApiError) -> bool:
    causes = (error.status.get("details") or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


async def first_failure(writes: Iterable[Awaitable[None]]) -> Refusal | None:
    """Do all writes at once and return the first refusal; anything else that is raised is a bug and goes on up."""
    for result in await asyncio.gather(*writes, return_exceptions=True):
        if isinstance(result, ApiError | Unreachable):
            return result
        if isinstance(result, BaseException):
            raise result
    return None
