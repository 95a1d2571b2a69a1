"""Pure decisions: which clusters, how many replicas where, and why; no awaits, no clock, no log."""

from hanse.placement.cluster_selector import ClusterSelector, SelectorError
from hanse.placement.decision import Candidate, Decision, Verdict, decide
from hanse.placement.planner import Plan, Preference, Preferences, plan_replicas
from hanse.placement.transition import Holding, next_replicas

__all__ = [
    "Candidate",
    "ClusterSelector",
    "Decision",
    "Holding",
    "Plan",
    "Preference",
    "Preferences",
    "SelectorError",
    "Verdict",
    "decide",
    "next_replicas",
    "plan_replicas",
]
