"""What the engine asks of a front door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from hanse.propagation.intent import Intent, Problem
from hanse.propagation.report import Report


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

    def translate(self, source: Obj) -> Intent | Problem:
        """Say what shall be where, or why it cannot be said."""

    def reported(self, source: Obj, report: Report, now: str) -> Obj:
        """Return the source as it shall be once the report is in its status; unchanged where that says it already."""

    def refused(self, source: Obj, problem: Problem, now: str) -> Obj:
        """Return the source as it shall be once the problem is told in it."""
