"""Who names what, and where those stand: the engine's index of objects that follow others.

It is kept change by change, from the sources and from what was planned for them, so that nothing is searched for an
object. Before every workload that names an object has told where it stands, nothing is decided for that object, and so
nothing of it leaves any cluster after a start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from hanse.kube.resources import Resource
from hanse.propagation.company import Stand, User, gaps
from hanse.propagation.dependencies import NO_NEEDS, Needs
from hanse.propagation.gathering import NOBODY, Gathering, Picture
from hanse.propagation.intent import Follows, Ref

# A workload goes where what it names is not, if that has not come for so long.
PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Bells:
    """Whom the index calls: to `decide` on an object again, and to `tell` anew what is missing of it.

    `named` hears of an object that somebody begins to name, or that nobody names any more, and when it comes or goes.
    """

    decide: Callable[[Ref], None]
    tell: Callable[[Ref], None]
    named: Callable[[Ref], None] = lambda _ref: None


class Following:
    """Keeps who follows whom."""

    def __init__(self, bells: Bells) -> None:
        self._bells = bells
        self._needs: dict[Ref, Needs] = {}
        self._users: dict[Ref, set[Ref]] = {}
        self._asked: Counter[Ref] = Counter()
        self._always: set[Ref] = set()
        self._stands: dict[Ref, Stand] = {}
        # By what is named, what all who name it have told; and how that was when it was last decided on.
        self._gatherings: dict[Ref, Gathering] = {}
        self._pictures: dict[Ref, Picture] = {}
        # Objects whose company has changed since they were last decided on.
        self._stale: set[Ref] = set()
        self._refusals: dict[Ref, dict[str, str]] = {}
        self._waiting_since: dict[Ref, float] = {}

    def note(self, user: Ref, needs: Needs) -> None:
        """Note what an object names from now on."""
        before = self._needs.get(user, NO_NEEDS)
        if before == needs:
            return
        touched = {need.ref for need in (*before.named, *needs.named)}
        led = {ref for ref in touched if self._leads(ref)}
        named = {ref for ref in touched if self.is_named(ref)}
        self._count(user, before, -1)
        for need in before.named:
            self._users[need.ref].discard(user)
            self._asked[need.ref] -= before.follow
        for need in needs.named:
            self._users.setdefault(need.ref, set()).add(user)
            self._asked[need.ref] += needs.follow
        if needs.named:
            self._needs[user] = needs
        else:
            self._needs.pop(user, None)
            self._stands.pop(user, None)
            self._waiting_since.pop(user, None)
        self._count(user, needs, 1)
        looked_at = False
        for ref in touched:
            looked_at |= self._lead_changed(ref, led=ref in led)
            if self.is_named(ref) != (ref in named):
                self._bells.named(ref)
            if not self._users.get(ref):
                self._users.pop(ref, None)
                self._gatherings.pop(ref, None)
                del self._asked[ref]
        if not self.concerns(user):
            self._stand(user, None)
        elif user not in self._stands and not looked_at:
            self._bells.decide(user)

    def forget(self, ref: Ref) -> None:
        """Leave an object out that is gone: whatever it named, and whatever waits for it."""
        self.note(ref, NO_NEEDS)
        self.decided(ref, {})
        self._pictures.pop(ref, None)
        self._always.discard(ref)

    def forget_kinds(self, kinds: Collection[Resource]) -> None:
        """Leave every object of some kinds out."""
        for ref in [user for user in self._needs if user.resource in kinds]:
            self.forget(ref)

    def users_of(self, ref: Ref, follows: Follows) -> list[User]:
        """Return the workloads that name an object, which follows them as it says."""
        if (follows is Follows.ALWAYS) != (ref in self._always):
            led = self._leads(ref)
            (self._always.add if follows is Follows.ALWAYS else self._always.discard)(ref)
            self._lead_changed(ref, led=led)
        if not self._leads(ref):
            return []
        return [User(user, self._needs[user].follow, self._stands.get(user)) for user in self._users_of(ref)]

    def is_named(self, ref: Ref) -> bool:
        """Tell whether anybody names an object."""
        return bool(self._users.get(ref))

    def is_abroad(self, ref: Ref, at_home: frozenset[str]) -> bool:
        """Tell whether anybody who names an object is known to be, or shall be, in a cluster that is none of these."""
        stands = (self._stands.get(user) for user in self._users_of(ref))
        return any(stand is not None and not stand.there <= at_home for stand in stands)

    def concerns(self, user: Ref) -> bool:
        """Tell whether anything depends on where an object stands."""
        needs = self._needs.get(user)
        return needs is not None and any(self._leads(need.ref) for need in needs.named)

    def stands(self, user: Ref, stand: Stand) -> None:
        """Note where an object is or shall be; what follows it is decided on again where that is news."""
        if self._stands.get(user) == stand:
            return
        self._stand(user, stand)
        for need in self._needs[user].named:
            if self._leads(need.ref):
                self._company_changed(need.ref)

    # What a workload waits for, and what it lacks

    def decided(self, ref: Ref, refusals: dict[str, str]) -> None:
        """Note that an object was decided on, and the clusters of its users to which it does not go."""
        if refusals != self._refusals.get(ref, {}):
            self._refusals[ref] = refusals
            for user in self._asking(ref):
                self._bells.tell(user)
        if not refusals:
            self._refusals.pop(ref, None)
        if ref in self._gatherings or ref in self._stale:
            self._pictures[ref] = self._picture(ref)
            self._is_decided(ref)

    def news_of(self, ref: Ref) -> None:
        """Have those looked at again that wait for an object."""
        if self._waiting_since:
            for user in self._users_of(ref) & self._waiting_since.keys():
                self._bells.decide(user)

    def exists(self, ref: Ref) -> None:
        """Have those say anew what they lack that name an object which came or went."""
        self._bells.named(ref)
        for user in self._asking(ref):
            self._bells.tell(user)

    def brings(self, user: Ref) -> list[Ref]:
        """Return what follows an object into the clusters."""
        needs = self._needs.get(user, NO_NEEDS)
        return [need.ref for need in needs.named] if needs.follow else []

    def is_undecided(self, ref: Ref) -> bool:
        """Tell whether it has yet to be worked out where an object goes, since what it follows has moved."""
        return ref in self._stale

    def waits(self, user: Ref, now: float) -> float:
        """Return for how much longer an object waits for what it names; 0 once it has waited long enough."""
        return max(0.0, self._waiting_since.setdefault(user, now) + PATIENCE_SECONDS - now)

    def waits_no_more(self, user: Ref) -> None:
        """Note that everything is there that an object names."""
        self._waiting_since.pop(user, None)

    def lacks(self, user: Ref, exists: Callable[[Ref], bool | None]) -> list[str]:
        """Say what the pods of an object will not find; `exists` is None for what is not the federation's to bring."""
        needs = self._needs.get(user, NO_NEEDS)
        if not needs.follow:
            return []
        there = self._stands.get(user, Stand()).there
        known = {need.ref: found for need in needs.named if (found := exists(need.ref)) is not None}
        return gaps(needs.named, known, {ref: _within(there, self._refusals.get(ref, {})) for ref in known})

    # The index

    def _users_of(self, ref: Ref) -> set[Ref]:
        return self._users.get(ref, set())

    def _asking(self, ref: Ref) -> Iterable[Ref]:
        return [user for user in self._users_of(ref) if self._needs[user].follow] if self._asked[ref] else ()

    def _leads(self, ref: Ref) -> bool:
        """Tell whether where an object goes depends on those that name it."""
        return ref in self._always or self._asked[ref] > 0

    def _lead_changed(self, ref: Ref, *, led: bool) -> bool:
        """Look at what depends on whether an object leads; says whether those who name it had to be looked at."""
        leads = self._leads(ref)
        if leads == led:
            if leads:
                self._company_changed(ref)
            return False
        self._pictures.pop(ref, None)
        self._stale.add(ref)
        self._bells.decide(ref)
        for user in self._users_of(ref):
            if leads and user not in self._stands:
                self._bells.decide(user)
            elif not self.concerns(user):
                # It may move unnoted from now on.
                self._stand(user, None)
        return True

    def _company_changed(self, ref: Ref) -> None:
        picture = self._picture(ref)
        if picture == self._pictures.get(ref):
            # Somebody came or went, and it goes where it went.
            self._is_decided(ref)
            return
        self._stale.add(ref)
        if not picture.undecided:
            # Else whoever has yet to tell where he stands brings it back.
            self._bells.decide(ref)

    def _is_decided(self, ref: Ref) -> None:
        if ref in self._stale:
            self._stale.discard(ref)
            self.news_of(ref)

    def _picture(self, ref: Ref) -> Picture:
        gathering = self._gatherings.get(ref)
        return NOBODY if gathering is None else gathering.picture()

    def _stand(self, user: Ref, stand: Stand | None) -> None:
        if stand is None and user not in self._stands:
            return
        needs = self._needs.get(user, NO_NEEDS)
        self._count(user, needs, -1)
        if stand is None:
            del self._stands[user]
        else:
            self._stands[user] = stand
        self._count(user, needs, 1)

    def _count(self, user: Ref, needs: Needs, by: int) -> None:
        for need in needs.named:
            gathering = self._gatherings.setdefault(need.ref, Gathering())
            gathering.count(self._stands.get(user), by, asks=needs.follow)


def _within(there: frozenset[str], refusals: Mapping[str, str]) -> dict[str, str]:
    return {name: why for name, why in refusals.items() if name in there}
