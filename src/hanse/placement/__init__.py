"""Pure decisions: which clusters, how many replicas where, and why; no awaits, no clock, no log."""

from hanse.placement.ask import (
    Aggregated,
    ByCapacity,
    ByFreeCapacity,
    ClusterTerm,
    Demand,
    Division,
    Duplicated,
    Equally,
    Failover,
    Group,
    Liking,
    Placement,
    Rollout,
    Spread,
    State,
    Weighted,
    WeightRule,
)
from hanse.placement.candidate import Candidate, Taint, Toleration
from hanse.placement.cluster_selector import ClusterSelector, SelectorError
from hanse.placement.decision import Decision, Verdict, decide
from hanse.placement.fleet import Fleet
from hanse.placement.planner import Plan, Preference, Preferences, plan_replicas
from hanse.placement.transition import Holding, next_replicas

__all__ = [
    "Aggregated",
    "ByCapacity",
    "ByFreeCapacity",
    "Candidate",
    "ClusterSelector",
    "ClusterTerm",
    "Decision",
    "Demand",
    "Division",
    "Duplicated",
    "Equally",
    "Failover",
    "Fleet",
    "Group",
    "Holding",
    "Liking",
    "Placement",
    "Plan",
    "Preference",
    "Preferences",
    "Rollout",
    "SelectorError",
    "Spread",
    "State",
    "Taint",
    "Toleration",
    "Verdict",
    "WeightRule",
    "Weighted",
    "decide",
    "next_replicas",
    "plan_replicas",
]
