"""Carrying out what was decided of releases: a write finds the very object that was looked at, or is decided anew."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.shipper.kinds import (
    APPLICATIONS,
    CAPACITY_TARGETS,
    PAUSED_ANNOTATION,
    RELEASES,
    ROLLOUT_FINALIZER,
    TRAFFIC_TARGETS,
)
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    finalizers_of,
    name_of,
    namespace_of,
    uid_of,
    version_of,
)
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.rollouts.execution import Patch
from hanse.rollouts.releases.manifests import entries
from hanse.rollouts.releases.status import happenings
from hanse.rollouts.releases.stored import Stored
from hanse.rollouts.shelf import Shelf


class ReleaseWriter:
    """Writes releases and the numbers of their targets, and tells of it."""

    def __init__(self, host: Client, shelf: Shelf) -> None:
        self._host = host
        self._shelf = shelf
        self._events = EventRecorder(host, "hanse")

    async def status(self, release: Obj, status: Obj) -> Obj:
        """Write a release's status where it is another, and tell of what changed; returns the release."""
        old = release.get("status") or {}
        patch = merge_patch_between(old, status)
        if not patch:
            return release
        written = await self._host.patch(
            RELEASES,
            name_of(release),
            _guarded(release, {"status": patch}),
            namespace_of(release),
            subresource="status",
        )
        self._shelf.releases.remember(written)
        for each in happenings(release, status):
            await self._events.record(written, each.reason, each.message, warning=each.warning)
        return written

    async def numbers(self, patch: Patch, looked_at: Mapping[Key, Stored]) -> None:
        """Give a release's target other percents or weights, of all its clusters at once."""
        stored = looked_at.get(patch.release)
        capacity = patch.kind == "capacity"
        target = None if stored is None else stored.capacity if capacity else stored.traffic
        if target is None:
            return
        resource, field = (CAPACITY_TARGETS, "percent") if capacity else (TRAFFIC_TARGETS, "weight")
        clusters = [{**each, field: patch.values.get(each["name"], each.get(field, 0))} for each in entries(target)]
        body = _guarded(target, {"spec": {"clusters": clusters}})
        written = await self._host.patch(resource, name_of(target), body, namespace_of(target))
        (self._shelf.capacities if capacity else self._shelf.traffics).remember(written)

    async def advance(self, release: Obj, step: int) -> None:
        """Go to another step."""
        await self._change(release, {"spec": {"targetStep": step}})
        await self._events.record(release, "StepAdvanced", f"goes on to step [{step}]")

    async def pause(self, release: Obj, why: str) -> None:
        """Freeze a release until a person has looked."""
        if annotations_of(release).get(PAUSED_ANNOTATION) != "true":
            await self._change(release, {"metadata": {"annotations": {PAUSED_ANNOTATION: "true"}}})
            await self._events.record(release, "RolloutPaused", why, warning=True)

    async def abort(self, release: Obj, why: str) -> None:
        """Delete a release, so that the one before it takes its place."""
        await self._events.record(release, "RolloutAborted", why, warning=True)
        try:
            left = await self._host.delete(RELEASES, name_of(release), namespace_of(release), uid=uid_of(release))
        except NotFound:
            return
        if left is not None:
            self._shelf.releases.remember(left)

    async def roll_back(self, release: Obj, application: Obj, previous: Obj, why: str) -> None:
        """Put the environment of the release before into the application's template."""
        environment = previous["spec"]["environment"]
        if application["spec"].get("template") == environment:
            return
        changed = {**application, "spec": {**application["spec"], "template": environment}}
        self._shelf.applications.remember(await self._host.update(APPLICATIONS, changed))
        await self._events.record(release, "RolloutRolledBack", f"{why}; {name_of(previous)} comes back", warning=True)

    async def let_go(self, release: Obj) -> None:
        """Take away what keeps a deleted release."""
        kept = [name for name in finalizers_of(release) if name != ROLLOUT_FINALIZER]
        if kept == finalizers_of(release):
            return
        # Not remembered: with its last finalizer it is gone, and only the watch can tell.
        try:
            body = _guarded(release, {"metadata": {"finalizers": kept}})
            await self._host.patch(RELEASES, name_of(release), body, namespace_of(release))
        except NotFound:
            return

    async def _change(self, release: Obj, change: Obj) -> None:
        body = _guarded(release, change)
        written = await self._host.patch(RELEASES, name_of(release), body, namespace_of(release))
        self._shelf.releases.remember(written)


def _guarded(obj: Obj, change: Obj) -> Obj:
    """Return a patch that only the version of an object takes that was looked at."""
    return {**change, "metadata": {**change.get("metadata", {}), "resourceVersion": version_of(obj)}}
