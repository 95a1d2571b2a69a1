"""Which mutators are asked a second time: those that allow it and ran before a later one changed the object."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from hanse.kube.manifest import Obj


@dataclass(slots=True)
class Rounds:
    """The two rounds of mutation that one request can have, shared by all sorts of mutators."""

    second: bool = False
    wanted: bool = False


@dataclass(slots=True)
class Reinvocation:
    """The memory of one sort of mutators."""

    rounds: Rounds
    _ran: set[Hashable] = field(default_factory=set)
    _flagged: set[Hashable] = field(default_factory=set)
    _left: Obj | None = None

    def begin(self, obj: Obj | None) -> None:
        """Start a round; what changed since the last one makes all eligible mutators run again."""
        if self.rounds.second and obj != self._left:
            self._flag()

    def calls(self, key: Hashable) -> bool:
        """Tell whether a mutator is to run in this round."""
        return not self.rounds.second or key in self._flagged

    def called(self, key: Hashable, *, changed: bool, again: bool) -> None:
        """Note that a mutator ran; `again` says whether it may run a second time."""
        if changed:
            self._flag()
            self.rounds.wanted = True
        if again:
            self._ran.add(key)

    def end(self, obj: Obj | None) -> None:
        """Finish a round."""
        self._left = obj

    def _flag(self) -> None:
        self._flagged |= self._ran
        self._ran.clear()
