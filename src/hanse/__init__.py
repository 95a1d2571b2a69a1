"""Hanse runs many Kubernetes clusters as one federation.

Placement is a library too: `hanse.place(manifest, clusters, policy)` says where an object would go, and why. A policy
is a function from a manifest to a `hanse.Placement`; a `hanse.Teaching` says in Python what must be known of a kind.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hanse.cli.rehearsal import Federation as Federation
    from hanse.cli.rehearsal import fleet as fleet
    from hanse.cli.rehearsal import place as place
    from hanse.placement import Aggregated as Aggregated
    from hanse.placement import ByCapacity as ByCapacity
    from hanse.placement import ByFreeCapacity as ByFreeCapacity
    from hanse.placement import ClusterTerm as ClusterTerm
    from hanse.placement import Decision as Decision
    from hanse.placement import Duplicated as Duplicated
    from hanse.placement import Equally as Equally
    from hanse.placement import Failover as Failover
    from hanse.placement import Group as Group
    from hanse.placement import Placement as Placement
    from hanse.placement import Preference as Preference
    from hanse.placement import Preferences as Preferences
    from hanse.placement import Rollout as Rollout
    from hanse.placement import Spread as Spread
    from hanse.placement import Toleration as Toleration
    from hanse.placement import Weighted as Weighted
    from hanse.placement import WeightRule as WeightRule
    from hanse.placement.cluster_selector import where as where
    from hanse.propagation.teaching import Teaching as Teaching

# The public names and the modules that have them: loaded when they are first used, so that `hanse --help` waits for
# none of them.
_PUBLIC = {
    **dict.fromkeys(("Federation", "fleet", "place"), "hanse.cli.rehearsal"),
    "where": "hanse.placement.cluster_selector",
    "Teaching": "hanse.propagation.teaching",
    **dict.fromkeys(
        (
            "Aggregated",
            "ByCapacity",
            "ByFreeCapacity",
            "ClusterTerm",
            "Decision",
            "Duplicated",
            "Equally",
            "Failover",
            "Group",
            "Placement",
            "Preference",
            "Preferences",
            "Rollout",
            "Spread",
            "Toleration",
            "WeightRule",
            "Weighted",
        ),
        "hanse.placement",
    ),
}

__all__ = ["__version__", *sorted(_PUBLIC)]  # noqa: PLE0604 - names that are loaded when used


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"hanse has no {name}; it has {', '.join(sorted(_PUBLIC))}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)
