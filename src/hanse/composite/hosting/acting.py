"""Carries out what was planned for the children of one parent, and tells what could not be done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hanse.api.metacontroller.kinds import LAST_APPLIED_ANNOTATION
from hanse.composite.applying import Mark, dry_run_difference, mark, updated, without_memory
from hanse.composite.children import ChildId
from hanse.composite.claiming import is_controlled_by
from hanse.composite.merging import MergeProblem
from hanse.composite.planning import Action, Apply, Create, Delete, Plan, Recreate, Try, Update, id_of
from hanse.composite.preparing import Child
from hanse.composite.settling import Settling
from hanse.kube.cache import Cache
from hanse.kube.client import Client, PatchType, WriteOptions
from hanse.kube.errors import AlreadyExists, ApiError, BadRequest, Conflict, Forbidden, Invalid, NotFound
from hanse.kube.manifest import Obj, dig, uid_of
from hanse.kube.patches.differences import Difference, differences
from hanse.kube.resources import Resource

_DRY_RUN = WriteOptions(dry_run=True)
_FORGET = [{"op": "remove", "path": f"/metadata/annotations/{LAST_APPLIED_ANNOTATION.replace('/', '~1')}"}]
# What nobody asked for, and changes with every write.
_NOT_ASKED_FOR = ("status", "metadata.resourceVersion", "metadata.generation", "metadata.managedFields")
# Children of one parent that are written at a time: few enough to leave the other parents their turn.
_AT_ONCE = 8


class Verb(StrEnum):
    """What is done to a child, as Events call it."""

    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class Write:
    """A child that was written, or was not: then `problem` says why."""

    verb: Verb
    child: ChildId
    problem: str = ""


@dataclass(slots=True)
class Outcome:
    """What came of a plan: the sentences of what failed, the children that the server would not take, those among them
    whose name another object has, whether any was deleted, which will be heard of, and everything that was written.
    """

    problems: list[str] = field(default_factory=list)
    refused: set[ChildId] = field(default_factory=set)
    taken: set[ChildId] = field(default_factory=set)
    deleted: bool = False
    writes: list[Write] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        """Take in what came of another plan."""
        self.problems += other.problems
        self.refused |= other.refused
        self.taken |= other.taken
        self.deleted |= other.deleted
        self.writes += other.writes


class NameTaken(Exception):
    """An object that is not the parent's has the name of a child; nobody tells when it goes, so it is looked for."""


