"""Objects that go where others are: what a Deployment names goes where the Deployment goes, and only there.

An object begins to follow when a workload that names it asks for that. From then on it is wherever any workload is that
names it, whether that one asks or not: nothing is taken from pods that need it. All of this is pure; the engine and the
rehearsals tell where the workloads stand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

from hanse.api.plain_kinds import CLAIMS
from hanse.placement.ask import Company, Failover, Placement
from hanse.propagation.comparison import Kept, Present, Wanted, is_copy
from hanse.propagation.dependencies import Need
from hanse.propagation.intent import Follows, Intent, Ref
from hanse.propagation.planning import UNSEEN, Observation, Planned
from hanse.propagation.rendering import owned_by

# A sentence names so many workloads.
_NAMED = 3
_DATA_STAYS = "nothing that it follows is there; a claim that is there stays, since its data would go with it"


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a workload is or shall be, and of which clusters that cannot be told."""

    there: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class User:
    """A workload that names an object: whether it `asks` that this follows, and where it stands if that is known."""

    ref: Ref
    asks: bool
    stand: Stand | None = None


def stand_of(
    source_uid: str,
    wanted: Mapping[str, Wanted],
    observed: Mapping[str, Observation],
    clusters: Iterable[str],
) -> Stand:
    """Say where a workload is or shall be: what it leaves, it has left only once it was seen to be gone."""
    there = {name for name, wish in wanted.items() if isinstance(wish, Present | Kept)}
    there |= {
        name
        for name, each in observed.items()
        if each.copy is not None
        and (owned_by(each.copy, source_uid) or ((wish := wanted.get(name)) is not None and is_copy(wish, each.copy)))
    }
    unknown = {name for name in clusters if not observed.get(name, UNSEEN).seen}
    return Stand(frozenset(there), frozenset(unknown - there))


def final_stand(
    source_uid: str, planned: Planned, observed: Mapping[str, Observation], clusters: Iterable[str]
) -> Stand:
    """Say where a workload is in the end, once everything that is planned for it has come about."""
    decision = planned.decision
    if not decision.chosen():
        # What is wanted nowhere stays where it is.
        return stand_of(source_uid, planned.wanted, observed, clusters)
    wanted = {name: wish for name, wish in planned.wanted.items() if isinstance(wish, Present)}
    there = frozenset(verdict.cluster for verdict in decision.verdicts if verdict.chosen and verdict.cluster in wanted)
    return Stand(there, frozenset(name for name in clusters if not observed.get(name, UNSEEN).seen) - there)


def is_undecided(intent: Intent, users: Iterable[User]) -> bool:
    """Tell whether an object waits for a workload to say where it stands."""
    return intent.follows is not Follows.NEVER and any(user.stand is None for user in users)


def accompanied(intent: Intent, users: Collection[User], clusters: Iterable[str]) -> Intent:
    """Return the intent of an object that goes where its users are, or unchanged that of one that does not follow.

    Whatever placement it has of its own counts no longer while it follows.
    """
    asking = [user for user in users if user.asks]
    if intent.follows is Follows.NEVER:
        told = f"its own placement counts, although {_titles(asking)} asks that what it names follows"
        return replace(intent, sources=(*intent.sources, told)) if asking else intent
    if not asking and intent.follows is Follows.ASKED:
        return intent
    own = intent.placement
    placement = Placement(
        tolerations=own.tolerations,
        failover=own.failover if intent.follows is Follows.NAMED else Failover(),
        rollout=own.rollout,
        forbidden=own.forbidden,
        company=_company(users, clusters, stays=intent.resource == CLAIMS),
    )
    told = f"it follows {_titles(users)}" if users else "it follows whatever names it, and nothing does"
    return replace(intent, placement=placement, sources=(told, *intent.sources))


def unneeded(intent: Intent, users: Collection[User], *, held: bool) -> str:
    """Say why an object is to be nowhere for now, "" where it has a place, or may have one.

    One that is not `held` has no copy anywhere, so that whatever is not known of its users does not matter.
    """
    if intent.unneeded or intent.follows is not Follows.NAMED:
        return intent.unneeded
    if held and intent.resource == CLAIMS:
        # The data of a pod that comes again is in it: it goes with its source.
        return ""
    stands = [user.stand for user in users]
    if any(stand.there if stand is not None else held for stand in stands):
        return ""
    if held and any(stand is not None and stand.unknown for stand in stands):
        return ""
    return f"{_titles(users)} names it, and is in no other cluster" if users else "nothing names it"


def abroad(users: Iterable[User], at_home: frozenset[str]) -> list[User]:
    """Return workloads as somebody sees them who has nothing to bring to some clusters, where he is himself."""
    return [user if user.stand is None or not at_home else _abroad(user, user.stand, at_home) for user in users]


def _abroad(user: User, stand: Stand, at_home: frozenset[str]) -> User:
    return replace(user, stand=Stand(stand.there - at_home, stand.unknown - at_home))


def _company(users: Collection[User], clusters: Iterable[str], *, stays: bool) -> Company:
    """Say where an object has company; one that `stays` is left alone where it has none any more."""
    there: dict[str, list[User]] = {}
    uncertain: dict[str, User] = {}
    names = frozenset(clusters)
    for user in users:
        for name in user.stand.there & names if user.stand is not None else ():
            there.setdefault(name, []).append(user)
        for name in user.stand.unknown & names if user.stand is not None else names:
            uncertain.setdefault(name, user)
    left_alone = {
        name: f"it follows {title_of(each.ref)}, and whether that is there cannot be told"
        for name, each in uncertain.items()
    }
    if stays:
        left_alone = dict.fromkeys(names - there.keys(), _DATA_STAYS) | left_alone
    return Company(tuple((name, _beside(there[name])) for name in sorted(there)), tuple(sorted(left_alone.items())))


def _beside(users: Sequence[User]) -> str:
    return f"it follows {_titles(users)}, which {'is' if len(users) == 1 else 'are'} there"


def gaps(needs: Iterable[Need], exists: Mapping[Ref, bool], refusals: Mapping[Ref, Mapping[str, str]]) -> list[str]:
    """Say what a workload's pods will not find: objects that the federation lacks, or that do not go where it goes.

    `exists` tells of each object whether the federation has it; one that is not in it is not Hanse's to bring.
    `refusals` are the clusters of the workload to which an object does not go, and why.
    """
    found = []
    for need in needs:
        if need.ref not in exists or need.optional:
            continue
        if not exists[need.ref]:
            found.append(f"it names {title_of(need.ref)}, which does not exist on the federation")
        for name, why in sorted(refusals.get(need.ref, {}).items()):
            found.append(f"it names {title_of(need.ref)}, which does not go to {name}: {why}")
    return found


def kept_from(planned: Planned, users: Collection[User]) -> dict[str, str]:
    """Return of the clusters in which workloads ask that an object follows those to which it does not go, and why."""
    there = {name for user in users if user.asks and user.stand is not None for name in user.stand.there}
    return {
        verdict.cluster: verdict.reasons[-1]
        for verdict in planned.decision.verdicts
        if not verdict.chosen and verdict.cluster in there
    }


def title_of(ref: Ref) -> str:
    """Return an object as people call it: its kind and its name."""
    return f"{ref.resource.kind} {ref.key}"


def _titles(users: Collection[User]) -> str:
    first = nsmallest(_NAMED, users, key=lambda user: (user.ref.resource.kind, user.ref.key))
    more = f" and {len(users) - _NAMED} more" if len(users) > _NAMED else ""
    return ", ".join(title_of(user.ref) for user in first) + more
