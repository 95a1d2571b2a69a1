"""Which child moves to the newest version of its parent next, and at which version all the others are.

Every child of a rolling kind is claimed by one revision, and is what the hook wants at that one. New children belong to
the latest. The others move to it in the order in which the hook returned them, as many at a time as may be in flight,
and only while those that moved before are well. A child that is unavailable at an older version, say because the parent
changed again while it moved, is in flight too, and no other is taken down beside it. One that fails there moves before
those that work, or a broken version could never be mended, and the first of them is the one that the change overtook on
its way; one that is missing is first made anew at its version.
A child without any claim (its kind did not roll until now) waits its turn as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from hanse.composite.children import ChildId
from hanse.composite.preparing import Child
from hanse.composite.rolling.revisions import Revision
from hanse.composite.rolling.situation import Situation, Words
from hanse.composite.rolling.survey import LATEST, Survey, survey
from hanse.kube.conditions import condition
from hanse.kube.manifest import Obj

UPDATED = "Updated"
_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class Questions:
    """Of which children somebody must be asked, before they move and after they did."""

    before: tuple[Child, ...] = ()
    after: tuple[Child, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a rollout is now.

    `kept` (the latest first) and `dropped` are written before any child is touched. `desired` are the children at
    their versions; of rolling kinds only the `allowed` ones may be changed. `recheck_after` is in how many seconds time
    alone may change the outcome.
    """

    kept: tuple[Revision, ...]
    dropped: tuple[Revision, ...]
    desired: tuple[Child, ...]
    allowed: frozenset[ChildId]
    updated: Obj
    moved: tuple[ChildId, ...] = ()
    recheck_after: float | None = None


def advance(situation: Situation, words: Words | None = None) -> Progress:
    """Move on as far as is allowed now, and say what follows."""
    state = survey(situation, words or Words())
    moved, obstacle = _moves(situation, state, words or Words())
    claims = {**state.claims, **dict.fromkeys((child.id for child in moved), LATEST)}
    waiting = _waiting(situation, state, moved)
    latest = replace(
        situation.latest.revision,
        children=_claimed(claims, LATEST),
        waiting={**state.overtaken, **waiting},
        failure=state.failure,
    )
    older = [
        replace(told.revision, children=_claimed(claims, place), waiting={}, failure=None)
        for place, told in enumerate(situation.older, LATEST + 1)
    ]
    return Progress(
        kept=(latest, *(revision for revision in older if revision.children)),
        dropped=tuple(revision for revision in older if not revision.children),
        desired=_at_versions(situation, claims),
        allowed=latest.children | frozenset(child.id for child in state.held if child.id in claims),
        updated=_updated(state, moved, obstacle, _awaited(situation, waiting)),
        moved=tuple(child.id for child in moved),
        recheck_after=None if state.failure else _recheck_after(situation, waiting),
    )


def questions(situation: Situation) -> Questions:
    """Return of which children somebody must be asked so that `advance` can decide."""
    agreed = dict.fromkeys((child.id for child in situation.rolling), "")
    words = Words(agreed, agreed)
    state = survey(situation, words)
    moves = _moves(situation, state, words)[0] if situation.asks_before else []
    done = [
        child
        for child in situation.rolling
        if child.id in situation.latest.revision.waiting
        and state.claims.get(child.id) == LATEST
        and child.id not in state.unsettled
    ]
    return Questions(tuple(moves), tuple(done) if situation.asks_after else ())


def _moves(situation: Situation, state: Survey, words: Words) -> tuple[list[Child], str]:
    """Return the children that move now, and why the next one does not."""
    moved: list[Child] = []
    for child in state.queue:
        obstacle = _obstacle(situation, child, state, moved)
        if not obstacle and situation.asks_before:
            word = words.before.get(child.id, "nobody was asked yet")
            obstacle = f"child {child.id} is not ready to move: {word}" if word else ""
        if obstacle:
            return moved, obstacle
        moved.append(child)
    return moved, ""


def _obstacle(situation: Situation, child: Child, state: Survey, moved: Collection[Child]) -> str:
    rollout = situation.rollout(child)
    in_flight = {**state.unsettled, **{each.id: f"child {each.id} is moving" for each in moved}}
    if rollout.by_cluster:
        elsewhere = next((why for other, why in in_flight.items() if other.cluster != child.id.cluster), "")
        if elsewhere:
            return elsewhere
    if child.id not in state.unavailable:
        beside = {
            other: why
            for other, why in state.unavailable.items()
            if not rollout.by_cluster or other.cluster == child.id.cluster
        }
        in_flight = {**beside, **in_flight}
    return next(iter(in_flight.values())) if len(in_flight) >= max(1, rollout.max_unavailable) else ""


def _waiting(situation: Situation, state: Survey, moved: Collection[Child]) -> dict[ChildId, float]:
    """Return since when each child is waited for: those that moved, and where that is limited all that are not well."""
    waiting = {}
    moving = {child.id for child in moved}
    for child in situation.rolling:
        limited = situation.rollout(child).fail_after is not None
        if child.id in moving:
            waiting[child.id] = situation.now
        elif child.id in state.unsettled and child.id in state.waiting:
            waiting[child.id] = state.waiting[child.id]
        elif child.id in state.unsettled and limited and state.queue:
            waiting[child.id] = situation.now
    return waiting


def _claimed(claims: Mapping[ChildId, int], place: int) -> frozenset[ChildId]:
    return frozenset(child for child, at in claims.items() if at == place)


def _at_versions(situation: Situation, claims: Mapping[ChildId, int]) -> tuple[Child, ...]:
    """Return the children that the hook wants now, each as it is at its version."""
    versions = [{child.id: child for child in told.children} for told in (situation.latest, *situation.older)]
    return tuple(versions[claims.get(child.id, LATEST)][child.id] for child in situation.latest.children)


def _recheck_after(situation: Situation, waiting: Mapping[ChildId, float]) -> float | None:
    limits = {child.id: situation.rollout(child).fail_after for child in situation.rolling}
    left = [since + limit - situation.now for each, since in waiting.items() if (limit := limits[each]) is not None]
    return max(0.0, min(left)) if left else None


def _awaited(situation: Situation, waiting: Collection[ChildId]) -> ChildId | None:
    """Return the child of which the end of its move is told, even if it is the last."""
    for child in situation.rolling:
        if child.id in waiting and (situation.asks_after or situation.rollout(child).fail_after is not None):
            return child.id
    return None


def _updated(state: Survey, moved: Sequence[Child], obstacle: str, awaited: ChildId | None) -> Obj:
    if state.failure is not None:
        return condition(UPDATED, False, "RolloutFailed", state.failure.sentence)
    if moved:
        return condition(UPDATED, False, "RolloutProgressing", f"updating {_listed(moved)}")
    if state.queue:
        return condition(UPDATED, False, "RolloutWaiting", obstacle)
    if awaited is not None:
        return condition(UPDATED, False, "RolloutWaiting", state.unsettled[awaited])
    if state.held:
        reason = "RolloutPaused" if state.paused else "RolloutPartitioned"
        return condition(UPDATED, False, reason, f"not at the latest revision: {_listed(state.held)}")
    return condition(UPDATED, True, "OnLatestRevision", "latest ControllerRevision is fully rolled out")


def _listed(children: Sequence[Child]) -> str:
    names = [str(child.id) for child in children[:_MOST_NAMES]]
    more = len(children) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
