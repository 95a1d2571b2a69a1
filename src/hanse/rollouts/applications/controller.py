"""The loop that turns Applications into Releases: observe, decide (`planning`), write, report."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.api.shipper.kinds import APP_LABEL, APPLICATIONS, GLOBAL_BLOCKS_NAMESPACE, OVERRIDE_ANNOTATION, RELEASES
from hanse.kube.cache import Change
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.controller import Controller, Terminal
from hanse.kube.errors import AlreadyExists, ApiError, BadRequest, Conflict, Forbidden, Invalid, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    dig,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    uid_of,
    version_of,
)
from hanse.kube.queue import LAST_BACKOFF_SECONDS
from hanse.kube.runtime import timestamp
from hanse.rollouts.applications.planning import BLOCKED, Plan, Resolution, not_created, plan, unresolved
from hanse.rollouts.applications.releases import belongs, is_complete, oldest_first, was_completed
from hanse.rollouts.blocks.standing import BLOCKED_EVENT, OVERRIDDEN_EVENT, overrides_of, standing
from hanse.rollouts.shelf import Shelf
from hanse.rollouts.sources import Sources
from hanse.rollouts.sources.problem import SourceProblem

_FIRST_RETRY_SECONDS = 1.0
_NAMESPACE_CAUSES = frozenset({"NamespaceTerminating"})


class ApplicationController:
    """Makes a Release of every change of an Application's template, and keeps as many of them as it says."""

    def __init__(self, host: Client, shelf: Shelf, sources: Sources) -> None:
        self._host = host
        self._shelf = shelf
        self._sources = sources
        self._events = EventRecorder(host, "hanse-rollouts")
        self._controller: Controller[Key] = Controller("applications", self._reconcile, host.runtime)
        self._failures: dict[Key, int] = {}

    async def run(self) -> None:
        """Work until cancelled; the shelf is run by its owner."""
        await self._shelf.wait_synced()
        self._shelf.applications.subscribe(lambda change: self._controller.queue.add(change.key))
        self._shelf.releases.subscribe(self._release_changed)
        self._shelf.pieces.subscribe(self._piece_changed)
        self._shelf.blocks.subscribe(self._block_changed)
        await self._controller.run()

    def _release_changed(self, change: Change) -> None:
        old, new = change.old, change.new
        if _matters(old) == _matters(new):
            return
        for obj in (old, new):
            if obj is not None:
                self._controller.queue.add(Key(change.key.namespace, labels_of(obj).get(APP_LABEL, "")))

    def _piece_changed(self, change: Change) -> None:
        """With the last of its pieces a release that is gone leaves its name to the next."""
        if change.new_bytes is None and change.old is not None:
            self._controller.queue.add(Key(change.key.namespace, labels_of(change.old).get(APP_LABEL, "")))

    def _block_changed(self, change: Change) -> None:
        if change.old_bytes is not None and change.new_bytes is not None:
            return
        for key in self._shelf.applications:
            if change.key.namespace in (key.namespace, GLOBAL_BLOCKS_NAMESPACE):
                self._controller.queue.add(key)

    async def _reconcile(self, key: Key) -> float | None:
        application = self._shelf.applications.get(key)
        if application is None or is_deleting(application):
            self._failures.pop(key, None)
            return None
        resolution, again = await self._resolve(application)
        if self._shelf.applications.version(key) != version_of(application):
            # It changed while the repository was asked, and waits to be looked at again.
            return None
        blocks = tuple(self._shelf.blocks)
        planned = self._planned(application, self._shelf.releases_of(key), blocks, resolution)
        if planned.returns_to:
            # Going back changes what somebody wrote: not on the word of a cache that may lag behind.
            planned = self._planned(application, await self._listed(key), blocks, resolution)
        await self._carry_out(application, planned, blocks)
        return planned.look_again if again is None else again

    def _planned(
        self, application: Obj, releases: Sequence[Obj], blocks: Sequence[Key], resolution: Resolution | None
    ) -> Plan:
        """Decide; a release gets no name of which another one has left something behind."""
        now = timestamp(self._host.runtime.now())
        remains: dict[str, str] = {}
        while True:
            planned = plan(application, releases, blocks, resolution, now, remains)
            pieces = () if planned.release is None else self._shelf.pieces_of(key_of(planned.release))
            if planned.release is None or not pieces:
                return planned
            times = [piece["metadata"].get("deletionTimestamp") or "" for piece in pieces]
            remains[name_of(planned.release)] = min(times)

    async def _resolve(self, application: Obj) -> tuple[Resolution | None, float | None]:
        """Find a chart's version where it is yet to be found; the second value is when to look again."""
        key, environment = key_of(application), unresolved(application)
        if environment is None or standing(application, self._shelf.blocks) is not None:
            self._failures.pop(key, None)
            return None, None
        try:
            version = await self._sources.resolve(environment, key.namespace)
        except SourceProblem as problem:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            pause = _FIRST_RETRY_SECONDS * 2.0 ** min(failures - 1, 10)
            # What a repository lacks today it may have tomorrow: even that is asked for again, at the longest pause.
            again = min(pause, LAST_BACKOFF_SECONDS) if problem.transient else LAST_BACKOFF_SECONDS
            return Resolution(problem=str(problem)), again
        self._failures.pop(key, None)
        return Resolution(version), None

    async def _listed(self, key: Key) -> list[Obj]:
        found = await self._host.list(RELEASES, key.namespace, labels=f"{APP_LABEL}={key.name}")
        return oldest_first(found.items)

    async def _carry_out(self, application: Obj, planned: Plan, blocks: Sequence[Key]) -> None:
        if planned.release is not None:
            try:
                await self._create(application, planned.release)
            except ApiError as error:
                if isinstance(error, Conflict):
                    raise
                status = not_created(planned, str(error), timestamp(self._host.runtime.now()))
                await self._write_status(application, status)
                raise (Terminal(str(error)) if is_final(error) else error) from error
        written = await self._write(application, planned.application)
        await self._write_status(written, planned.status)
        await self._tell(application, planned)
        await self._delete(written, planned.doomed, blocks)

    async def _create(self, application: Obj, release: Obj) -> None:
        try:
            created = await self._host.create(RELEASES, release)
        except AlreadyExists:
            created = await self._host.get(RELEASES, name_of(release), key_of(release).namespace)
            if not belongs(created, application):
                raise AlreadyExists(
                    409,
                    "AlreadyExists",
                    f'Release "{key_of(release)}" exists and does not belong to Application "{key_of(application)}"',
                ) from None
        self._shelf.releases.remember(created)

    async def _write(self, application: Obj, wanted: Obj) -> Obj:
        if _written_part(application) == _written_part(wanted):
            return application
        written = await self._host.update(APPLICATIONS, wanted)
        self._shelf.applications.remember(written)
        return written

    async def _write_status(self, application: Obj, status: Obj) -> None:
        if application.get("status") == status:
            return
        written = await self._host.update(APPLICATIONS, {**application, "status": status}, subresource="status")
        self._shelf.applications.remember(written)

    async def _delete(self, application: Obj, doomed: Sequence[Obj], blocks: Sequence[Key]) -> None:
        """Delete releases in order; the first that cannot be deleted keeps those after it."""
        for release in doomed:
            key = key_of(release)
            try:
                seen = release
                if standing(release, blocks) is not None:
                    seen = await self._override(release, annotations_of(application).get(OVERRIDE_ANNOTATION))
                # Of exactly that version: one that was completed a moment ago is worth keeping.
                version = "" if was_completed(seen) else version_of(seen)
                left = await self._host.delete(RELEASES, key.name, key.namespace, uid=uid_of(seen), version=version)
            except NotFound:
                continue
            if left is not None:
                self._shelf.releases.remember(left)

    async def _override(self, release: Obj, override: str | None) -> Obj:
        """Put an application's override on its release: it speaks for it."""
        metadata = {"resourceVersion": version_of(release), "annotations": {OVERRIDE_ANNOTATION: override}}
        key = key_of(release)
        return await self._host.patch(RELEASES, key.name, {"metadata": metadata}, key.namespace)

    async def _tell(self, application: Obj, planned: Plan) -> None:
        if planned.release is not None:
            if overrides_of(application):
                told = f"overrides rollout block(s) {','.join(overrides_of(application))}"
                await self._events.record(application, OVERRIDDEN_EVENT, told)
            await self._events.record(application, "ReleaseCreated", f'created Release "{name_of(planned.release)}"')
        if planned.returns_to:
            told = f'returns to Release "{planned.returns_to}", since the one after it was deleted'
            await self._events.record(application, "Aborted", told)
        blocked = find_condition(planned.status["conditions"], BLOCKED) or {}
        if blocked.get("status") == "True" and not is_true(dig(application, "status", "conditions"), BLOCKED):
            await self._events.record(application, BLOCKED_EVENT, blocked["message"], warning=True)


def _matters(release: Obj | None) -> object:
    """Return what of a release an application's controller acts on."""
    if release is None:
        return None
    metadata = release["metadata"]
    return (
        metadata.get("labels"),
        metadata.get("annotations"),
        metadata.get("deletionTimestamp"),
        was_completed(release),
        is_complete(release),
    )


def _written_part(application: Obj) -> object:
    return application["metadata"], application["spec"]


def is_final(error: ApiError) -> bool:
    """Tell whether the same request cannot succeed later; in a namespace that is being deleted it may, in a new one."""
    if isinstance(error, Forbidden):
        causes = dig(error.status, "details", "causes", default=[])
        return not any(cause.get("reason") in _NAMESPACE_CAUSES for cause in causes)
    return isinstance(error, Invalid | BadRequest)
