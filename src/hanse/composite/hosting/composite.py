"""One CompositeController at work: from a parent and what exists of its children to the children that shall exist."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from hanse.api.metacontroller.kinds import CONTROLLER_REVISIONS
from hanse.composite.bodies import SyncAnswer, is_strict, read_sync, sync_request
from hanse.composite.children import ChildId, Observed, by_id
from hanse.composite.claiming import adopted, claim, may_adopt, released, selector_of
from hanse.composite.hosting.abroad import HandsAbroad, hands_abroad
from hanse.composite.hosting.acting import Hands, Outcome
from hanse.composite.hosting.finalizing import held, is_held, manages_children
from hanse.composite.hosting.finalizing import released as let_go
from hanse.composite.hosting.opened import OpenedHooks, sync_hook
from hanse.composite.hosting.parents import Selectors
from hanse.composite.hosting.place import Kinds, Place
from hanse.composite.hosting.relations import Relations, relations_of
from hanse.composite.hosting.rolling import Roller
from hanse.composite.hosting.rounds import Root, Rounds, SyncProblem, generation_of
from hanse.composite.hosting.telling import observed_generation
from hanse.composite.placing import Abroad
from hanse.composite.planning import plan
from hanse.composite.preparing import Child, prepared
from hanse.composite.rolling.reporting import with_condition
from hanse.composite.spec import ControllerSpec
from hanse.kube.manifest import (
    Obj,
    finalizers_of,
    is_deleting,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
    version_of,
)
from hanse.kube.patches.differences import differences, digest
from hanse.kube.resources import Resource
from hanse.kube.runtime import timestamp

# The Event that tells of a child whose name another object has.
NAME_COLLISION = "NameCollision"


@dataclass(frozen=True, slots=True)
class _Scene:
    """A parent, what exists of its children beside it and in other clusters, and what else its hook is shown."""

    parent: Obj
    beside: Observed
    abroad: Abroad
    related: Observed

    @property
    def children(self) -> Observed:
        """All children, as the hook is shown them."""
        return {kind: [*objects, *self.abroad.of_kind(kind)] for kind, objects in self.beside.items()}

    @property
    def observed(self) -> dict[ChildId, Obj]:
        """The children by which they are."""
        return {**by_id(self.beside), **self.abroad.shown}

    @property
    def asked(self) -> dict[ChildId, Obj]:
        """The children by which they are, those in other clusters as they were last asked for."""
        return {**by_id(self.beside), **self.abroad.asked}

    @property
    def fingerprint(self) -> str:
        """A digest of what the hook was shown beside the parent."""
        shown = [[uid_of(obj), version_of(obj)] for of in (self.children, self.related) for obj in chain(*of.values())]
        return digest({"shown": sorted(shown)})


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What a sync wants: the children, of which rolling ones change only if allowed, the status, and when to look."""

    children: tuple[Child, ...]
    status: Obj
    finalized: bool
    again: float | None
    allowed: frozenset[ChildId] | None = None


