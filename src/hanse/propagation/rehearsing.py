"""Who follows whom in a world that is only looked at: for plans, explanations and drills.

The same index as the engine's, filled once from all objects that are looked at instead of change by change. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hanse.api.clusters import Cluster
from hanse.kube.manifest import Obj, uid_of
from hanse.propagation.company import Stand, accompanied, final_stand, kept_from, stand_of
from hanse.propagation.dependencies import NAMEABLE
from hanse.propagation.doors import Doors
from hanse.propagation.following import Bells, Following
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.planning import Observation, Planned

Planning = Callable[[Ref, Intent], Planned]
Observations = Mapping[Ref, Mapping[str, Observation]]


class Onlooker:
    """Plans objects in the company of those that they follow."""

    def __init__(
        self,
        doors: Doors,
        clusters: Sequence[Cluster],
        sources: Mapping[Ref, Obj],
        observed: Observations,
        planning: Planning,
        *,
        in_the_end: bool = False,
    ) -> None:
        """`sources` are all objects that may name each other; `planning` plans one as if it followed nobody.

        With `in_the_end` workloads are where their plans lead, and no longer where they are.
        """
        self._names = [cluster.name for cluster in clusters]
        self._known = sources.keys()
        self._sources = {ref: obj for ref, obj in sources.items() if doors.of(ref.resource).admits(obj)}
        self._doors = doors
        self._planning = planning
        self._observed = observed
        self._in_the_end = in_the_end
        self._following = Following(Bells(_nobody, _nobody))
        for ref, source in self._sources.items():
            self._following.note(ref, doors.of(ref.resource).needs(source))
        for ref, source in self._sources.items():
            intent = self._translated(ref, source) if ref.resource in NAMEABLE else None
            if isinstance(intent, Intent):
                self._following.users_of(ref, intent.follows)
        for ref, source in self._sources.items():
            if self._following.concerns(ref):
                self._following.stands(ref, self._stand(ref, source))

    def accompanied(self, ref: Ref, intent: Intent) -> Intent:
        """Return the intent of an object that goes where those are that name it, if it does."""
        return accompanied(intent, self._following.users_of(ref, intent.follows), self._names)

    def lacks(self, ref: Ref) -> list[str]:
        """Say what the pods of a workload will not find, where all that it names has been looked at."""
        for need in self._following.brings(ref):
            source = self._sources.get(need)
            intent = self._translated(need, source) if source is not None else None
            if isinstance(intent, Intent):
                users = self._following.users_of(need, intent.follows)
                planned = self._planning(need, accompanied(intent, users, self._names))
                self._following.decided(need, kept_from(planned, users))
        return self._following.lacks(ref, lambda need: need in self._known)

    def _translated(self, ref: Ref, source: Obj) -> Intent | Problem:
        return self._doors.of(ref.resource).translate(source)

    def _stand(self, ref: Ref, source: Obj) -> Stand:
        intent, observed = self._translated(ref, source), self._observed.get(ref, {})
        if isinstance(intent, Problem):
            return stand_of(uid_of(source), {}, observed, self._names)
        planned = self._planning(ref, intent)
        if self._in_the_end:
            return final_stand(uid_of(source), planned, observed, self._names)
        return stand_of(uid_of(source), planned.wanted, observed, self._names)


def _nobody(_ref: Ref) -> None:
    return
