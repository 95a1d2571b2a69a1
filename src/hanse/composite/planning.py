"""What must be done so that the children are those that a hook wants, as values that somebody else carries out.

It is given answers only: a hook that failed has said nothing, and nothing is deleted for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hanse.api.metacontroller.kinds import LAST_APPLIED_ANNOTATION
from hanse.composite.applying import Mark, as_applied, is_applied, updated, with_last_applied, without_memory
from hanse.composite.children import ChildId
from hanse.composite.merging import MergeProblem
from hanse.composite.placing import as_placed, has_arrived
from hanse.composite.preparing import Child
from hanse.composite.spec import ChildRule, Method
from hanse.kube.manifest import Obj, annotations_of, is_deleting, uid_of
from hanse.kube.patches.merge_patch import same
from hanse.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class Create:
    """Make a child with this body; one of that name that is there already is let be until it is seen."""

    child: Child
    body: Obj


@dataclass(frozen=True, slots=True)
class Update:
    """Write a child whole, on top of the version that was seen."""

    child: Child
    body: Obj
    live: Obj


@dataclass(frozen=True, slots=True)
class Apply:
    """Apply this body on the server, by force; what it answers is to be marked."""

    child: Child
    body: Obj
    live: Obj

    @property
    def forgets(self) -> bool:
        """Whether the child carries the memory of the other way of writing, which must go first."""
        return LAST_APPLIED_ANNOTATION in annotations_of(self.live)


@dataclass(frozen=True, slots=True)
class Try:
    """Ask the server by a dry run whether this body would change a child; delete the child if so, else mark it."""

    child: Child
    body: Obj
    live: Obj


@dataclass(frozen=True, slots=True)
class Recreate:
    """Delete exactly this object, in the background, so that the next sync makes the child anew."""

    child: Child
    uid: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete exactly this object, in the background, since the hook does not want it."""

    id: ChildId
    resource: Resource
    uid: str


Action = Create | Update | Apply | Try | Recreate | Delete


@dataclass(frozen=True, slots=True)
class Problem:
    """Why nothing can be done for one child; the others go on."""

    id: ChildId
    sentence: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, deletions first and then in the hook's order, and what cannot be done."""

    actions: tuple[Action, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def here(self) -> Plan:
        """What is to be done beside the parent, and all that cannot be done."""
        return Plan(tuple(action for action in self.actions if not id_of(action).cluster), self.problems)

    @property
    def elsewhere(self) -> Plan:
        """What is to be done in other clusters."""
        return Plan(tuple(action for action in self.actions if id_of(action).cluster))


def id_of(action: Action) -> ChildId:
    """Return of which child an action is."""
    return action.id if isinstance(action, Delete) else action.child.id


def plan(
    observed: Mapping[ChildId, Obj],
    desired: Sequence[Child],
    rules: Mapping[Resource, ChildRule],
    *,
    owner: Obj,
    allowed: Collection[ChildId] | None = None,
    marks: Mapping[ChildId, Mark] | None = None,
) -> Plan:
    """Decide what must be done so that exactly the desired children exist.

    `owner` is the reference to the parent that new children get. Children of a rolling kind are changed only if they
    are `allowed` to (None allows all). `marks` says what was applied by the server, and that children are written so;
    None that they are merged with what they remember. A child that is being deleted is left alone. A child in another
    cluster is observed as it was last asked for there: whether it has arrived is no reason to ask again.
    """
    actions: list[Action] = [*_deletions(observed, desired, rules)]
    problems: list[Problem] = []
    for child in desired:
        live = observed.get(child.id)
        if live is None:
            actions.append(Create(child, _new_body(child, owner, server_side=marks is not None)))
        elif not is_deleting(live) and _may_change(child, rules[child.resource], allowed):
            try:
                change = _change(child, live, rules[child.resource], owner, marks)
            except MergeProblem as problem:
                problems.append(Problem(child.id, f"{child.id}: {problem}"))
                continue
            actions += [] if change is None else [change]
    return Plan(tuple(actions), tuple(problems))


def _deletions(
    observed: Mapping[ChildId, Obj], desired: Sequence[Child], rules: Mapping[Resource, ChildRule]
) -> list[Delete]:
    wanted = {child.id for child in desired}
    kinds = {(kind.api_version, kind.kind): kind for kind in rules}
    return [
        Delete(child, kinds[child.api_version, child.kind], uid_of(live))
        for child, live in observed.items()
        if child not in wanted and not is_deleting(live)
    ]


def _may_change(child: Child, rule: ChildRule, allowed: Collection[ChildId] | None) -> bool:
    return allowed is None or not rule.method.rolling or child.id in allowed


def _new_body(child: Child, owner: Obj, *, server_side: bool) -> Obj:
    if child.id.cluster:
        return as_placed(child.manifest)
    body = as_applied(child.manifest) if server_side else with_last_applied(child.manifest)
    return _with_owner(body, owner)


def _with_owner(body: Obj, owner: Obj) -> Obj:
    owners = [*(body["metadata"].get("ownerReferences") or ()), owner]
    return {**body, "metadata": {**body["metadata"], "ownerReferences": owners}}


def _change(
    child: Child, live: Obj, rule: ChildRule, owner: Obj, marks: Mapping[ChildId, Mark] | None
) -> Action | None:
    """Return what becomes of a child that exists."""
    if rule.method is Method.ON_DELETE:
        return None
    if child.id.cluster:
        return _change_elsewhere(child, live, rule)
    if marks is not None:
        if is_applied(marks.get(child.id), child.manifest, live):
            return None
        body = _with_owner(as_applied(child.manifest), owner)
        return Try(child, body, live) if rule.method.recreates else Apply(child, body, live)
    after = updated(live, child.manifest)
    if after is None:
        return None
    # What the child remembers can be set right without making it anew.
    if rule.method.recreates and not same(without_memory(after), without_memory(live)):
        return Recreate(child, uid_of(live))
    return Update(child, after, live)


def _change_elsewhere(child: Child, asked: Obj, rule: ChildRule) -> Action | None:
    if has_arrived(child.manifest, asked):
        return None
    return Recreate(child, uid_of(asked)) if rule.method.recreates else Update(child, as_placed(child.manifest), asked)
