"""Objects that follow others, for the engine: what is known of whom, who waits for whom, and for how long.

What is decided here is in `company`, who names whom in `following`; this brings them together with the desk, the
sources and the members' copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hanse.clusters.roster import Roster
from hanse.kube.manifest import Obj, uid_of
from hanse.kube.runtime import Runtime
from hanse.propagation.company import User, abroad, accompanied, is_undecided, kept_from, stand_of, unneeded
from hanse.propagation.comparison import Present, Wanted
from hanse.propagation.desk import Desk
from hanse.propagation.farewells import Farewells
from hanse.propagation.following import Bells, Following
from hanse.propagation.intent import Follows, Intent, Ref
from hanse.propagation.planning import UNSEEN, Observation, Planned
from hanse.propagation.summoning import Summons


class Escort:
    """Has what workloads name go where they go: before them, and away after them."""

    def __init__(
        self,
        registry: Roster,
        desk: Desk,
        bells: Bells,
        *,
        observe: Callable[[str, Ref], Observation],
        summons: Summons,
        runtime: Runtime,
    ) -> None:
        self.following = Following(replace(bells, named=summons.look))
        summons.is_named, summons.found_nothing = self.following.is_named, self.following.news_of
        self._summons = summons
        self.farewells = Farewells()
        self._registry = registry
        self._desk = desk
        self._observe = observe
        self._runtime = runtime

    def accompanied(self, ref: Ref, intent: Intent) -> Intent | None:
        """Return the intent of an object in the company that it follows; None while it is not known where that is."""
        users = self._users(ref, intent)
        if is_undecided(intent, users):
            return None
        if not users and intent.follows not in (Follows.ALWAYS, Follows.NAMED):
            return intent
        return accompanied(intent, users, self._clusters())

    def unneeded(self, ref: Ref, intent: Intent, *, held: bool) -> str:
        """Say why an object is to be nowhere for now, "" where it has a place, or may have one."""
        if intent.follows is Follows.NAMED and self.following.is_abroad(ref, intent.at_home):
            # The usual answer, for which not everybody has to be asked.
            return intent.unneeded
        return unneeded(intent, self._users(ref, intent), held=held)

    def planned(self, ref: Ref, source: Obj, intent: Intent, planned: Planned, seen: Mapping[str, Observation]) -> None:
        """Take in what was planned for an object: what it names may have to move, and what names it go without."""
        users = self._users(ref, intent)
        self.following.decided(ref, kept_from(planned, users) if users else {})
        self.stands(ref, source, planned.wanted, seen)

    def stands(self, ref: Ref, source: Obj, wanted: Mapping[str, Wanted], seen: Mapping[str, Observation]) -> None:
        """Take in where an object is and shall be, if anything depends on that."""
        if self.following.concerns(ref):
            self.following.stands(ref, stand_of(uid_of(source), wanted, seen, self._clusters()))

    def in_time(
        self, ref: Ref, wanted: dict[str, Wanted], seen: Mapping[str, Observation]
    ) -> tuple[dict[str, Wanted], float | None]:
        """Hold an object back where it would come too early for what it names, or leave too early for its clients.

        Returns what may be asked of the clusters now, and when more may be even if nothing happens.
        """
        wanted, needs = self._after_needs(ref, wanted, seen)
        wanted, clients = self.farewells.hold_back(ref, wanted, seen)
        return wanted, min((wait for wait in (needs, clients) if wait is not None), default=None)

    def _after_needs(
        self, ref: Ref, wanted: dict[str, Wanted], seen: Mapping[str, Observation]
    ) -> tuple[dict[str, Wanted], float | None]:
        """Hold an object back, for a while, from clusters that will have what it names in a moment."""
        needs = self.following.brings(ref)
        early = {
            name
            for name, wish in (wanted.items() if needs else ())
            if isinstance(wish, Present)
            and seen.get(name, UNSEEN).copy is None
            and any(self._is_coming(name, need) for need in needs)
        }
        if not early:
            self.following.waits_no_more(ref)
            return wanted, None
        wait = self.following.waits(ref, self._runtime.monotonic())
        if not wait:
            return wanted, None
        return {name: wish for name, wish in wanted.items() if name not in early}, wait

    def lacks(self, ref: Ref) -> list[str]:
        """Say what the pods of an object will not find."""
        return self.following.lacks(ref, self._summons.has)

    def _users(self, ref: Ref, intent: Intent) -> list[User]:
        return abroad(self.following.users_of(ref, intent.follows), intent.at_home)

    def _is_coming(self, cluster: str, ref: Ref) -> bool:
        wanted, observation = self._desk.wanted(cluster, ref), self._observe(cluster, ref)
        if isinstance(wanted, Present) and observation.copy is not None:
            # Whoever else has begun to name it: it is there, and stays.
            return False
        if self.following.is_undecided(ref):
            return self._summons.is_expected(ref)
        return isinstance(wanted, Present) and not self._desk.trouble(cluster, ref) and not observation.refusal

    def _clusters(self) -> list[str]:
        return [cluster.name for cluster in self._registry.clusters()]