class HostedComposite:
    """Runs one CompositeController for all its parents."""

    def __init__(self, controller: Obj, spec: ControllerSpec, kinds: Kinds, hooks: OpenedHooks, place: Place) -> None:
        self._controller = controller
        self._spec = spec
        self._hooks = hooks
        self._place = place
        (self._kind,) = kinds.parents
        self._rules = dict(zip(kinds.children, spec.children, strict=True))
        self._selectors = Selectors(partial(selector_of, spec=spec))
        self._rounds = Rounds(spec, kinds, place, self)
        self._relations: Relations | None = None
        self._roller: Roller | None = None
        self._abroad: HandsAbroad | None = None
        # What the hook was shown when the status was written last, by the uid of the parent.
        self._shown: dict[str, str] = {}

    async def run(self) -> None:
        """Sync parents until cancelled."""
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
            if self._spec.rolls:
                revisions = await stack.enter_async_context(self._place.shelf.lend(CONTROLLER_REVISIONS))
                self._roller = Roller(
                    self._controller, self._spec, self._kind, self._rules, self._hooks, self._place, revisions
                )
            self._abroad = await hands_abroad(self._place, self._kind, self._rounds, stack)
            stack.callback(self._rounds.parents[self._kind].cache.subscribe(self._selectors.changed))
            await self._rounds.run(stack, self._orphaned)

    @property
    def objects(self) -> int:
        """How many objects it looks after."""
        return self._rounds.objects

    @property
    def waiting(self) -> int:
        """How many objects are to be looked at as soon as can be."""
        return self._rounds.waiting

    def concerns(self, root: Root, obj: Obj) -> bool:
        """Say that it is for the parents that match, and those that wait for it before they go."""
        return self._rounds.matches(root, obj) or is_held(obj, self._spec)

    def forget(self, root: Root, uid: str) -> None:
        """Drop what is remembered of a parent that is gone."""
        self._hands.forget(uid)
        self._shown.pop(uid, None)
        if self._roller is not None:
            self._roller.refused.pop(uid, None)
        if self._relations is not None:
            self._relations.forget(*root)

    async def sync(self, root: Root, obj: Obj) -> float | None:
        """Observe a parent's children, ask the hook, carry out what it says, and report."""
        client = self._place.client
        parent = await held(client, self._kind, obj, self._spec)
        if not self.concerns(root, parent):
            return None
        scene = await self._observed(root, parent)
        verdict = await self._asked(root, scene)
        if verdict.finalized:
            parent = await let_go(client, self._kind, parent, self._spec)
        outcome = Outcome()
        if manages_children(parent, self._spec):
            outcome = await self._act(parent, scene, verdict)
        problem = "; ".join([*outcome.problems, *scene.abroad.troubles])
        if problem or not self._is_outdated(root, parent, verdict, outcome):
            await self._report(parent, verdict.status, scene, problem)
        if outcome.problems:
            raise SyncProblem(problem)
        # In other clusters the engine tries again, and tells when that has helped.
        await self._rounds.teller.warn(parent, problem)
        return verdict.again

    def _orphaned(self, orphan: Obj) -> Iterator[Root]:
        return (Root(self._kind, key) for key in self._selectors.of_orphan(orphan))

    async def _observed(self, root: Root, parent: Obj) -> _Scene:
        selector = selector_of(parent, self._spec)
        if isinstance(selector, str):
            raise SyncProblem(selector)
        uid, home = uid_of(parent), namespace_of(parent)
        candidates = {
            kind: [*kept.family.children_of(uid), *kept.family.orphans(selector, home)]
            for kind, kept in self._rounds.children.items()
        }
        claims = claim(parent, candidates, selector)
        for kind, child in claims.release:
            await self._write_owners(kind, released(child, parent))
        children = {kind: list(objects) for kind, objects in claims.own.items()}
        if claims.adopt and may_adopt(parent, await self._place.client.find(self._kind, name_of(parent), home)):
            for kind, orphan in claims.adopt:
                children[kind].append(await self._write_owners(kind, adopted(orphan, parent)))
        related = {} if self._relations is None else await self._relations.of(*root, parent)
        abroad = Abroad() if self._abroad is None else self._abroad.observe(parent, self._rules)
        return _Scene(parent, children, abroad, related)

    async def _write_owners(self, kind: Resource, child: Obj) -> Obj:
        written = await self._place.client.update(kind, child)
        self._rounds.children[kind].cache.remember(written)
        return written

    async def _asked(self, root: Root, scene: _Scene) -> _Verdict:
        parent = scene.parent
        if self._roller is None or not manages_children(parent, self._spec):
            answer = await self._call(root, parent, scene)
            return _Verdict(self._prepared(answer, parent), answer.status, answer.finalized, answer.resync_after)
        rolled = await self._roller.roll(
            parent,
            scene.observed,
            lambda version: self._call(root, version, scene),
            self._prepared,
            self._hands.marks(parent),
        )
        now = timestamp(self._place.client.runtime.now())
        status = with_condition(rolled.answer.status, rolled.updated, parent.get("status"), now)
        return _Verdict(rolled.children, status, rolled.finalized, rolled.again, rolled.allowed)

    async def _call(self, root: Root, parent: Obj, scene: _Scene) -> SyncAnswer:
        """Call the hook for a parent, which may be as it was at another revision."""
        leaves = is_deleting(parent) or not self._rounds.matches(root, scene.parent)
        finalizing = self._spec.hooks.finalize is not None and leaves
        spec, hook = sync_hook(self._spec.hooks, self._hooks, finalizing=finalizing)
        body = sync_request(self._controller, parent, scene.children, scene.related, finalizing, spec.version)
        answer = read_sync(await hook.call(body, parent), is_strict(spec))
        if isinstance(answer, str):
            raise SyncProblem(f"the {'finalize' if finalizing else 'sync'} hook: {answer}")
        return answer if finalizing else replace(answer, finalized=False)

    def _prepared(self, answer: SyncAnswer, parent: Obj) -> tuple[Child, ...]:
        fleet = None if self._abroad is None else self._abroad.fleet_for(answer.children)
        children = prepared(answer.children, parent, self._spec, self._rules, fleet=fleet)
        if isinstance(children, str):
            raise SyncProblem(children)
        return tuple(children)

    async def _act(self, parent: Obj, scene: _Scene, verdict: _Verdict) -> Outcome:
        planned = plan(
            scene.asked,
            verdict.children,
            self._rules,
            owner=owner_reference(parent),
            allowed=verdict.allowed,
            marks=self._hands.marks(parent),
        )
        outcome = await self._hands.carry_out(parent, scene.observed, planned.here)
        await self._rounds.teller.tell_writes(parent, outcome.writes)
        if self._abroad is not None:
            outcome.add(await self._abroad.carry_out(parent, planned.elsewhere))
        if self._roller is not None:
            self._roller.refused[uid_of(parent)] = outcome.refused
        for child in sorted(outcome.taken):
            said = f"{child} exists and is not this object's: delete it, or name one of them otherwise"
            await self._place.events.record(parent, NAME_COLLISION, said, warning=True)
        return outcome

    def _is_outdated(self, root: Root, parent: Obj, verdict: _Verdict, outcome: Outcome) -> bool:
        """Tell whether nobody would miss the status: the hook is asked again at once, or the parent is gone."""
        if verdict.finalized and is_deleting(parent) and not finalizers_of(parent):
            return True
        return (outcome.deleted or self._rounds.is_due(root)) and self._rounds.teller.may_wait(parent)

    async def _report(self, parent: Obj, status: Obj, scene: _Scene, problem: str) -> None:
        written = await self._rounds.teller.write(self._kind, parent, observed_generation(status, parent), problem)
        if written is None:
            return
        self._rounds.parents[self._kind].cache.remember(written)
        shown, uid = scene.fingerprint, uid_of(parent)
        if self._shown.get(uid) == shown:
            # Nothing but the status changed, and yet it is another one.
            changes = differences(parent.get("status") or {}, written.get("status") or {}, path="status")
            now = self._place.client.runtime.now()
            self._rounds.settling.wrote(uid, generation_of(parent), "the parent itself", changes, now)
        self._shown[uid] = shown
