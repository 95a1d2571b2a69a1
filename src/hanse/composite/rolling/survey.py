"""Where the children of a rollout are: who claims which, who is not well, and who is still to move, in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hanse.composite.children import ChildId
from hanse.composite.preparing import Child
from hanse.composite.rolling.checks import is_current, why_unavailable, why_unsettled
from hanse.composite.rolling.revisions import Failure, Revision
from hanse.composite.rolling.situation import Situation, Told, Words
from hanse.kube.manifest import Obj, is_deleting
from hanse.kube.resources import Resource

# The place of the latest version among all of them; the older ones follow, the newest first.
LATEST = 0


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found.

    `claims` says at which version each child is, `unsettled` why those at the latest are not well, `unavailable` why
    those of the `queue` do not work, `overtaken` since when those of them are on their way that were so when the parent
    changed again. Those that are `held` do not move for now. `waiting` and `failure` are how the rollout has fared
    until now.
    """

    claims: Mapping[ChildId, int]
    unsettled: Mapping[ChildId, str]
    unavailable: Mapping[ChildId, str]
    overtaken: Mapping[ChildId, float]
    queue: Sequence[Child]
    held: Sequence[Child]
    paused: bool
    waiting: Mapping[ChildId, float]
    failure: Failure | None


def survey(situation: Situation, words: Words) -> Survey:
    """Find out where the children are."""
    claims = _claims(situation)
    unsettled = _unsettled(situation, claims, words)
    remaining = [child for child in situation.rolling if claims.get(child.id) != LATEST]
    paused = {child.id for child in remaining if situation.rollout(child).paused}
    stay = paused | _beyond_partition(situation)
    waiting, failure = _fortune(situation, unsettled)
    going = [] if failure else [child for child in remaining if child.id not in stay]
    unavailable = _unavailable(situation, going)
    overtaken = _overtaken(situation, claims, unavailable)
    moving = {child.id for child in going}
    return Survey(
        claims=claims,
        unsettled=unsettled,
        unavailable=unavailable,
        overtaken=overtaken,
        queue=_in_order(situation, going, unavailable, overtaken),
        held=[child for child in remaining if child.id not in moving],
        paused=bool(paused),
        waiting=waiting,
        failure=failure,
    )


def _claims(situation: Situation) -> dict[ChildId, int]:
    """Return at which version each child is, the latest being the first; children without a version are left out."""
    claims: dict[ChildId, int] = {}
    versions = [_wanted_at(situation, told) for told in (situation.latest, *situation.older)]
    for place, told in enumerate((situation.latest, *situation.older)):
        for child in told.revision.children & versions[place].keys():
            if place == LATEST or not _never_arrived(situation, told.revision, versions[place][child]):
                claims.setdefault(child, place)
    for new in situation.rolling:
        live = situation.observed.get(new.id)
        if live is None:
            claims.setdefault(new.id, LATEST)
        elif claims.get(new.id) != LATEST and is_current(new, live, situation.marks):
            claims[new.id] = LATEST
        elif new.id not in claims and (found := _place_of(situation, versions, new.id, live)) is not None:
            claims[new.id] = found
    return claims


def _wanted_at(situation: Situation, told: Told) -> dict[ChildId, Child]:
    wanted = {child.id for child in situation.rolling}
    return {child.id: child for child in told.children if child.id in wanted}


def _never_arrived(situation: Situation, revision: Revision, child: Child) -> bool:
    """Tell whether a child was to move to a version that is no longer the latest, and nothing was done for that yet."""
    live = situation.observed.get(child.id)
    if child.id not in revision.waiting or live is None or is_deleting(live):
        return False
    return not is_current(child, live, situation.marks)


def _place_of(
    situation: Situation, versions: Sequence[Mapping[ChildId, Child]], child: ChildId, live: Obj
) -> int | None:
    """Return the older version that a child without a claim is at, by its looks."""
    for place, version in enumerate(versions):
        if place != LATEST and child in version and is_current(version[child], live, situation.marks):
            return place
    return None


def _unsettled(situation: Situation, claims: Mapping[ChildId, int], words: Words) -> dict[ChildId, str]:
    found = {}
    for child in situation.rolling:
        if claims.get(child.id) != LATEST:
            continue
        why = why_unsettled(child, situation.observed.get(child.id), situation.rules[child.resource], situation.marks)
        if not why and situation.asks_after and child.id in situation.latest.revision.waiting:
            word = words.after.get(child.id, "nobody was asked yet")
            why = f"child {child.id} is not done: {word}" if word else ""
        if why:
            found[child.id] = why
    return found


def _beyond_partition(situation: Situation) -> set[ChildId]:
    """Return the last children of each kind that stay where they are."""
    by_kind: dict[Resource, list[Child]] = {}
    for child in situation.rolling:
        by_kind.setdefault(child.resource, []).append(child)
    return {
        child.id
        for children in by_kind.values()
        for child in children[max(0, len(children) - situation.rollout(children[0]).partition) :]
    }


def _unavailable(situation: Situation, children: Sequence[Child]) -> dict[ChildId, str]:
    found = {}
    for child in children:
        why = why_unavailable(child.id, situation.observed.get(child.id), situation.rules[child.resource])
        if why:
            found[child.id] = why
    return found


def _overtaken(
    situation: Situation, claims: Mapping[ChildId, int], unavailable: Collection[ChildId]
) -> dict[ChildId, float]:
    """Return the children that are on their way to a version which is no longer the latest, and since when."""
    return {
        child: since
        for revision in (situation.latest.revision, *(told.revision for told in situation.older))
        for child, since in revision.waiting.items()
        if child in unavailable and claims.get(child) != LATEST
    }


def _in_order(
    situation: Situation, children: list[Child], unavailable: Collection[ChildId], overtaken: Collection[ChildId]
) -> list[Child]:
    """Return children as they move: as the hook returned them, but cluster by cluster, and first what fails anyway.

    Of those that fail the first are those that are on their way: a child that is made of many goes on with its changes
    while it fails, and no other may begin beside it.
    """
    by_cluster = any(situation.rollout(child).by_cluster for child in children)
    ranks = {cluster: rank for rank, cluster in enumerate(dict.fromkeys(each.id.cluster for each in situation.rolling))}

    def turn(child: Child) -> tuple[int, bool, bool]:
        live = situation.observed.get(child.id)
        there = live is not None and not is_deleting(live)
        fails = child.id in unavailable and (there or child.id in situation.refused)
        return ranks[child.id.cluster] if by_cluster else 0, not fails, child.id not in overtaken

    return sorted(children, key=turn)


def _fortune(situation: Situation, unsettled: Mapping[ChildId, str]) -> tuple[Mapping[ChildId, float], Failure | None]:
    """Return since when children are waited for, and whether that has been for too long."""
    revision = situation.latest.revision
    if revision.failure is not None and revision.failure.generation == situation.generation:
        return revision.waiting, revision.failure
    if revision.failure is not None:
        # The parent has changed: the children get their time anew.
        return dict.fromkeys(revision.waiting, situation.now), None
    for child in situation.rolling:
        limit = situation.rollout(child).fail_after
        since = revision.waiting.get(child.id)
        if limit is not None and since is not None and child.id in unsettled and situation.now - since >= limit:
            sentence = f"stopped after {limit:g} seconds: {unsettled[child.id]}; change the parent to go on"
            return revision.waiting, Failure(situation.generation, sentence)
    return revision.waiting, None
