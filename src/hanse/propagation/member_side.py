"""One member's side of the engine: its copies as last seen, its own queue, its own retries.

A slow or dead member holds up its own queue and nobody else's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from hanse.api.names import MANAGED_LABEL
from hanse.clusters.member import Member
from hanse.kube.cache import Cache, Change, Handler
from hanse.kube.client import FIELD_MANAGER
from hanse.kube.controller import Controller
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, version_of
from hanse.kube.resources import Resource
from hanse.kube.schemas import Schema, schema_for
from hanse.kube.transport import Unreachable
from hanse.propagation.actions import Refused, carry_out
from hanse.propagation.comparison import Apply, Present, Wanted, compare, covers
from hanse.propagation.desk import Desk
from hanse.propagation.intent import Ref

# A refusal ends when somebody mends the member, which its watch shows only for objects that are Hanse's.
_REFUSED_SECONDS = 10.0
_WRITERS = 8


class MemberSide:
    """Keeps one member as the desk says."""

    def __init__(self, member: Member, resources: Sequence[Resource], desk: Desk) -> None:
        self.name = member.name
        self._client = member.client
        self._desk = desk
        self.caches = {
            resource: Cache(member.client, resource, labels=f"{MANAGED_LABEL}=true", project=_project)
            for resource in resources
        }
        self._controller: Controller[Ref] = Controller(
            f"member {member.name}", self._reconcile, member.client.runtime, workers=_WRITERS
        )
        self._contested: dict[Ref, str] = {}

    def enqueue(self, ref: Ref) -> None:
        """Look at one object soon."""
        self._controller.queue.add(ref)

    def look_at_everything(self) -> None:
        """Look at every wish for this member soon, whatever pauses its keys are in."""
        for ref in self._desk.refs():
            if self._desk.wanted(self.name, ref) is not None:
                self._controller.queue.forget(ref)
                self.enqueue(ref)

    def sees(self, resource: Resource) -> bool:
        """Whether everything of a kind that Hanse has there has been seen."""
        return self.caches[resource].synced

    def observed(self, ref: Ref) -> Obj | None:
        """Return a copy as last seen, None where there is none."""
        return self.caches[ref.resource].get(ref.key)

    async def run(self, changed: Callable[[Ref, Change], None]) -> None:
        """Work until cancelled; `changed` hears of every change of a copy."""

        def follow(resource: Resource) -> Handler:
            def copy_changed(change: Change) -> None:
                ref = Ref(resource, change.key)
                self.enqueue(ref)
                changed(ref, change)

            return copy_changed

        async with asyncio.TaskGroup() as tasks:
            for resource, cache in self.caches.items():
                cache.subscribe(follow(resource))
                tasks.create_task(cache.run())
                tasks.create_task(self._look_when_synced(cache))
            tasks.create_task(self._controller.run())

    async def _look_when_synced(self, cache: Cache) -> None:
        """Look at the wishes once they can be compared with what is there."""
        await cache.wait_synced()
        self.look_at_everything()

    async def _reconcile(self, ref: Ref) -> float | None:
        wanted = self._desk.wanted(self.name, ref)
        if wanted is None or not self.sees(ref.resource):
            return None
        schema = schema_for(ref.resource.group, ref.resource.version, ref.resource.kind)
        observed = self.observed(ref)
        action = compare(wanted, observed, schema)
        if isinstance(action, Apply) and self._contested.get(ref) == version_of(action.observed):
            return None
        if action is None:
            self._contested.pop(ref, None)
            self._desk.report(self.name, ref, "")
            return None
        try:
            written = await carry_out(action, self._client, ref.resource, ref.key)
        except Refused as error:
            self._desk.report(self.name, ref, str(error))
            return _REFUSED_SECONDS
        except (ApiError, Unreachable) as error:
            self._desk.report(self.name, ref, str(error))
            raise
        if written is not None:
            self.caches[ref.resource].remember(written)
        self._desk.report(self.name, ref, self._contest(ref, wanted, written, schema))
        return None

    def _contest(self, ref: Ref, wanted: Wanted, written: Obj | None, schema: Schema | None) -> str:
        """Notice a member that changes what was just written, so that nobody writes it in circles."""
        self._contested.pop(ref, None)
        if not isinstance(wanted, Present) or written is None:
            return ""
        if covers(written, wanted.manifest, schema):
            return ""
        self._contested[ref] = version_of(written)
        return "the cluster changes what was applied (a webhook or another default); it is left as the cluster wants it"


def _project(obj: Obj) -> Obj:
    """Keep of the managed fields only which of them are ours and how they came about."""
    metadata = obj["metadata"]
    ours = [
        {"manager": entry["manager"], "operation": entry.get("operation")}
        for entry in metadata.pop("managedFields", None) or ()
        if entry.get("manager") == FIELD_MANAGER and not entry.get("subresource")
    ]
    if ours:
        metadata["managedFields"] = ours
    return obj
