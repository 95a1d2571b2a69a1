"""One member's side of the engine: its copies as last seen, its own queue, its own retries.

A slow or dead member holds up its own queue and nobody else's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from hanse.api.names import MANAGED_LABEL
from hanse.clusters.member import Member
from hanse.kube.cache import Cache, Change, Handler
from hanse.kube.client import FIELD_MANAGER
from hanse.kube.controller import Controller
from hanse.kube.errors import ApiError, Conflict, NotFound, ServerError
from hanse.kube.manifest import Obj, dig, version_of
from hanse.kube.resources import CRDS, NAMESPACES, Resource
from hanse.kube.schemas import Schema, schema_for
from hanse.kube.transport import Unreachable
from hanse.propagation.actions import Refused, carry_out, failure_of
from hanse.propagation.blindness import LOOK_SECONDS, Blindness
from hanse.propagation.comparison import (
    Absent,
    Action,
    Apply,
    Create,
    Delete,
    Kept,
    Present,
    Released,
    Revise,
    Wanted,
    compare,
    covers,
    is_copy,
)
from hanse.propagation.desk import Desk
from hanse.propagation.drift import drift_in_words
from hanse.propagation.intent import Ref
from hanse.propagation.patience import Patience
from hanse.propagation.planning import UNSEEN, Observation
from hanse.propagation.rendering import rendered_digest
from hanse.propagation.scale import with_field
from hanse.propagation.unanswered import Unanswered

# A refusal ends when somebody mends the member, which its watch shows only for objects that are Hanse's.
_REFUSED_SECONDS = 10.0
_WRITERS = 8


class MemberSide:
    """Keeps one member as the desk says."""

    def __init__(
        self, member: Member, resources: Sequence[Resource], desk: Desk, unanswered: Unanswered | None = None
    ) -> None:
        """`unanswered` is what the member has left unanswered, which outlives this connection to it."""
        self.name = member.name
        self._unanswered = unanswered or Unanswered()
        self._changed: Callable[[Ref], None] = lambda _ref: None
        self._member = member
        self._client = member.client
        self._runtime = member.client.runtime
        self._desk = desk
        self._caches: dict[Resource, Cache] = {}
        self._blindness: dict[Resource, Blindness] = {}
        self._running: dict[Resource, asyncio.Task[None]] = {}
        self._start: Callable[[Resource], None] = lambda _resource: None
        self._controller: Controller[Ref] = Controller(
            f"member {member.name}", self._reconcile, self._runtime, workers=_WRITERS
        )
        self._contested: dict[Ref, tuple[str, str]] = {}
        # Names under which the member has an object of somebody else.
        self._taken: set[Ref] = set()
        self._patience = Patience()
        # What each copy was last brought to, while this process knows.
        self._renderings: dict[Ref, Obj] = {}
        # The version of a copy, and the wish, for which there was nothing left to do or to say.
        self._settled: dict[Ref, tuple[str, Present]] = {}
        self.follow(resources)

    def follow(self, resources: Sequence[Resource]) -> None:
        """Follow exactly these kinds from now on, less those of which nothing can be in a namespace of its own."""
        if self._member.namespace:
            resources = [resource for resource in resources if resource.namespaced]
        for resource in self._caches.keys() - set(resources):
            del self._caches[resource], self._blindness[resource]
            if task := self._running.pop(resource, None):
                task.cancel()
        for resource in resources:
            if resource not in self._caches:
                self._caches[resource] = _cache(self._member, resource)
                self._blindness[resource] = Blindness()
                self._start(resource)

    def enqueue(self, ref: Ref) -> None:
        """Look at one object soon."""
        self._controller.queue.add(ref)

    def is_busy(self, ref: Ref) -> bool:
        """Tell whether something has yet to be done for an object, or is being done."""
        return ref in self._controller.queue

    def look_at_everything(self) -> None:
        """Look at every wish for this member soon, whatever pauses its keys and its watches are in."""
        self._wake()
        self._look_at(lambda _ref: True)

    def _wake(self) -> None:
        for cache in self._caches.values():
            if not cache.connected:
                cache.wake()

    def observe(self, ref: Ref) -> Observation:
        """Return what is known of a source's copy here."""
        if self._is_beyond(ref):
            return Observation(seen=True, unserved=True)
        cache = self._caches.get(ref.resource)
        if cache is None:
            return UNSEEN
        if cache.synced and cache.connected:
            return Observation(seen=True, copy=cache.get(ref.key), asked=self._unanswered.get(ref))
        if _is_unserved(cache):
            refusal = f"it does not serve {ref.resource.kind} ({ref.resource.api_version})"
            return Observation(seen=False, refusal=refusal, unserved=True)
        blindness = self._blindness[ref.resource]
        copy, asked = cache.get(ref.key) if cache.synced else None, self._unanswered.get(ref)
        if not blindness.is_final:
            return Observation(seen=False, copy=copy, asked=asked)
        refusal = f"its {ref.resource.plural} cannot be followed: {cache.last_error or 'no complete list has come'}"
        return Observation(seen=False, copy=copy, refusal=refusal, unseen_for=blindness.seconds, asked=asked)

    def _is_beyond(self, ref: Ref) -> bool:
        """Tell whether an object would be where nothing of this cluster is ours."""
        return self._member.namespace not in ("", ref.key.namespace)

    async def run(self, changed: Callable[[Ref], None], view_changed: Callable[[Resource], None]) -> None:
        """Work until cancelled; `changed` hears of every change of a copy, `view_changed` of kinds seen or lost."""
        self._changed = changed
        async with asyncio.TaskGroup() as tasks:

            def start(resource: Resource) -> None:
                cache = self._caches[resource]
                cache.subscribe(self._following(resource, changed))
                cache.on_connected(self._connecting(resource, view_changed))
                self._running[resource] = tasks.create_task(cache.run())

            for resource in self._caches:
                start(resource)
            self._start = start
            tasks.create_task(self._give_up_waiting(view_changed))
            tasks.create_task(self._controller.run())

    def _following(self, resource: Resource, changed: Callable[[Ref], None]) -> Handler:
        def copy_changed(change: Change) -> None:
            ref = Ref(resource, change.key)
            if change.new_bytes is not None:
                self._unanswered.seen(ref)
            self.enqueue(ref)
            if resource == NAMESPACES:
                # What could not be made without its namespace can be now.
                self._look_at(lambda other: other.key.namespace == change.key.name)
            if resource == CRDS:
                # What was not served before may be now.
                self._wake()
            changed(ref)

        return copy_changed

    def _connecting(self, resource: Resource, view_changed: Callable[[Resource], None]) -> Callable[[bool], None]:
        def connected(following: bool) -> None:
            self._blindness[resource] = Blindness(listed=self._caches[resource].listed)
            if following:
                self._look_at(lambda ref: ref.resource == resource)
            view_changed(resource)

        return connected

    async def _give_up_waiting(self, view_changed: Callable[[Resource], None]) -> None:
        """Bring the sources of a kind back when one goes on without this member; nothing else would."""
        told: set[Resource] = set()
        while True:
            given_up = {
                resource
                for resource, cache in self._caches.items()
                if not cache.connected and (_is_unserved(cache) or self._blindness[resource].is_final)
            }
            for resource in given_up - told:
                view_changed(resource)
            told = given_up
            await self._runtime.sleep(LOOK_SECONDS)
            for resource, cache in self._caches.items():
                if not cache.connected:
                    self._blindness[resource] = self._blindness[resource].after_another_look(
                        cache.listed, failing=cache.last_error is not None
                    )

    def _look_at(self, chosen: Callable[[Ref], bool]) -> None:
        for ref in self._desk.refs():
            if chosen(ref) and self._desk.wanted(self.name, ref) is not None:
                self._controller.queue.forget(ref)
                self.enqueue(ref)

    async def _reconcile(self, ref: Ref) -> float | None:
        wanted = self._desk.wanted(self.name, ref)
        cache = self._caches.get(ref.resource)
        if wanted is not None and self._is_beyond(ref):
            self._decline(ref, wanted)
            return None
        if wanted is None or cache is None:
            return None
        if not cache.synced:
            # What a cluster does not even serve, it does not have.
            return await self._take_away(ref, wanted) if _is_unserved(cache) and _is_leaving(wanted) else None
        if isinstance(wanted, Present):
            if self._is_settled(ref, wanted, cache):
                return None
            return await self._bring(ref, wanted, cache.get(ref.key))
        if isinstance(wanted, Kept):
            await self._keep(ref, wanted, cache.get(ref.key))
            return None
        return await self._take_away(ref, wanted)

    def _decline(self, ref: Ref, wanted: Wanted) -> None:
        """Answer for what is none of ours here without asking the cluster, which would refuse to say."""
        if _is_leaving(wanted):
            self._desk.confirm(self.name, ref, wanted)
        else:
            self._desk.report(self.name, ref, f"only its namespace {self._member.namespace} may be used", "Forbidden")

    def _is_settled(self, ref: Ref, wanted: Present, cache: Cache) -> bool:
        """Tell whether exactly this was looked at before: every write of ours comes back through the watch."""
        settled = self._settled.get(ref)
        return settled is not None and settled[1] is wanted and settled[0] == cache.version(ref.key)

    def _settle(self, ref: Ref, wish: Present, copy: Obj | None, told: str) -> None:
        """Say how a wish stands in this member, and remember the copy for which nothing is left to do."""
        self._settled.pop(ref, None)
        if copy is not None and not told:
            self._settled[ref] = (version_of(copy), wish)
        self._desk.report(self.name, ref, told)

    async def _bring(self, ref: Ref, wish: Present, observed: Obj | None) -> float | None:
        """Have the member hold what it shall hold."""
        wanted = wish
        if wanted.retain and observed is not None:
            wanted = replace(wanted, manifest=_retaining(wanted, observed))
        schema = schema_for(ref.resource.group, ref.resource.version, ref.resource.kind)
        # Of namespaces only the metadata is followed, which is not enough to write one whole.
        whole = ref.resource != NAMESPACES
        action = compare(wanted, observed, schema, self._renderings.get(ref), whole=whole)
        if action is None:
            self._renderings[ref] = wanted.manifest
            self._settle(ref, wish, observed, _drift(wanted, observed, schema) or self._patience.told(ref))
            return None
        if isinstance(action, Apply | Revise) and observed is not None:
            digest = rendered_digest(wanted.manifest)
            if self._contested.get(ref) == (version_of(observed), digest):
                return None
            drifted = rendered_digest(observed) == digest
            if wait := self._patience.wait(ref, digest, self._runtime.monotonic(), drifted=drifted):
                return wait
        try:
            if isinstance(action, Create) and not action.adopt and await self._is_still_taken(ref):
                return _REFUSED_SECONDS
            written = await self._carry_out(action, ref)
        except Refused as error:
            if isinstance(action, Create):
                self._taken.add(ref)
            self._desk.report(self.name, ref, str(error), error.reason)
            return _REFUSED_SECONDS
        except (ApiError, Unreachable) as error:
            self._desk.report(self.name, ref, str(error), failure_of(action))
            raise
        if written is not None:
            self._renderings[ref] = wanted.manifest
            self._caches[ref.resource].remember(written)
        self._settle(ref, wish, written, self._contest(ref, wanted, written, schema) or self._patience.told(ref))
        return None

    async def _carry_out(self, action: Action, ref: Ref) -> Obj | None:
        """Act, and remember a creation of which nobody said what became of it."""
        if not isinstance(action, Create):
            return await carry_out(action, self._client, ref.resource, ref.key)
        self._unanswered.sends(ref, action.manifest)
        try:
            written = await carry_out(action, self._client, ref.resource, ref.key)
        except (ApiError, Refused) as error:
            if isinstance(error, ServerError):
                self._break_off(ref)
            else:
                self._unanswered.refused(ref)
            raise
        except BaseException:
            self._break_off(ref)
            raise
        self._unanswered.seen(ref)
        return written

    def _break_off(self, ref: Ref) -> None:
        self._unanswered.broke_off(ref, self._runtime.now())
        # Others may have waited for it, and wait for a while yet.
        self._changed(ref)

    async def _is_still_taken(self, ref: Ref) -> bool:
        """Look before a creation that was refused is tried again: what stays refused shall not be written for ever."""
        if ref in self._taken and await self._client.find(ref.resource, ref.key.name, ref.key.namespace) is not None:
            return True
        self._taken.discard(ref)
        return False

    async def _keep(self, ref: Ref, wanted: Kept, observed: Obj | None) -> None:
        """Leave a copy as it is, but for numbers that other clusters depend on."""
        action = compare(wanted, observed, None)
        try:
            written = None if action is None else await carry_out(action, self._client, ref.resource, ref.key)
        except (ApiError, Unreachable) as error:
            self._desk.report(self.name, ref, str(error), "UpdateFailed")
            raise
        if written is not None:
            self._caches[ref.resource].remember(written)
        self._desk.report(self.name, ref, "")

    async def _take_away(self, ref: Ref, wanted: Wanted) -> float | None:
        """Have the member hold nothing of a source any more, as it says itself and not as it was seen."""
        if self._is_gone(ref, wanted):
            return None
        if ref.resource == NAMESPACES and self._desk.holds(self.name, ref.key.name):
            self._desk.report(self.name, ref, "it is still needed for what is in it", "WaitingForRemoval")
            return _REFUSED_SECONDS
        try:
            live = await self._removed(ref, wanted)
        except (ApiError, Unreachable) as error:
            failed = "LabelRemovalFailed" if isinstance(wanted, Released) else "DeletionFailed"
            self._desk.report(self.name, ref, str(error), failed)
            raise
        self._desk.report(self.name, ref, "")
        if live is None or not is_copy(wanted, live):
            self._desk.confirm(self.name, ref, wanted)
            self._contested.pop(ref, None)
            self._taken.discard(ref)
            self._patience.forget(ref)
            self._renderings.pop(ref, None)
            self._settled.pop(ref, None)
            return None
        # It is going, held by somebody's finalizer, and its end comes through the watch; or it was a stale read.
        return _REFUSED_SECONDS

    def _is_gone(self, ref: Ref, wanted: Wanted) -> bool:
        """Tell whether the member has said that it has no copy, and has shown none since."""
        cache = self._caches[ref.resource]
        if self.name not in self._desk.confirmed(ref, wanted.source_uid) or not cache.synced:
            return False
        return compare(wanted, cache.get(ref.key), None) is None

    async def _removed(self, ref: Ref, wanted: Wanted) -> Obj | None:
        """Remove or release a copy; returns what the member has under that name now."""
        cache = self._caches[ref.resource]
        seen = compare(wanted, cache.get(ref.key), None) if cache.synced else None
        if isinstance(seen, Delete):
            try:
                # It names the version that was judged, so a view that is no longer true deletes nothing.
                return await carry_out(seen, self._client, ref.resource, ref.key)
            except Conflict:
                pass
        live = await self._client.find(ref.resource, ref.key.name, ref.key.namespace)
        action = compare(wanted, live, None)
        if action is None:
            return live
        if isinstance(action, Delete):
            return await carry_out(action, self._client, ref.resource, ref.key)
        await carry_out(action, self._client, ref.resource, ref.key)
        return await self._client.find(ref.resource, ref.key.name, ref.key.namespace)

    def _contest(self, ref: Ref, wanted: Present, written: Obj | None, schema: Schema | None) -> str:
        """Notice a member that changes what was just written, so that nobody writes it in circles."""
        self._contested.pop(ref, None)
        if written is None or covers(written, wanted.manifest, schema):
            return ""
        self._contested[ref] = (version_of(written), rendered_digest(wanted.manifest))
        return "the cluster changes what was applied (a webhook or another default); it is left as the cluster wants it"


def _drift(wanted: Present, observed: Obj | None, schema: Schema | None) -> str:
    """Return what is to be said of changes that are left as they are, "" where there are none."""
    if wanted.mend or observed is None or covers(observed, wanted.manifest, schema):
        return ""
    return drift_in_words(observed, wanted.manifest, schema)


def _is_unserved(cache: Cache) -> bool:
    return isinstance(cache.last_error, NotFound)


def _is_leaving(wanted: Wanted) -> bool:
    return isinstance(wanted, Absent | Released)


def _retaining(wanted: Present, observed: Obj) -> Obj:
    """Return the manifest with what the member has in the fields that it keeps."""
    manifest = wanted.manifest
    for path in wanted.retain:
        if (value := dig(observed, *path)) is not None:
            manifest = with_field(manifest, path, value)
    return manifest


def _cache(member: Member, resource: Resource) -> Cache:
    """Follow the copies of a kind; of namespaces all, since those that were there before are used too."""
    if resource == NAMESPACES:
        return Cache(member.client, resource, metadata_only=True, project=_project)
    return Cache(member.client, resource, namespace=member.namespace, labels=f"{MANAGED_LABEL}=true", project=_project)


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
