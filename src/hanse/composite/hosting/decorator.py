"""One DecoratorController at work: attachments, labels and annotations for objects that others made."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace

from hanse.composite.bodies import DecoratorAnswer, decorator_request, is_strict, read_decorator
from hanse.composite.children import Observed, by_id
from hanse.composite.claiming import attached
from hanse.composite.hosting.acting import Hands
from hanse.composite.hosting.finalizing import held, is_held, manages_children
from hanse.composite.hosting.opened import OpenedHooks, sync_hook
from hanse.composite.hosting.place import Kinds, Place
from hanse.composite.hosting.relations import Relations, relations_of
from hanse.composite.hosting.rounds import Root, Rounds, SyncProblem, generation_of
from hanse.composite.planning import plan
from hanse.composite.preparing import prepared
from hanse.composite.spec import ControllerSpec
from hanse.kube.errors import NotFound
from hanse.kube.manifest import (
    Obj,
    annotations_of,
    finalizers_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
    version_of,
)
from hanse.kube.patches.differences import differences


class HostedDecorator:
    """Runs one DecoratorController for all objects that it decorates."""

    def __init__(self, controller: Obj, spec: ControllerSpec, kinds: Kinds, hooks: OpenedHooks, place: Place) -> None:
        self._controller = controller
        self._spec = spec
        self._hooks = hooks
        self._place = place
        self._rules = dict(zip(kinds.children, spec.children, strict=True))
        self._rounds = Rounds(spec, kinds, place, self)
        self._relations: Relations | None = None

    async def run(self) -> None:
        """Decorate until cancelled."""
        async with AsyncExitStack() as stack:
            await self._rounds.follow(stack)
            self._hands = Hands(
                self._place.client,
                {kind: kept.cache for kind, kept in self._rounds.children.items()},
                self._rounds.settling,
                server_side=self._spec.server_side,
            )
            self._relations = relations_of(
                self._controller, self._spec, self._hooks, self._place, self._rounds.add, stack
            )
            await self._rounds.run(stack)

    @property
    def objects(self) -> int:
        """How many objects it looks after."""
        return self._rounds.objects

    @property
    def waiting(self) -> int:
        """How many objects are to be looked at as soon as can be."""
        return self._rounds.waiting

    def concerns(self, root: Root, obj: Obj) -> bool:
        """Say that it is for what both selectors match, and what waits for it before it goes."""
        return self._rounds.matches(root, obj) or is_held(obj, self._spec)

    def forget(self, root: Root, uid: str) -> None:
        """Drop what is remembered of an object that is gone."""
        self._hands.forget(uid)
        if self._relations is not None:
            self._relations.forget(*root)

    async def sync(self, root: Root, obj: Obj) -> float | None:
        """Observe the attachments, ask the hook, carry out what it says, and decorate the object itself."""
        target = await held(self._place.client, root.kind, obj, self._spec)
        if not self.concerns(root, target):
            return None
        attachments = self._attached(target)
        related = {} if self._relations is None else await self._relations.of(*root, target)
        answer = await self._asked(root, target, attachments, related)
        problems: list[str] = []
        if manages_children(target, self._spec):
            problems = await self._act(target, attachments, answer)
        await self._decorate(root, target, answer)
        if problems:
            raise SyncProblem("; ".join(problems))
        return answer.resync_after

    def _attached(self, target: Obj) -> Observed:
        owned = {kind: [*kept.family.children_of(uid_of(target))] for kind, kept in self._rounds.children.items()}
        return attached(target, owned, self._spec.name)

    async def _asked(self, root: Root, target: Obj, attachments: Observed, related: Observed) -> DecoratorAnswer:
        leaves = is_deleting(target) or not self._rounds.matches(root, target)
        finalizing = self._spec.hooks.finalize is not None and leaves
        spec, hook = sync_hook(self._spec.hooks, self._hooks, finalizing=finalizing)
        body = decorator_request(self._controller, target, attachments, related, finalizing, spec.version)
        answer = read_decorator(await hook.call(body, target), is_strict(spec))
        if isinstance(answer, str):
            raise SyncProblem(f"the {'finalize' if finalizing else 'sync'} hook: {answer}")
        return answer if finalizing else replace(answer, finalized=False)

    async def _act(self, target: Obj, attachments: Observed, answer: DecoratorAnswer) -> list[str]:
        children = prepared(answer.attachments, target, self._spec, self._rules)
        if isinstance(children, str):
            raise SyncProblem(children)
        observed = by_id(attachments)
        planned = plan(
            observed,
            children,
            self._rules,
            owner=owner_reference(target),
            marks=self._hands.marks(target),
        )
        return (await self._hands.carry_out(target, observed, planned)).problems

    async def _decorate(self, root: Root, target: Obj, answer: DecoratorAnswer) -> None:
        """Write the status first, then labels, annotations and the finalizer in one."""
        before = target
        try:
            if answer.status is not None:
                written = await self._rounds.teller.write(root.kind, target, answer.status)
                target = written or target
            patch = _metadata_patch(target, answer, self._spec.finalizer)
            if patch:
                patch |= {"uid": uid_of(target), "resourceVersion": version_of(target)}
                target = await self._place.client.patch(
                    root.kind, name_of(target), {"metadata": patch}, namespace_of(target)
                )
                self._rounds.parents[root.kind].cache.remember(target)
        except NotFound:
            return
        self._rounds.settling.wrote(
            uid_of(target),
            generation_of(target),
            "the object itself",
            differences(_decorated(before, answer), _decorated(target, answer)),
            self._place.client.runtime.now(),
        )


def _decorated(target: Obj, answer: DecoratorAnswer) -> Obj:
    """Return what of an object a decorator speaks of, by which one that never settles is known."""
    labels, annotations = labels_of(target), annotations_of(target)
    metadata = {
        "labels": {key: labels[key] for key in answer.labels if key in labels},
        "annotations": {key: annotations[key] for key in answer.annotations if key in annotations},
    }
    return {"metadata": metadata, "status": (target.get("status") or {}) if answer.status is not None else {}}


def _metadata_patch(target: Obj, answer: DecoratorAnswer, finalizer: str) -> Obj:
    patch: Obj = {}
    if labels := _changes(labels_of(target), answer.labels):
        patch["labels"] = labels
    if annotations := _changes(annotations_of(target), answer.annotations):
        patch["annotations"] = annotations
    if answer.finalized and finalizer in finalizers_of(target):
        patch["finalizers"] = [name for name in finalizers_of(target) if name != finalizer]
    return patch


def _changes(have: Mapping[str, str], wanted: Mapping[str, str | None]) -> dict[str, str | None]:
    return {key: value for key, value in wanted.items() if have.get(key) != value}
