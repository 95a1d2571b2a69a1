"""The executor: carries a release from step to step, capacity before traffic, and never takes before it has given.

`execute` is pure. It looks at a release, its neighbours and the time, and returns the patches to make, the status to
write and what it waits for. Calling it again on the outcome until it returns no patch carries a step out; the control
plane may die between any two patches. `asking` is the one module with effects: it asks what checks want to know.
"""

from hanse.rollouts.execution.executor import execute
from hanse.rollouts.execution.progress import carried_out, held
from hanse.rollouts.execution.views import (
    Achieved,
    Answer,
    ClusterFacts,
    Execution,
    Outcome,
    Patch,
    ReleaseView,
    TargetView,
    view_of,
)

__all__ = [
    "Achieved",
    "Answer",
    "ClusterFacts",
    "Execution",
    "Outcome",
    "Patch",
    "ReleaseView",
    "TargetView",
    "carried_out",
    "execute",
    "held",
    "view_of",
]
