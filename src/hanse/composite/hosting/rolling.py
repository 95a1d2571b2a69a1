"""Rolling updates at work: the hook asked at every revision that still has children, and what that comes to, stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from hanse.api.metacontroller.kinds import CONTROLLER_REVISIONS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.composite.applying import Mark
from hanse.composite.bodies import SyncAnswer, is_strict, read_update_child, update_child_request
from hanse.composite.children import ChildId
from hanse.composite.claiming import adopted, selector_of
from hanse.composite.hooks.calling import Hook, HookFailed
from hanse.composite.hosting.opened import OpenedHooks
from hanse.composite.hosting.place import Place
from hanse.composite.hosting.shelf import Kept
from hanse.composite.preparing import Child
from hanse.composite.rolling.progress import Progress, advance, questions
from hanse.composite.rolling.revisions import (
    RevisionStore,
    patch_of,
    revision_labels,
    revision_name,
    revisions_of,
    with_latest,
    with_patch,
)
from hanse.composite.rolling.situation import Situation, Told, Words
from hanse.composite.spec import ChildRule, ControllerSpec, HookSpec
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Obj, controller_of, dig, name_of, namespace_of, uid_of
from hanse.kube.resources import Resource
from hanse.kube.selectors import LabelSelector

Call = Callable[[Obj], Awaitable[SyncAnswer]]
Prepare = Callable[[SyncAnswer, Obj], tuple[Child, ...]]


@dataclass(frozen=True, slots=True)
class Rolled:
    """What follows from the answers for all revisions: the newest's answer, and the children each at its version."""

    answer: SyncAnswer
    children: tuple[Child, ...]
    allowed: frozenset[ChildId]
    updated: Obj
    finalized: bool
    again: float | None


class Roller:
    """Moves the children of a controller's parents from revision to revision."""

    def __init__(
        self,
        controller: Obj,
        spec: ControllerSpec,
        parent_kind: Resource,
        rules: Mapping[Resource, ChildRule],
        hooks: OpenedHooks,
        place: Place,
        revisions: Kept,
    ) -> None:
        self._controller = controller
        self._spec = spec
        self._parent_kind = parent_kind
        self._rules = rules
        self._rolling = [kind for kind, rule in rules.items() if rule.method.rolling]
        self._hooks = hooks
        self._place = place
        self._revisions = revisions
        # Children that the server would not take, by the uid of their parent.
        self.refused: dict[str, set[ChildId]] = {}

    async def roll(
        self,
        parent: Obj,
        observed: Mapping[ChildId, Obj],
        call: Call,
        prepare: Prepare,
        marks: Mapping[ChildId, Mark] | None,
    ) -> Rolled:
        """Ask for every revision, move on as far as is allowed, and store that before anything follows from it."""
        paths = self._spec.revision_paths
        stored = self._revisions.family.children_of(uid_of(parent))
        known = revisions_of(parent, stored, self._rolling)
        latest, older = with_latest(known, patch_of(parent, paths))
        versions = [parent, *(with_patch(parent, revision.patch, paths) for revision in older)]
        answers = await asyncio.gather(*(call(version) for version in versions))
        told = [
            Told(revision, prepare(answer, version))
            for revision, answer, version in zip((latest, *older), answers, versions, strict=True)
        ]
        situation = Situation(
            latest=told[0],
            older=tuple(told[1:]),
            observed=observed,
            rules=self._rules,
            generation=dig(parent, "metadata", "generation", default=0),
            now=self._place.client.runtime.now(),
            marks=marks,
            refused=self.refused.get(uid_of(parent), ()),
            asks_before=self._hooks.pre_update_child is not None,
            asks_after=self._hooks.post_update_child is not None,
        )
        progress = advance(situation, await self._words(parent, situation))
        await self._store(parent, progress)
        return Rolled(
            answer=answers[0],
            children=progress.desired,
            allowed=progress.allowed,
            updated=progress.updated,
            finalized=all(answer.finalized for answer in answers),
            again=_soonest([progress.recheck_after, *(answer.resync_after for answer in answers)]),
        )

    async def _words(self, parent: Obj, situation: Situation) -> Words:
        asked = questions(situation)
        hooks, specs = self._hooks, self._spec.hooks
        before = await self._asked(parent, situation, asked.before, specs.pre_update_child, hooks.pre_update_child)
        after = await self._asked(parent, situation, asked.after, specs.post_update_child, hooks.post_update_child)
        return Words(before, after)

    async def _asked(
        self, parent: Obj, situation: Situation, children: Sequence[Child], spec: HookSpec | None, hook: Hook | None
    ) -> dict[ChildId, str]:
        if spec is None or hook is None:
            return {}
        revision = revision_name(parent, self._parent_kind, situation.latest.revision.patch)
        words = {}
        for child in children:
            live = situation.observed.get(child.id)
            body = update_child_request(self._controller, parent, live, child.manifest, revision)
            answer = read_update_child(await hook.call(body, parent), is_strict(spec))
            if isinstance(answer, str):
                raise HookFailed(f"the hook about {child.id}: {answer}")
            words[child.id] = "" if answer.ready else answer.message or "its hook says so"
        return words

    async def _store(self, parent: Obj, progress: Progress) -> None:
        client, cache = self._place.client, self._revisions.cache
        selector = selector_of(parent, self._spec)
        labels = revision_labels(
            parent, self._parent_kind, selector if isinstance(selector, LabelSelector) else LabelSelector()
        )
        store = RevisionStore(parent, self._parent_kind, labels, namespace_of(parent) or SYSTEM_NAMESPACE)
        changes = store.changes(progress.kept, progress.dropped)
        for body in changes.create:
            try:
                cache.remember(await client.create(CONTROLLER_REVISIONS, body))
            except AlreadyExists:
                # The cache lags behind a write of ours: what is there is taken, and looked at again.
                cache.remember(await self._own(parent, name_of(body), namespace_of(body)))
                raise
        for body in changes.update:
            cache.remember(await client.update(CONTROLLER_REVISIONS, body))
        for gone in changes.delete:
            try:
                await client.delete(CONTROLLER_REVISIONS, name_of(gone), namespace_of(gone), uid=uid_of(gone))
            except NotFound:
                continue

    async def _own(self, parent: Obj, name: str, namespace: str) -> Obj:
        """Return a revision that is there; one that lost its owner is given it back, which its name proves."""
        client = self._place.client
        found = await client.get(CONTROLLER_REVISIONS, name, namespace)
        return (
            found
            if controller_of(found) is not None
            else await client.update(CONTROLLER_REVISIONS, adopted(found, parent))
        )


def _soonest(times: Sequence[float | None]) -> float | None:
    given = [seconds for seconds in times if seconds is not None]
    return min(given) if given else None
