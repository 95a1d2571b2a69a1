"""What the engine knows of its targets, for rooms that look at what it carried into the members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from hanse.kube.manifest import Obj, uid_of
from hanse.kube.resources import Resource
from hanse.placement.decision import Decision
from hanse.propagation.claims import Claims
from hanse.propagation.farewells import Farewells
from hanse.propagation.intent import Ref
from hanse.propagation.members import Members
from hanse.propagation.planning import Observation
from hanse.propagation.rendering import owned_by
from hanse.propagation.report import Row
from hanse.propagation.sources import Sources


@dataclass(frozen=True, slots=True)
class Speaker:
    """The source that speaks for a target, and the uids of others whose copies are its own too."""

    ref: Ref
    source: Obj
    inherits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """How a source stands in the members: one row a cluster, or who speaks for its object instead, or a problem."""

    rows: Mapping[str, Row] = field(default_factory=dict)
    spoken_by: Ref | None = None
    problem: str = ""


class View:
    """Tells of targets, and of changes of them."""

    def __init__(
        self,
        members: Members,
        claims: Claims,
        sources: Sources,
        farewells: Farewells,
        *,
        knows: Callable[[Ref], bool],
        trouble: Callable[[str, Ref], str],
    ) -> None:
        """`knows` tells whether every source is known that may speak for a target, so that one without any has none.

        `trouble` tells what stands in the way of a target in a cluster, "" where nothing does.

        By the `farewells` somebody who leads clients is asked before replicas leave a cluster.
        """
        self.knows = knows
        self.trouble = trouble
        self.farewells = farewells
        self._members = members
        self._claims = claims
        self._sources = sources
        self._listeners: dict[Resource, list[Callable[[Ref], None]]] = {}
        self._followers: dict[Resource, list[Callable[[Ref], None]]] = {}
        self._standings: dict[Ref, Standing] = {}
        self._decisions: dict[Ref, Decision] = {}
        self._deciders: list[Callable[[Ref], None]] = []

    def follow(self, kind: Resource, listener: Callable[[Ref], None]) -> None:
        """Call `listener` with every source of a kind whose standing in the members may be another."""
        self._followers.setdefault(kind, []).append(listener)

    def is_followed(self, kind: Resource) -> bool:
        """Tell whether somebody acts on how sources of a kind stand."""
        return kind in self._followers

    def standing(self, source: Ref) -> Standing | None:
        """Return how a source of a kind that is followed stands; None while that is not known."""
        target = self._claims.target(source)
        holder = self._claims.holder(target) if target is not None else None
        if holder is not None and holder != source:
            return Standing(spoken_by=holder)
        return self._standings.get(source)

    def told(self, source: Ref, standing: Standing) -> None:
        """Take in how a source stands, and tell those who follow its kind."""
        if not self.is_followed(source.resource):
            return
        self._standings[source] = standing
        self._tell(source)

    def decided(self, source: Ref, target: Resource, decision: Decision) -> None:
        """Take in what was decided of a source, where somebody listens to its targets."""
        before = self._decisions.get(source)
        if target not in self._listeners or (before is not None and before.chosen() == decision.chosen()):
            return
        self._decisions[source] = decision
        for listener in self._deciders:
            listener(source)

    def on_decided(self, listener: Callable[[Ref], None]) -> None:
        """Call `listener` with every source for which other clusters were chosen, of those whose targets are heard."""
        self._deciders.append(listener)

    def decision(self, source: Ref) -> Decision | None:
        """Return the decision that first chose the clusters that are still chosen for a source, where that is known.

        Later ones say that it stays where it is, and not why it came there.
        """
        return self._decisions.get(source)

    def forget(self, source: Ref) -> None:
        """Forget a source that is looked after no longer."""
        self._decisions.pop(source, None)
        if self._standings.pop(source, None) is not None:
            self._tell(source)

    def _tell(self, source: Ref) -> None:
        for listener in self._followers.get(source.resource, ()):
            listener(source)

    def subscribe(self, target: Resource, listener: Callable[[Ref], None]) -> None:
        """Call `listener` with every target of a kind whose source or copies changed."""
        self._listeners.setdefault(target, []).append(listener)

    def changed(self, target: Ref) -> None:
        """Tell those who listen that something about a target is another."""
        for listener in self._listeners.get(target.resource, ()):
            listener(target)

    def source_changed(self, source: Ref) -> None:
        """Tell those who listen that the source of a target is another."""
        target = self._claims.target(source)
        if target is not None:
            self.changed(target)

    def kind_changed(self, target: Resource) -> None:
        """Tell those who listen that a member can be relied on for a kind, or no longer."""
        for ref in self.targets(target) if target in self._listeners else ():
            self.changed(ref)

    def targets(self, kind: Resource) -> list[Ref]:
        """Return every target of a kind for which a source speaks."""
        found = (self._claims.target(source) for source in self._claims.sources())
        return [target for target in found if target is not None and target.resource == kind]

    def speaker(self, target: Ref) -> Speaker | None:
        """Return who speaks for a target; None where nobody does."""
        holder = self._claims.holder(target)
        source = self._sources.get(holder) if holder is not None else None
        if holder is None or source is None:
            return None
        return Speaker(holder, source, self._claims.rivals(holder))

    def observe(self, target: Ref, speaker: Speaker) -> dict[str, Observation]:
        """Return what every member that is served has of a target; what is somebody else's is not of it."""
        uid = uid_of(speaker.source)
        return {
            name: replace(each, copy=None)
            if each.copy is not None and not owned_by(each.copy, uid, speaker.inherits)
            else each
            for name, each in self._members.observe(target).items()
        }

    def remember(self, ref: Ref, obj: Obj, *, quietly: bool = False) -> None:
        """Take in a source that was just written, `quietly` where nothing follows from it for the engine."""
        self._sources.remember(ref, obj, quietly=quietly)
