"""What the engine asks of a front door."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hanse.kube.cache import Change
from hanse.kube.manifest import Key, Obj, key_of
from hanse.kube.resources import Resource
from hanse.propagation.dependencies import NO_NEEDS, Needs
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.records import Record
from hanse.propagation.removal import DELETED, Removal
from hanse.propagation.report import Report

Inputs = Mapping[Resource, Mapping[Key, Obj]]


def keyed(objects: Mapping[Resource, Iterable[Obj]]) -> Inputs:
    """Return inputs by key from a list of each kind."""
    return {resource: {key_of(obj): obj for obj in listed} for resource, listed in objects.items()}


@dataclass(frozen=True, slots=True)
class Mark:
    """An annotation on a source object; None as its text takes it away. Others have to be written `before` it."""

    ref: Ref
    annotation: str
    text: str | None
    before: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Affected:
    """Sources that have to be looked at again: these, all of the door in a namespace, or simply all of it.

    With `everything` the door itself has to be informed anew; otherwise it looks its inputs up when it needs them.
    """

    refs: tuple[Ref, ...] = ()
    namespace: str = ""
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Farewell:
    """What becomes of the copies when their source is deleted: left behind, or removed in this way.

    `within` are the only clusters that can have one; None says that each may.
    """

    orphan: bool = False
    removal: Removal = DELETED
    within: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Kin:
    """Sources of one `family` that want the same object: the one of the highest `rank` speaks for it."""

    family: str = ""
    rank: int = 0


NO_KIN = Kin()


class Door(Protocol):
    """Translates the objects of some kinds; pure throughout.

    Whoever derives from it need not answer what has an answer here: that of a door whose sources stand for themselves,
    and are told nothing.
    """

    @property
    def name(self) -> str:
        """What people call the door."""

    @property
    def resources(self) -> Sequence[Resource]:
        """The kinds of source objects."""

    @property
    def any_kind(self) -> bool:
        """Whether members may hold objects of any kind of its sources; otherwise each kind of them has one target."""

    @property
    def inputs(self) -> Sequence[Resource]:
        """The kinds beside the sources that say what sources mean, such as policies."""

    def informed(self, inputs: Inputs) -> Door:
        """Return the door that knows these inputs, every object of every kind of them."""

    def affected(self, resource: Resource, change: Change) -> Affected:
        """Return the sources that a changed input speaks of."""

    def target(self, source: Ref) -> Ref:
        """Return what the members hold of a source object."""

    def supersedes(self, source: Obj) -> bool:
        """Tell whether an object speaks for its target before those that came first."""
        return False

    def kin(self, source: Obj) -> Kin:
        """Say which other sources of an object are its family, and how it ranks among them."""
        return NO_KIN

    def farewell(self, source: Obj) -> Farewell | Problem:
        """Say what becomes of the copies of an object that is being deleted, or why that cannot be said."""

    def admits(self, source: Obj) -> bool:
        """Tell whether an object is to be federated at all."""

    def lets_go(self, source: Obj) -> bool:
        """Tell whether somebody asked that an object be federated no longer: its copies become the members' own."""
        return False

    def translate(self, source: Obj) -> Intent | Problem:
        """Say what shall be where, or why it cannot be said."""

    def shared(self, intent: Intent, kin: Sequence[Obj]) -> Intent:
        """Return what a source asks for that speaks for others of its family, too; each may be in other clusters."""
        return intent

    def needs(self, source: Obj) -> Needs:
        """Say which other source objects this one names, and whether those go where it goes."""
        return NO_NEEDS

    def parting(self, source: Obj, waiting_for: Collection[str]) -> Obj:
        """Return a source that is going as it shall be while these clusters have yet to confirm that it is gone there.

        The engine's own finalizer is not the door's; where nothing is to be written it is the very object given.
        """
        return source

    def reported(self, source: Obj, report: Report, now: str) -> Obj:
        """Return the source as it shall be once the report is in its status; unchanged where that says it already."""
        return source

    def records(self, source: Obj, report: Report, now: str) -> Iterable[Record]:
        """Yield what a report has to be written down in on the host beside the source itself."""
        return ()

    def refused(self, source: Obj, problem: Problem, now: str) -> Obj:
        """Return the source as it shall be once the problem is told in it."""
        return source

    def marks(self, source: Obj, report: Report | None) -> Mark | None:
        """Say what another source object has to know of this one; without a report, that it is going."""
        return None
