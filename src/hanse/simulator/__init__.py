"""Turns an API server, embedded or real, into a cluster that behaves.

Workload controllers, a scheduler, nodes with their kubelets, load balancers: each behaviour is one small module whose
decisions are pure functions and whose effects go through `hanse.kube` alone. Time and chance come from a Runtime, so a
run can be repeated.
"""

from hanse.simulator.cluster import SimulatedCluster
from hanse.simulator.settings import ClusterSettings, SettingsError, parse_clusters

__all__ = ["ClusterSettings", "SettingsError", "SimulatedCluster", "parse_clusters"]
