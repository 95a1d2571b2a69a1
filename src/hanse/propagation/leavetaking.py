"""Taking leave of sources: their copies are removed, released, or left to the source that comes next.

A source goes only when every cluster has said, or has shown, that nothing in it is marked as this source's any more.
What is decided here needs to know everybody who wants the same object; the engine sees to that before it calls.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

from hanse.api.names import DELETION_ANNOTATION
from hanse.clusters.roster import Roster
from hanse.kube.manifest import Obj, annotations_of, finalizers_of, uid_of, without_finalizer
from hanse.kube.resources import NAMESPACES
from hanse.kube.runtime import Runtime
from hanse.propagation.aggregation import told_beside
from hanse.propagation.claims import Claims
from hanse.propagation.company import title_of
from hanse.propagation.desk import Desk
from hanse.propagation.door import Door, Farewell
from hanse.propagation.escort import Escort
from hanse.propagation.host_writer import HostWriter
from hanse.propagation.intent import Problem, Ref
from hanse.propagation.members import Members
from hanse.propagation.offers import Offers
from hanse.propagation.planning import Observation, tear_down
from hanse.propagation.rendering import owned_by
from hanse.propagation.sources import Sources

# Clusters that answer bring a source back by themselves; this is for one that stays silent.
_WAITING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Partings:
    """What the engine does at partings: `forget` a source, have a key `look`ed at, `refuse` to go on and say why."""

    forget: Callable[[Ref], None]
    look: Callable[[Ref], None]
    refuse: Callable[[Ref, Obj, Problem], Awaitable[None]]


class Leavetaking:
    """Lets sources go that are being deleted, or that shall be federated no longer."""

    def __init__(
        self,
        registry: Roster,
        sources: Sources,
        desk: Desk,
        claims: Claims,
        partings: Partings,
        *,
        members: Members,
        writer: HostWriter,
        escort: Escort,
        runtime: Runtime,
        finalizer: str,
        offers: Offers,
    ) -> None:
        self._offers = offers
        self._finalizer = finalizer
        self._registry = registry
        self._sources = sources
        self._desk = desk
        self._claims = claims
        self._partings = partings
        self._members = members
        self._writer = writer
        self._escort = escort
        self._runtime = runtime
        self._orphaned: set[Ref] = set()
        self._since: dict[Ref, float] = {}

    def orphans(self, ref: Ref) -> None:
        """Note that a source is deleted without what it owns: the host soon takes that word back."""
        self._orphaned.add(ref)

    def forget(self, ref: Ref) -> None:
        """Forget a source that is gone."""
        self._orphaned.discard(ref)
        self._since.pop(ref, None)

    async def tear_down(self, door: Door, ref: Ref, source: Obj) -> float | None:
        """Bring a source that is being deleted nearer to its end; returns when to look again."""
        if self._finalizer not in finalizers_of(source):
            self._partings.forget(ref)
            return None
        if ref in self._orphaned and annotations_of(source).get(DELETION_ANNOTATION) != "orphan":
            await self._writer.write(ref, _to_be_orphaned(source))
            return None
        if ref.resource == NAMESPACES and self._sources.hold(ref.key.name):
            # The last object in it brings it back; this is for a kind that is no longer looked after.
            return _WAITING_SECONDS
        farewell = door.farewell(source)
        if isinstance(farewell, Problem):
            await self._partings.refuse(ref, source, farewell)
            return None
        return await self._take_back(door, ref, source, "it is being deleted", farewell)

    async def let_go(self, door: Door, ref: Ref, source: Obj) -> float | None:
        """Leave the copies of an object that is federated no longer with the members, as theirs."""
        return await self._take_back(door, ref, source, "it is being let go", Farewell(orphan=True))

    async def part(self, door: Door, ref: Ref, source: Obj, why: str) -> float | None:
        """Remove the copies of an object that nobody needs for now, and hold it no longer; returns when to look again.

        One that is not held has none, and rests until somebody needs it.
        """
        following = self._escort.following
        following.decided(ref, {})
        if self._finalizer not in finalizers_of(source):
            parted = source if following.is_named(ref) else door.parting(source, ())
            if parted is not source:
                await self._writer.write(ref, parted)
            return None
        farewell = door.farewell(source)
        if isinstance(farewell, Problem):
            await self._partings.refuse(ref, source, farewell)
            return None
        return await self._take_back(door, ref, source, f"nobody needs it ({why})", farewell)

    async def _take_back(self, door: Door, ref: Ref, source: Obj, why: str, farewell: Farewell) -> float | None:
        """Remove or release every copy, or leave it to the source that comes next, and hold this one no longer."""
        target = door.target(ref)
        await self._writer.mark(door.marks(source, None))
        if self._escort.following.concerns(ref):
            self._escort.stands(ref, source, {}, self._members.observe(target))
        heir, uid = self._claims.heir(ref, target), uid_of(source)
        waiting_for = self._wind_up(ref, target, uid, farewell) if heir is None else self._hand_over(target, uid, heir)
        if waiting_for:
            whys = self._obstacles(ref, target, waiting_for, heir)
            if any(whys.values()):
                parting = door.parting(source, waiting_for)
                if parting is source:
                    await self._partings.refuse(ref, source, _waits_for(why, whys))
                else:
                    await self._writer.write(ref, parting)
            return _WAITING_SECONDS
        self._partings.forget(ref)
        parted = door.parting(told_beside(source, ""), ())
        await self._writer.write(ref, without_finalizer(parted, self._finalizer))
        return None

    def _wind_up(self, ref: Ref, target: Ref, uid: str, farewell: Farewell) -> Collection[str]:
        """Have every copy removed or released; returns the clusters that have yet to confirm that they have none."""
        names = [cluster.name for cluster in self._registry.clusters()]
        outside = [name for name in names if farewell.within is not None and name not in farewell.within]
        rest = tear_down(
            uid,
            self._registry.clusters(),
            self._desk.confirmed(target, uid),
            orphan=farewell.orphan,
            removal=farewell.removal,
            without=[*outside, *(name for name in names if self._offers.never(ref, uid, name))],
        )
        self._desk.place(target, rest.wanted)
        return rest.waiting_for

    def _hand_over(self, target: Ref, uid: str, heir: Ref) -> Collection[str]:
        """Leave the copies to another source; returns the clusters in which it has yet to take them."""
        self._partings.look(heir)
        observed = self._members.observe(target)
        names = [cluster.name for cluster in self._registry.clusters()]
        return [name for name in names if is_left(observed.get(name), uid) or self._members.is_busy(name, target)]

    def _obstacles(self, ref: Ref, target: Ref, clusters: Collection[str], heir: Ref | None) -> dict[str, str]:
        """Say of each cluster why it keeps a source waiting, "" while that is merely a matter of moments."""
        now = self._runtime.monotonic()
        lasts = now - self._since.setdefault(ref, now) >= _WAITING_SECONDS
        patience = f"{title_of(heir)} has yet to take it over" if heir is not None and lasts else ""
        refusals = {cluster.name: cluster.refusal for cluster in self._registry.clusters()}
        return {name: refusals[name] or self._desk.trouble(name, target) or patience for name in clusters}


def is_left(observation: Observation | None, uid: str) -> bool:
    """Tell whether a cluster has a copy that is marked as that source's, or may have one."""
    if observation is None or not observation.seen:
        return observation is None or not observation.unserved
    return observation.copy is not None and owned_by(observation.copy, uid)


def _waits_for(why: str, whys: Mapping[str, str]) -> Problem:
    told = "; ".join(f"{name}: {why}" for name, why in whys.items() if why)
    return Problem("WaitingForDeletion", f"{why} and waits for what may still be in a cluster ({told})")


def _to_be_orphaned(source: Obj) -> Obj:
    annotations = {**annotations_of(source), DELETION_ANNOTATION: "orphan"}
    return {**source, "metadata": {**source["metadata"], "annotations": annotations}}
