"""What a parent shows of its controller: the hook's status, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable

from hanse.composite.hosting.acting import Write
from hanse.composite.hosting.place import Manners
from hanse.composite.rolling.reporting import with_condition
from hanse.kube.client import Client
from hanse.kube.conditions import condition
from hanse.kube.controller import Failed
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj, dig, name_of, namespace_of, uid_of, version_of
from hanse.kube.patches.differences import digest
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.resources import Resource
from hanse.kube.runtime import timestamp

SYNCED = "Synced"
# So long a status may be kept back that the next sync is about to replace.
_PATIENCE_SECONDS = 1.0


def observed_generation(status: Obj, parent: Obj) -> Obj:
    """Return a hook's status with the generation of the parent that the hook was shown."""
    return {**status, "observedGeneration": dig(parent, "metadata", "generation", default=0)}


class Teller:
    """Writes the status of parents, and Events about them."""

    def __init__(self, client: Client, events: EventRecorder, manners: Manners) -> None:
        self._client = client
        self._events = events
        self._manners = manners
        # What was said of a parent last: one whose schema keeps no conditions would be told the same again and again.
        self._said: dict[str, str] = {}
        self._warned: dict[str, str] = {}
        # Of a status whose fields the schema does not all keep, what was asked for and the version that this gave.
        self._written: dict[str, tuple[str, str]] = {}
        # Since when a status is kept back.
        self._waiting: dict[str, float] = {}

    def forget(self, uid: str) -> None:
        """A parent is gone."""
        self._said.pop(uid, None)
        self._warned.pop(uid, None)
        self._written.pop(uid, None)
        self._waiting.pop(uid, None)

    def may_wait(self, parent: Obj) -> bool:
        """Tell whether a parent's status can be left to the next sync; not for ever, if that is true of each."""
        now = self._client.runtime.monotonic()
        return now - self._waiting.setdefault(uid_of(parent), now) < _PATIENCE_SECONDS

    async def write(self, resource: Resource, parent: Obj, status: Obj, problem: str = "") -> Obj | None:
        """Give a parent this status; returns it as it is then, None where nothing was to be written.

        A `problem` that part of the work has is told in the same write: one for each would undo the other for ever.
        """
        self._said.pop(uid_of(parent), None)
        self._waiting.pop(uid_of(parent), None)
        if not problem:
            return await self._write(resource, parent, status)
        self._said[uid_of(parent)] = problem
        try:
            return await self._write(resource, parent, self._with_problem(parent, status, problem))
        except ApiError:
            # A kind may allow no conditions; the Event says it all.
            return await self._write(resource, parent, status)

    async def warn(self, parent: Obj, problem: str) -> None:
        """Tell by an Event of a problem that whoever has it sees to, once; "" says that there is none any more."""
        if self._warned.get(uid_of(parent), "") != problem:
            self._warned[uid_of(parent)] = problem
            if problem:
                await self._events.record(parent, "SyncError", f"Sync error: {problem}", warning=True)

    async def fail(self, resource: Resource, parent: Obj, sentence: str, *, in_status: bool = True) -> Failed:
        """Tell what went wrong where people look; returns what the loop has to know of it."""
        await self._events.record(parent, "SyncError", f"Sync error: {sentence}", warning=True)
        if in_status and self._said.get(uid_of(parent)) != sentence:
            self._said[uid_of(parent)] = sentence
            try:
                status = self._unknown(parent, sentence)
                await self._write(resource, parent, self._with_problem(parent, status, sentence))
            except ApiError:
                # A kind may allow no conditions; the Event says it all.
                pass
        return Failed(sentence)

    async def tell_writes(self, parent: Obj, writes: Iterable[Write]) -> None:
        """Tell of children that were written, and of those that could not be, where controllers have that habit."""
        for each in writes if self._manners.writes else ():
            if each.problem:
                said = f"{each.child}: {each.problem}"
                await self._events.record(parent, f"{each.verb}Failed", said, warning=True)
            else:
                await self._events.record(parent, f"{each.verb}d", f"{each.child} was {each.verb.lower()}d")

    def _unknown(self, parent: Obj, problem: str) -> Obj | None:
        """Return a parent's status without what nobody knows any more."""
        status: Obj | None = parent.get("status")
        now = timestamp(self._client.runtime.now())
        for each in dig(parent, "status", "conditions", default=[]):
            if each.get("type") in self._manners.unknown:
                told = condition(each["type"], None, self._manners.reason, problem)
                status = with_condition(status, told, parent.get("status"), now)
        return status

    def _with_problem(self, parent: Obj, status: Obj | None, problem: str) -> Obj:
        told, now = condition(SYNCED, False, "SyncError", problem), timestamp(self._client.runtime.now())
        return with_condition(status, told, parent.get("status"), now)

    async def _write(self, resource: Resource, parent: Obj, status: Obj) -> Obj | None:
        patch = merge_patch_between(parent.get("status") or {}, status)
        asked = digest(status)
        if not patch or self._written.get(uid_of(parent)) == (asked, version_of(parent)):
            return None
        body = {"metadata": {"uid": uid_of(parent)}, "status": patch}
        try:
            written = await self._client.patch(
                resource, name_of(parent), body, namespace_of(parent), subresource="status"
            )
        except NotFound:
            return None
        except ApiError as error:
            if self._manners.writes:
                await self._events.record(parent, "StatusUpdateFailed", f"its status: {error}", warning=True)
            raise
        self._written[uid_of(parent)] = (asked, version_of(written))
        return written
