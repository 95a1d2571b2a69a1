"""Real Kubernetes clusters for tests and benches: upstream components on loopback, gone when their holder is."""

from tests.kubernetes.real.cluster import ClusterStartError, KubectlError, RealCluster, real_clusters
from tests.kubernetes.real.components import ComponentsMissingError
from tests.kubernetes.real.flags import HOST, MEMBER, ClusterShape
from tests.kubernetes.real.waiting import wait_until

__all__ = [
    "HOST",
    "MEMBER",
    "ClusterShape",
    "ClusterStartError",
    "ComponentsMissingError",
    "KubectlError",
    "RealCluster",
    "real_clusters",
    "wait_until",
]
