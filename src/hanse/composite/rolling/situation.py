"""All that a rollout depends on, as values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hanse.composite.children import ChildId
from hanse.composite.preparing import Child
from hanse.composite.rolling.checks import Marks
from hanse.composite.rolling.revisions import Revision
from hanse.composite.spec import ChildRule, Rollout
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class Told:
    """A version of the parent, and the children that the hook wants at it, in its order."""

    revision: Revision
    children: tuple[Child, ...]


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a rollout depends on.

    `marks` says what was applied by the server, None that children are merged. `refused` are children that the server
    would not make at their versions. `asks_before` and `asks_after` say that somebody is asked before a child moves,
    and before the rollout goes on after it did.
    """

    latest: Told
    older: tuple[Told, ...]
    observed: Mapping[ChildId, Obj]
    rules: Mapping[Resource, ChildRule]
    generation: int
    now: float
    marks: Marks | None = None
    refused: Collection[ChildId] = ()
    asks_before: bool = False
    asks_after: bool = False

    @property
    def rolling(self) -> list[Child]:
        """The children of rolling kinds that the hook wants now, in its order."""
        return [child for child in self.latest.children if self.rules[child.resource].method.rolling]

    def rollout(self, child: Child) -> Rollout:
        """Return how the children of this one's kind move."""
        return self.rules[child.resource].rollout


@dataclass(frozen=True, slots=True)
class Words:
    """What was said before and after children moved: for each the reason to wait, "" to go on."""

    before: Mapping[ChildId, str] = field(default_factory=dict)
    after: Mapping[ChildId, str] = field(default_factory=dict)
