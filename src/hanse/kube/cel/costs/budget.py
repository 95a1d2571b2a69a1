"""How much expressions may cost when they are evaluated, and who keeps count.

The engine counts nothing but the turns of loops, of which it allows ten thousand. So the cost is bounded before an
expression is evaluated, in three steps of which nearly always the first suffices: by the size of everything that it
can see, against a limit computed once; by the size of the largest part of that; and by the sizes of just those values
that it looks at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from hanse.kube.cel.costs.estimate import estimate
from hanse.kube.cel.costs.measured_sizes import MeasuredSizes, UniformSizes, largest_size
from hanse.kube.cel.syntax import Node, read_tree

CALL_LIMIT = 1_000_000
"""What one evaluation may cost."""
OBJECT_BUDGET = 10_000_000
"""What all evaluations about one object, or of one policy's binding, may cost together."""
CONDITIONS_BUDGET = 2_500_000
"""What the matchConditions of one webhook or policy may cost together."""
_POWERS = 23


class OverBudget(Exception):
    """An evaluation that may not be made, since it would cost too much."""

    def __init__(self, *, alone: bool) -> None:
        self.alone = alone
        """Whether it is too costly by itself, and not only with those before it."""
        super().__init__("operation cancelled: actual cost limit exceeded")


class RuleCost:
    """What one expression costs, as far as that can be said before its variables are known."""

    def __init__(self, serialized: bytes) -> None:
        self._serialized = serialized

    @cached_property
    def tree(self) -> Node:
        """The expression."""
        return read_tree(self._serialized)

    @cached_property
    def least(self) -> int:
        """What it costs at least."""
        return estimate(self.tree, UniformSizes(0)).least

    @cached_property
    def harmless(self) -> int:
        """The size of values up to which it cannot cost more than one evaluation may."""
        power = bisect_right(
            range(_POWERS), CALL_LIMIT, key=lambda one: estimate(self.tree, UniformSizes(1 << one)).most
        )
        return 1 << power - 1 if power else 0

    def most(self, variables: Mapping[str, Any], weight: int) -> int:
        """Return what it can cost with these variables."""
        return estimate(self.tree, MeasuredSizes(variables, weight)).most


class Budget:
    """What is left for the expressions about one object; `weight` is the size of all that they can see, in bytes."""

    __slots__ = ("_left", "_weight")

    def __init__(self, weight: int, allowed: int = OBJECT_BUDGET) -> None:
        self._left = allowed
        self._weight = weight

    def spend(self, cost: RuleCost, variables: Mapping[str, Any]) -> None:
        """Take what an evaluation costs from the budget; raises OverBudget where it is too much."""
        spent = cost.least
        if self._weight > cost.harmless and largest_size(variables.values()) > cost.harmless:
            spent = max(spent, cost.most(variables, self._weight))
            if spent > CALL_LIMIT:
                raise OverBudget(alone=True)
        if spent > self._left:
            raise OverBudget(alone=False)
        self._left -= spent