class Hands:
    """Writes children in one cluster."""

    def __init__(
        self, client: Client, caches: Mapping[Resource, Cache], settling: Settling, *, server_side: bool
    ) -> None:
        self._client = client
        self._caches = caches
        self._settling = settling
        self._marks: dict[str, dict[ChildId, Mark]] = {}
        self._server_side = server_side

    def marks(self, parent: Obj) -> Mapping[ChildId, Mark] | None:
        """Return what was applied for a parent; None where children are merged."""
        return self._marks.setdefault(uid_of(parent), {}) if self._server_side else None

    def forget(self, uid: str) -> None:
        """A parent is gone."""
        self._marks.pop(uid, None)
        self._settling.forget(uid)

    async def carry_out(self, parent: Obj, observed: Mapping[ChildId, Obj], plan: Plan) -> Outcome:
        """Do what was planned, one kind after the other; what fails for one child keeps no other waiting."""
        outcome = Outcome([problem.sentence for problem in plan.problems])
        for together in _together(plan.actions):
            attempts = (self._attempt(parent, observed, action) for action in together)
            # All are waited for: one that goes on after its sync would be taken for the next one's.
            for came in await asyncio.gather(*attempts, return_exceptions=True):
                if isinstance(came, BaseException):
                    raise came
                outcome.add(came)
        return outcome

    async def _attempt(self, parent: Obj, observed: Mapping[ChildId, Obj], action: Action) -> Outcome:
        child = id_of(action)
        try:
            written = await self._do(parent, action)
        except (Conflict, NotFound):
            # Somebody was faster: what they did comes by the watch, and is looked at then.
            return Outcome()
        except NameTaken as error:
            return Outcome([f"{child}: {error}"], {child}, {child})
        except ApiError as error:
            return Outcome([f"{child}: {error}"], {child}, writes=[Write(_verb_of(action), child, str(error))])
        self._remember(parent, observed, action)
        writes = [Write(_verb_of(action), child)] if written else []
        return Outcome(deleted=isinstance(action, Delete | Recreate), writes=writes)

    async def _do(self, parent: Obj, action: Action) -> bool:
        """Do it; says whether anything was written."""
        match action:
            case Create(child, body):
                return await self._create(parent, child, body)
            case Update(child, body, _):
                self._caches[child.resource].remember(await self._client.update(child.resource, body))
            case Apply():
                await self._apply(parent, action)
            case Try():
                return await self._try(parent, action)
            case Recreate(child, uid):
                await self._delete(child.id, child.resource, uid)
            case Delete(child_id, resource, uid):
                await self._delete(child_id, resource, uid)
        return True

    async def _create(self, parent: Obj, child: Child, body: Obj) -> bool:
        """Make a child; one that is there already is let be until it is seen, and what took its name is told of."""
        if self._server_side:
            # Only what was applied goes when it is left out, so that even the first write is an apply.
            if (found := await self._client.find(child.resource, child.id.name, child.id.namespace)) is not None:
                _require_child(parent, found)
                return False
            created = await self._client.apply(child.resource, body)
        else:
            try:
                created = await self._client.create(child.resource, body)
            except AlreadyExists:
                _require_child(parent, await self._client.get(child.resource, child.id.name, child.id.namespace))
                return False
        self._note(parent, child, created)
        generation = dig(parent, "metadata", "generation", default=0)
        self._settling.made(uid_of(parent), generation, str(child.id), self._client.runtime.now())
        self._caches[child.resource].remember(created)
        return True

    async def _apply(self, parent: Obj, action: Apply) -> None:
        child, resource = action.child, action.child.resource
        if action.forgets:
            await self._client.patch(resource, child.id.name, _FORGET, child.id.namespace, patch_type=PatchType.JSON)
        answer = await self._client.apply(resource, _of_same(action.body, action.live))
        self._note(parent, child, answer)
        self._caches[resource].remember(answer)

    async def _try(self, parent: Obj, action: Try) -> bool:
        """Ask whether a child would change, which is deleted then; one that the server would not change so is kept."""
        child, live = action.child, action.live
        try:
            answer = await self._client.apply(child.resource, _of_same(action.body, live), options=_DRY_RUN)
        except (BadRequest, Forbidden):
            return False
        except Invalid:
            # Fields that may not change are what children are recreated for.
            await self._require_valid(child.resource, action.body)
            differs: bool | str = True
        else:
            differs = dry_run_difference(live, answer)
        if differs is True:
            await self._delete(child.id, child.resource, uid_of(live))
        elif differs is False:
            self._note(parent, child, live)
        return differs is True

    async def _require_valid(self, resource: Resource, body: Obj) -> None:
        """See that a new child would be taken, since the old one goes for it; raises ApiError."""
        try:
            await self._client.create(resource, body, options=_DRY_RUN)
        except AlreadyExists:
            # Servers look at a new object first, and only then for another one of its name.
            return

    async def _delete(self, child: ChildId, resource: Resource, uid: str) -> None:
        await self._client.delete(resource, child.name, child.namespace, uid=uid)

    def _note(self, parent: Obj, child: Child, live: Obj) -> None:
        if self._server_side:
            self._marks.setdefault(uid_of(parent), {})[child.id] = mark(child.manifest, live)

    def _remember(self, parent: Obj, observed: Mapping[ChildId, Obj], action: Action) -> None:
        """Have a hook noticed that has the same fields written again and again."""
        if isinstance(action, Create | Delete | Try):
            return
        child = action.child
        live = observed[child.id]
        self._settling.wrote(
            uid_of(parent),
            dig(parent, "metadata", "generation", default=0),
            str(child.id),
            _written(live, action),
            self._client.runtime.now(),
        )


def _together(actions: Iterable[Action]) -> Iterator[Sequence[Action]]:
    """Part actions into those that need not wait for each other, in order.

    A hook that returns what others need before them, a ServiceAccount before its Pods, has them made in that order.
    """
    batch: list[Action] = []
    for action in actions:
        if batch and (len(batch) == _AT_ONCE or _sort_of(action) != _sort_of(batch[0])):
            yield batch
            batch = []
        batch.append(action)
    if batch:
        yield batch


def _verb_of(action: Action) -> Verb:
    match action:
        case Create():
            return Verb.CREATE
        case Update() | Apply():
            return Verb.UPDATE
    return Verb.DELETE


def _sort_of(action: Action) -> tuple[type[Action], Resource]:
    return type(action), action.resource if isinstance(action, Delete) else action.child.resource


def _written(live: Obj, action: Update | Apply | Recreate) -> Iterator[Difference]:
    try:
        after = action.body if isinstance(action, Update) else updated(live, action.child.manifest) or live
    except MergeProblem:
        return
    for change in differences(without_memory(live), without_memory(after)):
        if not change.path.startswith(_NOT_ASKED_FOR):
            yield change


def _of_same(body: Obj, live: Obj) -> Obj:
    """Have an apply meant for this very object, and for none that took its name since."""
    return {**body, "metadata": {**body["metadata"], "uid": uid_of(live)}}


def _require_child(parent: Obj, found: Obj) -> None:
    if not is_controlled_by(found, parent):
        raise NameTaken(
            "an object of that name exists that is not this parent's: delete it, or name the child otherwise"
        )
