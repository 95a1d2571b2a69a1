"""What the engine asks of a front door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.report import Report


@dataclass(frozen=True, slots=True)
class Mark:
    """An annotation on another source object; None as its text takes it away."""

    ref: Ref
    annotation: str
    text: str | None


class Door(Protocol):
    """Translates the objects of some kinds; pure throughout."""

    @property
    def resources(self) -> Sequence[Resource]:
        """The kinds of source objects."""

    @property
    def inputs(self) -> Sequence[Resource]:
        """The kinds beside the sources that say what sources mean, such as policies."""

    def informed(self, inputs: Mapping[Resource, Sequence[Obj]]) -> Door:
        """Return the door that knows these inputs, every object of every kind of them."""

    def admits(self, source: Obj) -> bool:
        """Tell whether an object is to be federated at all."""

    def lets_go(self, source: Obj) -> bool:
        """Tell whether somebody asked that an object be federated no longer: its copies become the members' own."""

    def translate(self, source: Obj) -> Intent | Problem:
        """Say what shall be where, or why it cannot be said."""

    def reported(self, source: Obj, report: Report, now: str) -> Obj:
        """Return the source as it shall be once the report is in its status; unchanged where that says it already."""

    def refused(self, source: Obj, problem: Problem, now: str) -> Obj:
        """Return the source as it shall be once the problem is told in it."""

    def marks(self, source: Obj, report: Report | None) -> Mark | None:
        """Say what another source object has to know of this one; without a report, that it is going."""
