"""What expressions cost, in upstream's units: estimated from a schema's limits, or from the values at hand.

`estimate` walks an expression once and gives the least and the most that it can cost. How large things are it asks
of a `Sizes`: `DeclaredSizes` knows what a schema allows, `UniformSizes` and `MeasuredSizes` what an object holds.
"""

from hanse.kube.cel.costs.budget import CALL_LIMIT, CONDITIONS_BUDGET, OBJECT_BUDGET, Budget, OverBudget, RuleCost
from hanse.kube.cel.costs.declared_sizes import DeclaredSizes
from hanse.kube.cel.costs.estimate import Sizes, estimate
from hanse.kube.cel.costs.measured_sizes import MeasuredSizes, UniformSizes

__all__ = [
    "CALL_LIMIT",
    "CONDITIONS_BUDGET",
    "OBJECT_BUDGET",
    "Budget",
    "DeclaredSizes",
    "MeasuredSizes",
    "OverBudget",
    "RuleCost",
    "Sizes",
    "UniformSizes",
    "estimate",
]
